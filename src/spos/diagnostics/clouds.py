"""The runs that `compare` measures: the clouds of one sampler, for several seeds."""

import time

import jax

from spos.dynamics.sampler import Sampler
from spos.loop.run import run
from spos.types import Info, Particles, State


def see_particles(state: State, info: Info) -> Particles:
    return state.particles


def _clouds(
    num_steps: int, every: int, sampler: Sampler, keys: jax.Array, starts: Particles
) -> Particles:
    """The particles at every record, for all seeds."""
    first = num_steps % every  # so that the last record is the last step

    def one(key: jax.Array, start: Particles) -> Particles:
        state, _ = run(sampler, key, start, first, observe=see_particles)
        rest = num_steps - first
        return run(sampler, key, None, rest, state=state, every=every, observe=see_particles)[1]

    return jax.vmap(one)(keys, starts)


def timed_clouds(
    sampler: Sampler, seed: int, starts: Particles, num_steps: int, every: int
) -> tuple[Particles, float]:
    """Run the seeds of one sampler side by side; compiling is not timed. A job of `compare`."""
    keys = jax.random.split(jax.random.key(seed), len(jax.tree.leaves(starts)[0]))
    program = jax.jit(lambda *given: _clouds(num_steps, every, *given))
    compiled = program.lower(sampler, keys, starts).compile()
    began = time.monotonic()
    clouds = jax.block_until_ready(compiled(sampler, keys, starts))
    return clouds, (time.monotonic() - began) / len(keys)
