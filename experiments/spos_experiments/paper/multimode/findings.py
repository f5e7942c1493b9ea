"""What the counts by basin say."""

from collections.abc import Callable
from typing import Any

import numpy as np

from spos.targets import toys
from spos_experiments.frame.experiment import Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.multimode.protocol import Run
from spos_experiments.paper.multimode.settings import METHODS, READINGS, Settings


def measure(found: Run, mass: np.ndarray) -> dict[str, Any]:
    shares = found.counts[:, -1] / found.counts[:, -1].sum(axis=1, keepdims=True)
    seen = found.counts > 0
    # the step of the first visit; a repeat without one counts as infinitely late
    first = np.where(seen.any(axis=1), seen.argmax(axis=1) + 1.0, np.inf)
    off = Estimate.of(0.5 * np.abs(shares - mass).sum(axis=1))
    return {
        "share": shares.mean(axis=0),
        "share se": shares.std(axis=0, ddof=1) / np.sqrt(len(shares)),
        "reached": np.median(first, axis=0),
        "off": off.mean,
        "off se": off.se,
        "basins at the end": float((shares > 0).sum(axis=1).mean()),
    }


def claims(
    runs: dict[tuple[str, str], Run],
    measured: dict[tuple[str, str], dict[str, Any]],
    masses: dict[str, np.ndarray],
    chance: dict[str, float],
    settings: Settings,
) -> list[Claim]:
    count, total = settings.particles, len(toys.multimode_basins())
    home = int(toys.count_by_basin([settings.start], toys.multimode_basins()).argmax())
    trapped, left, everywhere = {}, {}, {}
    for reading in READINGS:
        ends = {method: runs[reading, method].counts[:, -1] for method in METHODS}
        trapped[reading] = float(np.mean(ends["SVGD"][:, home] == count))
        left[reading] = float(np.mean((ends["SPOS"] > 0).sum(axis=1) > 1))
        due = masses[reading] * count >= 1
        everywhere[reading] = float(np.mean((ends["SPOS"][:, due] > 0).all(axis=1)))
    basins = {
        case: f"{found['basins at the end']:.1f} of {total}" for case, found in measured.items()
    }

    def all_methods(text: Callable[[str, str], str]) -> str:
        return "; ".join(
            f"{reading}: " + ", ".join(f"{m} {text(reading, m)}" for m in METHODS)
            for reading in READINGS
        )

    return [
        Claim(
            claim="SVGD's particles all stay trapped in the mode where they start.",
            measured="Repeats in which every particle was in its starting basin at the end: "
            + "; ".join(f"{r}: {share:.0%}" for r, share in trapped.items())
            + ".",
            verdict=verdict({f"the density is {r}": s > 0.5 for r, s in trapped.items()}),
            rule="Seen for a density when it is so in more than half of the repeats.",
        ),
        Claim(
            claim="SPOS's particles reach other modes.",
            measured="Basins with a particle at the end, on average: "
            + all_methods(lambda r, m: basins[r, m])
            + ".",
            verdict=verdict({f"the density is {r}": s > 0.5 for r, s in left.items()}),
            rule="Seen for a density when, in more than half of the repeats, at least two basins "
            "hold a particle of SPOS at the end.",
        ),
        Claim(
            claim="SPOS's particles spread over all the modes.",
            measured=f"Repeats in which every basin that should hold one of {count} particles or "
            "more holds one: " + "; ".join(f"{r}: {s:.0%}" for r, s in everywhere.items())
            + ". Particles in the wrong basin, on average: "
            + all_methods(lambda r, m: f"{measured[r, m]['off']:.1%}")
            + " (independent exact draws: "
            + "; ".join(f"{r}: {share:.1%}" for r, share in chance.items())
            + ").",
            verdict=verdict({f"the density is {r}": s > 0.5 for r, s in everywhere.items()}),
            rule="Seen for a density when it is so in more than half of the repeats.",
        ),
    ]  # fmt: skip
