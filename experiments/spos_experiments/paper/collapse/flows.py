"""The flows of the experiment: how far apart their particles are, and what variance they keep."""

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos import theory
from spos_experiments.frame.experiment import compiled
from spos_experiments.paper.collapse.settings import Settings

ETA2, PLANE = 1.0, 2


@spos.value
class Attractive(spos.Kernel):
    """The RBF kernel with the sign of its gradient as the paper prints it: it pulls together."""

    def constant_slope(self, bandwidth: jax.Array) -> jax.Array:
        return -2.0 / bandwidth

    def __call__(self, sq: jax.Array, bandwidth: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.exp(-sq / bandwidth), self.constant_slope(bandwidth)


def log_normal(theta: jax.Array) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


REPULSIVE, PRINTED = spos.rbf(ETA2), Attractive(ETA2)


def distances(
    settings: Settings,
    seed: int,
    kernel: spos.Kernel,
    beta: float,
    radius: float,
    h: float,
    steps: int,
) -> tuple[np.ndarray, float]:
    """EPD/M before each step, with the mean square over repeats, and a particle's widest reach."""
    sampler = spos.spos(log_normal, h, beta, kernel=kernel)

    def seen(state: spos.State, info: spos.Info) -> tuple[jax.Array, jax.Array]:
        return info.epd, jnp.max(jnp.linalg.norm(state.particles, axis=1))

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        angle_key, radius_key, run_key = jax.random.split(key, 3)
        angle = 2 * jnp.pi * jax.random.uniform(angle_key, (settings.particles,))
        length = radius * jnp.sqrt(jax.random.uniform(radius_key, (settings.particles,)))
        start = length[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        return spos.run(sampler, run_key, start, steps, observe=seen)[1]

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    epd, reach = compiled(jax.vmap(one), settings.hasty)(keys)
    mean = np.sqrt(np.mean(np.asarray(epd, np.float64) ** 2, axis=0)) / settings.particles
    return mean, max(float(jnp.max(reach)), radius)


def constants(radius: float) -> theory.Constants:
    """N(0, I) and the kernel as seen from within a disc around the mode."""
    return theory.Constants(
        dim=PLANE,
        lipschitz=1.0,
        convexity=1.0,
        score_bound=radius,
        bandwidth=ETA2,
        kernel_concavity=theory.kernel_concavity(ETA2, 2 * radius),
    )


def variances(settings: Settings, seed: int, dimension: int) -> np.ndarray:
    """The mean square of a coordinate late in the run, with axes (β, repeat)."""
    steps = settings.cloud_steps

    def one(key: jax.Array, beta: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        start = jax.random.normal(start_key, (settings.cloud, dimension))
        # without noise nothing limits the step, and a collapse is slow
        h = jnp.where(jnp.isinf(beta), 1.0, 0.03)
        sampler = spos.spos(log_normal, h, beta)
        _, seen = spos.run(
            sampler, run_key, start, steps, observe=lambda state, info: jnp.mean(state.particles**2)
        )
        return jnp.mean(seen[steps // 2 :])

    def all_repeats(keys: jax.Array, betas: jax.Array) -> jax.Array:
        return jax.lax.map(lambda key: jax.vmap(one, (None, 0))(key, betas), keys)

    key = jax.random.fold_in(jax.random.key(seed), dimension)
    keys = jax.random.split(key, settings.cloud_repeats)
    found = compiled(all_repeats, settings.hasty)(keys, jnp.asarray(settings.cloud_betas))
    return np.asarray(found, np.float64).T
