"""Two checkouts of the library beside each other: `spos bench --against FOLDER`.

Each has a process of its own that stays, so that both are warm, and they are asked in turn: what
disturbs one disturbs the other. Where the two seem to differ, more rounds have to confirm it, in
new processes: where the arrays of a process happen to lie can be worth a tenth, and stays. The
process runs the program below, which knows no more of the library than its oldest public names, so
that old checkouts can be asked too. The first call of `spos.sample`, compilation included, is timed
in processes that begin anew.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from spos_experiments.bench.measure import Row

SIZES = ((20, 753), (100, 2), (100, 1000), (500, 50), (2000, 2), (1000, 1000))
METHODS = ("svgd", "spos")
ROUNDS, FIRST_ROUNDS = 12, 7
MOST = 60  # rounds of a case whose two times differ by more than CLOSE, whichever is less
CLOSE = 0.03
SECONDS = 0.3  # of one measurement

_PROGRAM = """
import functools, json, sys, time
import jax
import spos

def log_prob(x):
    return -0.5 * (x * x).sum()

def networks():
    def log_likelihood(theta, batch):
        x, y = batch
        return -0.5 * (jax.nn.relu(x @ theta["w"]) @ theta["v"] - y) ** 2
    def log_prior(theta):
        return -0.5 * sum((leaf**2).sum() for leaf in theta.values())
    keys = jax.random.split(jax.random.key(0), 3)
    x = jax.random.normal(keys[0], (5000, 13))
    w, v = jax.random.normal(keys[1], (20, 13, 50)), jax.random.normal(keys[2], (20, 50))
    theta = {"w": w, "v": v}
    return spos.posterior(log_likelihood, log_prior, (x, x.sum(1)), batch_size=100), theta

def prepare(case):
    verb, method, count, dim = case
    if count:
        target, particles = log_prob, jax.random.normal(jax.random.key(0), (count, dim))
    else:
        target, particles = networks()
    sampler = getattr(spos, method)(target, 1e-9)  # nothing may diverge
    if verb == "sample":
        def work(steps):
            spos.sample(sampler, particles, num_steps=steps, seed=0, progress=False)
    else:
        @functools.cache
        def program(steps):
            return jax.jit(lambda key, x: spos.run(sampler, key, x, steps))
        def work(steps):
            jax.block_until_ready(program(steps)(jax.random.key(0), particles))
    return work

prepared, warm = {}, set()
for line in sys.stdin:
    case, steps = json.loads(line)
    if tuple(case) not in prepared:
        prepared[tuple(case)] = prepare(case)
    work = prepared[tuple(case)]
    if (*case, steps) not in warm:
        work(steps)
        warm.add((*case, steps))
    began = time.perf_counter()
    work(steps)
    print(json.dumps(time.perf_counter() - began), flush=True)
"""

_FIRST = """
import json, time
import jax, spos
particles = jax.random.normal(jax.random.key(0), (100, 1)).block_until_ready()
began = time.perf_counter()
sampler = spos.spos(lambda x: -0.5 * ((x - 2.0) ** 2).sum(), step_size=0.03, beta=1.0)
spos.sample(sampler, particles, num_steps=1000, seed=1, progress=False)
print(json.dumps(time.perf_counter() - began))
"""


def against(before: Path, now: Path, quick: bool = False) -> Iterator[Row]:
    """Milliseconds a step of both, the best of several in turn, and their ratio.

    Args:
        before: the folder with the package `spos` of the other checkout, such as `old/src`.
        now: that of this one.
        quick: the smallest cases alone, once.
    """
    cases, rounds, first = list(_cases()), ROUNDS, FIRST_ROUNDS
    if quick:
        cases, rounds, first = [case for case in cases if case[2] == 20], 1, 1
    folders = {"before": before, "now": now}
    processes = {name: _Process(folder) for name, folder in folders.items()}
    try:
        for case in cases:
            steps = processes["before"].steps_in(case, SECONDS)
            ask = {
                name: partial(process.seconds, case, steps) for name, process in processes.items()
            }

            def renew() -> None:
                for process in processes.values():
                    process.begin_anew()

            best = best_of(ask, rounds, rounds if quick else MOST, renew)
            yield _row(_name(case), {name: seconds / steps for name, seconds in best.items()})
    finally:
        for process in processes.values():
            process.end()
    best = dict.fromkeys(folders, float("inf"))
    for _ in range(first):
        for name, folder in folders.items():
            done = subprocess.run(
                [sys.executable, "-c", _FIRST],
                env=_environment(folder),
                capture_output=True,
                text=True,
                check=True,
            )
            best[name] = min(best[name], json.loads(done.stdout))
    yield _row("first sample, with compilation", best)


def best_of(
    ask: Mapping[str, Callable[[], float]], rounds: int, most: int, renew: Callable[[], None]
) -> dict[str, float]:
    """The best of several measurements of each, in turn: `most` where the two do not agree, all
    `renew`ed after every so many `rounds`."""
    best = dict.fromkeys(ask, float("inf"))
    for n in range(most):
        if n and n % rounds == 0:
            if abs(best["now"] / best["before"] - 1.0) < CLOSE:
                break
            renew()
        for name, measure in ask.items():
            best[name] = min(best[name], measure())
    return best


def _cases() -> Iterator[tuple[str, str, int, int]]:
    for verb in ("run", "sample"):
        for method in METHODS:
            for count, dim in SIZES:
                yield verb, method, count, dim
            yield verb, method, 0, 0  # networks


def _name(case: tuple[str, str, int, int]) -> str:
    verb, method, count, dim = case
    return f"{verb} {method} " + (f"{count}x{dim}" if count else "20 networks 13-50-1")


def _row(name: str, best: dict[str, float]) -> Row:
    return {
        "case": name,
        "before_ms": 1e3 * best["before"],
        "now_ms": 1e3 * best["now"],
        "ratio": best["now"] / best["before"],
    }


def _environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(folder.resolve())}


class _Process:
    """A checkout that waits for what to do."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "spos" / "__init__.py").exists():
            raise ValueError(f"against must be a folder that holds the package spos, got {folder}")
        self._folder = folder
        self._process = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env=_environment(self._folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin_anew(self) -> None:
        """In another process."""
        self.end()
        self._process = self._started()

    def seconds(self, case: tuple[str, str, int, int], steps: int) -> float:
        """How long so many steps take, once warm."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([case, steps]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process that measures {_name(case)} has ended; see above")
        return json.loads(answer)

    def steps_in(self, case: tuple[str, str, int, int], seconds: float) -> int:
        """About how many steps fit."""
        few = 20
        return max(few, int(seconds / (self.seconds(case, few) / few)))

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
