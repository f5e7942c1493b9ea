"""One process of `spos bench --only scale`, started as

    python -m spos_experiments.bench.scale_part COORDINATOR PROCESSES NUMBER SIZES

It times steps of SPOS with particles over all devices. For the model of a step it measures its
machine, with programs that are none of the steps that the model is held to: how many operations a
second a device makes while all are at work and none talks, and how fast a ring is.
"""

import contextlib
import functools
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import spos
from spos.interaction import pairwise
from spos.loop.run import begin
from spos.mesh import shards
from spos.mesh.traffic import bytes_sent
from spos.theory.cost import EXPONENTIAL, NOISE
from spos_experiments.bench.scale import SIZE

ROUNDS, STEPS, CALLS = 5, 4, 50
# particles of a device in the measurement of its operations, and steps: as long as what it explains
BLOCK, MANY = 2048, 12
ALONE = "alone"  # the axis of devices that do not talk
ACKED = 120  # where the kernel's tcp_info has the number of bytes that arrived


def log_prob(theta: jax.Array) -> jax.Array:
    """A standard normal law: the steps are those of the interaction."""
    return -0.5 * jnp.sum(theta**2)


def main() -> None:
    coordinator, processes, number, sizes = sys.argv[1:]
    if int(processes) > 1:
        jax.distributed.initialize(coordinator, int(processes), int(number))
    mesh = spos.mesh.particle_mesh()
    found = {kind: steps(count, mesh) for kind, count in json.loads(sizes).items()}
    rates = {"flops": operations_a_second(mesh), **ring(mesh, json.loads(sizes)["strong"])}
    print(json.dumps({**found, "machine": rates}))


def steps(count: int, mesh: Mesh) -> dict[str, float]:
    """Of SPOS with so many particles, all of which interact."""
    sampler, key = spos.spos(log_prob, 0.01), jax.random.key(0)
    particles = spos.mesh.shard(lambda: jax.random.normal(jax.random.key(0), (count, SIZE)), mesh)
    with shards.over(particles):
        state = begin(sampler, particles)
        loop, sent = jax.jit(_loop), list[int]()

        def work() -> None:
            before = bytes_by_sockets()
            jax.block_until_ready(loop(STEPS, sampler, key, state))
            sent.append(bytes_by_sockets() - before)

        seconds = best(work) / STEPS
        text = loop.lower(STEPS, sampler, key, state).compile().as_text()
    return {
        "num_particles": count,
        "seconds": seconds,
        "program_bytes": bytes_sent(text or ""),
        "socket_bytes": float(np.median(sent)) / STEPS,
    }


def _loop(count: Any, sampler: Any, key: jax.Array, state: Any) -> Any:
    return jax.lax.fori_loop(0, count, lambda _, s: spos.advance(sampler, key, s)[0], state)


def operations_a_second(mesh: Mesh) -> float:
    """Of one device, while each makes steps of its own, as `spos.theory.cost` counts operations.

    They meet at the end, once in all: processes that never do drift apart, and each finds the
    machine empty at times.
    """
    apart = Mesh(mesh.devices.reshape(-1), (ALONE,))
    sampler, key, devices = spos.spos(log_prob, 0.01), jax.random.key(0), apart.size

    def own(key: jax.Array, theta: jax.Array) -> jax.Array:
        found = _loop(MANY, sampler, key, sampler.init(theta)).particles
        return jax.lax.psum(found[0, 0], ALONE)

    program = jax.jit(
        jax.shard_map(own, mesh=apart, in_specs=(P(), P(ALONE)), out_specs=P(), check_vma=False)
    )
    place = NamedSharding(apart, P(ALONE))
    shape = (devices * BLOCK, SIZE)
    theta = jax.jit(lambda: jax.random.normal(jax.random.key(0), shape), out_shardings=place)()
    dense, pairwise.DENSE_PARTICLES = pairwise.DENSE_PARTICLES, 0  # in tiles, as in a ring
    try:
        seconds = best(lambda: jax.block_until_ready(program(key, theta))) / MANY
    finally:
        pairwise.DENSE_PARTICLES = dense
    return (BLOCK**2 * (4.0 * SIZE + EXPONENTIAL) + BLOCK * NOISE * SIZE) / seconds


def ring(mesh: Mesh, count: int) -> dict[str, float]:
    """The seconds before a message arrives, and the bytes a second of a block of particles."""
    devices = mesh.shape[shards.AXIS]
    if devices == 1:
        return {"latency": 0.0, "bytes_per_second": 1e30}  # nothing is sent
    large = 2 * SIZE * count // devices
    short, long = (_around(mesh, devices, size) for size in (16, large))
    return {"latency": short, "bytes_per_second": 4.0 * large / max(long - short, 1e-9)}


def _around(mesh: Mesh, devices: int, size: int) -> float:
    """Seconds that so many numbers take from one device to the next."""
    turn = [(n, (n + 1) % devices) for n in range(devices)]

    def own(block: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(
            0, CALLS, lambda _, x: jax.lax.ppermute(x, shards.AXIS, turn), block
        )

    go = functools.partial(jax.shard_map, mesh=mesh, in_specs=shards.OWN, out_specs=shards.OWN)
    place = NamedSharding(mesh, shards.OWN)
    block = jax.jit(lambda: jnp.ones(size * devices, jnp.float32), out_shardings=place)()
    program = jax.jit(go(own, check_vma=False))
    return best(lambda: jax.block_until_ready(program(block))) / CALLS


def best(work: Callable[[], object]) -> float:
    """Seconds, the best of some, warm."""
    work()
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def bytes_by_sockets() -> int:
    """All that the TCP sockets of this process have sent so far, by the kernel's count."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # no longer there, or not of TCP
            if str(entry.readlink()).startswith("socket:"):
                with socket.socket(fileno=os.dup(int(entry.name))) as copy:
                    info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    total += struct.unpack_from("Q", info, ACKED)[0]
    return total


if __name__ == "__main__":
    main()
