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

from spos.adapters.model import (
    Model,
    ModelError,
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
        density = _jaxify(model, [model.logp()])
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

    def predict_batch(key: jax.Array, particles: Particles) -> dict[str, np.ndarray]:
        with _quiet():
            draw = pymc.compile(
                model.free_RVs,
                model.observed_RVs,
                random_seed=int(jax.random.bits(key)),
                mode="FAST_COMPILE",  # numpy's own draws, and no C compiler
                on_unused_input="ignore",
            )
        found = constrain_batch(particles)
        given = [np.asarray(found[rv.name], rv.dtype) for rv in model.free_RVs]
        draws = [draw(*one) for one in zip(*given, strict=True)]
        columns = zip(model.observed_RVs, zip(*draws, strict=True), strict=True)
        return {rv.name: np.stack(column) for rv, column in columns}

    def sites_batch(particles: Particles) -> dict[str, jax.Array]:
        terms = _jaxify(model, [term.sum() for term in model.logp(sum=False)])
        found = jax.vmap(terms)(*(particles[parameter] for parameter in shapes))
        names = (each.name for each in (*model.basic_RVs, *model.potentials))
        return dict(zip(names, found, strict=True))

    return Model(
        name=name,
        target=as_target(log_prob),
        shapes=shapes,
        coords={dim: np.asarray(ticks) for dim, ticks in model.coords.items() if ticks is not None},
        dims={
            variable.name: _dims(model, variable) for variable in (*outputs, *model.observed_RVs)
        },
        constrain_batch=constrain_batch,
        predict_batch=predict_batch,
        sites_batch=sites_batch,
        inputs={variable.name: variable.get_value() for variable in model.data_vars},
    )


def _shapes(model: pymc.Model) -> dict[str, tuple[int, ...]]:
    """Of the value variables, in PyMC's order."""
    sizes = model.eval_rv_shapes()
    return {value.name: tuple(map(int, sizes[value.name])) for value in model.value_vars}


def _jaxify(model: pymc.Model, outputs: list[Any]) -> Callable[..., tuple[jax.Array, ...]]:
    """The graph from the value variables to `outputs` as a function for JAX to trace."""
    with _quiet():
        function = get_jaxified_graph(inputs=model.value_vars, outputs=outputs)

    def traced(*values: jax.Array) -> tuple[jax.Array, ...]:
        with _quiet():
            return tuple(function(*values))

    return traced


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
    values = {rv.name: model.rvs_to_values[rv].type.shape for rv in model.observed_RVs}
    return ", ".join(f"{name} of shape {shape}" for name, shape in values.items()) or "no data"
