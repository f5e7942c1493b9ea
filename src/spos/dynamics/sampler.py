"""A sampler: an algorithm applied to a target, as a value.

    scores → drift → step

An algorithm is a subclass with a `drift`, and perhaps a noise level. That is all a method of one's
own needs:

    @spos.value
    class Climb(spos.Sampler):
        strength: float = 1.0

        def drift(self, key, state, scores):
            return spos.Drift(jax.tree.map(lambda s: self.strength * s, scores))

    sampler = Climb.of(log_prob, step_size=0.1, strength=2.0)

It works wherever the library's own do: in `spos.sample`, `spos.run`, `spos.compare`, checkpoints
and diagnostics. `spos.check_sampler(sampler, particles)` tells what is wrong with it.
"""

import math
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import optax

from spos import checks
from spos.cloud import expected_particle_distance, norm
from spos.dynamics.ensemble import Ensemble
from spos.dynamics.faults import check_drift, fault_of
from spos.dynamics.moves import Drift, Langevin, Move, Optimize
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.schedules import Constant, Schedule, StepSize, as_schedule
from spos.interaction.kernels import Kernel
from spos.mesh import shards
from spos.mesh.shards import ALL, OWN
from spos.targets.target import Target, TargetLike, as_target, check_target
from spos.types import Info, Number, Particles, PyTree, State
from spos.values import Value, described, fields, static, value


@value
class Sampler(Value):
    """An algorithm applied to a target: pure `init` and `step`.

    Attributes:
        target: what is sampled.
        step_size: a function of the step number.
    """

    target: Target
    step_size: Schedule

    name: ClassVar[str] = ""  # of the algorithm; by default that of the class, in small letters

    @classmethod
    def of(cls, target: TargetLike, step_size: StepSize, **options: Any) -> Self:
        """Build the sampler from what people have at hand.

        Args:
            target: a log-density of one particle, or a target.
            step_size: a number above 0, or a schedule.
            **options: the other fields.

        Returns:
            The sampler.
        """
        return cls(as_target(target), as_schedule("step_size", step_size), **options)

    def drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        """Where each particle is drawn.

        Args:
            key: for methods that need randomness beside the noise.
            state: the particles, and what is remembered.
            scores: those of the target at the particles.

        Returns:
            The direction, and the bandwidth of the kernel if there is one.
        """
        raise NotImplementedError(f"{type(self).__name__} must have `drift(key, state, scores)`")

    @property
    def noise(self) -> Number | None:
        """The noise level T of `moves.py`; None for a deterministic method."""
        return None

    @property
    def move(self) -> Move:
        """How a drift becomes new particles."""
        return Langevin(self.noise)

    @property
    def settings(self) -> dict[str, Any]:
        """What is shown and saved of the sampler: plain data."""
        own = {name: described(field) for name, field in fields(self).items() if name != "target"}
        return {"algorithm": self.algorithm, **own, "target": self.target.settings}

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return self.name or type(self).__name__.lower()

    def init(self, particles: Particles) -> State:
        """The state before the first step.

        Args:
            particles: a pytree whose leaves share a leading axis of length M.

        Returns:
            The state.
        """
        particles = checks.particles(particles)
        check_target(self.target, particles)
        recalled, memory = self.target.first_memory(particles), self.move.init(particles)
        unknown = jnp.full((), jnp.nan, jnp.result_type(*jax.tree.leaves(particles)))
        return State(particles, jnp.zeros((), jnp.int32), unknown, memory, recalled)

    def step(self, key: jax.Array, state: State, batch: PyTree = None) -> tuple[State, Info]:
        """One step; a pure function.

        Args:
            key: the randomness of this step.
            state: of the step before.
            batch: a minibatch, such as `sampler.target.draw` gives; None is all the data.

        Returns:
            The next state, and what the step saw.
        """
        return self.step_by(self.move, key, state, batch)

    def step_by(
        self, move: Move, key: jax.Array, state: State, batch: PyTree = None
    ) -> tuple[State, Info]:
        """One step with a move that is not the sampler's own, such as one without noise.

        Args:
            move: how the drift becomes new particles.
            key: the randomness of this step.
            state: of the step before.
            batch: a minibatch; None is all the data.

        Returns:
            The next state, and what the step saw.
        """
        h = jnp.asarray(self.step_size(state.step), jnp.result_type(float))
        scores, recalled = scores_of(self.target, state, batch)
        drift, bandwidth = move.drift(self._drift, jax.random.fold_in(key, 1), state, scores)
        bandwidth = jnp.asarray(bandwidth, state.bandwidth.dtype)
        particles, memory = move.apply(key, h, state.particles, drift, state.memory)
        info = Info(
            step_size=h,
            bandwidth=bandwidth,
            drift_norm=norm(drift),
            score_norm=norm(scores),
            epd=expected_particle_distance(state.particles),
        )
        return State(particles, state.step + 1, bandwidth, memory, recalled), info

    def _drift(self, key: jax.Array, state: State, scores: Particles) -> Drift:
        """The drift, where it is one."""
        found = self.drift(key, state, scores)
        check_drift(f"{type(self).__name__}.drift", found, scores)
        return found


def scores_of(target: Target, state: State, batch: PyTree) -> tuple[Particles, PyTree]:
    """The scores of a step and what is remembered; each device scores its own particles."""
    if shards.ambient() is None or not target.independent:
        return target.scores(state.score_memory, state.particles, batch)
    kept = shards.specs(target.first_memory, state.particles)
    own = shards.by_shards(
        lambda target, *given: target.scores(*given), (ALL, kept, OWN, ALL), (OWN, kept)
    )
    return own(target, state.score_memory, state.particles, batch)


@value
class Flow(Sampler):
    """A deterministic method: it moves by a step size, or as an optax optimizer would."""

    kernel: Kernel
    preconditioner: Preconditioner | None = None
    optimizer: optax.GradientTransformation | None = static(default=None)

    @property
    def move(self) -> Move:
        if self.optimizer is not None:
            return Optimize(self.optimizer)
        return Langevin(None, self.preconditioner)

    @classmethod
    def flow(
        cls,
        target: TargetLike,
        step_size: StepSize | None,
        kernel: Kernel,
        preconditioner: Preconditioner | None,
        optimizer: optax.GradientTransformation | None,
        **options: Any,
    ) -> Self:
        """The flow with checked arguments."""
        schedule: Schedule = Constant(math.nan)
        if optimizer is None:
            if step_size is None:
                raise ValueError("step_size must be given unless an optimizer is, got None")
            schedule = as_schedule("step_size", step_size)
            check_preconditioner(preconditioner, kernel)
        elif step_size is not None or preconditioner is not None:
            raise ValueError(
                "step_size and preconditioner must be left out when an optimizer is given: "
                f"it has its own, got step_size={step_size!r}, preconditioner={preconditioner!r}"
            )
        elif not isinstance(optimizer, optax.GradientTransformation):
            raise TypeError(f"optimizer must be an optax optimizer, got {optimizer!r}")
        return cls(
            as_target(target),
            schedule,
            kernel=kernel,
            preconditioner=preconditioner,
            optimizer=optimizer,
            **options,
        )


def required(step_size: StepSize | None) -> StepSize:
    """The step size, or an error that names the way to do without."""
    if step_size is None:
        raise ValueError(
            "step_size must be given, got None; spos.fit(log_prob, start=particles) finds one by "
            "itself"
        )
    return step_size


def check_preconditioner(
    preconditioner: Preconditioner | None, kernel: Kernel | None = None
) -> None:
    if preconditioner is not None and not isinstance(preconditioner, Preconditioner):
        raise TypeError(
            "preconditioner must be spos.rmsprop(...), spos.adagrad(...), spos.adam(...), "
            f"spos.ensemble(), another spos.Preconditioner or None, got {preconditioner!r}"
        )
    if isinstance(preconditioner, Ensemble) and kernel is not None and kernel.blocks is not None:
        raise ValueError(
            "kernel must not have blocks with spos.ensemble(), which mixes all parameters, "
            f"got blocks={kernel.blocks!r}"
        )


def check_sampler_type(sampler: Any) -> Sampler:
    """The sampler, or an error that says where one comes from, or what is wrong with its class."""
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must come from spos.spos, spos.svgd, …, got {sampler!r}")
    if (wrong := fault_of(sampler)) is not None:
        raise TypeError(wrong)
    return sampler
