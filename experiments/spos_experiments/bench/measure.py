"""Timing on a machine where others may be busy: warm, interleaved, the best of several.

The best time is the one least disturbed, and two programs timed in turn within the same seconds
meet the same disturbances. So every figure here is meant as a ratio.
"""

import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from spos import Sampler, advance

Row = dict[str, Any]  # of a list in `bench.json`
Work = Callable[[int], object]  # do so many steps and wait for the end


def best_times(
    works: Mapping[str, Work], *, rounds: int = 5, seconds: float = 0.3
) -> dict[str, float]:
    """Seconds a step of each piece of work, the best of `rounds`, taken in turn."""
    counts = {}
    for name, work in works.items():
        work(1)  # compile and warm up
        began = time.perf_counter()
        work(1)
        once = time.perf_counter() - began
        counts[name] = max(1, int(seconds / max(once, 1e-6)))
        if counts[name] > 1:  # a single call may be mostly overhead: look again with many steps
            few = min(counts[name], 50)
            began = time.perf_counter()
            work(few)
            once = (time.perf_counter() - began) / few
            counts[name] = max(1, int(seconds / max(once, 1e-7)))
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            time.sleep(0.1)  # threads of the one before may still be spinning
            work(1)
            began = time.perf_counter()
            work(counts[name])
            best[name] = min(best[name], (time.perf_counter() - began) / counts[name])
    return best


def repeated(step: Callable, carry: object) -> Work:
    """A compiled loop around a JAX step. The number of steps is an argument, not compiled in."""

    @jax.jit
    def loop(count, carry):
        return jax.lax.fori_loop(0, count, lambda _, value: step(value), carry)

    return lambda count: jax.block_until_ready(loop(count, carry))


def steps_of(sampler: Sampler, particles: Any, *, reporting: bool = True) -> Work:
    """A sampler's own loop. `spos.sample` keeps what a step reports; without `reporting` it is
    dropped, and the compiler leaves out what only the report needs."""
    key, state = jax.random.key(0), sampler.init(particles)
    if not reporting:
        return repeated(
            lambda carry: (carry[0], advance(carry[0], key, carry[1])[0]), (sampler, state)
        )
    _, like = jax.eval_shape(lambda s: advance(sampler, key, s), state)
    last = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)
    return repeated(
        lambda carry: (carry[0], *advance(carry[0], key, carry[1])), (sampler, state, last)
    )


def in_fresh_process(code: str) -> str:
    """What a new Python prints last: for imports, first compilations and memory."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def peak_memory() -> int:
    """The largest resident size this process ever had, in bytes.

    Linux hands `ru_maxrss` on to a child, so that one of a large parent would never seem to grow;
    `VmHWM` begins anew with each program.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
    return 1024 * int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
