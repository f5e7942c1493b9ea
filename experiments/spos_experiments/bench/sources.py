"""Data larger than memory: how much reading costs, what is resident, and a hundred million rows."""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.targets.passes import streamed_score
from spos_experiments.bench.measure import Row, in_fresh_process, peak_memory
from spos_experiments.bench.network import NETWORK_BATCH, networks

_FRESH = """
import json
from spos_experiments.bench import sources
print(json.dumps(sources.{name}({quick})))
"""


def sources(quick: bool) -> Iterator[Row]:
    """Each in a process of its own, whose memory can be told."""
    for name in ("from_a_file", "larger_than_memory", "very_many_rows"):
        yield json.loads(in_fresh_process(_FRESH.format(name=name, quick=quick)))


def from_a_file(quick: bool) -> Row:
    """Steps of twenty networks on a memory-mapped file, and on the same rows in memory, in turn."""
    rounds, steps, rows = (1, 4, 2_000) if quick else (4, 60, 60_000)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(rows, 784)).astype(np.float32)
    labels = rng.integers(0, 10, rows).astype(np.int32)
    model, start = networks()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "images.npy", Path(folder) / "labels.npy"]
        for path, array in zip(paths, (images, labels), strict=True):
            np.save(path, array)
        mapped = tuple(np.load(path, mmap_mode="r", allow_pickle=False) for path in paths)
        samplers = {}
        for name, data in (("memory", (images, labels)), ("file", mapped)):
            target = spos.posterior(model.log_likelihood, model.log_prior, data, NETWORK_BATCH)
            samplers[name] = spos.spos(target, step_size=1e-6)
        ends, best = {}, dict.fromkeys(samplers, float("inf"))
        for number in range(rounds + 1):
            for name, sampler in samplers.items():
                began = time.perf_counter()
                ends[name] = spos.sample(sampler, start, steps, progress=False).particles
                if number:  # the first compiles
                    best[name] = min(best[name], time.perf_counter() - began)
    same = all(map(np.array_equal, jax.tree.leaves(ends["file"]), jax.tree.leaves(ends["memory"])))
    return {
        "case": f"20 networks 784-400-400-10, {rows} rows in a file against memory",
        "steps_per_s": steps / best["file"],
        "in_memory_steps_per_s": steps / best["memory"],
        "ratio": best["memory"] / best["file"],
        "same_bits": same,
    }


def larger_than_memory(quick: bool) -> Row:
    """A sparse file, of which each step reads a thousand rows from all places."""
    width, steps = 784, 10 if quick else 200
    rows = (1 << 29 if quick else 8 * 10**9) // (4 * width) + 1

    def log_likelihood(theta: Any, x: jax.Array) -> jax.Array:
        return -0.5 * (x @ theta - 1.0) ** 2

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sparse"
        with path.open("wb") as file:
            file.truncate(4 * width * rows)
        data = np.memmap(path, np.float32, "r", shape=(rows, width))
        target = spos.posterior(log_likelihood, lambda theta: -0.5 * jnp.sum(theta**2), data, 1000)
        start = jnp.zeros((10, width))
        began = time.perf_counter()
        spos.sample(spos.sgld(target, 1e-3), start, steps, progress=False)
        seconds = time.perf_counter() - began
    return {
        "case": f"a sparse file of {4e-9 * width * rows:.1f} GB, {steps} batches of 1000 rows",
        "steps_per_s": steps / seconds,
        "seconds": seconds,
        "resident_mb": peak_memory() / 1e6,
    }


class Simulated:
    """A logistic regression of twenty columns, each row made from its own number: 16-bit uniform
    columns of variance one, by SplitMix64.

    Args:
        num_examples: how many rows there are.
    """

    truth = np.linspace(-0.5, 0.5, 20).astype(np.float32)

    def __init__(self, num_examples: int) -> None:
        self.num_examples = num_examples

    def __len__(self) -> int:
        return self.num_examples

    def __getitem__(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        words: Any = rows.astype(np.uint64)[:, None] * np.uint64(6)
        words = words + np.arange(1, 7, dtype=np.uint64)
        words *= np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            words ^= words >> np.uint64(shift)
            words *= np.uint64(factor)
        words ^= words >> np.uint64(31)
        x = words.view(np.uint16)[:, :20].astype(np.float32)
        x *= np.float32(12**0.5 / 2**16)
        x -= np.float32(3**0.5 * (1 - 2**-16))
        luck = (words[:, 5] >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return {"x": x, "y": (luck < 1.0 / (1.0 + np.exp(-(x @ self.truth)))).astype(np.float32)}


def written(rows: Simulated, folder: Path) -> dict[str, np.ndarray]:
    """The rows in files, as memory maps."""
    block, form = 2**17, {name: array.shape[1:] for name, array in rows[np.arange(1)].items()}
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("wb")) for name in form}
        for begin in range(0, len(rows), block):
            some = rows[np.arange(begin, min(begin + block, len(rows)))]
            for name, array in some.items():
                array.tofile(files[name])
    return {
        name: np.memmap(folder / name, np.float32, "r", shape=(len(rows), *shape))
        for name, shape in form.items()
    }


def log_likelihood(theta: Any, batch: Any) -> jax.Array:
    """Of a logistic regression."""
    logits = batch["x"] @ theta
    return batch["y"] * logits - jnp.logaddexp(0.0, logits)


def log_prior(theta: Any) -> jax.Array:
    return -0.5 * jnp.sum(theta**2)


def very_many_rows(quick: bool) -> Row:
    """Control-variate SPOS around the mode of a hundredth of the rows.

    With so many rows the posterior is normal to within 1e-3 sd, and its mean is the mode: two steps
    of Newton's method with exact gradients, each a pass over all rows, and the curvature of the
    hundredth. The second step tells how far the first was from the end.
    """
    total = 10**5 if quick else 10**8
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        made = Simulated(total)
        source = written(made, Path(folder))
        making = time.perf_counter() - began
        part = made[np.arange(0, total, 100)]
        return {**_sampled(source, part), "making_s": making}


def _sampled(source: dict[str, np.ndarray], part: dict[str, np.ndarray]) -> Row:
    total, steps, batch_size, count = len(source["y"]), 3000, 1000, 50
    posterior = spos.posterior(log_likelihood, log_prior, source, batch_size)
    few = spos.posterior(log_likelihood, log_prior, part)
    centre = spos.find_mode(few, np.zeros(20, np.float32))
    curvature = -100.0 * np.asarray(jax.hessian(few.log_prob)(centre), np.float64)
    sds = np.sqrt(np.diag(np.linalg.inv(curvature)))

    began = time.perf_counter()
    mean, moves = np.asarray(centre, np.float64), []
    for _ in range(2):
        exact = streamed_score(posterior, jnp.asarray(mean, jnp.float32)[None])[0]
        moves.append(np.linalg.solve(curvature, np.asarray(exact, np.float64)))
        mean = np.asarray(jnp.asarray(mean, jnp.float32), np.float64) + moves[-1]
    a_pass = (time.perf_counter() - began) / 2

    began = time.perf_counter()
    sampler = spos.spos(spos.control_variate(posterior, centre), 0.1 * float(sds.mean()) ** 2)
    start = centre + sds.mean() * jax.random.normal(jax.random.key(1), (count, 20))
    result = spos.sample(sampler, start, steps, history_every=10, progress=False)
    seconds = time.perf_counter() - began
    draws = np.asarray(result.history, np.float64)[steps // 30 :].reshape(-1, 20)
    return {
        "case": f"{total:.0e} rows of 20 columns, {steps} steps of {count} particles",
        "steps_per_s": steps / (seconds - a_pass),
        "seconds": seconds,
        "pass_s": a_pass,
        "resident_mb": peak_memory() / 1e6,
        "error_sd": float(np.abs((draws.mean(0) - mean) / sds).max()),
        "centre_error_sd": float(np.abs((np.asarray(centre) - mean) / sds).max()),
        "truth_error_sd": float(np.abs(moves[1] / sds).max()),
        "sd_ratio": float((draws.std(0) / sds).mean()),
    }
