"""The noise of every estimate along a run, and the moments that samplers have with it."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos_experiments.frame.experiment import compiled
from spos_experiments.paper.variance import covertype
from spos_experiments.paper.variance.covertype import Problem
from spos_experiments.paper.variance.settings import METHODS, PLAIN, Settings


def targets(settings: Settings, given: Problem) -> dict[str, Any]:
    plain = covertype.posterior(given.data, settings.batch_size)
    return {
        PLAIN: plain,
        "control variate": spos.control_variate(plain, given.mode),
        "SVRG": spos.svrg(plain),
        "SAGA": spos.saga(plain),
    }


def steps_within(target: Any, budget: int, particles: int) -> int:
    """The largest number of steps that takes no more than `budget` gradients, by bisection."""
    low, high = 0, budget
    while high - low > 1:
        middle = (low + high) // 2
        fits = target.gradient_evaluations(middle, particles) <= budget
        low, high = (middle, high) if fits else (low, middle)
    return low


def moments(
    settings: Settings, seed: int, given: Problem, method: str, name: str
) -> tuple[int, np.ndarray]:
    """The number of steps, and with axes (share, repeat, moment, parameter) the means of θ and of
    (θ - mode)² over the particles and the second half of the steps."""
    target = targets(settings, given)[name]
    count, budget = settings.particles, settings.particles * settings.passes * settings.rows
    steps = steps_within(target, budget, count)
    largest = float(np.linalg.eigvalsh(given.hessian)[-1])

    def one(share: jax.Array, key: jax.Array, data: Any) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        spread = jax.random.normal(start_key, (count, len(given.mode))) / math.sqrt(largest)

        def seen(state: spos.State, info: spos.Info) -> jax.Array:
            away = state.particles - given.mode
            return jnp.stack([away.mean(axis=0), (away**2).mean(axis=0)])

        sampler = METHODS[method](target.with_data(data), share / largest)
        path = spos.run(sampler, run_key, given.mode + spread, steps, observe=seen)[1]
        return path[steps // 2 :].mean(axis=0)

    def every(shares: jax.Array, keys: jax.Array, data: Any) -> jax.Array:
        pairs = jnp.repeat(shares, len(keys)), jnp.tile(keys, len(shares))
        return jax.lax.map(lambda pair: one(pair[0], pair[1], data), pairs)

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    found = compiled(every, settings.hasty)(jnp.asarray(settings.shares), keys, given.data)
    shape = (len(settings.shares), settings.repeats, 2, len(given.mode))
    return steps, np.asarray(found, np.float64).reshape(shape)


def noises(settings: Settings, seed: int, given: Problem) -> dict[str, np.ndarray]:
    """The noise of every estimate at every place of the run, and as `distance` how far the
    particles are from the mode, root mean squares over particles."""
    made = targets(settings, given)
    reducing = {name: made[name] for name in settings.scores[1:]}
    whole = covertype.posterior(given.data, None)
    h = settings.noise_share / float(np.linalg.eigvalsh(given.hessian)[-1])
    given_all, drawing = whole.with_data, made["control variate"].with_data
    start_key, walk_key, batch_key = jax.random.split(jax.random.key(seed), 3)

    def walk(carry: Any, first: jax.Array, last: jax.Array, data: Any) -> Any:
        def body(k: jax.Array, carry: Any) -> Any:
            state, memories = carry
            key = jax.random.fold_in(walk_key, k)
            batch = drawing(data).draw(jax.random.fold_in(key, 2), k)
            memories = {
                name: estimate.with_data(data).scores(memories[name], state.particles, batch)[1]
                for name, estimate in reducing.items()
            }
            return spos.sgld(given_all(data), h).step(key, state)[0], memories

        return jax.lax.fori_loop(first, last, body, carry)

    def measure(carry: Any, data: Any) -> Any:
        state, memories = carry
        exact = given_all(data).score(state.particles)

        def of_batch(key: jax.Array) -> dict[str, jax.Array]:
            batch = drawing(data).draw(key, 0)
            scores = {PLAIN: made[PLAIN].with_data(data).score(state.particles, batch.batch)}
            for name, estimate in reducing.items():
                scores[name] = estimate.with_data(data).scores(
                    memories[name], state.particles, batch
                )[0]
            return {n: jnp.mean(jnp.sum((s - exact) ** 2, axis=1)) for n, s in scores.items()}

        keys = jax.random.split(batch_key, settings.noise_batches)
        found = jax.tree.map(jnp.mean, jax.lax.map(of_batch, keys))
        away = jnp.sqrt(jnp.mean(jnp.sum((state.particles - given.mode) ** 2, axis=1)))
        return {**found, "distance": away}

    go, look = compiled(walk, settings.hasty), compiled(measure, settings.hasty)
    start = jax.random.normal(start_key, (settings.particles, len(given.mode)))
    carry = (
        spos.sgld(whole, h).init(start),
        {name: e.first_memory(start) for name, e in reducing.items()},
    )
    rows, here = [], 0
    for step in settings.noise_steps:
        carry, here = go(carry, here, step, given.data), step
        rows.append(look(carry, given.data))
    return {name: np.asarray([float(row[name]) for row in rows]) for name in rows[0]}
