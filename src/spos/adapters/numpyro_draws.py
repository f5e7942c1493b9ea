"""What a NumPyro model says of draws of its parameters, and of its prior.

Everything runs the model's function with some of its sites given. Constrained values x take the
place of the parameters; what is observed is drawn anew to predict, and kept to be weighed.
Plates always have all their rows here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import Unit
from numpyro.infer import init_to_uniform
from numpyro.infer.util import constrain_fn

from spos.adapters.model import RADIUS, Arguments, ModelError, Predictions, in_blocks, not_evaluated
from spos.adapters.numpyro_program import NEEDS_NUMBERS, Program
from spos.adapters.numpyro_sites import axes_of, plate_labels
from spos.programs import compiled
from spos.types import Array, Particles, PyTree

Data = tuple[Any, ...]
Draws = dict[str, Any]


class Unobserved(handlers.uncondition):  # type: ignore[misc]
    """Draws what is observed, in the shape of the observations: ten of them with one law are ten
    draws of it, not one."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] == "sample" and msg["is_observed"] and not isinstance(msg["fn"], Unit):
            law, shape = msg["fn"], jnp.shape(msg["value"])
            rows = shape[: len(shape) - len(law.event_shape)]
            if len(rows) >= len(law.batch_shape) and rows != law.batch_shape:
                msg["fn"] = law.expand(jnp.broadcast_shapes(rows, law.batch_shape))
        super().process_message(msg)


class Predictor(NamedTuple):
    """The model with arguments to predict with: `sites` are drawn."""

    program: Program
    data: Data
    sites: tuple[str, ...]
    coords: Mapping[str, np.ndarray]
    dims: Mapping[str, list[str]]


def predictor(model: Any, own: Arguments, shapes: Mapping[str, tuple[int, ...]]) -> Predictor:
    """The model with new arguments.

    Args:
        model: the function.
        own: its arguments.
        shapes: of the constrained parameters, one of each.

    Returns:
        What is needed to predict.

    Raises:
        ModelError: the model does not take these arguments, or has other parameters with them.
    """
    try:
        return _examined(*Program.of(model, own, travel=True), shapes)
    except NEEDS_NUMBERS:
        return _examined(*Program.of(model, own, travel=False), shapes)


def _examined(program: Program, data: Data, shapes: Mapping[str, tuple[int, ...]]) -> Predictor:
    """Trace the model once; nothing is computed."""
    seen: list[dict[str, Any]] = []

    def run(data: Data) -> list[jax.Array]:
        given = {name: jnp.zeros(shape) for name, shape in shapes.items()}
        seen.append(_trace(program, data, 0, given))
        return [site["value"] for _, site in _drawn(seen[-1])]

    try:
        traced = jax.make_jaxpr(run)(data)
    except (*NEEDS_NUMBERS, ModelError):
        raise
    except (TypeError, ValueError) as error:
        raise not_evaluated(program.name, program.describe(data), error) from error
    trace = seen[-1]
    for name, shape in shapes.items():
        if name in trace and (new := trace[name]["fn"].shape()) != shape:
            raise ModelError(
                f"{program.name} cannot predict with these arguments: {name} has shape {shape} in "
                f"the draws, and {new} with them"
            )
    sites = tuple(name for name, _ in _drawn(trace) if name not in shapes)
    dims = {name: axes_of(name, trace[name]) for name in sites}
    return Predictor(program.with_trace(traced), data, sites, plate_labels(trace), dims)


def predict(found: Predictor, key: jax.Array, values: Draws) -> Predictions:
    """One draw of the predictor's sites for each row of constrained parameters."""
    if not found.sites:
        raise ModelError(f"{found.program.name} observes nothing that could be predicted")
    draws = in_blocks(
        lambda n, some: _predicted(found.program, found.sites, found.data, key, n, some), values
    )
    ordered = {name: draws[name] for name in found.sites}  # jit sorts the names
    return Predictions(ordered, found.coords, found.dims)


@compiled(2)
def _predicted(
    program: Program,
    sites: tuple[str, ...],
    data: Data,
    key: jax.Array,
    block: Array,
    values: Draws,
) -> dict[str, jax.Array]:
    def one(key: jax.Array, given: Draws) -> dict[str, jax.Array]:
        trace = _trace(program, data, key, given)
        return {name: trace[name]["value"] for name in sites}

    rows = len(jax.tree.leaves(values)[0])
    return jax.vmap(one)(jax.random.split(jax.random.fold_in(key, block), rows), values)


def from_prior(program: Program, data: Data, key: jax.Array, num_draws: int) -> Draws:
    """Draws of all sites."""
    try:
        return _from_prior(program, num_draws, data, key)
    except NotImplementedError as error:
        raise ModelError(
            f"{program.name} has a prior that cannot be drawn from, such as an improper one"
        ) from error


@compiled(2)
def _from_prior(
    program: Program, num_draws: int, data: Data, key: jax.Array
) -> dict[str, jax.Array]:
    def one(key: jax.Array) -> dict[str, jax.Array]:
        trace = _trace(program, data, key, {})
        return {name: site["value"] for name, site in _drawn(trace, computed=True)}

    return jax.vmap(one)(jax.random.split(key, num_draws))


@compiled(1)
def constrained(program: Program, data: Data, particles: Particles) -> dict[str, jax.Array]:
    """Parameters and deterministic sites of unconstrained particles."""
    args, kwargs = program.arguments(data)
    whole = program.seeded(0, {})

    def one(theta: PyTree) -> dict[str, jax.Array]:
        found: dict[str, jax.Array] = constrain_fn(
            whole, args, kwargs, theta, return_deterministic=True
        )
        return found

    return jax.vmap(one)(particles)


@compiled(2)
def site_log_probs(
    program: Program, observed: tuple[str, ...], data: Data, particles: Particles
) -> dict[str, jax.Array]:
    """The log-density of every single value of the sites in `observed`; where there are none, of
    all sites, each summed."""
    args, kwargs = program.arguments(data)
    whole = program.seeded(0, {})

    def one(theta: PyTree) -> dict[str, jax.Array]:
        values = constrain_fn(whole, args, kwargs, theta)
        trace = handlers.trace(handlers.substitute(whole, data=values)).get_trace(*args, **kwargs)
        drawn = {name: site for name, site in trace.items() if site["type"] == "sample"}
        each = {n: drawn[n]["fn"].log_prob(drawn[n]["value"]) for n in observed or drawn}
        return each if observed else {name: jnp.sum(terms) for name, terms in each.items()}

    return jax.vmap(one)(particles)


@compiled(2)
def observations(program: Program, observed: tuple[str, ...], data: Data) -> dict[str, jax.Array]:
    """The values of the observed sites."""
    args, kwargs = program.arguments(data)
    # placed as a sampler would, not drawn: an improper prior cannot be drawn from
    whole = program.seeded(0, {})
    placed = handlers.substitute(whole, substitute_fn=init_to_uniform(radius=RADIUS))
    trace = handlers.trace(placed).get_trace(*args, **kwargs)
    return {name: trace[name]["value"] for name in observed}


def _trace(program: Program, data: Data, key: Any, given: Draws) -> dict[str, Any]:
    """A run of the model with these sites given and everything else drawn, observed or not."""
    args, kwargs = program.arguments(data)
    free = Unobserved(program.seeded(key, {}))
    run = handlers.substitute(free, data=given)
    trace: dict[str, Any] = handlers.trace(run).get_trace(*args, **kwargs)
    return trace


def _drawn(trace: Mapping[str, Any], computed: bool = False) -> Iterator[tuple[str, Any]]:
    """The sites with a law of their own, and those computed from them if asked for."""
    for name, site in trace.items():
        random = site["type"] == "sample" and not isinstance(site["fn"], Unit)
        if random or (computed and site["type"] == "deterministic"):
            yield name, site
