"""PyMC models.

PyMC writes log p(θ), the Jacobians of its transforms included, as a graph that PyTensor can hand
to JAX. The precision is that of the JAX program around it: importing PyTensor's JAX support alone
would turn on 64 bits (and ask XLA for a hundred devices) everywhere, so that is undone.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc
from pymc.pytensorf import extract_obs_data

from spos.adapters.model import (
    Arguments,
    Model,
    ModelError,
    Predictions,
    axis_names,
    discrete,
    in_blocks,
    not_evaluated,
    nothing_to_sample,
)
from spos.targets.target import as_target
from spos.types import Particles


def _import_jax_support() -> Callable[..., Any]:
    flags, wide = os.environ.get("XLA_FLAGS"), jax.config.read("jax_enable_x64")
    try:
        from pymc.sampling.jax import get_jaxified_graph
    finally:
        jax.config.update("jax_enable_x64", wide)
        os.environ.pop("XLA_FLAGS", None)
        if flags is not None:
            os.environ["XLA_FLAGS"] = flags
    return get_jaxified_graph


get_jaxified_graph = _import_jax_support()


def read(model: Any) -> Model:
    """See `spos.from_pymc`."""
    if not isinstance(model, pymc.Model):
        raise TypeError(f"model must be a pymc.Model, got {model!r} ({type(model).__name__})")
    name = f"the PyMC model {model.name}".strip()
    if model.discrete_value_vars:
        sites = [model.values_to_rvs[value].name for value in model.discrete_value_vars]
        raise discrete(name, sites, "for example with pymc.Mixture")
    if not model.free_RVs:
        raise nothing_to_sample(name)
    named = {variable.name for variable in (*model.free_RVs, *model.deterministics)}
    outputs = [value for value in model.unobserved_value_vars if value.name in named]
    try:
        shapes = _shapes(model)
        density = _jaxify(model, [model.logp(_terms(model))])
        values = _jaxify(model, outputs)
        one = [jnp.zeros(shape) for shape in shapes.values()]
        jax.eval_shape(density, *one)
        jax.eval_shape(values, *one)
    except (TypeError, ValueError) as error:
        if "RandomType" in str(error):
            raise ModelError(
                f"{name} draws random numbers in its density, as pymc.Minibatch does: "
                "give it all the data"
            ) from error
        raise not_evaluated(name, f"with {_observations(model)}", error) from error

    def log_prob(theta: dict[str, jax.Array]) -> jax.Array:
        return density(*(theta[parameter] for parameter in shapes))[0]

    @jax.jit
    def constrain(particles: Particles) -> tuple[jax.Array, ...]:
        return jax.vmap(values)(*(particles[parameter] for parameter in shapes))

    def constrain_batch(particles: Particles) -> dict[str, np.ndarray]:
        names = [value.name for value in outputs]
        return in_blocks(lambda _, some: dict(zip(names, constrain(some), strict=True)), particles)

    def predict_batch(key: jax.Array, values: dict[str, Any], other: Arguments) -> Predictions:
        data, labels = _new(model, name, other)
        with _quiet():
            draws = _predicted(model, name, int(jax.random.bits(key)), values, data)
        axes = {rv.name: _dims(model, rv) for rv in _observed_variables(model)}
        return Predictions(draws, _labels(model) | labels, axes)

    def log_likelihood_batch(particles: Particles) -> dict[str, np.ndarray]:
        found = _observed_variables(model)
        terms = _jaxify(model, model.logp(found, sum=False))
        batched = jax.jit(lambda some: jax.vmap(terms)(*(some[each] for each in shapes)))
        names = [rv.name for rv in found]
        return in_blocks(lambda _, some: dict(zip(names, batched(some), strict=True)), particles)

    def prior_batch(key: jax.Array, num_draws: int) -> dict[str, np.ndarray]:
        seed = int(jax.random.bits(key))
        variables = [*model.free_RVs, *model.deterministics, *_observed_variables(model)]
        with _quiet(), _drawable(name):
            drawn = pymc.draw(variables, num_draws, random_seed=seed, mode="FAST_COMPILE")
        return {each.name: values for each, values in zip(variables, drawn, strict=True)}

    def sites_batch(particles: Particles) -> dict[str, jax.Array]:
        terms = _jaxify(model, [term.sum() for term in model.logp(_terms(model), sum=False)])
        found = jax.vmap(terms)(*(particles[parameter] for parameter in shapes))
        names = (each.name for each in _terms(model))
        return dict(zip(names, found, strict=True))

    return Model(
        name=name,
        target=as_target(log_prob),
        shapes=shapes,
        coords=_labels(model),
        dims={
            variable.name: _dims(model, variable)
            for variable in (*outputs, *_observed_variables(model))
        },
        constrain_batch=constrain_batch,
        predict_batch=predict_batch,
        log_likelihood_batch=log_likelihood_batch,
        sites_batch=sites_batch,
        prior_batch=prior_batch,
        observe=lambda: _observed(model),
        inputs={variable.name: variable.get_value() for variable in model.data_vars},
    )


def _observed_variables(model: pymc.Model) -> list[Any]:
    """Each once: `pymc.sample_posterior_predictive` appends them again to the model's own list."""
    return list(dict.fromkeys(model.observed_RVs))


def _terms(model: pymc.Model) -> list[Any]:
    """The variables whose log-densities add up to the model's."""
    return [*model.free_RVs, *_observed_variables(model), *model.potentials]


def _shapes(model: pymc.Model) -> dict[str, tuple[int, ...]]:
    """Of the value variables, in PyMC's order."""
    place = model.initial_point(0)
    return {value.name: np.shape(place[value.name]) for value in model.value_vars}


def _jaxify(model: pymc.Model, outputs: list[Any]) -> Callable[..., tuple[jax.Array, ...]]:
    """The graph from the value variables to `outputs` as a function for JAX to trace."""
    with _quiet():
        function = get_jaxified_graph(inputs=model.value_vars, outputs=outputs)

    def traced(*values: jax.Array) -> tuple[jax.Array, ...]:
        with _quiet():
            return tuple(function(*values))

    return traced


def _predicted(
    model: pymc.Model, name: str, seed: int, values: dict[str, Any], data: dict[Any, np.ndarray]
) -> dict[str, np.ndarray]:
    """One draw of what is observed for each row of constrained parameters, given other data."""
    if not _observed_variables(model):
        raise ModelError(f"{name} observes nothing that could be predicted")
    given = [np.asarray(values[rv.name], rv.dtype) for rv in model.free_RVs]
    try:
        draw = pymc.compile(
            model.free_RVs,
            _observed_variables(model),
            random_seed=seed,
            mode="FAST_COMPILE",  # numpy's own draws, and no C compiler
            on_unused_input="ignore",
            givens=data,
        )
        draws = [draw(*one) for one in zip(*given, strict=True)]
    except (IndexError, TypeError, ValueError) as error:
        words = ", ".join(f"{each.name} of shape {array.shape}" for each, array in data.items())
        # the commonest reason, of which PyMC's own message says nothing
        advice = ". What is observed keeps its length unless the model gives it a shape, such as "
        advice += "pymc.Normal(…, observed=y, shape=x.shape)"
        how = f"with {words}" if words else "anew"
        raise not_evaluated(name, how, error, advice) from error
    columns = zip(_observed_variables(model), zip(*draws, strict=True), strict=True)
    return {rv.name: np.stack(column) for rv, column in columns}


def _new(
    model: pymc.Model, name: str, other: Arguments
) -> tuple[dict[Any, np.ndarray], dict[str, np.ndarray]]:
    """Values for the model's data and labels for its dims, in place of its own."""
    args, named = other
    known = {variable.name: variable for variable in model.data_vars}
    wrong = [f"{each!r:.40} without a name" for each in args]
    wrong += [each for each in named if each not in known and each not in model.coords]
    if wrong:
        raise ModelError(
            f"{name} takes new values of its pymc.Data and new labels of its dims by name "
            f"({', '.join([*known, *model.coords]) or 'it has none'}), got {wrong[0]}"
        )
    data = {
        known[each]: np.asarray(x, known[each].dtype) for each, x in named.items() if each in known
    }
    for variable, values in data.items():
        if values.ndim != variable.ndim:
            raise ModelError(
                f"{name}: {variable.name} must have {variable.ndim} axes, got {values.ndim}"
            )
    return data, {each: np.asarray(x) for each, x in named.items() if each not in known}


@contextmanager
def _drawable(name: str) -> Iterator[None]:
    try:
        yield
    except NotImplementedError as error:
        raise ModelError(
            f"{name} has a prior that cannot be drawn from, such as an improper one"
        ) from error


def _observed(model: pymc.Model) -> dict[str, np.ndarray]:
    """The observations by the names of their variables."""
    values = {rv.name: model.rvs_to_values[rv] for rv in _observed_variables(model)}
    return {each: np.asarray(extract_obs_data(value)) for each, value in values.items()}


def _labels(model: pymc.Model) -> dict[str, np.ndarray]:
    return {dim: np.asarray(ticks) for dim, ticks in model.coords.items() if ticks is not None}


@contextmanager
def _quiet() -> Iterator[None]:
    """Two warnings say nothing here: the graph asks for float64 where JAX may be set to float32,
    and PyTensor looks for a BLAS that JAX does not need."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning)
        warnings.filterwarnings("ignore", "PyTensor could not link to a BLAS", UserWarning)
        yield


def _dims(model: pymc.Model, variable: Any) -> list[str]:
    dims = model.named_vars_to_dims.get(variable.name, ())
    known = {axis: dim for axis, dim in enumerate(dims) if dim is not None}
    return axis_names(variable.name, variable.ndim, known)


def _observations(model: pymc.Model) -> str:
    """Their shapes; an unknown length is None."""
    values = {rv.name: model.rvs_to_values[rv].type.shape for rv in _observed_variables(model)}
    return ", ".join(f"{name} of shape {shape}" for name, shape in values.items()) or "no data"
