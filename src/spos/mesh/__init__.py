"""Particles over several devices, of one process or of many hosts.

    mesh = spos.mesh.particle_mesh()               # all devices of all processes
    particles = spos.mesh.shard(particles, mesh)   # M must divide by their number
    result = spos.sample(sampler, particles, …)    # as ever

Sharded particles stay sharded: scores, noise and steps are computed where the particles are, the
interaction sends blocks of them round a ring (`spos.interaction.ring`), and the answer is that of
one device up to rounding. Under `jax.distributed` the same script runs in every process; process 0
decides, prints and writes (`processes.py`), and an error of one ends all.

A mesh may have a second axis, for data (`particle_mesh(num_data_shards=2)`, `shard_data`).

On a CPU, two host devices (`jax.config.update("jax_num_cpu_devices", 2)` before anything else) let
two networks train side by side instead of sharing each small matrix product between the cores.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from spos import checks
from spos.mesh.processes import ProcessError, end_together, fetch
from spos.mesh.shards import AXIS, DATA_AXIS
from spos.types import Particles, PyTree

__all__ = ["ProcessError", "gather", "particle_mesh", "shard", "shard_data"]


def particle_mesh(devices: Sequence[jax.Device] | None = None, *, num_data_shards: int = 1) -> Mesh:
    """Devices side by side.

    Args:
        devices: all of them by default, those of other processes too.
        num_data_shards: over so many devices the rows of the data are sharded, and over the number
            of devices divided by it the particles.

    Returns:
        The mesh, with an axis for particles and one for data.

    Example:
        >>> spos.mesh.particle_mesh().axis_names
        ('particles', 'data')
    """
    chosen = jax.devices() if devices is None else _devices(devices)
    checks.whole("num_data_shards", num_data_shards)
    if len(chosen) % num_data_shards:
        raise ValueError(
            f"num_data_shards must divide the {len(chosen)} devices that there are, "
            f"got {num_data_shards}"
        )
    end_together()
    grid = np.asarray(chosen).reshape(-1, num_data_shards)
    return Mesh(grid, (AXIS, DATA_AXIS), axis_types=(AxisType.Auto,) * 2)


def shard(particles: Particles | Callable[[], Particles], mesh: Mesh) -> Particles:
    """The particles in equal shares on the devices of the mesh.

    Args:
        particles: M of them, where M divides by the number of devices (without those for data);
            every process gives the same. Or a function without arguments that makes them, from
            keys of JAX: then each device makes its own share, and no process holds all of them.
        mesh: what `particle_mesh` gives.

    Returns:
        The same particles, placed.

    Example:
        >>> mesh = spos.mesh.particle_mesh()
        >>> start = lambda: jax.random.normal(jax.random.key(0), (8, 2))
        >>> spos.mesh.shard(start, mesh).shape
        (8, 2)
    """
    check_mesh(mesh)
    place = NamedSharding(mesh, P(AXIS))
    if callable(particles):
        shapes = jax.eval_shape(particles)
        checks.arrays("particles", shapes)
        _must_divide(shapes, mesh)
        return checks.particles(jax.jit(particles, out_shardings=place)())
    particles = checks.particles(particles)
    _must_divide(particles, mesh)
    return jax.tree.map(lambda leaf: _placed(leaf, place), particles)


def shard_data(data: PyTree, mesh: Mesh) -> PyTree:
    """The rows that each process holds as one table, sharded over the mesh's axis for data.

    `spos.posterior` of it draws its minibatches in every shard, and sums scores over the shards.

    Args:
        data: a pytree of arrays with a leading axis of rows, those of this process alone. All
            processes have equally many; processes that share a place on the axis of data have the
            same.
        mesh: what `particle_mesh(num_data_shards=…)` gives.

    Returns:
        The data, a pytree of arrays with the rows of all processes.
    """
    checks.data(data)
    check_mesh(mesh)
    place = NamedSharding(mesh, P(DATA_AXIS))
    shards = len(set(_local_columns(mesh)))
    count = len(jax.tree.leaves(data)[0])
    if count % shards:
        raise ValueError(
            f"data must divide evenly among the {shards} shards of this process, got {count} rows"
        )
    return jax.tree.map(
        lambda leaf: jax.make_array_from_process_local_data(place, np.asarray(leaf)), data
    )


def gather(particles: Particles) -> Particles:
    """All of what is sharded, as NumPy arrays in every process. All processes must call it.

    Args:
        particles: such as `result.particles`, or any other pytree of arrays.

    Returns:
        The same, in the memory of this process.
    """
    for leaf in jax.tree.leaves(particles):
        checks.array("particles", leaf)
    return jax.tree.map(fetch, particles)


def _devices(devices: Any) -> list[jax.Device]:
    chosen = list(devices) if isinstance(devices, Iterable) else []
    if not chosen or not all(isinstance(each, jax.Device) for each in chosen):
        raise TypeError(f"devices must be some of jax.devices(), got {devices!r}")
    return chosen


def check_mesh(mesh: Any) -> None:
    """Is it one?"""
    if not isinstance(mesh, Mesh) or AXIS not in mesh.axis_names:
        raise TypeError(f"mesh must come from spos.mesh.particle_mesh, got {mesh!r}")


def _must_divide(particles: Any, mesh: Mesh) -> None:
    count, shards = len(jax.tree.leaves(particles)[0]), mesh.shape[AXIS]
    if count % shards:
        raise ValueError(
            f"particles must divide evenly among the {shards} devices, got {count} of them: "
            f"take {count - count % shards} or {count + shards - count % shards}"
        )


def _placed(leaf: Any, place: NamedSharding) -> jax.Array:
    """Each device takes its rows; nothing is sent where every process has all of them."""
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable:
        return jax.device_put(leaf, place)
    if jax.process_count() == 1:
        return jax.device_put(leaf, place)
    here = np.asarray(leaf)
    return jax.make_array_from_callback(here.shape, place, lambda index: here[index])


def _local_columns(mesh: Mesh) -> list[int]:
    mine = jax.process_index()
    return [
        column
        for row in mesh.devices
        for column, device in enumerate(row)
        if device.process_index == mine
    ]
