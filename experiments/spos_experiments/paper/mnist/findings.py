"""What the runs of `spos paper mnist` say, finished or not."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from spos.diagnostics import calibration
from spos.io.html import Table
from spos.types import Particles
from spos_experiments.frame.experiment import Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.mnist.protocol import ALONE, Plan, Sets, chances
from spos_experiments.paper.mnist.settings import Settings

LABELS = {
    "spos": "SPOS",
    "svgd": "SVGD",
    "sgld": "SGLD",
    "rmsprop": "RMSprop",
    "sgd": "SGD",
    "dropout": "SGD, dropout",
}
# test errors that the paper prints, in per cent and in the order above
PUBLISHED: dict[tuple[int, ...], dict[str, float]] = {
    hidden: dict(zip(LABELS, errors, strict=True))
    for hidden, errors in {
        (400, 400): (1.32, 1.56, 1.64, 1.59, 1.72, 1.51),
        (800, 800): (1.24, 1.47, 1.41, 1.43, 1.47, 1.33),
    }.items()
}


class Outcome(NamedTuple):
    """Of the average of all networks of the last epochs, of those of the very last (`last_`), and
    on average of one of them alone (`single_`). Entropies, in nats, are by kind of image."""

    error: float
    nll: float
    ece: float
    last_error: float
    last_nll: float
    single_error: float
    single_nll: float
    single_ece: float
    entropy: dict[str, float]
    single_entropy: dict[str, float]
    seconds: float
    reliability: np.ndarray  # confidence, accuracy and count of the bins
    validation: np.ndarray  # error after each epoch


def judge(plan: Plan, networks: Particles, sets: Sets, seconds: float) -> Outcome:
    """On the test images, once: the networks after each of the last epochs, newest last."""
    kinds = {"test": sets.test.x, **sets.odd}
    said = {kind: chances(plan, networks, x) for kind, x in kinds.items()}
    labels, each = sets.test.y, said["test"]
    mean = calibration.ece(each.mean(axis=0), labels)
    last = each[-plan.particles :].mean(axis=0)
    alone = [calibration.ece(one, labels) for one in each]
    return Outcome(
        error=error(each.mean(axis=0), labels),
        nll=mean.nll,
        ece=mean.ece,
        last_error=error(last, labels),
        last_nll=calibration.ece(last, labels).nll,
        single_error=float(np.mean([error(one, labels) for one in each])),
        single_nll=float(np.mean([one.nll for one in alone])),
        single_ece=float(np.mean([one.ece for one in alone])),
        entropy={kind: entropy(values.mean(axis=0)) for kind, values in said.items()},
        single_entropy={kind: entropy(values) for kind, values in said.items()},
        seconds=seconds,
        reliability=np.stack([mean.confidence, mean.accuracy, mean.counts]),
        validation=np.empty(0),
    )


def error(chances: np.ndarray, labels: np.ndarray) -> float:
    return float((chances.argmax(axis=-1) != labels).mean())


def entropy(chances: np.ndarray) -> float:
    """-Σ p log p, the mean over images (and networks)."""
    return float(entr(chances).sum(axis=-1).mean())


def findings(settings: Settings, outcomes: Mapping[Plan, Outcome]) -> Findings:
    rows = [row(plan, one) for plan, one in outcomes.items()]
    sizes = dict.fromkeys(plan.hidden for plan in outcomes)
    printed = PUBLISHED if settings.datasets == ("mnist",) else {}
    return Findings(
        numbers=numbers({"rows": rows}),
        claims=[
            claim
            for size in sizes
            for claim in claims(
                {plan: one for plan, one in outcomes.items() if plan.hidden == size},
                printed.get(size, {}),
            )
        ],
        table=Table(
            (
                *("method", "hidden", "networks", "epochs", "error %", "paper %"),
                *("last networks %", "one alone %"),
                *("−log p", "calibration error", "entropy: test", "turned", "inverted", "seconds"),
            ),
            [
                (
                    LABELS[plan.method],
                    units(plan.hidden),
                    str(plan.particles),
                    str(plan.epochs),
                    f"{100 * one.error:.2f}",
                    f"{printed[plan.hidden][plan.method]:.2f}" if plan.hidden in printed else "–",
                    f"{100 * one.last_error:.2f}",
                    f"{100 * one.single_error:.2f}",
                    f"{one.nll:.4f}",
                    f"{one.ece:.4f}",
                    *(f"{one.entropy[kind]:.3f}" for kind in ("test", "turned", "inverted")),
                    f"{one.seconds:.0f}",
                )
                for plan, one in outcomes.items()
            ],
            "One run of each method. Many networks answer by their average after each of the last "
            f"{settings.averaged} epochs. The paper trained for 100.",
        ),
    )


def units(hidden: Sequence[int]) -> str:
    return "-".join(map(str, hidden))


def row(plan: Plan, one: Outcome) -> dict[str, Any]:
    return {**plan._asdict(), **one._asdict()}


def claims(outcomes: Mapping[Plan, Outcome], printed: Mapping[str, float]) -> list[Claim]:
    """Of the methods on networks of one size."""
    by = {plan.method: one for plan, one in outcomes.items()}
    size = units(next(iter(outcomes)).hidden)
    made = []
    if "spos" in by and "spos" in printed:
        made.append(
            Claim(
                claim=f"{size}: SPOS has at most the test error that the paper prints.",
                measured=f"{100 * by['spos'].error:.2f} % ({printed['spos']:.2f} %).",
                verdict=verdict({"": 100 * by["spos"].error <= printed["spos"] + 0.005}),
                rule="One run, rounded to two decimals like the paper's.",
            )
        )
    others = [method for method in by if method != "spos"]
    if "spos" in by and others:
        told = "; ".join(f"{LABELS[m]} {100 * by[m].error:.2f} %" for m in by)
        made.append(
            Claim(
                claim=f"{size}: SPOS errs less often than every other method.",
                measured=f"{told}. One run each: a difference of 0.1 % is ten images.",
                verdict=verdict(
                    {LABELS[m]: by["spos"].error < by[m].error for m in others}, "against "
                ),
                rule="Fewer wrong test images, whatever the difference.",
            )
        )
    many = {m: one for m, one in by.items() if m not in ALONE}
    if many:
        told = "; ".join(
            f"{LABELS[m]}: −log p {one.nll:.4f} and {one.single_nll:.4f}, entropy of turned digits "
            f"{one.entropy['turned']:.2f} and {one.single_entropy['turned']:.2f}"
            for m, one in many.items()
        )
        made.append(
            Claim(
                claim=f"{size}: the average of the networks knows better than one of them what it "
                "does not know.",
                measured=f"The average, and one alone: {told}.",
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
    return made
