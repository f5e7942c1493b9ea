"""`spos paper multimode`: who leaves the mode where all particles start?

    V(θ) = ¾ θ² - 1.5 Σ_i c_i sin(¼ π i (θ + 4)),        i = 1 … 10

read in two ways. The paper prints the density exp(-exp(V)), but its own figure shows the seven
sharp modes of exp(-V); both are run, by the names `exp(-V)` and `exp(-exp(V))`. Taking an
exponential keeps the order of heights, so that both have the same modes and the same basins (the
intervals between the minima of the density) with other masses, which quadrature gives exactly.

M particles start within a few hundredths of the mode at -0.225 and move by SPOS, SVGD or SGLD. In
every step the particles of each basin are counted. The walls of exp(-exp(V)) are so steep that
Euler steps of 0.01 throw particles out of all bounds; it has its own smaller step.

    spos paper multimode
    spos paper multimode --quick
"""

import functools

import numpy as np

from spos.io.html import Table
from spos.targets import toys
from spos_experiments.frame.experiment import Findings, Tick, in_parallel, once
from spos_experiments.frame.record import numbers
from spos_experiments.paper.multimode.figures import draw
from spos_experiments.paper.multimode.findings import claims, measure
from spos_experiments.paper.multimode.protocol import exact_masses, simulate
from spos_experiments.paper.multimode.settings import METHODS, READINGS, Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Leaving a mode"
ABOUT = (
    "A density on the line with seven modes. All particles start in one of them; after the run the "
    "particles in the basin of each mode are compared with its exact mass. The paper's formula is "
    "read in two ways."
)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    cases = [(reading, method) for reading in READINGS for method in METHODS]
    jobs = [functools.partial(simulate, settings, seed, *case) for case in cases]
    runs = dict(zip(cases, in_parallel(jobs, tick), strict=True))
    masses = {reading: exact_masses(reading) for reading in READINGS}
    measured = {case: measure(found, masses[case[0]]) for case, found in runs.items()}
    basins = toys.multimode_basins()
    rng = np.random.default_rng(seed)
    chance = {}  # how far off as many independent exact draws are
    for reading, mass in masses.items():
        draws = rng.multinomial(settings.particles, mass, size=1000) / settings.particles
        chance[reading] = float(0.5 * np.abs(draws - mass).sum(axis=1).mean())
    rows = [
        (
            f"{reading}, {b.mode:.3f}",
            f"{100 * masses[reading][n]:.1f}",
            *(f"{100 * measured[reading, method]['share'][n]:.1f}" for method in METHODS),
            *(_when(measured[reading, method]["reached"][n]) for method in METHODS),
        )
        for reading in READINGS
        for n, b in enumerate(basins)
    ]
    return Findings(
        numbers={
            "modes": numbers([basin.mode for basin in basins]),
            "edges": numbers([basin.left for basin in basins[1:]]),
            "masses": numbers(masses),
            "off by, independent draws": numbers(chance),
            "runs": [
                {
                    "reading": reading,
                    "method": method,
                    **numbers(measured[reading, method]),
                    "end": numbers(np.round(found.end, 3)),
                }
                for (reading, method), found in runs.items()
            ],
        },
        claims=claims(runs, measured, masses, chance, settings),
        table=Table(
            (
                "density, mode",
                "exact %",
                *(f"{m} %" for m in METHODS),
                *(f"{m} step" for m in METHODS),
            ),
            rows,
            f"Particles by basin after {settings.num_steps} steps, and the median step at which "
            f"the first of {settings.particles} particles reached it; {settings.repeats} repeats.",
        ),
    )


def _when(step: float) -> str:
    return f"{step:.0f}" if np.isfinite(step) else "never"
