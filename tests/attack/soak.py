"""A soak: many fresh log-densities and many fits in one process, whose memory must stay bounded.

PYTHONPATH=tests python -m attack.soak 200 50
"""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import spos
from attack.table import Job, Score, report

WARM = 40  # calls until all that is kept once is there: programs, pools, caches
MOST = 0.35  # megabytes a call, after that


def resident() -> float:
    """Megabytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def densities(count: int) -> list[float]:
    """The memory after each run of a log-density that was never seen before."""
    start = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(6, 2)
    rooms = []
    for n in range(count):

        def log_prob(theta: Any, n: int = n) -> Any:
            return -0.5 * jnp.sum((theta - n) ** 2)

        spos.sample(spos.svgd(log_prob, 0.1), start, 5, progress=False)
        rooms.append(resident())
    return rooms


def fits(count: int) -> list[float]:
    """The memory after each fit of an estimator to other rows."""
    rng = np.random.default_rng(0)
    rooms = []
    for n in range(count):
        x = rng.normal(size=(60, 2))
        model = spos.SPOSRegressor((), method="svgd", n_particles=3, num_steps=50, random_state=n)
        model.fit(x, x[:, 0]).predict(x)
        rooms.append(resident())
    return rooms


def judged(name: str, rooms: list[float], warm: int) -> Score:
    """Is the growth after the first calls within bounds?"""
    after = rooms[min(warm, len(rooms) // 2) :]
    growth = (after[-1] - after[0]) / max(1, len(after) - 1)
    told = f"{name}: {growth:.2f} MB a call, from {after[0]:.0f} to {after[-1]:.0f} MB"
    print(told)
    broken = [told] if growth > MOST else []
    return Score(name, "soak", len(rooms), 0, len(rooms) if not broken else 0, broken)


def jobs(num_densities: int, num_fits: int) -> Iterator[Job]:
    work = {
        "fresh log-densities": lambda name: judged(name, densities(num_densities), WARM),
        "fits of an estimator": lambda name: judged(name, fits(num_fits), 10),
    }
    for name, run in work.items():
        yield Job(name, lambda name=name, run=run: [run(name)])


if __name__ == "__main__":
    sys.exit(report(jobs(int(sys.argv[1]), int(sys.argv[2]))))
