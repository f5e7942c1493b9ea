"""What is measured. Each function yields rows for one list of `bench.json` as they are finished.

* `rows`      one SVGD step of ours against the same step elsewhere
* `noise`     one SPOS step against one SVGD step: the noise should be nearly free
* `limits`    one step against its unavoidable parts, timed in the same run
* `memory`    exact tiled steps of very many particles: peak memory and time a pair
* `groups`    the random-batch interaction against the exact one
* `network`   the gradient of many networks against a plain matrix product
* `control`   training policies, the task compiled in or in Gymnasium
* `sources`   data that are read while a run goes on
* `startup`   importing, and the first call
* `scaling`   cost against the number of particles, for the figure
* `scale`     particles over devices and processes, against the model of a step
* `devices`   `spos.fit` on one device and on two
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

import spos
from spos.dynamics.noise import normal_matrix
from spos_experiments.bench import BENCHMARKS
from spos_experiments.bench import peers as others
from spos_experiments.bench.control import control
from spos_experiments.bench.devices import devices
from spos_experiments.bench.measure import Row, best_times, in_fresh_process, repeated, steps_of
from spos_experiments.bench.network import network, networks
from spos_experiments.bench.peers import start
from spos_experiments.bench.scale import scale
from spos_experiments.bench.sources import sources

SIZES = ((20, 753), (100, 2), (100, 1000), (500, 50), (2000, 2), (1000, 1000))
QUICK_SIZES = ((100, 2), (500, 50))

_PAIR = """
import json
from spos_experiments.bench.cases import pair
print(json.dumps(pair({count}, {dim}, {peer!r}, {rounds})))
"""


def rows(quick: bool) -> Iterator[Row]:
    """Each peer meets us in a process of its own. Sharing one would not do: memory that another
    library has once used makes BlackJAX much faster at 100×1000, since large arrays no longer come
    fresh from the system, and threads of NumPy and PyTorch linger in busy loops."""
    for count, dim in QUICK_SIZES if quick else SIZES:
        for peer in others.PEERS:
            code = _PAIR.format(count=count, dim=dim, peer=peer, rounds=2 if quick else 5)
            yield json.loads(in_fresh_process(code))


def pair(count: int, dim: int, peer: str, rounds: int) -> Row:
    """The peers report nothing, so our report is dropped here too; `ours_reporting_ms` has it.
    `seldom_ms` has a bandwidth that serves ten steps."""
    theta = start(count, dim)
    sampler = spos.svgd(others.standard_normal, others.STEP_SIZE)
    kernel = spos.rbf(refresh_every=10)
    seldom = spos.svgd(others.standard_normal, others.STEP_SIZE, kernel=kernel)
    works = {
        "ours": steps_of(sampler, theta, reporting=False),
        "reporting": steps_of(sampler, theta),
        "seldom": steps_of(seldom, theta, reporting=False),
    }
    row: Row = {"case": f"{count}x{dim}", "M": count, "d": dim, "peer": peer}
    try:
        works[peer] = others.PEERS[peer](theta)
    except others.Skip as reason:
        row["skipped"] = str(reason)
    times = best_times(works, rounds=rounds)
    theirs = times.get(peer)
    return row | {
        "ours_ms": 1e3 * times["ours"],
        "ours_reporting_ms": 1e3 * times["reporting"],
        "seldom_ms": 1e3 * times["seldom"],
        "peer_ms": None if theirs is None else 1e3 * theirs,
        "ratio": None if theirs is None else theirs / times["ours"],
    }


def noise(quick: bool) -> Iterator[Row]:
    cases: list[tuple[str, Any, Any]] = [
        (f"{count}x{dim}", others.standard_normal, start(count, dim))
        for count, dim in (QUICK_SIZES if quick else SIZES)
    ]
    if not quick:
        cases.append(("networks", *networks()))
    for name, target, theta in cases:
        times = best_times(
            {
                "svgd": steps_of(spos.svgd(target, 1e-4), theta),
                "spos": steps_of(spos.spos(target, 1e-4), theta),
            },
            rounds=3 if quick else 7,
        )
        yield {
            "case": name,
            "svgd_ms": 1e3 * times["svgd"],
            "spos_ms": 1e3 * times["spos"],
            "ratio": times["spos"] / times["svgd"],
        }


def limits(quick: bool) -> Iterator[Row]:
    """Two matrix products, M² exponentials and M·d normals: no step can do without them."""
    for count, dim in ((500, 50),) if quick else ((20, 753), (100, 1000), (1000, 1000), (2000, 2)):
        theta, square = start(count, dim), start(count, count)

        def normals(carry: Any) -> Any:
            step, x = carry
            key = jax.random.fold_in(jax.random.key(0), step)
            return step + 1, normal_matrix(key, (len(x), x.shape[1]), x.dtype)

        works = {
            "step": steps_of(spos.spos(others.standard_normal, 0.01), theta, reporting=False),
            "gram": repeated(lambda x: (x[0] * (1 + x[1][0, 0]), x[0] @ x[0].T), (theta, square)),
            "product": repeated(lambda x: (x[1] @ x[0], x[1]), (theta, square / count)),
            "exp": repeated(lambda k: jnp.exp(-jnp.abs(k)), square),
            "normals": repeated(normals, (jnp.zeros((), jnp.int32), theta)),
        }
        times = best_times(works, rounds=3 if quick else 7)
        step = times.pop("step")
        parts = {name: 1e3 * value for name, value in times.items()}
        yield {
            "case": f"{count}x{dim}",
            "M": count,
            "d": dim,
            "step_ms": 1e3 * step,
            "parts_ms": parts,
            "ratio": 1e3 * step / sum(parts.values()),
        }


_MEMORY = """
import json, time, jax, spos
from spos_experiments.bench.measure import peak_memory
from spos_experiments.bench.peers import standard_normal
count, dim = {count}, {dim}
sampler = spos.svgd(standard_normal, 0.01)
warm = sampler.init(jax.random.normal(jax.random.key(0), (64, dim)))
step = jax.jit(sampler.step)
jax.block_until_ready(step(jax.random.key(1), warm))
state = sampler.init(jax.random.normal(jax.random.key(0), (count, dim)))
before, times = peak_memory(), []
for _ in range({rounds} + 1):
    began = time.perf_counter()
    jax.block_until_ready(step(jax.random.key(1), state))
    times.append(time.perf_counter() - began)
growth = (peak_memory() - before) / 1e6
print(json.dumps({{"step_s": min(times[1:]), "growth_mb": growth}}))
"""


def memory(quick: bool) -> Iterator[Row]:
    sizes = ((10_000, 2),) if quick else ((10_000, 2), (100_000, 2), (2_000, 100), (20_000, 100))
    for count, dim in sizes:
        code = _MEMORY.format(count=count, dim=dim, rounds=2 if count * dim > 1e5 else 4)
        seen = json.loads(in_fresh_process(code))
        yield {
            "case": f"{count}x{dim}",
            "M": count,
            "d": dim,
            "step_s": seen["step_s"],
            "peak_growth_mb": seen["growth_mb"],
            "ns_per_pair": 1e9 * seen["step_s"] / count**2,
        }


def groups(quick: bool) -> Iterator[Row]:
    """One exact step is seconds long here, so it is timed by itself, once warm."""
    count, dim, size = (20_000 if quick else 100_000), 2, 100
    theta = start(count, dim)
    times: dict[str, float] = {}
    for name, group_size in (("exact", None), ("groups", size)):
        sampler = spos.svgd(others.standard_normal, 0.01, group_size=group_size)
        work = steps_of(sampler, theta, reporting=False)
        rounds = 2 if name == "exact" else 5
        times |= best_times({name: work}, rounds=rounds)
    yield {
        "case": f"{count}x{dim}",
        "M": count,
        "d": dim,
        "group_size": size,
        "exact_ms": 1e3 * times["exact"],
        "groups_ms": 1e3 * times["groups"],
        "ratio": times["exact"] / times["groups"],
    }


_STARTUP = """
import time
began = time.perf_counter()
import jax
middle = time.perf_counter()
import spos
ended = time.perf_counter()
particles = jax.random.normal(jax.random.key(0), (100, 1)).block_until_ready()
sampler = spos.spos(lambda x: -0.5 * ((x - 2.0) ** 2).sum(), step_size=0.03, beta=1.0)
ready = time.perf_counter()
spos.sample(sampler, particles, num_steps=1000, seed=1)
done = time.perf_counter()
import json
print(json.dumps({"jax_s": middle - began, "spos_s": ended - middle, "first_s": done - ready}))
"""


def startup(quick: bool) -> Iterator[Row]:
    seen = [json.loads(in_fresh_process(_STARTUP)) for _ in range(1 if quick else 5)]
    best = {name: min(one[name] for one in seen) for name in seen[0]}
    yield {
        "case": "startup",
        "import_jax_s": best["jax_s"],
        "import_spos_adds_s": best["spos_s"],
        "first_sample_s": best["first_s"],
    }


def scaling(quick: bool) -> Iterator[Row]:
    """Cost of a step against the number of particles, in two dimensions."""
    for count in (50, 200, 800) if quick else (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000):
        theta = start(count, 2)
        works = {"ours": steps_of(spos.svgd(others.standard_normal, 0.01), theta, reporting=False)}
        if count >= 200:
            grouped = spos.svgd(others.standard_normal, 0.01, group_size=100)
            works["ours, groups of 100"] = steps_of(grouped, theta, reporting=False)
        for name, peer in others.PEERS.items():
            if count <= (1000 if name in ("pyro", "blackjax", "numpyro") else 2000):
                try:
                    works[name] = peer(theta)
                except others.Skip:
                    continue
        for name, seconds in best_times(works, rounds=2, seconds=0.1).items():
            yield {"case": f"{count}x2", "M": count, "d": 2, "who": name, "ms": 1e3 * seconds}


CASES: dict[str, Callable[[bool], Iterator[Row]]] = dict(
    zip(
        BENCHMARKS,
        (
            *(rows, noise, limits, memory, groups, network, control, sources, startup, scaling),
            *(scale, devices),
        ),
        strict=True,
    )
)
