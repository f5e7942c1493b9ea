"""What a step costs beside the gradient of the networks that it cannot do without.

Both are taken in a compiled loop on the same data, alternately, and the best of many counts. As in
the runs themselves every core has a program of its own; one alone gave less steady times.
"""

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import spos
from spos import advance
from spos_experiments.frame.experiment import in_parallel
from spos_experiments.paper.regression import protocol

ROWS, TIMES = 10_000, 20
SIZES = {"50 units, batch 100": (13, 50, 100, 300), "100 units, batch 1000": (9, 100, 1000, 40)}


@functools.cache
def measure(particles: int) -> dict[str, dict[str, float]]:
    """Microseconds of a step and of its gradient, by size of network and batch."""
    return {
        name: _one(inputs, hidden, batch, steps, particles)
        for name, (inputs, hidden, batch, steps) in SIZES.items()
    }


def _one(inputs: int, hidden: int, batch: int, steps: int, particles: int) -> dict[str, float]:
    model = protocol.network(inputs, hidden, protocol.Trial(1e-4))
    x = jax.random.normal(jax.random.key(0), (ROWS, inputs))
    y = jnp.sin(x[:, 0])
    target = model.posterior(x, y, batch)
    start, key = model.start(jax.random.key(1), particles, x, y), jax.random.key(2)
    sampler = spos.spos(target, 1e-4, preconditioner=spos.rmsprop())
    state = sampler.init(start)

    @jax.jit
    def gradients(target: spos.Target, cloud: Any) -> Any:
        def step(n: jax.Array, cloud: Any) -> Any:
            rows = target.draw(jax.random.fold_in(key, n), n)
            scores = target.score(cloud, rows)
            return jax.tree.map(lambda a, b: a + 1e-9 * b, cloud, scores)

        return jax.lax.fori_loop(0, steps, step, cloud)

    @jax.jit
    def moves(sampler: spos.Sampler, state: Any) -> Any:
        return jax.lax.fori_loop(0, steps, lambda _, s: advance(sampler, key, s)[0], state)

    cores = os.cpu_count() or 1
    best = {"gradient": float("inf"), "step": float("inf")}
    programs: dict[str, Callable[[], Any]] = {
        "gradient": lambda: jax.block_until_ready(gradients(target, start)),
        "step": lambda: jax.block_until_ready(moves(sampler, state)),
    }
    for _ in range(TIMES + 1):  # the first time compiles
        for name, program in programs.items():
            began = time.perf_counter()
            in_parallel([program] * cores, lambda done, total: None)
            best[name] = min(best[name], 1e6 * (time.perf_counter() - began) / steps)
    return {**best, "ratio": best["step"] / best["gradient"]}
