"""Has the cloud lost variance? Independent Langevin chains, started from the particles, tell.

Particles that follow the target are in equilibrium: let go of each other, they wander but keep
their variance. A cloud that is too narrow widens. So every particle becomes a chain of its own for
a short run of the Metropolis-adjusted Langevin algorithm (MALA), with all the data of the target,

    y = x + h P s(x) + sqrt(2 h P) ξ,     accepted with chance min(1, p(y) q(x|y) / p(x) q(y|x)).

**Steps of the right size.** P is diagonal, with P_n = sd(θ_n) / sd(s_n) over the particles: for a
Gaussian with independent parameters it is their variance, however narrow the cloud. One step from
the particles is tried again and again with other noise, and h is moved until `ACCEPTANCE` of the
proposals are accepted. A proposal that overshoots is rejected, so that no choice can make chains
blow up or change the target: a bad one only makes them slow, and the check blind.

**The test.** MALA is reversible. A particle x that follows the target and the end x' of its chain
can therefore trade places without changing their joint law. Scale every parameter by the variance
of all starts and ends together, around their common mean, and let D be the growth of the square
from x to x'. A swap only flips the sign of D, so that the mean of D is compared with its means
under random signs: per parameter, and for the average over parameters. The largest of these means,
each in units of its root mean square, gives p-values that hold for all of them at once. The false
alarm rate is then about `level` for independent draws from the target, whatever its shape ("about",
as P and h come from the same particles).

**The verdict** asks for more than chance: a p-value of at most `level` where less than `ENOUGH` of
the variance of the ends was there at the start. What chains cannot reach in a short run, such as a
mode far away, is not seen. Few particles allow few signs: below seven nothing can reach level 0.01.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.diagnostics import cloud
from spos.dynamics.moves import standard_normal
from spos.names import parameters
from spos.programs import compiled
from spos.result import Summary
from spos.targets.target import Target, as_target
from spos.types import Particles

ACCEPTANCE = 0.7
TRIALS = 40  # of one step, to find h
ENOUGH = 0.7  # of the variance
SIGNS = 2000
FLIPS_AT_ONCE = 2**22  # entries


@dataclass(frozen=True)
class Collapse:
    """Has the cloud lost variance?

    Attributes:
        collapsed: the verdict.
        kept: the share of the chains' final variance that the particles had, on average over
            parameters.
        p_value: how often chance explains as much.
        names: of the parameters.
        kept_each: the share of each parameter.
        p_each: its p-value, which holds for all of them at once.
        level: the rate of false alarms.
        num_steps: of the chains.
        step_size: of the chains.
        acceptance: of the chains.
    """

    collapsed: bool
    kept: float
    p_value: float
    names: list[str]
    kept_each: np.ndarray
    p_each: np.ndarray
    level: float
    num_steps: int
    step_size: float
    acceptance: float

    @property
    def narrow(self) -> list[str]:
        """The parameters that are too narrow."""
        low = (self.p_each <= self.level) & (self.kept_each < ENOUGH)
        return [name for name, each in zip(self.names, low, strict=True) if each]

    def __str__(self) -> str:
        found = (
            f"The particles have {self.kept:.0%} of the variance that independent Langevin chains "
            f"reach from them in {self.num_steps} steps (p-value {self.p_value:.2g})."
        )
        if not self.collapsed:
            return found + " No sign of a collapse."
        who = "The cloud is too narrow"
        if 0 < len(self.narrow) < len(self.names):
            more = f" and {len(self.narrow) - 5} more" if len(self.narrow) > 5 else ""
            who += f" in {', '.join(self.narrow[:5])}{more}"
        return (
            f"{found} {who}: do not trust its spread. Run longer if it is still widening. If it "
            "stays, use spos.spos with beta=1 instead of SVGD, or lower its beta, or take more "
            "particles."
        )

    def table(self) -> Summary:
        """The share of variance kept and its p-value, for every parameter.

        Returns:
            The table.
        """
        columns = {"kept": self.kept_each, "p-value": self.p_each}
        return Summary(self.names, columns, str(self))


def collapse(
    target: Any,
    particles: Particles,
    *,
    num_steps: int = 100,
    level: float = 0.01,
    seed: int = 0,
) -> Collapse:
    """Compare the variance of particles with that of Langevin chains started from them.

    Costs `num_steps` + 41 scores of all particles on all the data.

    Args:
        target: a log-density of one particle, or a target such as `spos.posterior` gives.
        particles: a pytree whose leaves share a leading axis of length M.
        num_steps: of the chains.
        level: the rate of false alarms on independent draws from the target.
        seed: of the chains.

    Returns:
        The verdict, with the share of variance kept; printed, it is a sentence.

    Example:
        >>> narrow = 0.01 * jax.random.normal(jax.random.key(0), (20, 1))
        >>> found = spos.diagnostics.collapse(lambda x: -0.5 * jnp.sum(x**2), narrow)
        >>> found.collapsed
        True
    """
    checks.whole("num_steps", num_steps)
    checks.seed("seed", seed)
    if not checks.fraction("level", level) > 0:
        raise ValueError(f"level must be above 0, got {level!r}")
    cloud.points("particles", particles, at_least=2)
    particles = checks.particles(particles)
    target = as_target(target)
    cloud.scores_at(target, particles)  # checks the target, and that its scores are finite here
    key = jax.random.key(seed)
    ends, h, acceptance = _chains(num_steps, target, key, particles)
    names, start = parameters(particles)
    kept, kept_each, growth = _growth(start, parameters(ends)[1])
    p = np.asarray(_p_values(jax.random.fold_in(key, 1), jnp.asarray(growth, jnp.float32)))
    shares = np.concatenate([[kept], kept_each])
    return Collapse(
        collapsed=bool(np.any((p <= level) & (shares < ENOUGH))),
        kept=kept,
        p_value=float(p[0]),
        names=names,
        kept_each=kept_each,
        p_each=p[1:],
        level=level,
        num_steps=num_steps,
        step_size=float(h),
        acceptance=float(acceptance),
    )


def _growth(start: np.ndarray, ends: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """The share of variance at the start, on average and each, and the growth of squares: one row
    per particle, the average over parameters in front of the parameters."""
    both = np.concatenate([start, ends])
    scale = both.std(axis=0)
    scale[scale == 0] = 1.0
    before, after = ((cloud - both.mean(axis=0)) / scale for cloud in (start, ends))
    growth = after**2 - before**2
    variances = before.var(axis=0), after.var(axis=0)
    kept_each = np.divide(*variances, out=np.ones(len(scale)), where=variances[1] > 0)
    kept = variances[0].sum() / variances[1].sum() if variances[1].sum() > 0 else 1.0
    return float(kept), kept_each, np.column_stack([growth.mean(axis=1), growth])


@jax.jit
def _p_values(key: jax.Array, growth: jax.Array) -> jax.Array:
    """One-sided, each for the largest of all columns."""
    count, columns = growth.shape
    size = jnp.sqrt(jnp.mean(growth**2, axis=0))
    unit = growth / jnp.where(size > 0, size, 1.0) / count

    def largest(key: jax.Array) -> jax.Array:
        return jnp.max(jax.random.rademacher(key, (count,), growth.dtype) @ unit)

    chance = jax.lax.map(
        largest,
        jax.random.split(key, SIGNS),
        batch_size=max(1, min(SIGNS, FLIPS_AT_ONCE // columns)),
    )
    found = jnp.sum(unit, axis=0)
    slack = 1e-5  # the same signs may add up in another order
    reached = jnp.sum(chance[:, None] >= found - slack, axis=0)
    return (1 + reached) / (1 + SIGNS)


@compiled(1)
def _chains(
    num_steps: int, target: Target, key: jax.Array, particles: Particles
) -> tuple[Particles, jax.Array, jax.Array]:
    """The ends of the chains, their step size and their acceptance."""

    def at(particles: Particles) -> tuple[Particles, Particles, jax.Array]:
        return particles, target.score(particles), jax.vmap(target.log_prob)(particles)

    start = at(particles)
    metric = jax.tree.map(_metric, *start[:2])

    def step(key: jax.Array, h: jax.Array, here: Any) -> tuple[Any, jax.Array]:
        noise_key, accept_key = jax.random.split(key)
        noise = standard_normal(noise_key, particles)
        there = at(
            jax.tree.map(
                lambda x, s, p, xi: (x + h * p * s + jnp.sqrt(2.0 * h * p) * xi).astype(x.dtype),
                *here[:2],
                metric,
                noise,
            )
        )
        log_ratio = there[2] - here[2] + _log_move(h, metric, there, here)
        log_ratio = log_ratio - _log_move(h, metric, here, there)
        chance = jnp.exp(jnp.minimum(jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio), 0.0))
        accepted = jax.random.uniform(accept_key, chance.shape) < chance
        moved = jax.tree.map(
            lambda new, old: jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old),
            there,
            here,
        )
        return moved, jnp.mean(chance)

    def body(carry: Any, now: Any) -> tuple[Any, jax.Array]:
        here, log_h = carry
        key, gain = now
        moved, accepted = step(key, jnp.exp(log_h), here)
        here = jax.tree.map(lambda x, y: jnp.where(gain > 0, x, y), start, moved)
        return (here, log_h + gain * (accepted - ACCEPTANCE)), accepted

    # a trial moves h, the later the less, and leaves the particles where they are; the run does not
    k = np.arange(TRIALS + num_steps)
    gains = jnp.asarray(np.where(k < TRIALS, 1.0 / np.maximum(1, k - TRIALS // 2), 0.0))
    carry = start, jnp.log(jnp.asarray(0.5, start[2].dtype))
    keys = jax.random.split(key, len(k))
    ((ends, _, _), log_h), accepted = jax.lax.scan(body, carry, (keys, gains))
    return ends, jnp.exp(log_h), jnp.mean(accepted[TRIALS:])


def _metric(x: jax.Array, s: jax.Array) -> jax.Array:
    """sd(x) / sd(s) of every parameter, and 1 where there is no such number."""
    ratio = jnp.std(x, axis=0) / jnp.std(s, axis=0)
    return jnp.where(jnp.isfinite(ratio) & (ratio > 0), ratio, 1.0)


def _log_move(h: jax.Array, metric: Particles, here: Any, there: Any) -> jax.Array:
    """log q(there | here) up to a constant, for every particle."""

    def one(x: jax.Array, s: jax.Array, y: jax.Array, p: jax.Array) -> jax.Array:
        miss = (y - x - h * p * s) ** 2 / (4.0 * h * p)
        return -jnp.sum(miss.reshape(len(miss), -1), axis=1)

    parts = jax.tree.map(one, here[0], here[1], there[0], metric)
    return functools.reduce(jnp.add, jax.tree.leaves(parts))
