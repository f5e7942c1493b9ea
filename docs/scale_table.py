"""Table and figure of docs/scale.md: what a thousand hosts give, by the model `spos.theory.cost`.

python docs/scale_table.py
"""

from pathlib import Path
from typing import Any

import numpy as np

from spos import theory
from spos.io import figures

HOSTS = {"num_devices": 1000, "bytes_per_second": 12.5e9, "flops": 1e12, "latency": 2e-5}
NETWORK = 784 * 400 + 400 + 400 * 400 + 400 + 400 * 10 + 10
CASES = [
    # particles, numbers of a particle, group, operations of a score
    (10_000, 1_000, None, None),
    (1_000_000, 20, None, None),
    (1_000_000, 1_000, None, None),
    (100_000_000, 20, None, None),
    (100_000_000, 20, 100, None),
    (1_000, NETWORK, None, 6.0 * 100 * NETWORK),
    (100_000, NETWORK, None, 6.0 * 100 * NETWORK),
    (100_000, NETWORK, 100, 6.0 * 100 * NETWORK),
]


def lines():
    """The rows of the table in Markdown."""
    yield "| particles | numbers each | group | pairs, s | scores, s | ring, s | MB sent | hidden |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---|"
    for count, size, group, score in CASES:
        there = theory.cost(count, size, group_size=group, score_flops=score, **HOSTS)
        yield (
            f"| {count:,} | {size:,} | {group or 'all'} | {there.pairs:.2g} | {there.own:.2g} "
            f"| {there.ring + there.latency:.2g} | {there.bytes_sent / 1e6:,.0f} "
            f"| {'yes' if there.hidden else 'no'} |"
        )


PANELS = {
    "20 numbers each": (20, None),
    "1,000 numbers each": (1_000, None),
    "networks of 478,410 weights": (NETWORK, 6.0 * 100 * NETWORK),
}


def figure() -> Any:
    """Seconds of a step against the number of particles, by what takes them."""
    count = HOSTS["num_devices"]
    with figures.style():
        drawn = figures.new_figure(9.6, 3.9)
        panels = drawn.subplots(1, len(PANELS), sharey=True)
        for axes, (title, (size, score)) in zip(panels, PANELS.items(), strict=True):
            most = 9 if size < 10_000 else 6
            counts = [count * round(n / count) for n in np.logspace(3, most, 25)]
            all_of = [_cost(n, size, None, score) for n in counts]
            groups = [_cost(n, size, 100, score) for n in counts]
            computed = [c.pairs + c.own for c in all_of]
            sent = [c.ring + c.latency for c in all_of]
            axes.fill_between(
                counts, sent, computed, where=np.less(sent, computed), color="#e3eef6", linewidth=0
            )
            axes.loglog(counts, computed, color=figures.COLOURS["spos"])
            axes.loglog(counts, sent, color=figures.COLOURS["svgd"])
            axes.loglog(
                counts, [c.pairs + c.own for c in groups], color=figures.COLOURS["sgld"], ls="--"
            )
            axes.set(title=title, xlabel="particles", ylim=(1e-6, 1e6))
            axes.title.set_fontsize(11)
        for place, text, tint in (
            ((2e3, 1e3), "computing,\nall interact", "spos"),
            ((2e3, 4e-1), "sending", "svgd"),
            ((2e6, 2.5e-6), "computing,\ngroups of 100", "sgld"),
        ):
            panels[0].text(*place, text, color=figures.COLOURS[tint], fontsize=9)
        panels[1].text(2e3, 1e3, "shaded: the ring\nis hidden", fontsize=9, color=figures.NOTE)
        panels[0].set_ylabel("seconds of a step")
        drawn.suptitle("A model, not a measurement: one step on 1,000 hosts", x=0.01, ha="left")
    return drawn


def _cost(count: int, size: int, group: int | None, score: float | None) -> theory.Cost:
    return theory.cost(count, size, group_size=group, score_flops=score, **HOSTS)


if __name__ == "__main__":
    print("\n".join(lines()))
    figures.save(figure(), Path(__file__).parent / "images" / "scale.png")
