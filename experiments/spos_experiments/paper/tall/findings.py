"""What `spos paper tall` found, and its figure."""

from collections.abc import Sequence
from typing import Any

from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing, Findings
from spos_experiments.frame.record import HOLDS, NOT_SEEN, Claim, Record, numbers, verdict
from spos_experiments.paper.tall.settings import Settings

MEAN_BAND, SD_BAND, TENTH = 0.1, 0.1, 0.1


def findings(found: dict[str, list[dict[str, Any]]], settings: Settings) -> Findings:
    rows = [each for several in found.values() for each in several]
    return Findings(
        numbers=numbers({"rows": rows}),
        claims=claims(rows),
        table=Table(
            (
                *("posterior", "rows", "worst error of a mean, sd", "of an sd"),
                *("passes over all rows", "of chains as precise", "says converged"),
            ),
            [
                (
                    *(each["problem"], f"{each['rows']:,}"),
                    *(f"{each[name]:.3f}" for name in ("worst_mean", "worst_sd")),
                    *(f"{each['passes']:,}", f"{each['chain_passes']:,.0f}"),
                    "yes" if each["converged"] else "no",
                )
                for each in rows
            ],
            f"Minibatches of {settings.batch_size} rows, {settings.particles} particles, a line a "
            "seed. A pass is as many gradients of single rows as there are rows.",
        ),
    )


def claims(rows: Sequence[dict[str, Any]]) -> list[Claim]:
    """By rules that were fixed before the run."""
    names = list(dict.fromkeys(each["problem"] for each in rows))
    own = {name: [each for each in rows if each["problem"] == name] for name in names}

    def right(each: dict[str, Any]) -> bool:
        return bool(each["worst_mean"] <= MEAN_BAND and each["worst_sd"] <= SD_BAND)

    silent = [each["problem"] for each in rows if each["converged"] and not right(each)]
    return [
        Claim(
            claim="A fit with minibatches is right, without settings.",
            measured="; ".join(
                f"{e['problem']}: a mean is off by {e['worst_mean']:.3f} sd at most, an sd by "
                f"{e['worst_sd']:.1%}"
                for e in rows
            )
            + ".",
            verdict=verdict({n: all(map(right, own[n])) for n in names}, "run on "),
            rule=f"Every mean within {MEAN_BAND} sd, every sd within {SD_BAND:.0%}, all seeds.",
        ),
        Claim(
            claim="It takes a tenth of the gradients of rows of exact chains on all the data.",
            measured="; ".join(
                f"{e['problem']}: {e['share']:.2g} ({e['passes']:,} passes over the rows, "
                f"beside {e['chain_passes']:,.0f})"
                for e in rows
            )
            + ".",
            verdict=verdict(
                {n: all(e["share"] <= TENTH for e in own[n]) for n in names}, "run on "
            ),
            rule=f"At most {TENTH} of those that Langevin chains in these coordinates take for the "
            "same Monte-Carlo error of means; the fit's include its search for the mode.",
        ),
        Claim(
            claim="Where a fit with minibatches is wrong, it says so.",
            measured=f"Wrong and called converged: {', '.join(silent) or 'none'}.",
            verdict=NOT_SEEN if silent else HOLDS,
            rule="No seed calls a wrong answer converged.",
        ),
    ]


def draw(record: Record) -> list[Drawing]:
    rows = record.numbers["rows"]
    figure, panels = drawing.titled(
        2.6, "Tall data", "every seed; the band is what counts as right", columns=3, sharey=True
    )
    names = list(dict.fromkeys(each["problem"] for each in rows))
    words = {
        "worst_mean": ("|Δmean| / sd", MEAN_BAND),
        "worst_sd": ("|sd ratio - 1|", SD_BAND),
        "share": ("share of gradients", TENTH),
    }
    for axes, (name, (word, band)) in zip(panels, words.items(), strict=True):
        axes.axvspan(0, band, color="#EAF3EA", lw=0, zorder=0)
        values = [each[name] for each in rows]
        axes.plot(values, [-names.index(each["problem"]) for each in rows], "o", ms=6, alpha=0.7)
        axes.set_xlim(0, 1.15 * max(*values, band))
        axes.set_ylim(0.5 - len(names), 0.5)
        axes.set_xlabel(word)
    panels[0].set_yticks([-place for place in range(len(names))], names)
    told = [" ".join([e["problem"], *(f"{e[name]:.3f}" for name in words)]) for e in rows]
    alt = f"Worst errors and share of gradients: {'; '.join(told)}."
    return [Drawing("tall.png", figure, alt, "A dot is a seed; gradients are of single rows.")]
