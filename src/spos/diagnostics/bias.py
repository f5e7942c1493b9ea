"""How far off are posterior moments because of the step, and because of the number of particles?

A run with step h and M particles settles on moments that differ from the target's by about
c h + c'/M. Half the step takes away half of the first part, twice the cloud half of the second:

    step bias      ≈ 2 (E[h, M] - E[h/2, M])
    particle bias  ≈ 2 (E[h, M] - E[h, 2M])

E is an average over particles and over the steps after the burn-in. The run with half the step
takes twice as many steps, so that all three cover the same time; together they cost five runs. What
is of second order in h or in 1/M remains, and so does what no step and no cloud size can show, such
as a mode that no run has found.

**Error bars** come from independent replicas, each with a start and a seed of its own: the steps of
a run and the particles of a cloud depend on each other. A bias is called significant by a t-test
over replicas with Bonferroni's correction, so that a report on a sampler without bias flags
anything at all with a probability of at most `level`.

**The variance** of replica r of R is that of all its points, and R/(R-1) times the square by which
its mean is off the mean of all replicas: on average the right one, however short the runs.

**Starts** come from a function `start(key, num_particles) -> particles`. Given particles instead,
they are drawn from those with replacement, with a jitter of normals of Silverman's width.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.dynamics.sampler import Sampler
from spos.executors import check_executor, outcomes
from spos.loop.run import run
from spos.names import parameters
from spos.programs import compiled
from spos.types import Info, Particles, PyTree, State

Start = Callable[[jax.Array, int], Particles]
MOMENTS = ("mean", "variance")
ROUNDING = 1e-6  # of float32 averages: smaller differences are not told from zero


@dataclass(frozen=True)
class Estimates:
    """One value per parameter, its standard error over replicas, and whether it differs from 0."""

    value: np.ndarray
    error: np.ndarray
    significant: np.ndarray

    def cell(self, row: int) -> str:
        star = "*" if self.significant[row] else " "
        return f"{self.value[row]:12.4f} ±{self.error[row]:8.4f}{star}"


@dataclass(frozen=True)
class BiasReport:
    """What the step and the number of particles do to each moment.

    The four mappings have the keys "mean" and "variance".

    Attributes:
        names: of the parameters.
        moments: as found.
        step_bias: of the step, as estimated.
        particle_bias: of the number of particles, as estimated.
        extrapolated: the moments without the two.
        title: what was run.
        level: how often a sampler without bias has anything flagged.
    """

    names: list[str]
    moments: Mapping[str, Estimates]
    step_bias: Mapping[str, Estimates]
    particle_bias: Mapping[str, Estimates]
    extrapolated: Mapping[str, Estimates]
    title: str
    level: float

    @property
    def significant(self) -> bool:
        """Is any bias more than chance?"""
        found = (*self.step_bias.values(), *self.particle_bias.values())
        return any(each.significant.any() for each in found)

    def __str__(self, most: int = 20) -> str:
        found = {
            "found": self.moments,
            "step bias": self.step_bias,
            "particle bias": self.particle_bias,
            "without them": self.extrapolated,
        }
        width = max(len(name) for name in [*self.names[:most], *MOMENTS])
        lines = [self.title]
        for moment in MOMENTS:
            lines.append(f"{moment:<{width}}" + "".join(f"{head:>23}" for head in found))
            lines += [
                f"{name:<{width}}" + "".join(each[moment].cell(row) for each in found.values())
                for row, name in enumerate(self.names[:most])
            ]
        if len(self.names) > most:
            lines.append(f"… and {len(self.names) - most} more parameters")
        starred = sum(
            int(each[moment].significant.sum())
            for each in (self.step_bias, self.particle_bias)
            for moment in MOMENTS
        )
        lines.append(f"{starred or 'no'} biases beyond chance (*), at a rate of {self.level:g}")
        return "\n".join(lines)

    __repr__ = __str__


def bias(
    make_sampler: Callable[[float], Sampler],
    step_size: float,
    start: Any,
    num_steps: int,
    *,
    num_particles: int | None = None,
    burn_in: float = 0.5,
    num_replicas: int = 16,
    seed: int = 0,
    level: float = 0.01,
    executor: Any = None,
) -> BiasReport:
    """Run again with half the step and with twice the particles, and extrapolate.

    Args:
        make_sampler: makes a sampler of a step size: `lambda h: spos.spos(target, h)`.
        step_size: h, above 0.
        start: particles, or a function `(key, num_particles) -> particles`.
        num_steps: of the run with step h.
        num_particles: M; only where `start` is a function.
        burn_in: the share of the steps that is left out of the averages, in [0, 1).
        num_replicas: independent runs of each kind, at least 3.
        seed: of all runs.
        level: how often a sampler without bias may have anything flagged.
        executor: does the three kinds of runs as jobs; None does one after another here.

    Returns:
        Both biases of every mean and variance, with error bars; printed, it is a table.

    Example:
        >>> report = spos.diagnostics.bias(
        ...     lambda h: spos.sgld(lambda x: -0.5 * jnp.sum(x**2), h),
        ...     step_size=0.1, start=jnp.ones((4, 1)), num_steps=10, num_replicas=3,
        ... )
        >>> report.names
        ['theta[0]']
    """
    checks.function("make_sampler", make_sampler)
    checks.positive("step_size", step_size)
    checks.whole("num_steps", num_steps, at_least=2)
    checks.fraction("burn_in", burn_in)
    checks.whole("num_replicas", num_replicas, at_least=3)
    checks.positive("level", level)
    check_executor(executor)
    if not callable(start):
        cloud = checks.particles(start)
        if num_particles is not None:
            raise ValueError(
                f"num_particles must be left out when start is a cloud, got {num_particles!r}"
            )
        start, count = resampled(cloud), jax.tree.leaves(cloud)[0].shape[0]
    elif num_particles is None:
        raise ValueError("num_particles must be given when start is a function, got None")
    else:
        count = checks.whole("num_particles", num_particles)
    checks.seed("seed", seed)
    root = jax.random.key(seed)
    names, _ = parameters(jax.tree.map(np.asarray, start(root, 1)))
    kinds = ((step_size, count, 1), (step_size / 2, count, 2), (step_size, 2 * count, 1))
    jobs = [
        (make_sampler(h), start, size, seed, kind, num_replicas, times * num_steps, burn_in)
        for kind, (h, size, times) in enumerate(kinds)
    ]
    here, half, twice = outcomes(executor, replicas, jobs)
    rate = level / (2 * len(MOMENTS) * len(names))

    def estimates(combine: Callable[[str], np.ndarray], rate: float = 0.0) -> dict[str, Estimates]:
        noise = {"mean": np.sqrt(here["variance"].mean(0)), "variance": here["variance"].mean(0)}
        return {
            moment: t_test(combine(moment), rate, ROUNDING * noise[moment]) for moment in MOMENTS
        }

    return BiasReport(
        names,
        moments=estimates(lambda m: here[m]),
        step_bias=estimates(lambda m: 2 * (here[m] - half[m]), rate),
        particle_bias=estimates(lambda m: 2 * (here[m] - twice[m]), rate),
        extrapolated=estimates(lambda m: 2 * half[m] + 2 * twice[m] - 3 * here[m]),
        title=f"Bias of step {step_size:g} and of {count} particles: {num_replicas} replicas of "
        f"{num_steps} steps, {burn_in:.0%} of them left out",
        level=level,
    )


def t_test(repeats: np.ndarray, rate: float, rounding: Any = 0.0) -> Estimates:
    """Means over independent repeats; one is significant if, were it 0, chance would make it as
    large with a probability below `rate`."""
    freedom = len(repeats) - 1
    value = repeats.mean(0)
    error = np.hypot(repeats.std(0, ddof=1) / np.sqrt(len(repeats)), rounding)
    noise = freedom * error**2  # the share is 1 / (1 + t²/freedom)
    share = np.where(value == 0, 1.0, noise / np.where(value == 0, 1.0, noise + value**2))
    chance = np.asarray(jax.scipy.special.betainc(freedom / 2.0, 0.5, jnp.asarray(share)))
    return Estimates(value, error, chance < rate)


def resampled(cloud: Particles) -> Callable[[jax.Array, int], Particles]:
    """Starts of any size from a cloud: its points with replacement, each moved a little."""
    return functools.partial(_moved_a_little, cloud)


def _moved_a_little(cloud: Particles, key: jax.Array, num_particles: int) -> Particles:
    leaves, structure = jax.tree.flatten(cloud)
    points = len(leaves[0])
    width = points ** (-1.0 / (4 + sum(leaf[0].size for leaf in leaves)))
    chosen, *moves = jax.random.split(key, 1 + len(leaves))
    rows = jax.random.randint(chosen, (num_particles,), 0, points)
    return jax.tree.unflatten(
        structure,
        [
            leaf[rows]
            + width * jnp.std(leaf, axis=0) * jax.random.normal(move, leaf[rows].shape, leaf.dtype)
            for leaf, move in zip(leaves, moves, strict=True)
        ],
    )


def replicas(
    sampler: Sampler,
    start: Start,
    num_particles: int,
    seed: int,
    kind: int,
    num_replicas: int,
    num_steps: int,
    burn_in: float,
) -> dict[str, np.ndarray]:
    """Mean and variance over particles and late steps: a row for each replica, a column a
    parameter. A job of `bias`."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), kind), num_replicas)
    found = _averages(start, num_particles, num_steps, burn_in, sampler, keys)
    mean, variance = (parameters(each)[1] for each in found)
    if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
        raise FloatingPointError(
            f"replicas of {num_particles} particles and {num_steps} steps are no longer finite: "
            "use a smaller step_size"
        )
    off = mean - mean.mean(0)
    return {"mean": mean, "variance": variance + off**2 * len(mean) / (len(mean) - 1)}


def see_moments(state: State, info: Info) -> tuple[PyTree, PyTree]:
    mean = jax.tree.map(lambda x: jnp.mean(x, axis=0), state.particles)
    return mean, jax.tree.map(lambda x: jnp.var(x, axis=0), state.particles)


def see_nothing(state: State, info: Info) -> tuple[()]:
    return ()


@compiled(4)
def _averages(
    start: Start,
    num_particles: int,
    num_steps: int,
    burn_in: float,
    sampler: Sampler,
    keys: jax.Array,
) -> tuple[PyTree, PyTree]:
    """Mean and variance over particles and late steps, for every key."""
    skipped = int(burn_in * num_steps)

    def one(key: jax.Array) -> tuple[PyTree, PyTree]:
        start_key, run_key = jax.random.split(key)
        first = start(start_key, num_particles)
        state, _ = run(sampler, run_key, first, skipped, observe=see_nothing)
        _, (means, variances) = run(
            sampler, run_key, None, num_steps - skipped, state=state, observe=see_moments
        )
        mean = jax.tree.map(lambda m: jnp.mean(m, axis=0), means)
        variance = jax.tree.map(
            lambda m, v: jnp.mean(v, axis=0) + jnp.var(m, axis=0), means, variances
        )
        return mean, variance

    return jax.vmap(one)(keys)
