"""Birth and death: particles go where mass is missing, over distances that no path would bridge.

Langevin particles weigh modes rightly only if they cross between them. Let μ be the density of the
particles and

    Λ_i = log μ(θ_i) - log p(θ_i), less its mean over the particles.

A particle with Λ > 0 has too many neighbours for its density: it dies at the rate Λ, and a copy of
another one takes its place. One with Λ < 0 is born again at the rate -Λ, in place of another. In
the limit of many particles this is the flow ∂μ/∂t = -μ (log(μ/p) - KL(μ|p)), which has p at rest
and forgets the weights of modes at the rate 1, however far apart they are; but it makes no new
places, so that every mode must hold a particle.

μ is a kernel density in coordinates in which a mode is round, however far away the others are:

    log μ(θ_i) = log Σ_j exp(-|z_i - z_j|² / 2η²),    |z|² = θᵀ S θ,    S = (1/M) Σ_m s_m s_mᵀ,

for the scores s of a Gaussian have the inverse of its covariance as theirs. η is the median
distance to the √M-th neighbour. The estimate is smoother than μ, and at rest it is what equals p:
modes of one shape get their weights exactly, of different shapes nearly; and the cloud becomes a
little too narrow, which the walk makes good. So let births and deaths be slower than the walk.

Reference: Lu, Lu and Nolen, 2019, for birth-death beside Langevin dynamics.
"""

from types import ModuleType
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from spos import checks
from spos.cloud import flatten, squared_distances
from spos.dynamics.moves import Drift, Move
from spos.dynamics.sampler import Flow, Sampler, check_sampler_type
from spos.types import Info, Number, Particles, PyTree, State
from spos.values import static, value


@value
class BirthDeath(Sampler):
    """Another sampler with births and deaths; see `birth_death`."""

    sampler: Sampler
    rate: Number
    every: int = static()

    name: ClassVar[str] = "birth_death"

    @property
    def algorithm(self) -> str:
        return self.sampler.algorithm

    @property
    def noise(self) -> Number | None:
        return self.sampler.noise

    @property
    def move(self) -> Move:
        return self.sampler.move

    @property
    def settings(self) -> dict[str, Any]:
        about = {"every": self.every, "rate": self.rate}
        return {**self.sampler.settings, "birth_death": about}

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        return self.sampler.drift(key, state, scores)

    def step(self, key: jax.Array, state: State, batch: PyTree = None) -> tuple[State, Info]:
        state, info = self.sampler.step(key, state, batch)
        time = jnp.asarray(self.rate * self.every * info.step_size)
        state = jax.lax.cond(
            state.step % self.every == 0,
            lambda state: self.exchange(jax.random.fold_in(key, 3), state, batch, time),
            lambda state: state,
            state,
        )
        return state, info

    def exchange(self, key: jax.Array, state: State, batch: PyTree, time: jax.Array) -> State:
        """Births and deaths of so long a time."""
        one = jax.value_and_grad(self.target.log_prob)
        log_prob, scores = jax.vmap(one, in_axes=(0, None))(state.particles, batch)
        theta = flatten(state.particles)
        # z has M numbers, and not d: then |z|² is as above, and nothing must be factored
        z = (theta - theta.mean(0)) @ flatten(scores).T / len(theta) ** 0.5
        excess = crowding(z) - log_prob.astype(z.dtype)
        luck = jax.random.uniform(key, (3, len(theta)), theta.dtype)
        place = successors(time * (excess - excess.mean()), luck)

        def moved(leaf: jax.Array) -> jax.Array:  # a count of steps belongs to no particle
            return leaf[place] if leaf.ndim else leaf

        return state._replace(
            particles=jax.tree.map(moved, state.particles),
            memory=jax.tree.map(moved, state.memory),
        )


def birth_death(sampler: Sampler, every: int = 10, rate: Number = 0.1) -> BirthDeath:
    """The sampler with births and deaths, so that separate modes get their weights.

    Args:
        sampler: any sampler with a step size whose target remembers nothing. The log-density that
            counts is that of the step's minibatch.
        every: the number of steps between births and deaths.
        rate: they last `rate` times as long as those steps, a step of size h being the time h: a
            larger rate weighs sooner, and narrows the cloud more.

    Returns:
        The sampler.

    Example:
        >>> walk = spos.spos(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> spos.sample(spos.birth_death(walk), jnp.ones((50, 2)), num_steps=20).num_steps
        20
    """
    check_sampler_type(sampler)
    if isinstance(sampler, Flow) and sampler.optimizer is not None:
        raise ValueError(
            "sampler must have a step_size, which is the clock of births and deaths, got None"
        )
    if sampler.target.remembers:
        raise ValueError(
            "sampler must have a target without memory: what it remembers of a particle that died "
            f"is of no use to another, got {type(sampler.target).__name__}"
        )
    checks.whole("every", every)
    rate = checks.positive("rate", rate)
    return BirthDeath(sampler.target, sampler.step_size, sampler=sampler, rate=rate, every=every)


def crowding(z: jax.Array) -> jax.Array:
    """log μ at every row of z, up to a constant."""
    sq = squared_distances(z, z)
    width = jnp.median(jnp.sort(sq, 1)[:, round(len(z) ** 0.5)])
    return jax.nn.logsumexp(-0.5 * sq / jnp.maximum(width, 1e-30), 1)


def successors(excess: Any, luck: Any, xp: ModuleType = jnp) -> Any:
    """For each place, the particle that stands there after one unit of time at the rates `excess`,
    which are not all positive. `luck` has three uniform numbers for each; `xp` may be numpy."""
    happens = luck[0] < 1.0 - xp.exp(-xp.abs(excess))
    dies, born = happens & (excess > 0), happens & (excess < 0)
    survivors = xp.argsort(dies, stable=True)  # come first
    heirs = survivors[(luck[1] * (~dies).sum()).astype(int)]
    stays = xp.where(dies, heirs, xp.arange(len(excess)))
    parent = xp.argsort(luck[2])
    return xp.where(born[parent], parent, stays)
