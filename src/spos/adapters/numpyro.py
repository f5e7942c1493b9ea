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

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import Unit, biject_to
from numpyro.infer import init_to_uniform
from numpyro.infer.util import constrain_fn, potential_energy
from numpyro.primitives import Messenger

from spos import checks
from spos.adapters.model import (
    RADIUS,
    Model,
    ModelError,
    axis_names,
    discrete,
    not_evaluated,
    nothing_to_sample,
)
from spos.names import leaf_name
from spos.targets.shuffle import distinct
from spos.targets.target import Target, score_particles
from spos.types import Particles, PyTree
from spos.values import static, value

NEEDS_NUMBERS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


class Minibatch(NamedTuple):
    """All the data, and the rows that a step uses of every subsampled plate."""

    data: PyTree
    rows: Mapping[str, jax.Array]


Plates = tuple[tuple[str, tuple[int, int]], ...]  # name, N and B


@value
class NumpyroTarget(Target):
    """The density of a model on unconstrained parameters; `plates` are those subsampled."""

    data: PyTree
    program: "_Program" = static()
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
        return -potential_energy(self.program.seeded(0, rows), args, kwargs, theta)

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


def read(model: Any, args: tuple, kwargs: dict[str, Any]) -> Model:
    """See `spos.from_numpyro`."""
    program = _Program(checks.function("model", model), args, kwargs)
    data = jax.tree.map(lambda leaf: jnp.asarray(leaf) if _travels(leaf) else None, (args, kwargs))
    try:
        sites, target = _examine(program, data)
    except NEEDS_NUMBERS:
        data = None
        try:
            sites, target = _examine(program, data)
        except NEEDS_NUMBERS as error:
            raise not_evaluated(program.name, "under jax.jit", error) from error

    @jax.jit
    def constrain(particles: Particles, data: PyTree) -> dict[str, jax.Array]:
        args, kwargs = program.arguments(data)
        whole = program.seeded(0, {})
        return jax.vmap(
            lambda theta: constrain_fn(whole, args, kwargs, theta, return_deterministic=True)
        )(particles)

    @jax.jit
    def predict(key: jax.Array, particles: Particles, data: PyTree) -> dict[str, jax.Array]:
        args, kwargs = program.arguments(data)

        def one(key: jax.Array, values: dict[str, jax.Array]) -> dict[str, jax.Array]:
            free = handlers.uncondition(program.seeded(key, {}))
            given = handlers.substitute(free, data={name: values[name] for name in sites.shapes})
            trace = handlers.trace(given).get_trace(*args, **kwargs)
            return {name: trace[name]["value"] for name in sites.observed}

        keys = jax.random.split(key, len(jax.tree.leaves(particles)[0]))
        return jax.vmap(one)(keys, constrain(particles, data))

    @jax.jit
    def site_log_probs(particles: Particles, data: PyTree) -> dict[str, jax.Array]:
        args, kwargs = program.arguments(data)
        whole = program.seeded(0, {})

        def one(theta: PyTree) -> dict[str, jax.Array]:
            values = constrain_fn(whole, args, kwargs, theta)
            trace = handlers.trace(handlers.substitute(whole, data=values)).get_trace(
                *args, **kwargs
            )
            drawn = {name: site for name, site in trace.items() if site["type"] == "sample"}
            return {n: jnp.sum(site["fn"].log_prob(site["value"])) for n, site in drawn.items()}

        return jax.vmap(one)(particles)

    def in_order(values: dict[str, jax.Array], names: list[str]) -> dict[str, jax.Array]:
        return {name: values[name] for name in names}  # jit sorts the names

    return Model(
        name=program.name,
        target=target,
        shapes=sites.shapes,
        coords=sites.coords,
        dims=sites.dims,
        constrain_batch=lambda particles: in_order(constrain(particles, data), sites.constrained),
        predict_batch=lambda key, particles: in_order(
            predict(key, particles, data), sites.observed
        ),
        sites_batch=lambda particles: site_log_probs(particles, data),
    )


class _Rows(Messenger):
    """Gives each subsampled plate its rows, all of them unless told; `plates` remembers N and B."""

    def __init__(self, model: Any, rows: Mapping[str, jax.Array]) -> None:
        super().__init__(model)
        self.rows = rows
        self.plates: dict[str, tuple[int, int]] = {}

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] == "plate" and msg["value"] is None:
            self.plates[msg["name"]] = size, _ = msg["args"]
            rows = self.rows.get(msg["name"], jnp.arange(size))
            msg["value"], msg["args"] = rows, (size, len(rows))


class _Program:
    """The model's function and its arguments."""

    def __init__(self, model: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        self.name = f"the NumPyro model {getattr(model, '__name__', type(model).__name__)}"
        self._model = model
        self._own = (args, kwargs)

    def arguments(self, data: PyTree) -> tuple[tuple, dict[str, Any]]:
        """The model's own, with the data that travelled put back in their places."""
        if data is None:
            return self._own
        return jax.tree.map(
            lambda moved, own: own if moved is None else moved,
            data,
            self._own,
            is_leaf=lambda leaf: leaf is None,
        )

    def seeded(self, key: Any, rows: Mapping[str, jax.Array]) -> _Rows:
        return _Rows(handlers.seed(self._model, key), rows)

    def describe(self) -> str:
        """The shapes of the arguments."""
        words = []
        for (group, *path), leaf in jax.tree_util.tree_leaves_with_path(self._own):
            if hasattr(leaf, "shape"):
                place = "argument " if group.idx == 0 else ""
                words.append(f"{place}{leaf_name(tuple(path))} of shape {leaf.shape}")
        return f"with {', '.join(words)}" if words else "without arrays"


class _Sites(NamedTuple):
    """What a run of the model shows."""

    shapes: dict[str, tuple[int, ...]]  # of the unconstrained parameters
    constrained: list[str]  # parameters and deterministic sites, in the model's order
    observed: list[str]
    plates: dict[str, tuple[int, int]]
    coords: dict[str, np.ndarray]
    dims: dict[str, list[str]]


def _examine(program: _Program, data: PyTree) -> tuple[_Sites, NumpyroTarget]:
    """Trace the model and its density once; nothing is computed."""
    seen: list[_Sites] = []

    def run(data: PyTree) -> jax.Array:
        args, kwargs = program.arguments(data)
        whole = program.seeded(0, {})
        # started as a sampler would, not drawn: an improper prior cannot be drawn from
        placed = handlers.substitute(whole, substitute_fn=init_to_uniform(radius=RADIUS))
        trace = handlers.trace(placed).get_trace(*args, **kwargs)
        sites = _sites(program.name, trace, whole.plates)
        seen.append(sites)
        theta = {name: jnp.zeros(shape) for name, shape in sites.shapes.items()}
        return NumpyroTarget(data, program).log_prob(theta)

    try:
        jax.eval_shape(run, data)
    except (*NEEDS_NUMBERS, ModelError):
        raise
    except (TypeError, ValueError) as error:
        raise not_evaluated(program.name, program.describe(), error) from error
    return seen[0], NumpyroTarget(data, program, tuple(seen[0].plates.items()))


def _sites(model: str, trace: Mapping[str, Any], plates: dict[str, tuple[int, int]]) -> _Sites:
    sites = _Sites({}, [], [], plates, {}, {})
    for name, site in trace.items():
        if site["type"] == "plate":
            sites.coords[name] = np.arange(site["args"][0])
        if site["type"] not in ("sample", "deterministic") or isinstance(site.get("fn"), Unit):
            continue
        shape, event_axes = jnp.shape(site["value"]), 0
        frames = site.get("cond_indep_stack", [])
        if site["type"] == "sample":
            fn = site["fn"]
            event_axes = len(fn.event_shape)
            if site["is_observed"]:
                _check_observed(model, name, shape, fn.shape())
            elif fn.support.is_discrete:
                how = "for example with numpyro.distributions.MixtureSameFamily"
                raise discrete(model, [name], how)
            elif local := [frame.name for frame in frames if frame.name in plates]:
                raise ModelError(
                    f"{model}: the parameter {name} is inside the plate {local[0]}, which is "
                    "subsampled, so that most steps would not see most of it; "
                    "leave out subsample_size"
                )
            else:
                sites.shapes[name] = biject_to(fn.support).inverse_shape(shape)
        (sites.observed if site.get("is_observed") else sites.constrained).append(name)
        plated = {len(shape) - event_axes + frame.dim: frame for frame in frames}
        known = {n: f.name for n, f in plated.items() if n >= 0 and shape[n] == f.size}
        sites.dims[name] = axis_names(name, len(shape), known)
    if not sites.shapes:
        raise nothing_to_sample(model)
    return sites


def _check_observed(model: str, name: str, value: tuple[int, ...], law: tuple[int, ...]) -> None:
    """(8, 1) values of (8,) normals would count as (8, 8) observations, and nobody would say so."""
    try:
        together = jnp.broadcast_shapes(value, law)
    except ValueError:
        together = None
    if together not in (value, law):
        raise ModelError(
            f"{model}: the observations of {name} have shape {value}, their distribution {law}"
        )


def _travels(leaf: Any) -> bool:
    """Sizes and switches are for Python; arrays of numbers are data."""
    return (
        isinstance(leaf, np.ndarray | jax.Array)
        and leaf.ndim > 0
        and leaf.dtype.kind not in "OSUMm"
    )
