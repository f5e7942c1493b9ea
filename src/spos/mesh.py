"""Particles over several devices.

    mesh = spos.mesh.particle_mesh()                     # all devices, one axis
    particles = spos.mesh.shard(particles, mesh)         # M must divide by their number
    sampler = spos.spos(spos.mesh.shard_target(target, mesh), …)  # then sample as ever

Sharded particles stay sharded: every step keeps their placement, and the answer is that of one
device up to rounding. XLA finds the communication of the interaction by itself; `shard_target`
keeps the scores where their particles are, which matters when they are the gradients of networks.
On a CPU, two host devices (`jax.config.update("jax_num_cpu_devices", 2)` before anything else) let
two networks train side by side instead of sharing each small matrix product between the cores.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from spos import checks
from spos.cloud import size
from spos.targets.target import Target, TargetLike, as_target
from spos.types import Particles, PyTree
from spos.values import static, value

AXIS = "particles"


def particle_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """A row of devices.

    Args:
        devices: all of them by default.

    Returns:
        The mesh, with one axis.
    """
    chosen = jax.devices() if devices is None else _devices(devices)
    return jax.make_mesh((len(chosen),), (AXIS,), axis_types=(AxisType.Auto,), devices=chosen)


def shard(particles: Particles, mesh: Mesh) -> Particles:
    """The particles in equal shares on the devices of the mesh.

    Args:
        particles: M of them, where M divides by the number of devices.
        mesh: what `particle_mesh` gives.

    Returns:
        The same particles, placed.
    """
    particles = checks.particles(particles)
    _check_mesh(mesh)
    count = size(particles)
    if count % mesh.size:
        raise ValueError(
            f"particles must divide evenly among the {mesh.size} devices, got {count} of them"
        )
    return jax.device_put(particles, NamedSharding(mesh, P(AXIS)))


def shard_target(target: TargetLike, mesh: Mesh) -> Target:
    """The target with each device scoring its own particles.

    Args:
        target: a log-density of one particle, or a target that remembers nothing.
        mesh: what `particle_mesh` gives.

    Returns:
        The target.
    """
    target = as_target(target)
    _check_mesh(mesh)
    if target.remembers:
        raise ValueError(
            "target must not remember earlier scores: what it remembers is not sharded over "
            f"devices, got {type(target).__name__}"
        )
    return ShardedTarget(target, mesh)


def _devices(devices: Any) -> list[jax.Device]:
    chosen = list(devices) if isinstance(devices, Iterable) else []
    if not chosen or not all(isinstance(each, jax.Device) for each in chosen):
        raise TypeError(f"devices must be some of jax.devices(), got {devices!r}")
    return chosen


def _check_mesh(mesh: Any) -> None:
    if not isinstance(mesh, Mesh) or AXIS not in mesh.axis_names:
        raise TypeError(f"mesh must come from spos.mesh.particle_mesh, got {mesh!r}")


@value
class ShardedTarget(Target):
    """A target with each device scoring its own particles; see `shard_target`.

    Attributes:
        target: what is sharded.
        mesh: over which devices.
    """

    target: Target
    mesh: Mesh = static()

    @property
    def stochastic(self) -> bool:
        return self.target.stochastic

    @property
    def settings(self) -> dict[str, Any]:
        return self.target.settings

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.target.log_prob(theta, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> PyTree:
        return self.target.draw(key, step)

    def gradient_evaluations(self, num_steps: int, num_particles: int = 1) -> int:
        return self.target.gradient_evaluations(num_steps, num_particles)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        sharded = jax.shard_map(
            lambda target, particles, batch: target.score(particles, batch),
            mesh=self.mesh,
            in_specs=(P(), P(AXIS), P()),
            out_specs=P(AXIS),
            check_vma=False,
        )
        return sharded(self.target, particles, batch)  # type: ignore[no-untyped-call]
