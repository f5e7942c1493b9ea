"""Particles over several devices.

    mesh = spos.mesh.particle_mesh()                     # all devices, one axis
    particles = spos.mesh.spread(particles, mesh)        # M must divide by their number
    sampler = spos.spos(spos.mesh.on(target, mesh), …)   # then sample as ever

Spread particles stay spread: every step keeps their placement, and the answer is that of one device
up to rounding. XLA finds the communication of the interaction by itself; `on` keeps the scores
where their particles are, which matters when they are the gradients of networks. On a CPU, two host
devices (`jax.config.update("jax_num_cpu_devices", 2)` before anything else) let two networks train
side by side instead of sharing each small matrix product between the cores.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from spos import checks
from spos.targets.target import as_target
from spos.types import Particles, PyTree, Target

AXIS = "particles"


def particle_mesh(devices: Sequence[jax.Device] | None = None) -> Mesh:
    """A row of devices, all of them by default."""
    chosen = jax.devices() if devices is None else list(devices)
    return jax.make_mesh((len(chosen),), (AXIS,), axis_types=(AxisType.Auto,), devices=chosen)


def spread(particles: Particles, mesh: Mesh) -> Particles:
    """The particles in equal shares on the devices of the mesh."""
    particles = checks.particles(particles)
    count = len(jax.tree.leaves(particles)[0])
    if count % mesh.size:
        raise ValueError(
            f"particles must divide evenly among the {mesh.size} devices, got {count} of them"
        )
    return jax.device_put(particles, NamedSharding(mesh, P(AXIS)))


def on(target: Any, mesh: Mesh) -> Target:
    """The target with each device scoring its own particles."""
    if hasattr(target, "estimator"):
        raise ValueError(
            "target must not remember earlier scores: what it remembers is not spread over "
            f"devices, got {type(target).__name__}"
        )
    return _OnMesh(as_target(target), mesh)


class _OnMesh:
    def __init__(self, target: Target, mesh: Mesh) -> None:
        self.data = target.data
        self.log_prob = target.log_prob
        self.draw = target.draw
        self.settings = getattr(target, "settings", None)
        self._score = jax.shard_map(
            target.score, mesh=mesh, in_specs=(P(AXIS), P()), out_specs=P(AXIS), check_vma=False
        )

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        return self._score(particles, batch)
