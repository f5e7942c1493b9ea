"""Models of everyday statistics, written in NumPyro, on data of scikit-learn or made here.

Each is a function of a random generator, which draws its data, and gives a NumPyro model without
arguments. The modules are loaded when asked for, since NumPyro is an extra.
"""

import importlib
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

ROOMS = {
    "regression": (
        *("linear", "raw_interaction", "raw_quadratic", "logistic", "multinomial"),
        *("poisson", "negative_binomial", "probit", "robust", "lasso"),
    ),
    "hierarchical": (
        *("schools_centred", "schools_noncentred", "radon", "binomial_groups", "item_response"),
    ),
    "series": ("autoregression", "local_level", "stochastic_volatility", "change_point"),
    "curves": ("mixture", "gaussian_process", "predator_prey", "growth"),
    "groups": (
        *("poisson_groups", "poisson_groups_centred", "zero_inflated_groups", "crossed_centred"),
        *("logistic_groups_centred", "random_slopes", "horseshoe", "latent_factor"),
        "measurement_error",
    ),
    "states": (
        *("short_series", "structural_series", "volatility_centred", "process_latent", "spline"),
        *("hidden_markov", "capture_recapture", "pharmacokinetics"),
    ),
    "everyday": (
        *("ordinal", "weibull_censored", "zero_inflated", "dose_response", "conversion"),
        *("regression_500", "regression_1000"),
    ),
    "shapes": ("scales", "correlated", "banana", "heavy_tails", "funnel", "far_modes"),
}
MODELS = {name: room for room, names in ROOMS.items() for name in names}
NEWER = ("groups", "states", "everyday")  # rooms that came when the kernel had been judged
COMPARED = tuple(name for name, room in MODELS.items() if room not in NEWER)
FOURTH = tuple(MODELS)[::4]  # every fourth, in this order
TRAPS = ("funnel", "far_modes")  # where a wrong answer looks right


def build(name: str) -> Callable[[], Any]:
    """The model of that name; its data are always the same."""
    try:
        module = importlib.import_module(f"spos_experiments.paper.accuracy.models.{MODELS[name]}")
    except ImportError as error:
        raise ImportError(
            "these models need NumPyro and scikit-learn: "
            f"pip install 'spos[numpyro,diagnostics]' ({error})"
        ) from error
    return getattr(module, name)(np.random.default_rng(zlib.crc32(name.encode())))
