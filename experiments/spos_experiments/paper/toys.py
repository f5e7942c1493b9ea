"""`spos paper toys`: four densities in the plane, three methods, 50 and 2000 particles.

The targets are U1 to U4 of `spos.targets.toys`. Particles start as draws from N(0, I) and take the
same number of steps by SGLD, SVGD and SPOS (β = 1). How well they match is the sliced W1 distance
to exact draws, which come from a fine grid: a cell by its probability, then a point of the cell.
As many independent exact draws give the distance that no method can be expected to beat by much.

    spos paper toys
    spos paper toys --quick
"""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.diagnostics import sliced_wasserstein
from spos.io.html import Table
from spos.targets.toys import TOYS
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

TITLE = "Four densities in the plane"
ABOUT = (
    "Particles of three methods on four densities with several modes or bent ridges. The number "
    "in a panel is the sliced Wasserstein distance of its particles to exact draws: smaller is "
    "better."
)
METHODS = ("SGLD", "SVGD", "SPOS")
EXACT = "exact draws"
EDGE, CELLS = 5.0, 1000


@dataclass(frozen=True)
class Settings:
    particles: tuple[int, ...] = (50, 2000)
    repeats: tuple[int, ...] = (20, 3)  # for each number of particles
    num_steps: int = 2000
    step_size: float = 0.01
    beta: float = 1.0
    exact: int = 20_000
    directions: int = 64
    densities: tuple[str, ...] = tuple(TOYS)
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            particles=(20,),
            repeats=(2,),
            num_steps=40,
            exact=2000,
            densities=("U1", "U3"),
            hasty=True,
        )


@functools.cache
def log_densities(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the grid's cells along an axis, and the log-density in them, by (z1, z2)."""
    width = 2 * EDGE / CELLS
    axis = -EDGE + width * (np.arange(CELLS) + 0.5)
    points = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    values = jax.lax.map(TOYS[name], points, batch_size=2**16)
    return axis, np.asarray(values, np.float64).reshape(CELLS, CELLS)


def exact_draws(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    axis, values = log_densities(name)
    mass = np.exp(values - values.max()).ravel()
    total = np.cumsum(mass)
    cell = np.searchsorted(total, rng.uniform(0, total[-1], count))
    centres = np.stack([axis[cell // CELLS], axis[cell % CELLS]], axis=1)
    inside = (axis[1] - axis[0]) * rng.uniform(-0.5, 0.5, (count, 2))
    return (centres + inside).astype(np.float32)


def simulate(
    settings: Settings, seed: int, name: str, method: str, count: int, repeats: int
) -> np.ndarray:
    """The last particles of every repeat."""
    target, h = TOYS[name], settings.step_size
    sampler = {
        "SGLD": lambda: spos.sgld(target, h, settings.beta),
        "SVGD": lambda: spos.svgd(target, h),
        "SPOS": lambda: spos.spos(target, h, settings.beta),
    }[method]()

    def one(key: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (count, 2))
        state, _ = spos.run(
            sampler, run_key, start, settings.num_steps, observe=lambda state, info: None
        )
        return state.particles

    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), count), repeats)
    program = compiled(lambda keys: jax.lax.map(one, keys), settings.hasty)
    return np.asarray(program(keys))


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    rng = np.random.default_rng(seed)
    names = settings.densities
    truth = {name: exact_draws(name, settings.exact, rng) for name in names}
    sizes = dict(zip(settings.particles, settings.repeats, strict=True))
    cases = [(name, method, count) for count in sizes for name in names for method in METHODS]
    cases.sort(key=lambda case: -case[-1])
    jobs = [functools.partial(simulate, settings, seed, *case, sizes[case[-1]]) for case in cases]
    found = dict(zip(cases, in_parallel(jobs, tick), strict=True))
    for name in names:
        for count, repeats in sizes.items():
            draws = [exact_draws(name, count, rng) for _ in range(repeats)]
            found[name, EXACT, count] = np.stack(draws)

    @jax.jit
    def distance(clouds: jax.Array, exact: jax.Array) -> jax.Array:
        def one(points: jax.Array) -> jax.Array:
            return sliced_wasserstein(points, exact, num_directions=settings.directions)

        return jax.vmap(one)(clouds)  # which sorts the exact draws only once for all clouds

    off = {case: Estimate.of(distance(clouds, truth[case[0]])) for case, clouds in found.items()}
    panels = [
        {
            "density": name,
            "method": method,
            "particles": count,
            "distance": off[name, method, count].mean,
            "se": off[name, method, count].se,
            "points": np.round(clouds[0], 2) if method != EXACT else [],
        }
        for (name, method, count), clouds in found.items()
    ]
    return Findings(
        numbers={"panels": numbers(panels)},
        claims=claims(off, settings),
        table=Table(
            ("sliced W1 ± s.e.", *METHODS, EXACT),
            [
                (f"{name}, M = {count}", *(str(off[name, m, count]) for m in (*METHODS, EXACT)))
                for count in settings.particles
                for name in names
            ],
            f"Distance to {settings.exact} exact draws after {settings.num_steps} steps of "
            f"{settings.step_size:g}, over "
            + " and ".join(f"{r} repeats of {m} particles" for m, r in sizes.items())
            + ".",
        ),
    )


def claims(off: Mapping[tuple[str, str, int], Estimate], settings: Settings) -> list[Claim]:
    """The paper shows pictures and states no number; these are what the pictures suggest."""

    def against(other: str) -> Claim:
        places = [(name, count) for count in settings.particles for name in settings.densities]
        closer = {
            f"{name} with {count} particles": off[name, other, count].above(
                off[name, "SPOS", count]
            )
            for name, count in places
        }
        worse = [
            f"{name} with {count}"
            for name, count in places
            if off[name, "SPOS", count].above(off[name, other, count])
        ]
        return Claim(
            claim=f"After as many steps, SPOS matches these densities better than {other}.",
            measured=f"Distance of SPOS and of {other}: "
            + "; ".join(
                f"{name} with {count}: {off[name, 'SPOS', count]} and {off[name, other, count]}"
                for name, count in places
            )
            + f". {other} is closer for {', '.join(worse) or 'none'}.",
            verdict=verdict(closer, "run on "),
            rule="Seen for a density and a number of particles when the distance of SPOS is "
            "smaller by more than two standard errors.",
        )

    return [against("SVGD"), against("SGLD")]


def draw(record: Record) -> list[Drawing]:
    return [_grid(record, count) for count in record.settings["particles"]]


def _grid(record: Record, count: int) -> Drawing:
    """A column for each density and a row for each method, under the true densities."""
    found = {
        (each["density"], each["method"]): each
        for each in record.numbers["panels"]
        if each["particles"] == count
    }
    names = record.settings["densities"]
    many = count >= 500  # so many dots would hide the density, which they show by themselves
    rows = ("truth", *METHODS) if many else METHODS
    figure, panels = drawing.titled(
        1.62 * len(rows) + 1.15,
        f"{count} particles on densities in the plane",
        "the number is the sliced W1 distance to exact draws, "
        + ("and in the first row its value for\n" if many else "averaged over repeats;\n")
        + (f"{count} exact draws" if many else "shading: the true density"),
        rows=len(rows),
        columns=len(names),
        sharex=True,
        sharey=True,
    )
    for column, name in enumerate(names):
        _, values = log_densities(name)
        density = np.exp(values - values.max())
        for row, method in enumerate(rows):
            axes = panels[row, column]
            each = found[name, EXACT if method == "truth" else method]
            tint = drawing.METHODS.get(method, drawing.NOTE)
            if method == "truth" or not many:
                box: Any = (-EDGE, EDGE, -EDGE, EDGE)
                shown = density[::4, ::4].T
                axes.imshow(shown, extent=box, origin="lower", cmap="Greys", vmax=2.2)
            points = np.asarray(each["points"]).reshape(-1, 2)
            size = 1.2 if many else 7.0
            axes.scatter(*points.T, s=size, color=tint, alpha=0.5 if many else 0.9, linewidths=0)
            axes.text(0.97, 0.97, f"{each['distance']:.2f}", transform=axes.transAxes, ha="right",
                      va="top", fontsize=10, color=tint, weight="bold")  # fmt: skip
            axes.set(xlim=(-4.4, 4.4), ylim=(-4.4, 4.4), xticks=[], yticks=[], aspect="equal")
            for spine in axes.spines.values():
                spine.set(visible=True, color=drawing.GRID)
            if column == 0:
                axes.set_ylabel(method, color=tint, weight="bold", fontsize=12)
        panels[0, column].set_title(name, fontsize=11, loc="center")
    best = "; ".join(
        f"{m} " + ", ".join(f"{found[name, m]['distance']:.2f}" for name in names) for m in METHODS
    )
    return Drawing(
        f"toys-{count}.png",
        figure,
        f"Scatter plots of {count} particles for three methods on the densities "
        f"{', '.join(names)}. Sliced W1 distances: {best}.",
        f"After {record.settings['num_steps']} steps of {record.settings['step_size']:g} from a "
        "standard normal start; β = 1 and the median bandwidth.",
    )
