"""Draws as the installed ArviZ takes them.

One rule: an `InferenceData` where the package `arviz` before version 1 is installed, since that
is what it and PyMC work with (arviz-stats and arviz-plots read it too); else a DataTree of
xarray, which ArviZ 1 and its parts arviz-base, arviz-stats and arviz-plots work with.
"""

import importlib.metadata
import importlib.util
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

SAMPLE_AXES = ["chain", "draw"]
WITHOUT_DRAWS = ("observed_data", "constant_data", "predictions_constant_data")

Groups = Mapping[str, Mapping[str, Any] | None]


def arviz_object(
    groups: Groups,
    *,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, list[str]] | None = None,
    version: str,
) -> Any:
    """Arrays by group and name, with axes that have names and labels.

    Args:
        groups: ArviZ's, in its order; the first axes of draws are chains and draws. Empty groups
            are left out.
        coords: labels of axes; those that do not have the length of their axis are not used.
        dims: the names of the axes of a variable, without those of chains and draws.
        version: that of the library that made the draws.

    Returns:
        See the top of this file.

    Raises:
        ImportError: neither ArviZ nor arviz-base is there.
    """
    inference_data = _inference_data()
    if inference_data is None and importlib.util.find_spec("arviz_base") is None:
        raise ImportError("to_arviz needs ArviZ: pip install 'spos[arviz]'")
    import xarray

    attrs = {"inference_library": "spos", "inference_library_version": version}
    datasets = {}
    for group, variables in groups.items():
        if not variables:
            continue
        leading = [] if group in WITHOUT_DRAWS else SAMPLE_AXES
        arrays = {name: np.asarray(values) for name, values in variables.items()}
        axes = {
            name: leading + _axes(name, values.ndim - len(leading), dims or {})
            for name, values in arrays.items()
        }
        lengths = {
            axis: length
            for name, values in arrays.items()
            for axis, length in zip(axes[name], values.shape, strict=True)
        }
        labels = {axis: _labels(axis, n, coords or {}) for axis, n in lengths.items()}
        content = {name: (axes[name], values) for name, values in arrays.items()}
        datasets[group] = xarray.Dataset(content, coords=labels, attrs=attrs)
    if inference_data is not None:
        return inference_data(**datasets, attrs=attrs)
    tree = xarray.DataTree.from_dict(datasets)
    tree.attrs = attrs
    return tree


def _axes(name: str, count: int, dims: Mapping[str, list[str]]) -> list[str]:
    own = list(dims.get(name, ()))
    return own if len(own) == count else [f"{name}_dim_{axis}" for axis in range(count)]


def _labels(axis: str, length: int, coords: Mapping[str, Any]) -> np.ndarray:
    own = np.asarray(coords.get(axis, ()))
    return own if own.shape == (length,) else np.arange(length)


def _inference_data() -> Any:
    """ArviZ's class for draws if the one installed has it, else None."""
    try:
        major = importlib.metadata.version("arviz").partition(".")[0]
    except importlib.metadata.PackageNotFoundError:
        return None
    if major != "0":
        return None
    with warnings.catch_warnings():
        # once a day it announces ArviZ 1
        warnings.filterwarnings("ignore", "(?s).*ArviZ is undergoing a major", FutureWarning)
        from arviz import InferenceData
    return InferenceData
