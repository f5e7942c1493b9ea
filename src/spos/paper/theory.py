"""`spos paper theory`: the terms of the paper's bounds beside what particles do.

The theory bounds W1(μ_T, p) by three terms: one falls as M^(-1/2), one decays in τ = Σ h_k, one is
for the steps. It speaks of the *law of one particle*, over all runs that could have been, not of
one cloud. That law is estimated by pooling the particles of many repeats; in one dimension W1 is
then exact by sorting: the mean distance of sorted samples, or of their averages over 200 bins.

1. **Particles.** Stationary particles, three distances against M: of the law from the mean-field
   law (2048 particles with the same step stand in for it); of each particle from its mean-field
   twin, with the same start and noise, which is what the proof bounds (the Stein drift vanishes at
   the target, so the twin is plain Langevin); and of one cloud from the target.
2. **Decay.** W1 from the target over time, for several β, from the target shifted by 1.
3. **Steps.** The same over T up to thousands, with h fixed and with h0/(k+1); and what the step
   alone changes in the stationary law, against M: the distance from a law with an eighth of it.
4. **Plan.** `spos.theory.plan` is fitted to short runs on one target and used on two others, beside
   a grid of settings that cost as much.

Targets have standard deviation 1/2: N(0, 1/4), whose constants L_F = m_F = 4 are exact; a logistic
density, which is convex but not strongly so; a mixture of two Gaussians. Kernel: η² = 4.

    spos paper theory            # two to four minutes on two cores
    spos paper theory --quick    # seconds, too small to conclude from
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos import theory
from spos.paper import draw as drawing
from spos.paper import line
from spos.paper.experiment import CLEAR, Drawing, Estimate, Findings, Tick, compiled, in_parallel
from spos.report.figures import COLOURS, OTHER, TRUTH
from spos.report.html import Table
from spos.report.record import Claim, Record, numbers, verdict

TITLE = "The bounds beside the particles"
ABOUT = (
    "The paper bounds the distance between the law of one particle and the target by a term for "
    "the number of particles, one for time and one for the steps. Here each is measured as a "
    "1-Wasserstein distance, beside its bound where the bound's conditions are met."
)
CURVATURE, DEVIATION, ETA2 = 4.0, 0.5, 4.0  # CURVATURE = 1/DEVIATION²
SCALE = DEVIATION * math.sqrt(3) / math.pi  # of the logistic density
SPLIT, WIDTH = 0.42, math.sqrt(DEVIATION**2 - 0.42**2)  # of the mixture
BLOCKS, BINS = 20, 200
ALMOST = 1.25  # times the best of a grid: as good, for a plan
ABOVE_FLOOR = 3.0  # a distance counts where it is so many times what chance alone would give


class Density(NamedTuple):
    """A target on the line, and the constants that the theory asks for."""

    log_prob: Callable[[jax.Array], jax.Array]
    draw: Callable[[jax.Array, int], jax.Array]
    quantile: Callable[[np.ndarray], np.ndarray]
    lipschitz: float
    convexity: float


def _normal_quantile(u: np.ndarray) -> np.ndarray:
    return np.array([NormalDist(0, DEVIATION).inv_cdf(x) for x in u])


def _mixture_quantile(u: np.ndarray) -> np.ndarray:
    x = np.linspace(-4, 4, 20001)
    halves = [np.array([NormalDist(m, WIDTH).cdf(y) for y in x]) for m in (-SPLIT, SPLIT)]
    return np.interp(u, 0.5 * (halves[0] + halves[1]), x)


def _mixture_draw(key: jax.Array, count: int) -> jax.Array:
    left, right = jax.random.split(key)
    side = jax.random.rademacher(left, (count,), float)
    return SPLIT * side + WIDTH * jax.random.normal(right, (count,))


DENSITIES = {
    "Gaussian": Density(
        lambda x: -0.5 * CURVATURE * x * x,
        lambda key, count: DEVIATION * jax.random.normal(key, (count,)),
        _normal_quantile,
        CURVATURE,
        CURVATURE,
    ),
    "logistic": Density(
        lambda x: -x / SCALE - 2 * jax.nn.softplus(-x / SCALE),
        lambda key, count: SCALE * jax.random.logistic(key, (count,)),
        lambda u: SCALE * np.log(u / (1 - u)),
        1 / (2 * SCALE**2),
        0.0,
    ),
    "mixture": Density(
        lambda x: jnp.logaddexp(SPLIT * x / WIDTH**2, -SPLIT * x / WIDTH**2) - x * x / 2 / WIDTH**2,
        _mixture_draw,
        _mixture_quantile,
        abs(1 - (SPLIT / WIDTH) ** 2) / WIDTH**2,
        (1 - (SPLIT / WIDTH) ** 2) / WIDTH**2,
    ),
}


@dataclass(frozen=True)
class Settings:
    sizes: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)
    mean_field: int = 2048  # particles that stand in for infinitely many
    cases: tuple[tuple[str, float], ...] = (("Gaussian", 0.2), ("Gaussian", 1.0), ("logistic", 1.0))
    pool: int = 40_960  # particles over all repeats
    snapshots: int = 20
    betas: tuple[float, ...] = (0.1, 0.2, 0.4, 1.0, 10.0)
    decay_particles: int = 128
    decay_repeats: int = 300
    shift: float = 1.0  # of the start from the target
    steps_beta: float = 0.2
    steps_particles: int = 16
    num_steps: int = 4096
    large_step: float = 0.03
    step_sizes: tuple[int, ...] = (1, 8, 64)  # numbers of particles for the error of the step
    budget: int = 2048
    plan_sizes: tuple[int, ...] = (4, 16, 64, 128, 256, 512)
    plan_steps: tuple[float, ...] = (0.005, 0.01, 0.02, 0.05, 0.1)
    pilot_sizes: tuple[int, ...] = (5, 20, 80)
    pilot_steps: tuple[float, ...] = (0.01, 0.03, 0.1)
    checked: tuple[str, ...] = ("logistic", "mixture")
    plan_repeats: int = 128
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            sizes=(8,),
            mean_field=16,
            cases=(("Gaussian", 0.2),),
            pool=400,
            snapshots=4,
            betas=(0.2, 1.0),
            decay_particles=8,
            decay_repeats=20,
            num_steps=256,
            step_sizes=(8,),
            budget=512,
            plan_sizes=(16,),
            plan_steps=(0.02, 0.1),
            pilot_sizes=(5, 20),
            checked=("logistic",),
            plan_repeats=8,
            hasty=True,
        )


# --- distances -----------------------------------------------------------------------------------


class Law(NamedTuple):
    """Averages of a sorted sample over bins of equal mass, one row for each block of repeats."""

    rows: np.ndarray

    @classmethod
    def of(cls, samples: np.ndarray) -> "Law":
        """Of samples whose first axis are the repeats."""
        size = len(samples) // BLOCKS
        blocks = samples[: size * BLOCKS].reshape(BLOCKS, -1).astype(np.float64)
        # a block smaller than the bins has each of its values in several of them
        blocks = np.repeat(np.sort(blocks, axis=1), -(-BINS // blocks.shape[1]), axis=1)
        edges = np.linspace(0, blocks.shape[1], BINS + 1).round().astype(int)[:-1]
        return cls(np.add.reduceat(blocks, edges, axis=1) / np.diff([*edges, blocks.shape[1]]))

    def even(self) -> "Law":
        """Each point counted together with its mirror image."""
        return Law((self.rows - self.rows[:, ::-1]) / 2)

    @classmethod
    def exact(cls, density: Density, fine: int = 50) -> "Law":
        u = (np.arange(BINS * fine) + 0.5) / (BINS * fine)
        return cls(density.quantile(u).reshape(1, BINS, fine).mean(2))


class Distance(NamedTuple):
    """W1 of two laws, its standard error, and what chance would give if they were the same."""

    mean: float
    se: float
    floor: float

    @property
    def clear(self) -> bool:
        return self.mean > ABOVE_FLOOR * self.floor

    def __str__(self) -> str:
        return f"{self.mean:.2g} ± {self.se:.1g}"


def distance(a: Law, b: Law) -> Distance:
    here = _gap(a.rows.mean(0), b.rows.mean(0))
    left_out = [[_gap(rest, b.rows.mean(0)) for rest in _without_one(a.rows)],
                [_gap(a.rows.mean(0), rest) for rest in _without_one(b.rows)]]  # fmt: skip
    noise = np.sqrt(sum(each.rows.var(0, ddof=1) / len(each.rows)
                        for each in (a, b) if len(each.rows) > 1))  # fmt: skip
    floor = math.sqrt(2 / math.pi) * float(np.mean(noise))  # E|z| of a normal z
    return Distance(here, math.hypot(*map(jackknife, left_out)), floor)


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).mean())


def _without_one(rows: np.ndarray) -> list[np.ndarray]:
    if len(rows) == 1:
        return []
    return [np.delete(rows, n, axis=0).mean(0) for n in range(len(rows))]


def jackknife(left_out: Any) -> float:
    """The standard error of an estimate from those that leave out one block each."""
    values = np.asarray(left_out, float)
    return float(np.sqrt((len(values) - 1) * values.var())) if len(values) else 0.0


def slope(x: Sequence[float], y: Sequence[Any]) -> Estimate:
    """Of log y over log x, by least squares with weights; nan with fewer than three points."""
    if len(x) < 3:
        return Estimate(math.nan, math.nan)
    means = np.array([each.mean for each in y])
    weights = means / np.array([max(each.se, 1e-3 * each.mean) for each in y])
    design = np.stack([np.log(x), np.ones(len(x))], axis=1) * weights[:, None]
    values = np.log(means) * weights
    found = np.linalg.lstsq(design, values, rcond=None)[0]
    excess = float(np.sum((values - design @ found) ** 2)) / (len(x) - 2)
    se = math.sqrt(np.linalg.inv(design.T @ design)[0, 0] * max(1.0, excess))
    return Estimate(float(found[0]), se)


# --- simulation ----------------------------------------------------------------------------------


def simulate(
    density: Density, count: int, times: np.ndarray, hasty: bool, *, twins: bool = False
) -> Callable[..., Any]:
    """A program that gives particles at these steps, in shape (repeat, time, particle).

    It takes keys, β, h0, a power p for steps h0/(k+1)^p, and how far the start is shifted from a
    draw of the target. With `twins` it also gives the particles that noise alone would have made.
    """
    when = times - 1

    def one(key: jax.Array, beta: Any, h0: Any, power: Any, shift: Any) -> Any:
        start_key, run_key = jax.random.split(key)
        start = shift + density.draw(start_key, count)

        def step_size(k: jax.Array) -> jax.Array:
            return h0 * (1.0 + k) ** -power

        samplers = [line.sampler(density.log_prob, step_size, beta, ETA2, count)]
        if twins:  # with the same key they feel the same noise
            samplers.append(spos.spos(density.log_prob, step_size, beta, kernel=None))
        paths = [
            spos.run(s, run_key, start, int(when.max()) + 1, observe=lambda st, _: st.particles)[1]
            for s in samplers
        ]
        return [path[when] for path in paths]

    def program(keys: jax.Array, *settings: Any) -> Any:
        # some thousand particles at a time: enough to keep a core busy, and paths stay small
        return jax.lax.map(lambda key: one(key, *settings), keys, batch_size=max(1, 2048 // count))

    return compiled(program, hasty)


def keys(seed: int, part: int, count: int, repeats: int) -> jax.Array:
    """Each part and each number of particles has its own random numbers."""
    root = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), part), count)
    return jax.random.split(root, repeats)


def fine_step(beta: float) -> float:
    """A fiftieth of the time in which the mean of a Gaussian cloud relaxes."""
    return 0.02 / fastest(beta)


def fastest(beta: float) -> float:
    """m_F (1/β + 1), the rate at which a very wide kernel would centre the cloud."""
    return CURVATURE * (1 / beta + 1)


def repeats_of(pool: int, count: int) -> int:
    return max(BLOCKS, pool // count)


def about(density: Density) -> theory.Constants:
    return theory.Constants(
        dim=1,
        lipschitz=density.lipschitz,
        convexity=density.convexity,
        score_bound=math.inf,
        bandwidth=ETA2,
        kernel_concavity=theory.kernel_concavity(ETA2, 100.0),
    )


def gamma0(shift: float) -> float:
    """γ0 of a start N(shift, DEVIATION²)."""
    room = 1 - 2 * DEVIATION**2
    return shift**2 / room - 0.5 * math.log(room)


# --- the four parts ------------------------------------------------------------------------------


def particle_job(settings: Settings, seed: int, name: str, count: int) -> dict[float, Any]:
    """Stationary particles of one size for each β: their law, twins and clouds."""
    times = 200 + 25 * (np.arange(settings.snapshots) + 1)
    density = DENSITIES[name]
    program = simulate(density, count, times, settings.hasty, twins=True)
    found: dict[float, Any] = {}
    for beta in (b for n, b in settings.cases if n == name):
        each = keys(seed, 1, count, repeats_of(settings.pool, count))
        here, twins = map(np.asarray, program(each, beta, fine_step(beta), 0.0, 0.0))
        squares = ((here - twins).astype(np.float64) ** 2).mean((1, 2))
        square, se = Estimate.of(squares)
        clouds = np.sort(here[:1000, -1], axis=1).astype(np.float64)
        found[beta] = {
            # The law of twins is the same for every M. Without it two laws differ as before, but
            # the chance that twins share is gone. Target and start are even, and so the laws are.
            "law": Law(Law.of(here).rows - Law.of(twins).rows).even(),
            "twin": Distance(math.sqrt(square), se / 2 / math.sqrt(square), 0.0),
            "cloud": cloud_distance(clouds, density),
            "draws": cloud_distance(_draws(density, seed, clouds.shape), density),
        }
    return found


def _draws(density: Density, seed: int, shape: tuple[int, int]) -> np.ndarray:
    drawn = density.draw(jax.random.fold_in(jax.random.key(seed), 77), shape[0] * shape[1])
    return np.sort(np.asarray(drawn, np.float64).reshape(shape), axis=1)


def cloud_distance(clouds: np.ndarray, density: Density) -> Distance:
    """Mean W1 of sorted clouds from the target."""
    fine = -(-2048 // clouds.shape[1])
    u = (np.arange(clouds.shape[1] * fine) + 0.5) / (clouds.shape[1] * fine)
    truth = density.quantile(u).reshape(clouds.shape[1], fine)
    each = np.abs(clouds[:, :, None] - truth).mean((1, 2))
    return Distance(*Estimate.of(each), 0.0)


def decay_job(settings: Settings, seed: int) -> list[dict[str, Any]]:
    """W1 from the target over time, and its rate, for each β."""
    density, count = DENSITIES["Gaussian"], settings.decay_particles
    every = 10
    times = every * (np.arange(50) + 1)
    program = simulate(density, count, times, settings.hasty)
    truth = Law.exact(density)
    found = []
    for n, beta in enumerate(settings.betas):
        step = 0.5 * fine_step(beta)
        each = keys(seed, 20 + n, count, settings.decay_repeats)
        (here,) = map(np.asarray, program(each, beta, step, 0.0, settings.shift))
        laws = [Law.of(here[:, t]) for t in range(len(times))]
        curve = [distance(law, truth) for law in laws]
        rest = np.array([[_gap(r, truth.rows[0]) for r in _without_one(law.rows)] for law in laws])
        means = np.array([d.mean for d in curve])
        # from a third of the start down to where chance begins to matter
        least = np.maximum(10 * np.array([d.floor for d in curve]), 0.02 * settings.shift)
        inside = np.flatnonzero((means < 0.3 * settings.shift) & (means > least))
        rate, tau = Estimate(math.nan, math.nan), times * step
        if len(inside) >= 3:
            fits = [-np.polyfit(tau[inside], np.log(y[inside]), 1)[0] for y in (means, *rest.T)]
            rate = Estimate(float(fits[0]), jackknife(fits[1:]))
        found.append({"beta": beta, "tau": tau, "curve": curve, "rate": rate, "inside": inside,
                      "fell": means[-1] / settings.shift})  # fmt: skip
    return found


def stable_step(settings: Settings) -> float:
    """The largest step that the bounds on steps allow, m'/(3 L')."""
    where = about(DENSITIES["Gaussian"])
    beta = settings.steps_beta
    return theory.dissipation(where, beta) / (3 * theory.squared_growth(where, beta))


def steps_job(settings: Settings, seed: int) -> list[dict[str, Any]]:
    """W1 from the target after T steps, for fixed and for falling steps."""
    density, count = DENSITIES["Gaussian"], settings.steps_particles
    octaves = [2**n for n in range(int(math.log2(settings.num_steps)) + 1)]
    # from 32 on, twenty looks in each doubling are pooled: the law changes little between them
    looks = [np.unique(np.linspace(t / 2, t, 20).round().astype(int)) if t >= 32 else np.array([t])
             for t in octaves]  # fmt: skip
    times = np.unique(np.concatenate(looks))
    program = simulate(density, count, times, settings.hasty)
    truth = Law.exact(density)
    small, large = stable_step(settings), settings.large_step
    found = []
    for n, (power, h0) in enumerate((p, h) for p in (0.0, 1.0) for h in (small, large)):
        each = keys(seed, 30 + n, count, repeats_of(settings.pool, count))
        (here,) = map(np.asarray, program(each, settings.steps_beta, h0, power, settings.shift))
        curve = [distance(Law.of(here[:, np.isin(times, look)]), truth) for look in looks]
        tau = [h0 * (t if power == 0 else float(np.sum(1 / np.arange(1, t + 1)))) for t in octaves]
        found.append({"power": power, "h0": h0, "steps": octaves, "tau": tau, "curve": curve})
    return found


def step_error_job(settings: Settings, seed: int, count: int) -> Distance:
    """What a large step changes in the stationary law of M particles."""
    density, beta, coarse = DENSITIES["Gaussian"], settings.steps_beta, settings.large_step
    # both take as many steps as the finer one needs to forget its start and each look the last
    times = 160 + 32 * (np.arange(2 * settings.snapshots) + 1)
    program = simulate(density, count, times, settings.hasty)
    laws = []
    for part, step in ((4, coarse), (5, coarse / 8)):
        each = keys(seed, part, count, repeats_of(settings.pool // 4, count))
        (here,) = map(np.asarray, program(each, beta, step, 0.0, 0.0))
        laws.append(Law.of(here))
    return distance(*laws)


def try_out(settings: Settings, seed: int, name: str, **where: Any) -> theory.Pilot:
    """Errors of single clouds on a target: W1, by the quantiles of both at 2048 places."""
    density = DENSITIES[name]
    places = (np.arange(2048) + 0.5) / 2048
    truth = jnp.asarray(density.quantile(places), jnp.result_type(float))

    def error(cloud: jax.Array) -> jax.Array:
        ranks = (places * len(cloud)).astype(int)
        return jnp.mean(jnp.abs(jnp.sort(cloud)[ranks] - truth))

    return theory.pilot(
        density.log_prob,
        lambda key, count: settings.shift + DEVIATION * jax.random.normal(key, (count,)),
        error,
        kernel=spos.rbf(ETA2),
        seed=seed,
        **where,
    )


def run(settings: Settings, seed: int, tick: Tick) -> Findings:
    particle_cases = [(name, count) for count in (settings.mean_field, *settings.sizes[::-1])
                      for name in dict.fromkeys(n for n, _ in settings.cases)]  # fmt: skip
    grid = [(name, count) for name in settings.checked for count in settings.plan_sizes]
    part = functools.partial
    jobs: list[Callable[[], Any]] = [
        part(decay_job, settings, seed),
        part(steps_job, settings, seed),
    ]
    jobs += [part(particle_job, settings, seed, name, count) for name, count in particle_cases]
    jobs += [part(step_error_job, settings, seed, count) for count in settings.step_sizes]
    jobs.append(part(try_out, settings, seed, "Gaussian", particles=settings.pilot_sizes,
                     step_sizes=settings.pilot_steps, repeats=settings.plan_repeats))  # fmt: skip
    jobs += [
        part(try_out, settings, seed + 1, name, particles=(count,), step_sizes=settings.plan_steps,
             steps=(settings.budget // count,), repeats=settings.plan_repeats)
        for name, count in grid
    ]  # fmt: skip
    total = len(jobs) + len(settings.checked)
    decay, steps, *rest = in_parallel(jobs, lambda done, _: tick(done, total))
    by_size = {case: rest.pop(0) for case in particle_cases}
    step_errors = {count: rest.pop(0) for count in settings.step_sizes}
    pilot, *tried = rest
    plan = theory.plan(settings.budget, pilot)
    followed: list[theory.Pilot] = []
    if plan.trusted:
        jobs = [
            part(try_out, settings, seed + 2, name, particles=(plan.particles,),
                 step_sizes=(plan.step_size,), steps=(plan.steps,), repeats=settings.plan_repeats)
            for name in settings.checked
        ]  # fmt: skip
        followed = in_parallel(jobs, lambda done, _: tick(total - len(jobs) + done, total))
    found = {
        "particles": particle_findings(settings, by_size),
        "decay": decay_findings(settings, decay),
        "steps": steps_findings(settings, steps),
        "step_errors": {"particles": list(step_errors), **_columns(step_errors.values()),
                        "slope": slope([*step_errors], [*step_errors.values()])},
        "plan": plan_findings(settings, plan, grid, tried, followed),
    }  # fmt: skip
    plain = numbers(_plain(found))
    return Findings(plain, claims(plain, settings), table(plain))


def _plain(value: Any) -> Any:
    """Estimates as pairs of mean and standard error, for the record."""
    if isinstance(value, Estimate):
        return {"mean": value.mean, "se": value.se}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _columns(distances: Any) -> dict[str, list[float]]:
    each = list(distances)
    return {
        "w1": [d.mean for d in each],
        "se": [d.se for d in each],
        "floor": [d.floor for d in each],
    }


def particle_findings(settings: Settings, by_size: Mapping[Any, Any]) -> list[dict[str, Any]]:
    found = []
    for name, beta in settings.cases:
        limit = by_size[name, settings.mean_field][beta]["law"]
        each = {m: by_size[name, m][beta] for m in settings.sizes}
        kinds = {"law": {m: distance(e["law"], limit) for m, e in each.items()}}
        kinds |= {
            kind: {m: e[kind] for m, e in each.items()} for kind in ("twin", "cloud", "draws")
        }
        bounds = [theory.particle_error(about(DENSITIES[name]), beta=beta, particles=m,
                                        gamma0=gamma0(0.0)) for m in settings.sizes]  # fmt: skip
        slopes = {}
        for kind, at in kinds.items():
            used = {m: d for m, d in at.items() if d.clear}
            slopes[kind] = {"fit": slope([*used], [*used.values()]), "sizes": list(used)}
        found.append(
            {
                "target": name,
                "beta": beta,
                "sizes": list(settings.sizes),
                **{kind: _columns(at.values()) for kind, at in kinds.items()},
                "slopes": slopes,
                "bound": [b.value for b in bounds],
                "why": bounds[0].why,
            }
        )
    return found


def decay_findings(settings: Settings, decay: list[dict[str, Any]]) -> list[dict[str, Any]]:
    where = about(DENSITIES["Gaussian"])
    found = []
    for each in decay:
        beta, tau = each["beta"], each["tau"]
        # c3 is the distance of start and target when they are independent, as in the proof
        c3 = math.hypot(settings.shift, math.sqrt(2) * DEVIATION)
        printed = [theory.relaxation(where, beta=beta, tau=t, c3=c3) for t in tau]
        sound = [theory.relaxation(where, beta=beta, tau=t / 2, c3=c3) for t in tau]
        rate = theory.relaxation_rate(where, beta)
        curve = _columns(each["curve"])
        over = None
        if printed[0].applies:
            # by two standard errors, and where the distance is not chance
            over = {
                kind: any(d.clear and d.mean - CLEAR * d.se > float(b)
                          for d, b in zip(each["curve"], bounds, strict=True))
                for kind, bounds in (("printed", printed), ("sound", sound))
            }  # fmt: skip
        found.append(
            {
                "beta": beta,
                "tau": list(tau),
                **curve,
                "window": [float(tau[n]) for n in each["inside"][[0, -1]]]
                if len(each["inside"])
                else None,
                "rate": each["rate"],
                "fell": each["fell"],
                "lambda1": rate,
                "langevin": CURVATURE / beta,
                "wide": fastest(beta),
                "printed": [b.value for b in printed],
                "sound": [b.value for b in sound],
                "over": over,
                "why": printed[0].why,
            }
        )
    return found


def steps_findings(settings: Settings, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    where = about(DENSITIES["Gaussian"])
    found = []
    for each in steps:
        total = theory.fixed_step_total if each["power"] == 0 else theory.decreasing_step_total
        bounds = [
            total(
                where,
                # all data in every step: the term for minibatches is that of an endless batch
                theory.Run(settings.steps_beta, settings.steps_particles, t, each["h0"], 10**12,
                           gamma0(settings.shift), 0.0),
                c4=1.0,
            )
            for t in each["steps"]
        ]  # fmt: skip
        settled = [
            n for n, tau in enumerate(each["tau"]) if tau * fastest(settings.steps_beta) > 16
        ]
        late = {each["steps"][n]: each["curve"][n] for n in settled}
        found.append(
            {
                "power": each["power"],
                "h0": each["h0"],
                "steps": each["steps"],
                **_columns(each["curve"]),
                "late": slope([*late], [*late.values()]),
                "settled": list(late),
                "bound": [b.value for b in bounds],
                "numerical": [b.terms.get("numerical") for b in bounds],
                "why": bounds[0].why,
            }
        )
    return found


def plan_findings(settings: Settings, plan: theory.Plan, grid: Any, tried: list[theory.Pilot],
                  followed: list[theory.Pilot]) -> dict[str, Any]:  # fmt: skip
    model = plan.model
    targets: dict[str, dict[str, Any]] = {}
    for name in settings.checked:
        trials = [t._asdict() for (n, _), p in zip(grid, tried, strict=True) if n == name
                  for t in p.trials]  # fmt: skip
        targets[name] = {"grid": trials}
    for name, each in zip(settings.checked, followed, strict=False):
        targets[name]["followed"] = each.trials[0]._asdict()
    return {
        "budget": settings.budget,
        "why": plan.why,
        "chosen": {"particles": plan.particles, "step_size": plan.step_size, "steps": plan.steps,
                   "expected": plan.expected},
        "model": None if model is None else {
            **{n: getattr(model, n) for n in "abce"}, "se": model.se, "misfit": model.misfit,
            "worst": max(map(abs, model.residuals)),
        },
        "targets": targets,
    }  # fmt: skip


# --- what follows --------------------------------------------------------------------------------


def _show(pair: Mapping[str, Any], digits: int = 3) -> str:
    if pair["mean"] is None:
        return "not measurable here"
    return f"{pair['mean']:.{digits}g} ± {pair['se']:.1g}"


def _case(each: Mapping[str, Any]) -> str:
    return f"{each['target']}, β = {each['beta']:g}"


def _about(values: Mapping[str, Any]) -> Estimate:
    """An estimate from the record; one that could not be made is nan, and no test is met by it."""
    if values["mean"] is None:
        return Estimate(math.nan, math.nan)
    return Estimate(values["mean"], values["se"])


def claims(found: Mapping[str, Any], settings: Settings) -> list[Claim]:
    return [
        *particle_claims(found["particles"]),
        *decay_claims(found["decay"]),
        *steps_claims(found["steps"], found["step_errors"], settings),
        *plan_claims(found["plan"]),
    ]


def particle_claims(cases: list[dict[str, Any]]) -> list[Claim]:
    kinds = {"law": "the law of one particle", "twin": "each particle and its mean-field twin",
             "cloud": "one cloud and the target"}  # fmt: skip
    fits = {kind: {_case(c): _about(c["slopes"][kind]["fit"]) for c in cases} for kind in kinds}
    shown = {
        kind: ", ".join(f"{_show(c['slopes'][kind]['fit'])} ({_case(c)})" for c in cases)
        for kind in kinds
    }
    bounded = [c for c in cases if c["bound"][0] is not None]
    ratios = {_case(c): [b / max(law, twin) for b, law, twin in
                         zip(c["bound"], c["law"]["w1"], c["twin"]["w1"], strict=True)]
              for c in bounded}  # fmt: skip
    refused = "; ".join(f"{_case(c)}: {c['why']}" for c in cases if c["bound"][0] is None)
    return [
        Claim(
            claim="The law of one of M particles nears the mean-field law at least as fast as "
            "M^(−1/2).",
            measured=f"Slope of log W1 over log M: {shown['law']}.",
            verdict=verdict({n: f.mean <= -0.5 + CLEAR * f.se for n, f in fits["law"].items()}),
            rule="Seen for a target and β when the slope is at most −1/2, two standard errors "
            f"allowed. Sizes whose distance is {ABOVE_FLOOR:g} times what chance gives.",
        ),
        Claim(
            claim="M^(−1/2) is the rate, and not only a bound on it.",
            measured="Slope of log distance over log M: "
            + "; ".join(f"{text}: {shown[kind]}" for kind, text in kinds.items())
            + ".",
            verdict=verdict(
                {
                    f"comparing {text}, {name}": abs(f.mean + 0.5) <= max(0.05, CLEAR * f.se)
                    for kind, text in kinds.items()
                    for name, f in fits[kind].items()
                }
            ),
            rule="Seen for a distance when its slope is within 0.05 of −1/2, or two standard "
            "errors if that is more.",
        ),
        Claim(
            claim="c1/(√M (1/β − c2)) bounds that distance.",
            measured="Bound over distance, smallest and largest over M: "
            + ("; ".join(f"{n}: {min(r):.2g} to {max(r):.2g}" for n, r in ratios.items()) or "none")
            + (f". No bound: {refused}" if refused else "")
            + ".",
            verdict=verdict({n: min(r) >= 1 for n, r in ratios.items()} or {"no case": False}),
            rule="Seen, where the bound's conditions are met, when neither the law nor the twins "
            "are further apart than the bound at any M.",
        ),
    ]


def decay_claims(curves: list[dict[str, Any]]) -> list[Claim]:
    bounded = {f"β = {c['beta']:g}": c for c in curves if c["over"] is not None}
    free = {f"β = {c['beta']:g}": c for c in curves if c["over"] is None}

    def rates(name: str, factor: int) -> str:
        return "; ".join(
            f"{beta}: {_show(c['rate'])}, against {name} = {factor * c['lambda1']:.3g}"
            for beta, c in bounded.items()
        )

    def within(bound: str) -> str:
        return verdict({b: not c["over"][bound] for b, c in bounded.items()} or {"no β": False})

    fell = "; ".join(
        f"{beta}, λ1 = {c['lambda1']:.2g}: to {c['fell']:.2g} of the start, rate {_show(c['rate'])}"
        for beta, c in free.items()
    )
    return [
        Claim(
            claim="From its start the law decays to the target at least as fast as exp(−2λ1τ).",
            measured=f"Rates: {rates('2λ1', 2)}. A very wide kernel would give m_F (1/β + 1), "
            "which 2λ1 overtakes for small β.",
            verdict=within("printed"),
            rule="Seen for a β, of those with λ1 > 0, when W1 never exceeds c3 exp(−2λ1τ) by more "
            "than two standard errors; c3² is the mean squared distance of independent draws of "
            "start and target, as in the proof.",
        ),
        Claim(
            claim="It decays at least as fast as exp(−λ1τ), which is what the proof gives.",
            measured=f"Rates: {rates('λ1', 1)}.",
            verdict=within("sound"),
            rule="As above, with c3 exp(−λ1τ).",
        ),
        Claim(
            claim="Only for β so small that λ1 > 0 does the distance fall with time.",
            measured=f"Distance left at the end where λ1 ≤ 0: {fell}.",
            verdict=verdict({b: c["fell"] > 0.5 for b, c in free.items()} or {"no β": False}),
            rule="Seen for a β with λ1 ≤ 0 when more than half of the distance is left at time "
            "5/(m_F (1/β + 1)).",
        ),
    ]


def steps_claims(curves: list[dict[str, Any]], by_size: Mapping[str, Any], settings: Settings
                 ) -> list[Claim]:  # fmt: skip
    fixed = [c for c in curves if c["power"] == 0]
    falling = [c for c in curves if c["power"] == 1]

    def name(curve: Mapping[str, Any]) -> str:
        return f"{'h' if curve['power'] == 0 else 'h0'} = {curve['h0']:.2g}"

    def at(curve: Mapping[str, Any], n: int) -> Estimate:
        return Estimate(curve["w1"][n], curve["se"][n])

    last, middle = len(curves[0]["steps"]) - 1, len(curves[0]["steps"]) - 3
    sizes = by_size["particles"]
    few, many = (Estimate(by_size["w1"][n], by_size["se"][n]) for n in (0, -1))
    limits = "; ".join(f"{name(c)}: {c['why']}" for c in curves if c["why"]) or "none"
    return [
        Claim(
            claim="With a fixed step the error grows with the number of steps T.",
            measured="Slope of log W1 over log T, once the start is forgotten (the bound has 1/2 "
            "when its last term leads): "
            + "; ".join(f"{name(c)}: {_show(c['late'])}, W1 {at(c, last)} at T = {c['steps'][-1]}"
                        for c in fixed)
            + f". Bound without a number: {limits}.",
            verdict=verdict({name(c): _about(c["late"]).mean > CLEAR * _about(c["late"]).se
                             for c in fixed}),
            rule="Seen for a step when the slope exceeds 0 by two standard errors, over T with "
            "T h m_F (1/β + 1) > 16.",
        ),
        Claim(
            claim="With steps h0/(k+1) the error does not grow with T.",
            measured="W1 at T = "
            f"{curves[0]['steps'][middle]} and {curves[0]['steps'][last]}: "
            + "; ".join(f"{name(c)}: {at(c, middle)} and {at(c, last)}" for c in falling)
            + f". With the largest h0 that the bound allows, time has then come to "
            f"{_harmonic(falling[0]):.2g}, and {falling[0]['w1'][-1] / settings.shift:.0%} of the "
            "distance at the start is left.",
            verdict=verdict({name(c): not at(c, last).above(at(c, middle)) for c in falling}),
            rule="Seen for h0 when the second is not above the first by two standard errors.",
        ),
        Claim(
            claim="The error of the step grows with the number of particles.",
            measured=f"W1 between the stationary laws with h = {settings.large_step:g} and with an "
            f"eighth of it: {few} with M = {sizes[0]}, {many} with M = {sizes[-1]}; slope of "
            f"log W1 over log M: {_show(by_size['slope'])}, in the bound 1.",
            verdict=verdict({"M grows": many.above(few)}),
            rule="Seen when the last number exceeds the first by two standard errors.",
        ),
    ]  # fmt: skip


def _harmonic(curve: Mapping[str, Any]) -> float:
    return curve["h0"] * float(np.sum(1 / np.arange(1, curve["steps"][-1] + 1)))


def best_by_size(trials: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """For each M the step with the smallest error."""
    found: dict[int, dict[str, Any]] = {}
    for trial in trials:
        if trial["error"] is None:  # diverged
            continue
        here = found.get(trial["particles"])
        if here is None or trial["error"] < here["error"]:
            found[trial["particles"]] = trial
    return found


def plan_claims(found: Mapping[str, Any]) -> list[Claim]:
    targets, chosen = found["targets"], found["chosen"]
    inside, shown, good, texts = {}, [], {}, []
    for name, each in targets.items():
        bests = [*best_by_size(each["grid"]).values()]
        errors = [Estimate(t["error"], t["se"]) for t in bests]
        n = min(range(len(bests)), key=lambda i: errors[i].mean)
        first, last = errors[0], errors[-1]
        inside[name] = first.above(errors[n]) and last.above(errors[n])
        shown.append(f"{name}: {errors[n]} at M = {bests[n]['particles']}, against {first} at "
                     f"{bests[0]['particles']} and {last} at {bests[-1]['particles']}")  # fmt: skip
        if "followed" in each:
            got = Estimate(each["followed"]["error"], each["followed"]["se"])
            good[name] = got.mean <= ALMOST * errors[n].mean
            beaten = sum(t["error"] is None or t["error"] > got.mean for t in each["grid"])
            texts.append(f"{name}: error {got}, {got.mean / errors[n].mean:.2f} times the best of "
                         f"the grid, better than {beaten} of its {len(each['grid'])} settings"
                         )  # fmt: skip
    if found["why"]:
        plan_text = f"No recommendation: {found['why']}."
    else:
        plan_text = (
            f"Fitted to a Gaussian (misfit {found['model']['misfit']:.0%}): M = "
            f"{chosen['particles']}, h = {chosen['step_size']:.2g}, T = {chosen['steps']}, "
            f"expected error {chosen['expected']:.2g}. " + "; ".join(texts) + "."
        )
    return [
        Claim(
            claim="For a fixed amount of work M T there is a best number of particles, neither the "
            "smallest nor the largest.",
            measured=f"M T = {found['budget']}, the best step for each M: "
            + "; ".join(shown)
            + ".",
            verdict=verdict(inside),
            rule="Seen for a target when the error at the smallest and at the largest M exceeds "
            "that at the best by two standard errors. The largest M leaves T = 4 steps or so.",
        ),
        Claim(
            claim="The bound's three terms, fitted to short runs on one target, choose well on "
            "another.",
            measured=plan_text,
            verdict=verdict(good or {"no target": False}),
            rule=f"Seen for a target when the error of the chosen setting is at most {ALMOST:g} "
            "times the smallest of the grid that costs as much.",
        ),
    ]


def table(found: Mapping[str, Any]) -> Table:
    rows = []
    for c in found["particles"]:
        for kind, text in (("law", "law of one particle"), ("twin", "particle and twin"),
                           ("cloud", "one cloud"), ("draws", "independent draws")):  # fmt: skip
            bound = "−1/2" if kind in ("law", "twin") else "—"
            rows.append((f"slope in M, {text}, {_case(c)}", _show(c["slopes"][kind]["fit"]), bound))
    for c in found["decay"]:
        bound = f"2λ1 = {2 * c['lambda1']:.3g}" if c["over"] else "none: λ1 ≤ 0"
        rows.append((f"rate in τ, β = {c['beta']:g}", _show(c["rate"]), bound))
    for c in found["steps"]:
        step = f"h = {c['h0']:.2g}" if c["power"] == 0 else f"h0/(k+1), h0 = {c['h0']:.2g}"
        bound = "1/2" if c["power"] == 0 else "0"
        shown = _show(c["late"]) if c["settled"] else "start not forgotten"
        rows.append((f"late slope in T, {step}", shown, f"up to {bound}"))
    rows.append(("slope in M of the step's error", _show(found["step_errors"]["slope"]), "up to 1"))
    return Table(
        ("quantity", "measured ± s.e.", "the bound has"),
        rows,
        "Slopes of log W1 over log M or log T, and rates of decay. A bound may be met by faster "
        "decay or slower growth.",
    )


# --- figures -------------------------------------------------------------------------------------


def draw(record: Record) -> list[Drawing]:
    found = record.numbers
    return [_draw_particles(found), _draw_decay(found), _draw_steps(found, record.settings),
            _draw_plan(found)]  # fmt: skip


def _line(axes: Any, x: Any, y: Any, se: Any, tint: str, mark: str = "o") -> None:
    x, y, se = (np.asarray(v, float) for v in (x, y, se))
    axes.fill_between(x, np.maximum(y - 2 * se, 1e-9), y + 2 * se, color=tint, alpha=0.2, lw=0)
    axes.plot(x, y, mark + "-", color=tint, markersize=4, linewidth=1.8)


def _draw_particles(found: Mapping[str, Any]) -> Drawing:
    cases = found["particles"]
    figure, panels = drawing.titled(
        5.0,
        "The law nears its limit faster than the bound",
        "distances against the number of particles M; filled: beyond what chance gives,\n"
        "dotted: slopes −1/2 and −1; bands of ± 2 standard errors",
        columns=len(cases), sharey=True, squeeze=False,
    )  # fmt: skip
    kinds = {"cloud": ("cloud", COLOURS["svgd"]), "twin": ("twin", COLOURS["sgld"]),
             "law": ("law", COLOURS["spos"])}  # fmt: skip
    for axes, case in zip(panels[0], cases, strict=True):
        sizes = np.asarray(case["sizes"], float)
        labels = []
        for kind, (text, tint) in kinds.items():
            y, se, floor = (np.asarray(case[kind][key]) for key in ("w1", "se", "floor"))
            clear = y > ABOVE_FLOOR * floor
            _line(axes, sizes[clear], y[clear], se[clear], tint)
            axes.plot(sizes[~clear], y[~clear], "o", mfc="white", color=tint, markersize=4)
            if clear.any():
                labels.append((text, tint, y[clear][-1], sizes[clear][-1]))
        for anchor, power in (("twin", -0.5), ("law", -1.0)):
            y = case[anchor]["w1"][0] * (sizes / sizes[0]) ** power
            axes.plot(sizes, y, ":", color=drawing.NOTE, linewidth=1.2)
        if case["bound"][0] is not None:
            axes.plot(sizes, case["bound"], "--", color=TRUTH, linewidth=1.6)
            labels.append(("bound", TRUTH, case["bound"][-1], sizes[-1]))
        axes.set_title(_case(case), fontsize=10.5)
        axes.set_xlabel("M")
        axes.set_xlim(sizes[0] / 1.2, sizes[-1] * 1.2)
        case["labels"] = labels
    low = min(min(c["law"]["w1"]) for c in cases)
    high = max(max(c["cloud"]["w1"] + [b for b in c["bound"] if b]) for c in cases)
    for axes, case in zip(panels[0], cases, strict=True):
        drawing.log_axes(axes, case["sizes"], [v for v in (1e-4, 1e-3, 1e-2, 0.1, 1.0)
                                               if 0.5 * low <= v <= 2 * high])  # fmt: skip
        axes.set_ylim(0.6 * low, 1.6 * high)
    panels[0, 0].set_ylabel("distance")
    for axes, case in zip(panels[0], cases, strict=True):
        labels = case.pop("labels")
        drawing.end_labels(axes, case["sizes"][-1], [h for *_, h, _ in labels],
                           [t for t, *_ in labels], [c for _, c, *_ in labels],
                           fontsize=9.5, weight="bold")  # fmt: skip
    return Drawing(
        "particles.png",
        figure,
        "Three distances against the number of particles on logarithmic axes, a panel for each "
        "target and β, with the bound where it applies.",
        "Law: one particle's law from the mean-field law. Twin: root mean square distance of a "
        "particle from the mean-field particle with the same noise, the quantity in the proof. "
        "Cloud: W1 of one run's particles from the target, averaged over runs. "
        + " ".join(f"{_case(c)} has no bound: {c['why']}." for c in cases if c["why"]),
    )


def _draw_decay(found: Mapping[str, Any]) -> Drawing:
    curves = found["decay"]
    bounded = [c for c in curves if c["over"] is not None]
    figure, (left, right) = drawing.titled(
        5.0,
        "Decay in time, and the rate that the bound promises",
        "left: W1 from the target, dashed: c3 exp(−2λ1τ), dotted: c3 exp(−λ1τ);\n"
        "right: measured rates ± 2 standard errors, and the bound's",
        columns=2,
        width_ratios=(1.3, 1.0),
    )
    tints = dict(zip([c["beta"] for c in curves], drawing.ramp(len(curves)), strict=True))
    labels = []
    for c in bounded:
        tau, y, floor = (np.asarray(c[key]) for key in ("tau", "w1", "floor"))
        shown = np.minimum.accumulate(y > ABOVE_FLOOR * floor)  # until chance begins to matter
        left.plot(tau[shown], y[shown], color=tints[c["beta"]])
        # bounds only as far as the distance can be measured
        for key, stroke in (("printed", "--"), ("sound", ":")):
            left.plot(tau[shown], np.asarray(c[key])[shown], stroke, color=tints[c["beta"]], lw=1.4)
        labels.append((f"β = {c['beta']:g}", tints[c["beta"]], tau[shown][-1], y[shown][-1]))
    left.set_yscale("log")
    left.set_ylim(bottom=2e-3)
    left.set_xlim(left=0)
    left.set_xlabel("time τ")
    left.set_ylabel("W1 from the target")
    left.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
    left.minorticks_off()
    for text, tint, x, y in labels:
        left.annotate(
            text,
            (x, y),
            xytext=(0, -5),
            textcoords="offset points",
            color=tint,
            fontsize=9.5,
            weight="bold",
            ha="center",
            va="top",
            annotation_clip=False,
        )
    betas = np.asarray([c["beta"] for c in curves])
    rates = [_about(c["rate"]) for c in curves]
    fine = np.geomspace(betas.min(), betas.max(), 200)
    half = CURVATURE / fine - CURVATURE - 2 * math.sqrt(2 / math.e / ETA2)
    right.plot(fine, fine * 0 + CURVATURE * (1 / fine + 1), color=drawing.NOTE, linewidth=1.2)
    right.plot(fine[half > 0], 2 * half[half > 0], "--", color=TRUTH, linewidth=1.6)
    right.plot(fine[half > 0], half[half > 0], ":", color=TRUTH, linewidth=1.6)
    for c, rate in zip(curves, rates, strict=True):
        right.errorbar(c["beta"], rate.mean, 2 * rate.se, fmt="o", color=tints[c["beta"]],
                       markersize=6, capsize=3)  # fmt: skip
    right.set_ylim(1, 130)
    drawing.log_axes(right, [0.1, 1, 10], (1, 3, 10, 30, 100))
    right.set_xlabel("β")
    right.set_ylabel("rate")
    right.text(1.5, CURVATURE * (1 / 1.5 + 1) * 1.25, "wide kernel,\nm (1/β + 1)", fontsize=9,
               color=drawing.NOTE, va="bottom")  # fmt: skip
    right.text(0.115, 85, "2λ1", fontsize=10, weight="bold")
    right.text(0.42, 1.6, "λ1", fontsize=10, weight="bold", ha="right")
    return Drawing(
        "decay.png",
        figure,
        "Left, distance from the target over time with two exponential bounds for three values of "
        "β. Right, measured rates of decay against β beside the bound's rates.",
        "The printed rate 2λ1 is faster than the particles for small β; λ1, which the proof gives, "
        "is not. For larger β the bound is silent (λ1 ≤ 0), and the particles arrive all the same.",
    )


def _draw_steps(found: Mapping[str, Any], settings: Mapping[str, Any]) -> Drawing:
    curves = found["steps"]
    figure, axes = drawing.titled(
        5.2,
        "A fixed step settles; a falling one may never arrive",
        f"W1 from the target after T steps, {settings['steps_particles']} particles, "
        f"β = {settings['steps_beta']:g}; bands of ± 2 standard errors",
    )
    tints = {(0.0, 0): COLOURS["spos"], (0.0, 1): COLOURS["svgd"], (1.0, 0): OTHER,
             (1.0, 1): COLOURS["sgld"]}  # fmt: skip
    small = min(c["h0"] for c in curves)
    labels = []
    for c in curves:
        tint = tints[c["power"], int(c["h0"] > small)]
        text = f"h = {c['h0']:.2g}" if c["power"] == 0 else f"{c['h0']:.2g}/(k+1)"
        _line(axes, c["steps"], c["w1"], c["se"], tint)
        labels.append((text, tint, c["w1"][-1]))
    fixed = next(c for c in curves if c["power"] == 0 and c["h0"] == small)
    if fixed["settled"]:
        first = fixed["steps"].index(fixed["settled"][0])
        steps = np.asarray(fixed["steps"][first:], float)
        axes.plot(steps, fixed["w1"][first] * np.sqrt(steps / steps[0]), ":", color=drawing.NOTE)
        axes.annotate("growth as √T, as in the bound", (steps[-1], fixed["w1"][first]
                      * math.sqrt(steps[-1] / steps[0])), xytext=(0, 4), ha="right", va="bottom",
                      textcoords="offset points", fontsize=9.5, color=drawing.NOTE)  # fmt: skip
    axes.set_ylim(0.5 * min(min(c["w1"]) for c in curves), 2.0)
    drawing.log_axes(axes, [1, 10, 100, 1000])
    axes.set_xlim(1, curves[0]["steps"][-1])
    axes.set_xlabel("number of steps T")
    axes.set_ylabel("W1 from the target")
    drawing.end_labels(axes, curves[0]["steps"][-1], [y for *_, y in labels],
                       [t for t, *_ in labels], [c for _, c, _ in labels],
                       weight="bold")  # fmt: skip
    return Drawing(
        "steps.png",
        figure,
        "Distance from the target against the number of steps on logarithmic axes, for two fixed "
        "steps and two falling ones.",
        f"{small:.2g} is the largest step for which the bounds hold. Their numbers, with the "
        "unnamed constant c4 = 1, are far above this figure "
        f"({_last_number(curves)}). From 32 steps on, each point pools a doubling of T.",
    )


def _last_number(curves: list[dict[str, Any]]) -> str:
    shown = [(c, c["bound"][-1]) for c in curves if c["bound"][-1] is not None]
    return "; ".join(
        f"{'fixed' if c['power'] == 0 else 'falling'} step: {b:.2g} at T = {c['steps'][-1]}"
        for c, b in shown
    ) or "no condition met"  # fmt: skip


def _draw_plan(found: Mapping[str, Any]) -> Drawing:
    plan = found["plan"]
    figure, panels = drawing.titled(
        4.8,
        "A plan made on one target, used on another",
        f"error of one cloud against M, at the same cost M T = {plan['budget']}; "
        "a line for each step h",
        columns=len(plan["targets"]), sharey=True, squeeze=False,
    )  # fmt: skip
    for axes, (name, each) in zip(panels[0], plan["targets"].items(), strict=True):
        steps = sorted({t["step_size"] for t in each["grid"]})
        labels = []
        for h, tint in zip(steps, drawing.ramp(len(steps)), strict=True):
            rows = [t for t in each["grid"] if t["step_size"] == h and t["error"] is not None]
            x, y, se = ([t[key] for t in rows] for key in ("particles", "error", "se"))
            _line(axes, x, y, se, tint, mark="")
            labels.append((f"{h:g}", tint, y[-1]))
        if "followed" in each:
            got = each["followed"]
            axes.errorbar(got["particles"], got["error"], 2 * got["se"], fmt="*", markersize=15,
                          color=COLOURS["spos"], mec="white", zorder=5)  # fmt: skip
            axes.annotate(f"the plan: h = {got['step_size']:.2g}", (got["particles"], got["error"]),
                          xytext=(0, -12), textcoords="offset points", fontsize=9.5, ha="center",
                          va="top", color=COLOURS["spos"], weight="bold")  # fmt: skip
        axes.set_title(name, fontsize=11)
        axes.set_xlabel("M")
        sizes = sorted({t["particles"] for t in each["grid"]})
        drawing.log_axes(axes, sizes, (0.03, 0.1, 0.3, 1))
        axes.set_ylim(0.015, 1.5)
        widest = max(sizes[-1], each.get("followed", {"particles": 0})["particles"])
        axes.set_xlim(sizes[0] / 1.1, widest * 1.1)
        labels[-1] = (f"h = {labels[-1][0]}", *labels[-1][1:])
        drawing.end_labels(axes, sizes[-1], [y for *_, y in labels], [t for t, *_ in labels],
                           [c for _, c, _ in labels], fontsize=9, weight="bold")  # fmt: skip
    panels[0, 0].set_ylabel("W1 of a cloud")
    model = plan["model"]
    fitted = "No plan was made: " + plan["why"] + "." if plan["why"] else (
        f"Fitted to short runs on a Gaussian: error = {model['a']:.2g}/√M + {model['b']:.2g} "
        f"exp(−{model['c']:.2g} T h) + {model['e']:.2g} h, off by {model['misfit']:.0%}."
    )  # fmt: skip
    return Drawing(
        "plan.png",
        figure,
        "Error against the number of particles for several steps at one cost, a panel for each "
        "target, with the planned setting as a star.",
        fitted,
    )
