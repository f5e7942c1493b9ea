"""NumPyro models.

A model is a function that names what it draws. For unconstrained θ, with x = T(θ) the values in
the support of the priors, the target is

    log p(θ) = Σ_sites c log p(site | x) + log |det ∂T/∂θ|,        c = N / B

inside a plate of N rows of which B are drawn, else c = 1. The rows of a step are drawn here, once
for all particles and each as likely as any other, so that the score is unbiased. Without a
minibatch every plate has all its rows.

Arrays among the model's arguments travel as data. A model that wants their numbers while it is
traced (to count groups, say) gets them as constants instead.
"""

import contextlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.distributions.distribution import validation_enabled
from numpyro.infer import init_to_uniform
from numpyro.infer.util import potential_energy

from spos import checks
from spos.adapters import numpyro_draws
from spos.adapters.model import (
    RADIUS,
    Arguments,
    Model,
    ModelError,
    Predictions,
    in_blocks,
    not_evaluated,
)
from spos.adapters.numpyro_draws import (
    constrained,
    from_prior,
    observations,
    predictor,
    site_log_probs,
)
from spos.adapters.numpyro_program import NEEDS_NUMBERS, Program
from spos.adapters.numpyro_sites import Sites, found_sites
from spos.mesh import shards
from spos.targets.shuffle import distinct
from spos.targets.target import Target, score_particles
from spos.types import Particles, PyTree
from spos.values import static, value


class Minibatch(NamedTuple):
    """All the data, and the rows that a step uses of every subsampled plate."""

    data: tuple[Any, ...]
    rows: Mapping[str, jax.Array]


Plates = tuple[tuple[str, tuple[int, int]], ...]  # name, N and B


@value
class NumpyroTarget(Target):
    """The density of a model on unconstrained parameters; `plates` are those subsampled."""

    data: tuple[Any, ...]
    program: Program = static()
    plates: Plates = static(default=())

    @property
    def stochastic(self) -> bool:
        return bool(self.plates)

    @property
    def settings(self) -> dict[str, Any]:
        return {"model": self.program.name, "plates": dict(self.plates)}

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        data, rows = Minibatch(self.data, {}) if batch is None else batch
        args, kwargs = self.program.arguments(data)
        model = self.program.seeded(0, rows)
        # JAX cannot look at constants where a device has its share of the particles; NumPyro has
        # checked them before
        unchecked = validation_enabled(False) if shards.inside() else contextlib.nullcontext()
        with unchecked:
            log_prob: jax.Array = -potential_energy(model, args, kwargs, theta)
        return log_prob

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        batch = Minibatch(self.data, {}) if batch is None else batch
        return score_particles(self.log_prob, particles, batch)

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> Minibatch:
        keys = jax.random.split(key, max(len(self.plates), 1))
        rows = {
            name: distinct(k, count, size)
            for k, (name, (size, count)) in zip(keys, self.plates, strict=False)
        }
        return Minibatch(self.data, rows)


def read(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Model:
    """See `spos.from_numpyro`."""
    own: Arguments = (args, kwargs)
    checks.function("model", model)
    try:
        sites, target = _examine(*Program.of(model, own, travel=True))
    except NEEDS_NUMBERS:
        program, nothing = Program.of(model, own, travel=False)
        try:
            sites, target = _examine(program, nothing)
        except NEEDS_NUMBERS as error:
            advice = "".join(
                f". {given} is a {type(one).__name__}: give its .to_numpy()"
                for given, one in (_named(model, args) | kwargs).items()
                if hasattr(one, "to_numpy")
            )
            raise not_evaluated(program.name, "under jax.jit", error, advice) from error
    program, data, observed = target.program, target.data, tuple(sites.observed)

    def constrain(particles: Particles) -> dict[str, Any]:
        found = in_blocks(lambda _, some: constrained(program, data, some), particles)
        return {name: found[name] for name in sites.constrained}  # jit sorts the names

    def predict(key: jax.Array, values: dict[str, Any], other: Arguments) -> Predictions:
        given = {name: values[name] for name in sites.shapes}
        shapes = {name: each.shape[1:] for name, each in given.items()}
        with_these = other if any(other) else own
        return numpyro_draws.predict(predictor(model, with_these, shapes), key, given)

    def log_likelihood(particles: Particles) -> dict[str, Any]:
        if not observed:
            return {}
        found = in_blocks(lambda _, some: site_log_probs(program, observed, data, some), particles)
        return {name: found[name] for name in observed}

    return Model(
        name=program.name,
        target=target,
        shapes=sites.shapes,
        coords=sites.coords,
        dims=sites.dims,
        constrain_batch=constrain,
        predict_batch=predict,
        log_likelihood_batch=log_likelihood,
        sites_batch=lambda particles: site_log_probs(program, (), data, particles),
        prior_batch=lambda key, num_draws: from_prior(program, data, key, num_draws),
        observe=lambda: observations(program, observed, data) if observed else {},
        inputs=_named(model, args) | kwargs,
    )


def _examine(program: Program, data: tuple[Any, ...]) -> tuple[Sites, NumpyroTarget]:
    """Trace the model and its density once; nothing is computed."""
    seen: list[Sites] = []

    def run(data: tuple[Any, ...]) -> Any:
        args, kwargs = program.arguments(data)
        whole = program.seeded(0, {})
        # started as a sampler would, not drawn: an improper prior cannot be drawn from
        placed = handlers.substitute(whole, substitute_fn=init_to_uniform(radius=RADIUS))
        trace = handlers.trace(placed).get_trace(*args, **kwargs)
        sites = found_sites(program.name, trace, whole.plates)
        seen.append(sites)
        theta = {name: jnp.zeros(shape) for name, shape in sites.shapes.items()}
        return NumpyroTarget(data, program).log_prob(theta), [
            site["value"] for name, site in trace.items() if name in sites.constrained
        ]

    try:
        traced = jax.make_jaxpr(run)(data)
    except (*NEEDS_NUMBERS, ModelError):
        raise
    except (TypeError, ValueError) as error:
        args, kwargs = program.arguments(data)
        broken = checks.broken(_named(program.model, args) | kwargs)
        given = ", where ".join([program.describe(data), *broken])
        raise not_evaluated(program.name, given, error) from error
    plates = tuple(seen[0].plates.items())
    return seen[0], NumpyroTarget(data, program.with_trace(traced), plates)


def _named(model: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    """Positional arguments by the names that the function has for them."""
    try:
        own = [
            name
            for name, parameter in inspect.signature(model).parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
        ]
    except (TypeError, ValueError):  # not for every callable
        own = []
    more = [f"argument {n}" for n in range(len(own), len(args))]
    return dict(zip([*own, *more], args, strict=False))
