"""What the runs of `spos paper mnist` say, finished or not."""

from collections.abc import Mapping, Sequence
from typing import Any

from spos.io.html import Table
from spos_experiments.frame.experiment import Estimate, Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.mnist import paired
from spos_experiments.paper.mnist.outcomes import Outcome, mean
from spos_experiments.paper.mnist.protocol import ALONE, Plan
from spos_experiments.paper.mnist.settings import Settings

LABELS = {
    "spos": "SPOS",
    "svgd": "SVGD",
    "sgld": "SGLD",
    "ensemble": "ensemble",
    "rmsprop": "RMSprop",
    "sgd": "SGD",
    "dropout": "SGD, dropout",
}
IN_PRINT = ("spos", "svgd", "sgld", "rmsprop", "sgd", "dropout")
# test errors that the paper prints, in per cent and in this order
PUBLISHED: dict[tuple[int, ...], dict[str, float]] = {
    hidden: dict(zip(IN_PRINT, errors, strict=True))
    for hidden, errors in {
        (400, 400): (1.32, 1.56, 1.64, 1.59, 1.72, 1.51),
        (800, 800): (1.24, 1.47, 1.41, 1.43, 1.47, 1.33),
    }.items()
}
# test errors of SPOS to be reached, in per cent: of dense networks by their width, and of LeNet
GOALS = {400: 1.25, 800: 1.20, "lenet": 0.60}
KINDS = ("test", "turned", "inverted", "filled")


def percent(errors: Sequence[float]) -> str:
    """The mean of runs with several seeds, and its standard error if there are several."""
    if len(errors) == 1:
        return f"{100 * errors[0]:.2f}"
    found = Estimate.of(errors)
    return f"{100 * found.mean:.2f} ± {100 * found.se:.2f}"


def findings(settings: Settings, runs: Mapping[Plan, Sequence[Outcome]]) -> Findings:
    outcomes = {plan: mean(ones) for plan, ones in runs.items()}
    sizes: dict[tuple[str, tuple[int, ...]], dict[Plan, Sequence[Outcome]]] = {}
    for plan, ones in runs.items():
        sizes.setdefault((plan.network, plan.hidden), {})[plan] = ones
    real = settings.datasets == ("mnist",)
    return Findings(
        numbers=numbers(
            {
                "rows": [row(plan, ones) for plan, ones in runs.items()],
                "spos_less_svgd": {
                    size_name(*size): paired.numbers(*both)
                    for size, own in sizes.items()
                    if (both := pair(own)) is not None
                },
            }
        ),
        claims=[claim for own in sizes.values() for claim in claims(own, real)],
        table=Table(
            (
                *("method", "network", "networks", "epochs", "runs", "error %", "paper %"),
                *("last networks %", "one alone %", "−log p", "calibration error"),
                *("entropy: test", *KINDS[1:], "seconds"),
            ),
            [
                (
                    LABELS[plan.method],
                    size_name(plan.network, plan.hidden),
                    str(plan.particles),
                    str(plan.epochs),
                    str(len(runs[plan])),
                    percent([each.error for each in runs[plan]]),
                    printed(plan, real),
                    f"{100 * one.last_error:.2f}",
                    f"{100 * one.single_error:.2f}",
                    f"{one.nll:.4f}",
                    f"{one.ece:.4f}",
                    *(f"{one.entropy[kind]:.3f}" for kind in KINDS),
                    f"{one.seconds:.0f}",
                )
                for plan, one in outcomes.items()
            ],
            "Means over runs with different seeds, ± a standard error. Many networks answer by "
            "their average after each of the last epochs.",
        ),
    )


def printed(plan: Plan, real: bool) -> str:
    """The paper's error, where it has one."""
    found = PUBLISHED.get(plan.hidden, {}).get(plan.method) if real else None
    return "–" if found is None else f"{found:.2f}"


def size_name(network: str, hidden: Sequence[int]) -> str:
    return "LeNet" if network == "lenet" else "-".join(map(str, hidden))


def row(plan: Plan, ones: Sequence[Outcome]) -> dict[str, Any]:
    errors = [one.error for one in ones]
    told = mean(ones)._asdict()
    del told["wrong"]
    return {**plan._asdict(), **told, "errors": errors}


def pair(
    runs: Mapping[Plan, Sequence[Outcome]],
) -> tuple[Sequence[Outcome], Sequence[Outcome]] | None:
    """The runs of SPOS and of SVGD, if both are among these of one size."""
    by = {plan.method: ones for plan, ones in runs.items()}
    return (by["spos"], by["svgd"]) if "spos" in by and "svgd" in by else None


def claims(runs: Mapping[Plan, Sequence[Outcome]], real: bool) -> list[Claim]:
    """Of the methods on networks of one size; `real` says that the images are those of the
    paper."""
    by = {plan.method: mean(ones) for plan, ones in runs.items()}
    errors = {plan.method: [one.error for one in ones] for plan, ones in runs.items()}
    network, hidden = next((plan.network, plan.hidden) for plan in runs)
    size, most = size_name(network, hidden), max(map(len, runs.values()))
    told = {m: f"{LABELS[m]} {percent(errors[m])} %" for m in by}
    judged = f"The mean of {most} runs, in whole hundredths of a per cent."
    made = []
    paper = PUBLISHED.get(hidden, {}).get("spos")
    goal = GOALS.get("lenet" if network == "lenet" else max(hidden))
    if "spos" in by and real and paper is not None:
        made.append(
            Claim(
                claim=f"{size}: SPOS has at most the test error that the paper prints.",
                measured=f"{told['spos']} ({paper:.2f} %).",
                verdict=verdict({"": round(100 * by["spos"].error, 2) <= paper}),
                rule=judged,
            )
        )
    if "spos" in by and real and goal is not None:
        made.append(
            Claim(
                claim=f"{size}: SPOS is wrong on at most {goal:.2f} % of the test images.",
                measured=f"{told['spos']}.",
                verdict=verdict({"": round(100 * by["spos"].error, 2) <= goal}),
                rule=judged,
            )
        )
    others = [method for method in by if method != "spos"]
    if "spos" in by and others:
        made.append(
            Claim(
                claim=f"{size}: SPOS errs no more often than any other method.",
                measured=f"{'; '.join(told.values())}. A difference of 0.1 % is ten images.",
                verdict=verdict(
                    {LABELS[m]: by["spos"].error <= by[m].error for m in others}, "against "
                ),
                rule=f"No more wrong test images in the mean of at most {most} runs, whatever the "
                "difference.",
            )
        )
    if (both := pair(runs)) is not None:
        made += paired.claims(size, *both)
    many = {m: one for m, one in by.items() if m not in ALONE}
    if many:
        known = "; ".join(
            f"{LABELS[m]}: −log p {one.nll:.4f} and {one.single_nll:.4f}, entropy of turned digits "
            f"{one.entropy['turned']:.2f} and {one.single_entropy['turned']:.2f}"
            for m, one in many.items()
        )
        made.append(
            Claim(
                claim=f"{size}: the average of the networks knows better than one of them what it "
                "does not know.",
                measured=f"The average, and one alone: {known}.",
                verdict=verdict(
                    {
                        LABELS[m]: one.nll < one.single_nll
                        and one.entropy["turned"] > one.single_entropy["turned"]
                        for m, one in many.items()
                    },
                    "with ",
                ),
                rule="A smaller −log p on test images and a larger entropy on turned ones.",
            )
        )
    if "spos" in by and "ensemble" in by:
        ours, alone = by["spos"].entropy, by["ensemble"].entropy
        doubt = "; ".join(f"{kind} {ours[kind]:.2f} and {alone[kind]:.2f}" for kind in KINDS)
        made.append(
            Claim(
                claim=f"{size}: SPOS doubts more than an ensemble of networks that were trained "
                "alone, where there should be doubt.",
                measured=f"Entropies of SPOS and the ensemble: {doubt}.",
                verdict=verdict({kind: ours[kind] > alone[kind] for kind in KINDS[1:]}, "on "),
                rule="A larger entropy on images of that kind.",
            )
        )
    return made
