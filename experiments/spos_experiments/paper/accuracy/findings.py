"""What the runs of `spos paper accuracy` say, finished or not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.experiment import CLEAR, Estimate, Findings
from spos_experiments.frame.record import HOLDS, NOT_SEEN, Claim, Record, numbers, verdict
from spos_experiments.paper.accuracy.calibration import uniformity
from spos_experiments.paper.accuracy.methods import DEFAULT, OURS, Outcome
from spos_experiments.paper.accuracy.models import TRAPS
from spos_experiments.paper.accuracy.reference import Reference
from spos_experiments.paper.accuracy.settings import Settings

MEAN_BAND, SD_BAND = 0.10, 0.10
SHARE = 0.9  # of the models that must be right
SLOWER = 3.0  # times the time of NUTS
CHANCE = 0.01  # below it ranks are not uniform
LABELS = {
    "sgld": "Automatic",
    "spos": "Automatic, with kernel",
    "svgd": "SVGD, ensemble",
    "blackjax": "BlackJAX SVGD",
    "nuts": "NUTS",
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


def accuracy_table(record: Record) -> str:
    """A record in one line a method, as Markdown, for `docs/automatic.md`."""
    rows = record.numbers["rows"]
    nuts = {each["model"]: each["evaluations"] for each in rows if each["method"] == "nuts"}
    headings = (
        *("method", "models right", "wrong, but called converged", "gradients, median"),
        *("gradients / NUTS's, median", "largest"),
    )
    lines = []
    for method, label in LABELS.items():
        own = [each for each in rows if each["method"] == method]
        if not own:
            continue
        misled = sum(
            any(said and not right for right, said in zip(e["right"], e["converged"], strict=True))
            for e in own
        )
        says = own[0]["converged"][0] is not None
        both = [each for each in own if each["model"] in nuts]
        ratios = [each["evaluations"] / nuts[each["model"]] for each in both] or [np.nan]
        lines.append(
            (
                label,
                f"{sum(all(each['right']) for each in own)} of {len(own)}",
                str(misled) if says else "does not say",
                f"{np.median([each['evaluations'] for each in own]):,.0f}",
                *(f"{np.median(ratios):.2g}", f"{np.max(ratios):.2g}"),
            )
        )
    return Table(headings, lines).markdown()


def row(model: str, method: str, reference: Reference, outcome: Outcome) -> dict[str, Any]:
    """The errors of a method on a model; the worst and the mean are over parameters."""
    shift = np.abs(outcome.mean - reference.mean) / reference.sd
    with np.errstate(divide="ignore"):
        stretch = np.abs(np.log(outcome.sd / reference.sd))
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
        *(_fast(by, name, word) for name, word in _TIMES.items()),
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


_TIMES = {"processor": "without compilation", "processor_first": "with compilation"}


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
        claim=f"{LABELS[method]} is right, untuned, on nine of ten models, and says so "
        "where it is not.",
        measured=f"Right with every seed on {len(judged) - len(wrong)} of {len(judged)} models. "
        f"Not right: {', '.join(sorted(wrong)) or 'none'}; of these it calls converged: "
        f"{', '.join(sorted(silent)) or 'none'}. Weak references: {', '.join(weak) or 'none'}.",
        verdict=HOLDS if enough and not silent else NOT_SEEN,
        rule=f"Right: every mean within {MEAN_BAND} sd and every sd within {SD_BAND:.0%}.",
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


def _fast(by: dict[Any, Any], name: str, word: str) -> Claim | None:
    ratios = {
        m: each[name] / by[m, "nuts"][name]
        for (m, n), each in by.items()
        if n == DEFAULT and (m, "nuts") in by and m not in TRAPS
        if each[name] is not None and by[m, "nuts"][name] is not None
    }
    if not ratios:
        return None
    values = np.asarray(list(ratios.values()))
    slow = [model for model, value in ratios.items() if value > SLOWER]
    return Claim(
        claim=f"An automatic run takes at most three times the processor time of NUTS, {word}.",
        measured=f"Times the processor time of NUTS: median {np.median(values):.2g}, from "
        f"{values.min():.2g} to {values.max():.2g}. Slower: {', '.join(slow) or 'none'}.",
        verdict=verdict({model: value <= SLOWER for model, value in ratios.items()}, "run on "),
        rule=f"At most {SLOWER:g} times that of NumPyro's NUTS with its default lengths.",
    )
