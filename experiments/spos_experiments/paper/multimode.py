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

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.io.figures import FAINT, TRUTH
from spos.io.html import Table
from spos.targets import toys
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import (
    Drawing,
    Estimate,
    Findings,
    Tick,
    compiled,
    in_parallel,
    once,
)
from spos_experiments.frame.record import Claim, Record, numbers, verdict

TITLE = "Leaving a mode"
ABOUT = (
    "A density on the line with seven modes. All particles start in one of them; after the run the "
    "particles in the basin of each mode are compared with its exact mass. The paper's formula is "
    "read in two ways."
)
READINGS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "exp(−V)": toys.multimode,
    "exp(−exp V)": toys.multimode_literal,
}
METHODS = ("SPOS", "SVGD", "SGLD")


@dataclass(frozen=True)
class Settings:
    particles: int = 100
    num_steps: int = 5000
    step_size: float = 0.01
    literal_step: float = 0.001  # the walls of exp(-exp(V)) throw particles out at larger ones
    beta: float = 1.0
    start: float = -0.225
    jitter: float = 0.05  # coincident particles would not repel each other
    repeats: int = 40
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(self, particles=30, num_steps=200, repeats=4, hasty=True)

    @property
    def steps(self) -> dict[str, float]:
        return dict(zip(READINGS, (self.step_size, self.literal_step), strict=True))


class Run(NamedTuple):
    """Of all repeats: the last particles, and in each step how many are in each basin."""

    end: np.ndarray
    counts: np.ndarray


def simulate(settings: Settings, seed: int, reading: str, method: str) -> Run:
    target, h = READINGS[reading], settings.steps[reading]
    sampler = {
        "SPOS": lambda: spos.spos(target, h, settings.beta),
        "SVGD": lambda: spos.svgd(target, h),
        "SGLD": lambda: spos.sgld(target, h, settings.beta),
    }[method]()
    basins = toys.multimode_basins()
    edges = jnp.asarray([basin.left for basin in basins[1:]])

    def occupied(state: spos.State, info: spos.Info) -> jax.Array:
        return jnp.bincount(jnp.searchsorted(edges, state.particles), length=len(basins))

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        start_key, run_key = jax.random.split(key)
        noise = jax.random.normal(start_key, (settings.particles,))
        start = settings.start + settings.jitter * noise
        state, counts = spos.run(sampler, run_key, start, settings.num_steps, observe=occupied)
        return state.particles, counts

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    end, counts = compiled(jax.vmap(one), settings.hasty)(keys)
    return Run(np.asarray(end, np.float64), np.asarray(counts))


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    cases = [(reading, method) for reading in READINGS for method in METHODS]
    jobs = [functools.partial(simulate, settings, seed, *case) for case in cases]
    runs = dict(zip(cases, in_parallel(jobs, tick), strict=True))
    masses = {reading: exact_masses(reading) for reading in READINGS}
    measured = {case: _measure(found, masses[case[0]]) for case, found in runs.items()}
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


def exact_masses(reading: str) -> np.ndarray:
    """The mass of every basin, by quadrature."""
    x, density = exact_density(reading)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    inner = [basin.left for basin in toys.multimode_basins()[1:]]
    return np.diff([0.0, *np.interp(inner, x, total), total[-1]])


def exact_density(reading: str) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-5.0, 5.0, 20_001)
    density = np.exp(np.asarray(jax.vmap(READINGS[reading])(jnp.asarray(x)), np.float64))
    return x, density / np.trapezoid(density, x)


def _measure(found: Run, mass: np.ndarray) -> dict[str, Any]:
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


def _when(step: float) -> str:
    return f"{step:.0f}" if np.isfinite(step) else "never"


def draw(record: Record) -> list[Drawing]:
    found = record.numbers
    runs = {(each["reading"], each["method"]): each for each in found["runs"]}
    return [_histograms(record, runs), _by_basin(record, runs)]


def _histograms(record: Record, runs: dict[tuple[str, str], Any]) -> Drawing:
    settings = record.settings
    figure, panels = drawing.titled(
        6.0,
        f"{settings['particles']} particles that all start in one mode",
        f"where they are after {settings['num_steps']} steps: bars, {settings['repeats']} repeats "
        "together;\nticks, one of them; grey, the true density",
        rows=len(METHODS),
        columns=len(READINGS),
        sharex=True,
        sharey="col",
    )
    for column, reading in enumerate(READINGS):
        x, density = exact_density(reading)
        for row, method in enumerate(METHODS):
            axes, tint = panels[row, column], drawing.METHODS[method]
            points = np.asarray(runs[reading, method]["end"])
            axes.fill_between(x, density, color=FAINT, linewidth=0)
            axes.hist(points.ravel(), np.arange(-3, 4, 0.1), density=True, color=tint, alpha=0.7)
            axes.plot(x, density, color=TRUTH, linewidth=1.0)
            axes.plot(points[0], np.full(points.shape[1], -0.06 * density.max()), "|", color=tint)
            axes.axvline(settings["start"], color=TRUTH, linewidth=0.8, linestyle=":")
            axes.text(0.98, 0.85, method, transform=axes.transAxes, ha="right", color=tint,
                      weight="bold", size=12)  # fmt: skip
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_ylim(-0.12 * density.max(), 1.8 * density.max())
        panels[0, column].set_title(reading, fontsize=11)
        panels[-1, column].set_xlabel("θ")
        panels[-1, column].set_xlim(-3.0, 3.6)
    reached = "; ".join(
        f"{m} on {r}: {runs[r, m]['basins at the end']:.1f}" for r in READINGS for m in METHODS
    )
    return Drawing(
        "modes.png",
        figure,
        "Histograms of the last particles over the true density, for three methods and two "
        f"readings of the formula. Basins with a particle, on average: {reached}.",
        "The dotted line is where all particles start. The bars are cut off where a method piles "
        "up its particles.",
    )


def _by_basin(record: Record, runs: dict[tuple[str, str], Any]) -> Drawing:
    found, settings = record.numbers, record.settings
    modes = np.asarray(found["modes"])
    places = np.arange(len(modes))
    figure, panels = drawing.titled(
        6.0,
        "Every basin: how many, and how soon",
        "above, the share of particles at the end (black: exact mass); below, the median\nstep of "
        "the first visit (hollow: not within the run)",
        rows=2,
        columns=len(READINGS),
        sharex=True,
        sharey="row",
    )
    for column, reading in enumerate(READINGS):
        shares, times = panels[:, column]
        exact = np.asarray(found["masses"][reading])
        shares.hlines(exact, places - 0.4, places + 0.4, color=TRUTH, linewidth=2)
        for n, method in enumerate(METHODS):
            each, tint = runs[reading, method], drawing.METHODS[method]
            x = places + 0.22 * (n - 1)
            share = np.asarray(each["share"])
            shares.errorbar(
                x, np.maximum(share, 3e-4), 2 * np.asarray(each["share se"]), fmt="o", color=tint,
                markersize=5, linewidth=1.2,
            )  # fmt: skip
            reached = np.asarray([np.nan if v is None else v for v in each["reached"]])
            times.plot(x, reached, "o", color=tint, markersize=5)
            never = np.isnan(reached)
            top = np.full(never.sum(), 1.7 * settings["num_steps"])
            times.plot(x[never], top, "o", color=tint, markersize=5, mfc="white")
            shares.text(0.02 + 0.2 * n, 1.03, method, transform=shares.transAxes, color=tint,
                        weight="bold")  # fmt: skip
        shares.set_title(f"{reading}\n", fontsize=11)
        shares.set_yscale("log")
        shares.set_ylim(2e-4, 1.5)
        times.set_yscale("log")
        times.axhline(settings["num_steps"], color=drawing.GRID)
        times.set_xticks(places, [f"{mode:.1f}".replace("-", "−") for mode in modes], fontsize=9)
        times.set_xlabel("basin of the mode at θ")
        for axes in (shares, times):
            axes.grid(axis="y", color=drawing.GRID, linewidth=0.6)
    panels[0, 0].set_yticks([1e-3, 1e-2, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
    panels[0, 0].set_ylabel("share of particles")
    panels[1, 0].set_ylabel("step of the first visit")
    for axes in panels.ravel():
        axes.minorticks_off()
    return Drawing(
        "basins.png",
        figure,
        "Share of particles in each basin against its exact mass, and the median step at which a "
        "basin was first visited, for three methods and two readings of the formula.",
        "A share of zero stands at the lower edge.",
    )
