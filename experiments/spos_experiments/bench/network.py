"""Gradients of many networks at once, against a plain matrix product and against PyTorch."""

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

import spos
from spos import mesh
from spos.dynamics.noise import normal_matrix
from spos.dynamics.sampler import scores_of
from spos.loop.run import begin
from spos.mesh import shards
from spos.mesh.traffic import bytes_sent
from spos_experiments.bench import peers as others
from spos_experiments.bench.measure import (
    Row,
    Work,
    best_times,
    in_fresh_process,
    repeated,
    steps_of,
)

# M = 20 networks 784-400-400-10 on one batch of 100
NETWORK, NETWORKS, NETWORK_BATCH = (784, 400, 400, 10), 20, 100
STEPS = 20  # whose processor time is taken at once


def networks() -> tuple[Any, Any]:
    """The posterior and the start of many networks on images of random noise."""

    def log_likelihood(theta: Any, batch: Any) -> jax.Array:
        x, label = batch
        for n in range(len(NETWORK) - 1):
            x = (x if n == 0 else jax.nn.relu(x)) @ theta[f"w{n}"] + theta[f"b{n}"]
        return jnp.take_along_axis(jax.nn.log_softmax(x), label[:, None], axis=1)[:, 0]

    def log_prior(theta: Any) -> jax.Array:
        return -0.5 * jnp.sum(jnp.stack([jnp.sum(leaf**2) for leaf in theta.values()]))

    theta = {}
    for n, (fan_in, fan_out) in enumerate(itertools.pairwise(NETWORK)):
        key = jax.random.key(n)
        theta[f"w{n}"] = jax.random.normal(key, (NETWORKS, fan_in, fan_out)) / fan_in**0.5
        theta[f"b{n}"] = jnp.zeros((NETWORKS, fan_out))
    images = jax.random.normal(jax.random.key(10), (10 * NETWORK_BATCH, NETWORK[0]))
    labels = jax.random.randint(jax.random.key(11), (len(images),), 0, NETWORK[-1])
    return spos.posterior(log_likelihood, log_prior, (images, labels), NETWORK_BATCH), theta


_NETWORK = """
import json, jax
jax.config.update("jax_num_cpu_devices", {devices})
from spos_experiments.bench.network import network_rates
print(json.dumps(network_rates({rounds})))
"""


def network(quick: bool) -> Iterator[Row]:
    """On one host device both cores share each product; on two, each has networks of its own. A
    square product is one device's, so that the best of both tells what the machine can do."""
    shape, best = "-".join(str(width) for width in NETWORK), 0.0
    for devices in (1, 2):
        code = _NETWORK.format(devices=devices, rounds=1 if quick else 6)
        for row in json.loads(in_fresh_process(code)):
            best = max(best, row["gemm_gflops"])
            row = row | {"gemm_gflops": best, "ratio": row["gradient_gflops"] / best}
            yield {"case": f"{NETWORKS} x {shape}, batch {NETWORK_BATCH}"} | row


def network_rates(rounds: int) -> list[Row]:
    """Gradients of all networks, a fresh minibatch each, against a product of square matrices."""
    posterior, theta = networks()
    target: Any = posterior
    works = {}
    count = len(jax.devices())
    if count > 1:
        theta = mesh.shard(theta, mesh.particle_mesh())
    else:
        with contextlib.suppress(others.Skip):
            batch = posterior.draw(jax.random.key(0), 0)
            works["torch"] = others.torch_gradient(theta, batch.examples)

    def gradient(carry: Any) -> Any:
        step, target, theta, _ = carry
        batch = target.draw(jax.random.fold_in(jax.random.key(0), step), step)
        state = spos.State(theta, step, jnp.asarray(jnp.nan), ())
        return step + 1, target, theta, scores_of(target, state, batch)[0]

    def normals(carry: Any) -> Any:
        step, rows = carry
        key = jax.random.fold_in(jax.random.key(0), step)
        return step + 1, normal_matrix(key, rows.shape, rows.dtype)

    square = others.start(2048, 2048) / 2048**0.5
    images = posterior.draw(jax.random.key(0), 0).examples[0]
    works["spos"] = repeated(gradient, (jnp.zeros((), jnp.int32), target, theta, theta))
    works["gemm"] = repeated(lambda x: x @ square, square)
    sampler = spos.spos(target, 1e-4)
    works["step"] = steps_of(sampler, theta, reporting=False)
    apart = spos.spos(target, 1e-4, kernel=None)
    works["apart"] = steps_of(apart, theta, reporting=False)
    if count == 1:
        weights = {name: leaf for name, leaf in theta.items() if leaf.ndim == 3}
        works["products"] = repeated(_products, (theta, images, weights))
        # what a step cannot do without beside its gradient
        flat = jnp.concatenate([leaf.reshape(NETWORKS, -1) for leaf in theta.values()], axis=1)
        works["normals"] = repeated(normals, (jnp.zeros((), jnp.int32), flat))
        works["copy"] = repeated(lambda x: x + 1.0, flat)
    with shards.over(theta):
        # many steps a call: what a call takes from the system anew counts little in a run, too
        times = best_times(works, rounds=rounds, seconds=1.0)
        busy = {f"{name}_cpu_ms": _busy(works[name], rounds) for name in ("spos", "step")}
        sent = _sent(sampler, theta)
    kept = ("step", "apart", "normals", "copy")
    whole = {f"{name}_ms": 1e3 * times.pop(name) for name in kept if name in times}
    if count == 1:
        # scores; a normal for each weight; all weights read for distances, and read, moved by what
        # is read of scores, and written: no step can do with less
        roof = 1e3 * times["spos"] + whole["normals_ms"] + 2.0 * whole["copy_ms"]
        whole["roof_ms"] = roof
    whole |= {"gradient_cpu_ms": busy["spos_cpu_ms"], "step_cpu_ms": busy["step_cpu_ms"]}
    whole["sent_mb"] = sent / 1e6
    sizes = [a * b for a, b in itertools.pairwise(NETWORK)]
    # forward, weight gradients, and input gradients of all layers but the first
    flops = 2 * NETWORKS * NETWORK_BATCH * (3 * sum(sizes) - sizes[0])
    gemm = 2 * 2048**3 / times.pop("gemm")
    return [
        {
            "who": who,
            "devices": count,
            "gradient_ms": 1e3 * seconds,
            "gradient_gflops": flops / seconds / 1e9,
            "gemm_gflops": gemm / 1e9,
            "ratio": flops / seconds / gemm,
        }
        | ({} if who != "spos" else whole | {"step_ratio": whole["step_ms"] / 1e3 / seconds})
        for who, seconds in times.items()
    ]


def _busy(work: Work, rounds: int) -> float:
    """Milliseconds of processor time a step, on all cores: work of others does not count."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work(STEPS)
        found.append(1e3 * (time.process_time() - began) / STEPS)
    return min(found)


def _sent(sampler: spos.Sampler, theta: Any) -> int:
    """The bytes that a device sends in a step, by the compiled program."""
    key, state = jax.random.key(0), begin(sampler, theta)
    program = jax.jit(lambda sampler, state: spos.advance(sampler, key, state)[0])
    return bytes_sent(program.lower(sampler, state).compile().as_text() or "")


def _products(carry: Any) -> Any:
    """The products of a gradient and nothing else: no products of these shapes are faster."""
    theta, images, before = carry

    def one(theta: Any) -> Any:
        shown = images * (1.0 + 1e-9 * before["w2"][0, 0, 0])  # so that every round has its own
        first = shown @ theta["w0"]
        second = first @ theta["w1"]
        top = second @ theta["w2"]
        below = top @ theta["w2"].T
        bottom = below @ theta["w1"].T
        return {"w0": shown.T @ bottom, "w1": first.T @ below, "w2": second.T @ top}

    return theta, images, jax.lax.map(one, {name: theta[name] for name in before})
