"""What a NumPyro model draws, observes and computes, and what of it cannot be sampled."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import Unit, biject_to

from spos.adapters.model import ModelError, axis_names, discrete, nothing_to_sample


class Sites(NamedTuple):
    """What a run of the model shows.

    Attributes:
        shapes: of the unconstrained parameters.
        constrained: parameters and deterministic sites, in the model's order.
        observed: the sites with observations.
        plates: the subsampled ones, with N and B.
        coords: labels of the plates.
        dims: names of the axes of every site.
    """

    shapes: dict[str, tuple[int, ...]]
    constrained: list[str]
    observed: list[str]
    plates: dict[str, tuple[int, int]]
    coords: dict[str, np.ndarray]
    dims: dict[str, list[str]]


def found_sites(model: str, trace: Mapping[str, Any], plates: dict[str, tuple[int, int]]) -> Sites:
    """The sites of a traced run.

    Args:
        model: its name.
        trace: as `numpyro.handlers.trace` gives it.
        plates: the subsampled ones, with N and B.

    Returns:
        What there is to sample and to observe.

    Raises:
        ModelError: something cannot be sampled.
    """
    sites = Sites({}, [], [], plates, plate_labels(trace), {})
    for name, site in trace.items():
        if site["type"] not in ("sample", "deterministic") or isinstance(site.get("fn"), Unit):
            continue
        shape = jnp.shape(site["value"])
        if site["type"] == "sample":
            fn, frames = site["fn"], site["cond_indep_stack"]
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
        sites.dims[name] = axes_of(name, site)
    if not sites.shapes:
        raise nothing_to_sample(model)
    return sites


def axes_of(name: str, site: Mapping[str, Any]) -> list[str]:
    """The names of the axes of a site: those of its plates where they have the plates' lengths."""
    shape = jnp.shape(site["value"])
    event_axes = len(site["fn"].event_shape) if site["type"] == "sample" else 0
    frames = site.get("cond_indep_stack", [])
    plated = {len(shape) - event_axes + frame.dim: frame for frame in frames}
    known = {n: f.name for n, f in plated.items() if n >= 0 and shape[n] == f.size}
    return axis_names(name, len(shape), known)


def plate_labels(trace: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The rows of every plate, counted."""
    plates = {name: site for name, site in trace.items() if site["type"] == "plate"}
    return {name: np.arange(site["args"][0]) for name, site in plates.items()}


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
