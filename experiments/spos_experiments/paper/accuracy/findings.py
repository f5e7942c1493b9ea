"""What the runs of `spos paper accuracy` say, finished or not."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.experiment import CLEAR, Estimate, Findings
from spos_experiments.frame.record import HOLDS, NOT_SEEN, Claim, numbers, verdict
from spos_experiments.paper.accuracy.calibration import uniformity
from spos_experiments.paper.accuracy.methods import DEFAULT, OURS
from spos_experiments.paper.accuracy.models import TRAPS
from spos_experiments.paper.accuracy.reference import Reference
from spos_experiments.paper.accuracy.sampled import Outcome
from spos_experiments.paper.accuracy.settings import Settings

MEAN_BAND, SD_BAND = 0.10, 0.10
UNKNOWN = SD_BAND / 4  # an sd that its reference knows no better is judged by the central width
SHARE = 46 / 49  # of the models that must be right
HALF = 0.5  # of a rival's time, in the median
CHANCE = 0.01  # below it ranks are not uniform
LABELS = {
    "sgld": "Automatic",
    "spos": "Automatic, with kernel",
    "svgd": "SVGD, ensemble",
    "blackjax": "BlackJAX SVGD",
    "nuts": "NUTS, NumPyro",
    "nutpie": "NUTS, nutpie",
    "laps": "LAPS, BlackJAX",
    "meads": "MEADS, BlackJAX",
    "chees": "ChEES-HMC, BlackJAX",
    "mclmc": "Adjusted MCLMC, BlackJAX",
}


class Found(NamedTuple):
    """What has ended."""

    references: dict[str, Reference]
    outcomes: dict[tuple[str, str], Outcome]
    ranks: dict[str, np.ndarray]


def findings(settings: Settings, found: Found) -> Findings:
    rows = [
        row(model, method, found.references[model], outcome)
        for (model, method), outcome in found.outcomes.items()
    ]
    calibrations = []
    for name, ranks in found.ranks.items():
        counts, chance = uniformity(ranks, settings.particles)
        calibrations.append({"model": name, "counts": counts, "chance": chance})
    ended = {name for name, _ in found.outcomes}
    missing = [name for name in settings.models if name not in ended]
    references = [
        {"model": name, "parameters": len(each.names), "exact": each.exact, "weak": each.weak,
         "ess": each.ess, "r_hat": each.r_hat, "divergences": each.divergences,
         "leapfrogs": each.leapfrogs}
        for name, each in found.references.items()
    ]  # fmt: skip
    return Findings(
        numbers=numbers(
            {
                "rows": rows,
                "references": references,
                "calibrations": calibrations,
                "missing": missing,
            }
        ),
        claims=claims(rows, references, calibrations),
        table=Table(
            (
                *("model, method", "worst |Δmean|/sd", "worst |log sd ratio|"),
                *("gradients", "processor s", "with compilation", "says converged"),
            ),
            [shown(each) for each in rows],
            "Worst over all constrained parameters and over "
            f"{settings.repeats} seeds. Seconds are those of the last seed, and of the first."
            + (f" {len(missing)} models are not done yet." if missing else ""),
        ),
    )


def accuracy_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows of a record in one line a method, as Markdown, for `docs/automatic.md`."""
    headings = (
        *("method", "models right", "wrong, but called converged", "gave up"),
        *("gradients, median", "processor seconds, median", "with compilation", "/ `fit`'s"),
    )
    ours = {each["model"]: each["processor_first"] for each in rows if each["method"] == DEFAULT}
    lines = []
    for method, label in LABELS.items():
        own = [each for each in rows if each["method"] == method]
        if not own:
            continue
        ended = [each for each in own if not each["failure"]]
        says = any(word is not None for each in ended for word in each["converged"])
        pairs = [(each["processor_first"], ours.get(each["model"])) for each in ended]
        ratios = [{"ratio": one / other} for one, other in pairs if one and other]
        lines.append(
            (
                label,
                f"{sum(all(each['right']) for each in own)} of {len(own)}",
                str(sum(map(misled, own))) if says else "does not say",
                str(len(own) - len(ended)),
                _median(ended, "evaluations", "{:,.0f}"),
                *(_median(ended, name, "{:.2g}") for name in TIMES),
                _median(ratios, "ratio", "{:.2g}"),
            )
        )
    return Table(headings, lines).markdown()


def misled(each: Mapping[str, Any]) -> bool:
    """Some seed is wrong, and calls itself converged."""
    both = zip(each["right"], each["converged"], strict=True)
    return any(said and not right for right, said in both)


def _median(rows: Sequence[Mapping[str, Any]], name: str, form: str) -> str:
    known = [each[name] for each in rows if each[name] is not None]
    return form.format(np.median(known)) if known else "not measured"


def row(model: str, method: str, reference: Reference, outcome: Outcome) -> dict[str, Any]:
    """The errors of a method on a model; the worst and the mean are over parameters."""
    varies = reference.sd > 0  # the first row of a Cholesky factor does not
    true_sd = np.where(varies, reference.sd, 1.0)
    shift = (np.abs(outcome.mean - reference.mean) / true_sd)[:, varies]
    with np.errstate(divide="ignore"):
        stretch = np.abs(np.log(outcome.sd / true_sd))
        error, width = reference.sd_error, reference.width
        if error is not None and width is not None and outcome.width is not None:
            widths = np.abs(np.log(outcome.width / np.where(varies, width, 1.0)))
            stretch = np.where(error > UNKNOWN, widths, stretch)
        stretch = stretch[:, varies]
    errors = [np.where(np.isnan(each), np.inf, each) for each in (shift, stretch)]
    worst = [error.max(axis=1) for error in errors]
    right = (worst[0] <= MEAN_BAND) & (worst[1] <= np.log1p(SD_BAND))
    return {
        "model": model,
        "method": method,
        "weak": reference.weak,
        "worst_mean": float(worst[0].max()),
        "worst_sd": float(worst[1].max()),
        "mean_mean": float(errors[0].mean()),
        "mean_sd": float(errors[1].mean()),
        "right": right.tolist(),
        "converged": outcome.converged,
        "reasons": outcome.reasons,
        "evaluations": float(np.mean(outcome.evaluations)),
        "processor": None if outcome.processor is None else float(outcome.processor[-1]),
        "processor_first": None if outcome.processor is None else float(outcome.processor[0]),
        "failure": outcome.failure,
    }


def shown(each: dict[str, Any]) -> tuple[str, ...]:
    said = {None: "does not say", True: "yes", False: "no"}
    return (
        f"{each['model']}, {LABELS[each['method']]}",
        *(f"{each[name]:.3f}" for name in ("worst_mean", "worst_sd")),
        f"{each['evaluations']:.3g}",
        *(
            "not measured" if each[name] is None else f"{each[name]:.3g}"
            for name in ("processor", "processor_first")
        ),
        ", ".join(dict.fromkeys(said[word] for word in each["converged"])),
    )


def claims(rows: Sequence[Any], references: Sequence[Any], calibrations: Sequence[Any]):
    """Only what has been run is judged."""
    by = {(each["model"], each["method"]): each for each in rows}
    made = [
        *(_accurate(by, references, method) for method in OURS),
        _warned(by),
        _kernel(by),
        *(_fast(by, rival, name) for rival in ("nuts", "nutpie") for name in TIMES),
    ]
    if calibrations:
        made.append(
            Claim(
                claim="Ranks of the truth among the draws of an automatic run are uniform.",
                measured="How often chance alone is as uneven: "
                + "; ".join(f"{c['model']} {c['chance']:.2g}" for c in calibrations)
                + f", with {sum(calibrations[0]['counts'])} simulations each.",
                verdict=verdict({c["model"]: c["chance"] > CHANCE for c in calibrations}),
                rule=f"χ² over bins of ranks, above {CHANCE}.",
            )
        )
    return [each for each in made if each is not None]


TIMES = {  # what they are called, and how many times a rival's on any model
    "processor": ("without compilation", 2.0),
    "processor_first": ("with compilation", 1.5),
}


def _accurate(by: dict[Any, Any], references: Sequence[Any], method: str) -> Claim | None:
    judged = {m: e for (m, n), e in by.items() if n == method and m not in TRAPS}
    if not judged:
        return None
    runs = [
        (model, right, said)
        for model, each in judged.items()
        for right, said in zip(each["right"], each["converged"], strict=True)
    ]
    wrong = {model for model, right, _ in runs if not right}
    silent = {model for model, right, said in runs if not right and said}
    weak = [each["model"] for each in references if each["weak"] and each["model"] in judged]
    enough = len(judged) - len(wrong) >= SHARE * len(judged)
    return Claim(
        claim=f"{LABELS[method]} is right, untuned, on 46 of 49 models, or as large a share, and "
        "says so where it is not.",
        measured=f"Right with every seed on {len(judged) - len(wrong)} of {len(judged)} models. "
        f"Not right: {', '.join(sorted(wrong)) or 'none'}; of these it calls converged: "
        f"{', '.join(sorted(silent)) or 'none'}. Weak references: {', '.join(weak) or 'none'}.",
        verdict=HOLDS if enough and not silent else NOT_SEEN,
        rule=f"Right: every mean within {MEAN_BAND} sd and every sd within {SD_BAND:.0%}; where "
        "not even exact draws know the sd, the width of the central 80%.",
    )


def _warned(by: dict[Any, Any]) -> Claim | None:
    said = {
        m: [
            "right" if right else "wrong, called converged" if word else "wrong, warned"
            for right, word in zip(
                by[m, DEFAULT]["right"], by[m, DEFAULT]["converged"], strict=True
            )
        ]
        for m in TRAPS
        if (m, DEFAULT) in by
    }
    if not said:
        return None
    return Claim(
        claim="The automatic recipe falls into no trap: where it is wrong, it says so.",
        measured="; ".join(
            f"{model}: {' and '.join(words)}, "
            f"worst |Δmean|/sd {by[model, DEFAULT]['worst_mean']:.2f}"
            for model, words in said.items()
        )
        + ".",
        verdict=verdict({m: "wrong, called converged" not in words for m, words in said.items()}),
        rule="No seed calls a wrong answer converged.",
    )


def _kernel(by: dict[Any, Any]) -> Claim | None:
    """Pairs of runs that differ by the kernel alone."""
    pairs = [
        (by[m, "spos"], by[m, "sgld"])
        for m, n in by
        if n == "spos" and (m, "sgld") in by and m not in TRAPS
    ]
    if len(pairs) < 2:
        return None

    def ratio(name: str) -> Estimate:
        return Estimate.of([np.log(a[name] / b[name]) for a, b in pairs])

    found = {"mean_mean": "errors of means", "mean_sd": "errors of sds", "evaluations": "gradients"}
    ratios = {word: ratio(name) for name, word in found.items()}
    return Claim(
        claim="The kernel term makes the automatic recipe more accurate or cheaper.",
        measured=f"Log ratios with and without it, mean ± s.e. over {len(pairs)} models: "
        + "; ".join(f"{word} {value}" for word, value in ratios.items())
        + ".",
        verdict=verdict(
            {word: value.mean < -CLEAR * value.se for word, value in ratios.items()}, "judged by "
        ),
        rule="A log ratio below zero by more than two standard errors, over models, paired.",
    )


def _fast(by: dict[Any, Any], rival: str, name: str) -> Claim | None:
    word, most = TIMES[name]
    ratios = {
        m: each[name] / by[m, rival][name]
        for (m, n), each in by.items()
        if n == DEFAULT and (m, rival) in by and all(each["right"]) and all(by[m, rival]["right"])
        if each[name] is not None and by[m, rival][name] is not None
    }
    if not ratios:
        return None
    values = np.asarray(list(ratios.values()))
    slow = {model: value for model, value in ratios.items() if value > most}
    return Claim(
        claim=f"An automatic run takes half of the processor time of {LABELS[rival]}, {word}.",
        measured=f"Times that of {LABELS[rival]}, on {len(values)} models where both are right: "
        f"median {np.median(values):.2g}, from {values.min():.2g} to {values.max():.2g}. "
        f"Above {most:g}: {', '.join(f'{m} ({v:.2g})' for m, v in slow.items()) or 'none'}.",
        verdict=verdict(
            {"in the median": bool(np.median(values) <= HALF), "on every model": not slow},
            "judged ",
        ),
        rule=f"At most {HALF:g} times in the median, and at most {most:g} times on any model.",
    )
