"""`spos paper methods`: all methods on four targets, at equal numbers of gradients.

    Gaussian   5 dimensions, covariance 0.9^|i - j|, from a cloud that is off by 2
    banana     θ1 ~ N(0, 1), θ2 | θ1 ~ N(θ1² - 1, ½²): a bent ridge
    wide       N(0, I) in 100 dimensions with 50 particles: does the cloud keep its variance?
    modes      five Gaussians of width ½ on a circle of radius 2.5, from a cloud around one of them

Every method takes the same number of steps with the same number of particles. Its step size comes
from one grid for all, by the least KSD of the last cloud over a few seeds: no truth has a part in
the choice. The runs that are shown have other seeds and are made by `spos.compare`.

A mode counts as found when it holds at least a quarter of the particles due to it. Kernels with a
fixed bandwidth have η² = d, the number of dimensions they see: those of noisy SVGD and of the KSD,
and with d = 1 the blocks of SVGD, whose medians for each of 100 coordinates would take long.

    spos paper methods
    spos paper methods --quick
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.diagnostics.compare import EXACT, Row
from spos.diagnostics.stein import ksd
from spos.io.figures import TRUTH
from spos.io.html import Table
from spos.targets.analytic import gaussian
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing, Estimate, Findings, Tick, once
from spos_experiments.frame.record import Claim, Record, numbers, verdict

TITLE = "Which method when"
ABOUT = (
    "Every method of the library on four targets with known answers, with the same number of "
    "particles, steps and gradients, and with step sizes chosen alike, without the truth."
)
BLOCKS = "svgd, blocks"
METHODS: dict[str, Callable[[Any, Any, int], spos.Sampler]] = {
    "sgld": lambda target, h, d: spos.sgld(target, h),
    "psgld": lambda target, h, d: spos.psgld(target, h),
    "sghmc": lambda target, h, d: spos.sghmc(target, h),
    "spos": lambda target, h, d: spos.spos(target, h),
    "noisy_svgd": lambda target, h, d: spos.noisy_svgd(target, h, kernel=spos.rbf(float(d))),
    "svgd": lambda target, h, d: spos.svgd(target, h),
    "svgd, imq": lambda target, h, d: spos.svgd(target, h, kernel=spos.imq()),
    BLOCKS: lambda target, h, d: spos.svgd(target, h, kernel=spos.rbf(1.0, blocks="entry")),
    "blob": lambda target, h, d: spos.blob(target, h),
    "gfsd": lambda target, h, d: spos.gfsd(target, h),
    "gfsf": lambda target, h, d: spos.gfsf(target, h),
    "pos": lambda target, h, d: spos.pos(target, h),
}
NOISY = ("sgld", "psgld", "sghmc", "spos", "noisy_svgd")
MODES, RADIUS, WIDTH = 5, 2.5, 0.5
BANANA_WIDTH = 0.5


@dataclass(frozen=True)
class Settings:
    problems: tuple[str, ...] = ("Gaussian", "banana", "wide", "modes")
    methods: tuple[str, ...] = tuple(METHODS)
    grid: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    particles: int = 50
    wide_dimensions: int = 100
    num_steps: int = 1000
    repeats: int = 8
    choice_repeats: int = 2
    draws: int = 2000

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            problems=("modes",),
            methods=("sgld", "svgd"),
            grid=(0.03,),
            particles=20,
            num_steps=64,
            repeats=2,
            draws=200,
        )


class Problem(NamedTuple):
    """A target, where particles start, its exact moments, and exact draws."""

    target: Callable[[jax.Array], jax.Array]
    start: Callable[[jax.Array], jax.Array]
    mean: np.ndarray
    covariance: np.ndarray
    draws: np.ndarray


def problem(name: str, settings: Settings, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    count, draws = settings.particles, settings.draws
    if name == "banana":
        first = rng.normal(size=draws)
        second = first**2 - 1 + BANANA_WIDTH * rng.normal(size=draws)
        covariance = np.diag([1.0, 2.0 + BANANA_WIDTH**2])
        return _problem(_banana, 0.0, 1.0, count, np.zeros(2), covariance, [first, second])
    if name == "modes":
        spots = centres()
        points = spots[rng.integers(MODES, size=draws)] + WIDTH * rng.normal(size=(draws, 2))
        covariance = (WIDTH**2 + RADIUS**2 / 2) * np.eye(2)
        return _problem(_modes, spots[0], WIDTH, count, np.zeros(2), covariance, points.T)
    if name == "wide":
        size, off = settings.wide_dimensions, 0.0
        covariance = np.eye(size)
    else:
        places = np.arange(5)
        size, off = 5, 2.0
        covariance = 0.9 ** np.abs(places[:, None] - places)
    points = rng.normal(size=(draws, size)) @ np.linalg.cholesky(covariance).T
    target = gaussian(np.zeros(size), covariance)
    return _problem(target, off, 1.0, count, np.zeros(size), covariance, points.T)


def _problem(target, centre, width, count, mean, covariance, columns) -> Problem:
    draws = np.stack(columns, axis=1).astype(np.float32)

    def start(key: jax.Array) -> jax.Array:
        return jnp.asarray(centre) + width * jax.random.normal(key, (count, len(mean)))

    return Problem(target, start, mean, covariance, draws)


def _banana(theta: jax.Array) -> jax.Array:
    above = theta[1] - theta[0] ** 2 + 1.0
    return -0.5 * theta[0] ** 2 - 0.5 * (above / BANANA_WIDTH) ** 2


def centres() -> np.ndarray:
    angle = 2 * np.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _modes(theta: jax.Array) -> jax.Array:
    sq = jnp.sum((theta - jnp.asarray(centres(), theta.dtype)) ** 2, axis=1)
    return jax.nn.logsumexp(-0.5 * sq / WIDTH**2)


def step_discrepancies(settings: Settings, seed: int, name: str, method: str) -> list[float]:
    """The mean KSD of the last cloud for every step size of the grid; infinite if one diverges."""
    case = problem(name, settings, seed)
    size = len(case.mean)
    kernel = spos.imq(float(size))

    def one(h: jax.Array, key: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        sampler = METHODS[method](case.target, h, size)
        state, _ = spos.run(
            sampler, run_key, case.start(start_key), settings.num_steps, observe=lambda *_: None
        )
        return jnp.sqrt(jnp.maximum(ksd(case.target, state.particles, kernel), 0.0))

    keys = jax.random.split(jax.random.key(seed + 1), settings.choice_repeats)
    both = jax.jit(jax.vmap(jax.vmap(one, (None, 0)), (0, None)))
    found = np.asarray(both(jnp.asarray(settings.grid), keys), np.float64).mean(axis=1)
    return [float(value) for value in np.where(np.isfinite(found), found, np.inf)]


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    cases = [(name, method) for name in settings.problems for method in settings.methods]
    total = len(cases) + len(settings.problems)
    chosen: dict[tuple[str, str], float] = dict.fromkeys(cases, settings.grid[0])
    tried: dict[tuple[str, str], list[float]] = {}
    if len(settings.grid) > 1:
        # one after another: two programs with factorisations at a time have been seen to hang
        for pair in cases:
            tick(len(tried), total)
            tried[pair] = step_discrepancies(settings, seed, *pair)
        chosen = {pair: settings.grid[int(np.argmin(found))] for pair, found in tried.items()}
    results = []
    for done, name in enumerate(settings.problems, start=1):
        case = problem(name, settings, seed)
        size = len(case.mean)
        compared = spos.compare(
            case.target,
            {m: METHODS[m](case.target, chosen[name, m], size) for m in settings.methods},
            case.start,
            settings.num_steps,
            truth=(case.mean, case.covariance),
            reference=case.draws,
            ksd_kernel=spos.imq(float(size)),
            num_seeds=settings.repeats,
            seed=seed,
            progress=False,
        )
        for method, row in compared.rows.items():
            results.append(
                {
                    "problem": name,
                    "method": method,
                    "step size": chosen.get((name, method)),
                    "KSD by step size": tried.get((name, method)),
                    **_measured(row, name, case, settings.num_steps),
                }
            )
        tick(len(cases) + done, total)
    found = numbers({"runs": results})
    return Findings(numbers=found, claims=claims(found, settings), table=table(found, settings))


def _measured(row: Row, name: str, case: Problem, num_steps: int) -> dict[str, Any]:
    """The measures of one run, each as mean and standard error over the seeds."""
    points = row.points
    found = dict(row.final())
    with np.errstate(over="ignore", invalid="ignore"):
        found["variance"] = points.var(axis=1, ddof=1).sum(-1) / np.trace(case.covariance)
    if name == "modes":
        away = np.linalg.norm(points[:, :, None] - centres(), axis=-1)
        share = (away.argmin(-1)[..., None] == np.arange(MODES)).mean(axis=1)
        found["modes"] = (share >= 0.25 / MODES).sum(axis=1).astype(float)
    return {
        "gradients": int(row.evaluations[-1]) if len(row.evaluations) else None,
        "ms a step": None if row.seconds is None else 1e3 * row.seconds / num_steps,
        "diverged": int(row.diverged.min()) if len(row.diverged) else None,
        "measures": {key: list(Estimate.of(values)) for key, values in found.items()},
    }


def measured(found: Mapping[str, Any], name: str, method: str, measure: str) -> Estimate | None:
    """A measure of a run in a record; None where it was not made or diverged."""
    for each in found["runs"]:
        if (each["problem"], each["method"]) == (name, method) and each["diverged"] is None:
            return Estimate(*each["measures"][measure])
    return None


COLUMNS = {  # heading: problem, measure
    "Gaussian: mean": ("Gaussian", "mean"),
    "covariance": ("Gaussian", "covariance"),
    "pooled covariance": ("Gaussian", "pooled covariance"),
    "banana: sliced W1": ("banana", "sliced W1"),
    "pooled covariance ": ("banana", "pooled covariance"),
    "wide: variance kept": ("wide", "variance"),
    "modes: found of 5": ("modes", "modes"),
    "sliced W1": ("modes", "sliced W1"),
}


def table(found: Mapping[str, Any], settings: Settings) -> Table:
    shown = {head: c for head, c in COLUMNS.items() if c[0] in settings.problems}
    rows = []
    for method in (*settings.methods, EXACT):
        cells = []
        for name, measure in shown.values():
            value = measured(found, name, method, measure)
            cells.append("diverged" if value is None else str(value))
        times = [
            each["ms a step"]
            for each in found["runs"]
            if each["method"] == method and each["problem"] == settings.problems[0]
        ]
        cells.append("–" if times[0] is None else f"{times[0]:.2f}")
        rows.append((method, *cells))
    return Table(
        ("method", *(head.strip() for head in shown), "ms a step"),
        rows,
        f"After {settings.num_steps} steps: mean ± standard error over {settings.repeats} seeds. "
        "Errors of mean and covariance are relative; variance kept is 1 when all is there. The "
        f"time is that of {settings.problems[0]}, for one seed of {settings.repeats} side by side.",
    )


def claims(found: Mapping[str, Any], settings: Settings) -> list[Claim]:
    made = []

    def values(name: str, measure: str, methods: tuple[str, ...]) -> dict[str, Estimate]:
        """Those of the methods that were run and did not diverge."""
        pairs = {m: measured(found, name, m, measure) for m in methods if m in settings.methods}
        return {m: value for m, value in pairs.items() if value is not None}

    def said(each: Mapping[str, Estimate]) -> str:
        return ", ".join(f"{method} {value}" for method, value in each.items())

    quiet = tuple(m for m in METHODS if m not in NOISY)
    if "Gaussian" in settings.problems:
        exact = measured(found, "Gaussian", EXACT, "mean")
        assert exact is not None
        still = values("Gaussian", "mean", quiet)
        made.append(
            Claim(
                "Without noise, a cloud has a better mean than as many independent draws.",
                f"Error of the mean, 5-dimensional Gaussian: {said(still)}; {EXACT} {exact}.",
                verdict({m: exact.above(v) for m, v in still.items()}, "the method is "),
                "Seen for a method when its error is lower by more than two standard errors.",
            )
        )
    if "wide" in settings.problems:
        kept = values("wide", "variance", tuple(METHODS))
        made += [
            Claim(
                "Noise keeps the variance in 100 dimensions with 50 particles.",
                f"Share of the variance kept: {said({m: kept[m] for m in NOISY if m in kept})}.",
                verdict(
                    {m: abs(kept[m].mean - 1) < 0.1 for m in NOISY if m in kept}, "the method is "
                ),
                "Seen for a method when the variance is within 10 % of the target's.",
            ),
            Claim(
                "Without noise and with one kernel for all dimensions, the cloud collapses there.",
                "Share of the variance kept: "
                + said({m: kept[m] for m in quiet if m in kept and m != BLOCKS})
                + ".",
                verdict(
                    {m: kept[m].mean < 0.5 for m in quiet if m in kept and m != BLOCKS},
                    "the method is ",
                ),
                "Seen for a method when less than half is kept.",
            ),
        ]
        if BLOCKS in kept:
            made.append(
                Claim(
                    "A kernel for each coordinate keeps SVGD's variance there.",
                    f"Share of the variance kept: {said({BLOCKS: kept[BLOCKS]})}.",
                    verdict({BLOCKS: abs(kept[BLOCKS].mean - 1) < 0.1}),
                    "Seen when the variance is within 10 % of the target's.",
                )
            )
    if "modes" in settings.problems:
        reached = values("modes", "modes", NOISY)
        stuck = values("modes", "modes", quiet)
        made += [
            Claim(
                "With noise, particles that start in one of five modes find all.",
                f"Modes found: {said(reached)}.",
                verdict({m: v.mean > MODES - 0.5 for m, v in reached.items()}, "the method is "),
                "Seen for a method when on average more than 4.5 of 5 are found.",
            ),
            Claim(
                "Without noise they stay where they are.",
                f"Modes found: {said(stuck)}.",
                verdict({m: v.mean < 1.5 for m, v in stuck.items()}, "the method is "),
                "Seen for a method when on average fewer than 1.5 of 5 are found.",
            ),
        ]
    return made


def guide_table(record: Record) -> str:
    """The record's table as Markdown, for `docs/methods.md`."""
    headings, rows = list(record.table.headings), [list(row) for row in record.table.rows]
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (headings, rule, *rows))


def draw(record: Record) -> list[Drawing]:
    found, settings = record.numbers, record.settings
    shown = {  # measure, heading, where the axis ends: one run far out must not hide the others
        "Gaussian": ("pooled covariance", "Gaussian:\npooled cov.", 1.1),
        "banana": ("sliced W1", "banana:\nsliced W1", 1.0),
        "wide": ("variance", "wide:\nvariance kept", 1.5),
        "modes": ("modes", "modes:\nfound of 5", 5.5),
    }
    problems = [name for name in shown if name in settings["problems"]]
    methods = list(settings["methods"])
    figure, panels = drawing.titled(
        0.28 * len(methods) + 2.4,
        f"{len(methods)} methods after {settings['num_steps']} steps",
        "dots: mean and two standard errors; blue with noise, orange without;\n"
        "line: as many independent draws; arrow: beyond the axis, at the number beside it",
        columns=len(problems),
        sharey=True,
        squeeze=False,
    )
    for axes, name in zip(panels[0], problems, strict=True):
        measure, heading, end = shown[name]
        exact = measured(found, name, EXACT, measure)
        if exact is not None:
            axes.axvline(exact.mean, color=TRUTH, linewidth=1.0)
        for place, method in enumerate(methods):
            value = measured(found, name, method, measure)
            if value is None:
                axes.text(0.5, place, "diverged", transform=axes.get_yaxis_transform(), size=8)
                continue
            tint = drawing.METHODS["SPOS"] if method in NOISY else drawing.METHODS["SVGD"]
            if value.mean > end:
                axes.plot(0.93 * end, place, ">", color=tint, markersize=6)
                axes.text(0.85 * end, place, f"{value.mean:.2g}", size=8, ha="right", va="center")
                continue
            axes.errorbar(value.mean, place, xerr=2 * value.se, fmt="o", color=tint, markersize=5)
        axes.set_title(heading, fontsize=9)
        axes.set_yticks(range(len(methods)), methods, fontsize=9)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="both", color=drawing.GRID, linewidth=0.6)
        axes.set_xlim(0, end)
    panels[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    return [
        Drawing(
            "methods.png",
            figure,
            "One panel a target, one line a method: the error or share that the table gives.",
            "Errors are better to the left; shares and modes to the right.",
        )
    ]
