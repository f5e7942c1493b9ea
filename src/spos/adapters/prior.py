"""What a model expects before it has seen any data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from spos import checks
from spos.adapters.subject import read_model
from spos.io.arviz import arviz_object
from spos.result import versions

MANY = 500


@dataclass(frozen=True)
class PriorPredictive:
    """Draws from the prior of a model, and of what it would observe.

    Attributes:
        draws: parameters and what the model computes from them, by name; the first axis counts.
        predictions: one draw of everything the model observes for each of them.
        observed: the observations themselves.
        coords: labels of the model's axes.
        dims: names of the model's axes.
    """

    draws: Mapping[str, np.ndarray]
    predictions: Mapping[str, np.ndarray]
    observed: Mapping[str, np.ndarray]
    coords: Mapping[str, Any]
    dims: Mapping[str, list[str]]

    def __repr__(self) -> str:
        count = len(next(iter(self.draws.values())))
        return (
            f"<PriorPredictive: {count:,} draws of {', '.join(self.draws)}; "
            f"predictions of {', '.join(self.predictions) or 'nothing'}>"
        )

    def to_arviz(self) -> Any:
        """The draws for ArviZ, as one chain.

        Returns:
            The groups `prior`, `prior_predictive` and `observed_data`, in the form that
            `Fit.to_arviz` has.
        """
        groups = {
            "prior": {name: values[None] for name, values in self.draws.items()},
            "prior_predictive": {name: values[None] for name, values in self.predictions.items()},
            "observed_data": self.observed,
        }
        version = versions()["spos"]
        return arviz_object(groups, coords=self.coords, dims=self.dims, version=version)


def prior_predictive(
    model: Any, /, *args: Any, num_draws: int = MANY, seed: int = 0, **kwargs: Any
) -> PriorPredictive:
    """Draw from the prior of a model, and what it would observe.

    Args:
        model: a NumPyro function, a PyMC model or a `spos.Model`.
        *args: those of a NumPyro function.
        num_draws: how many.
        seed: the same seed gives the same bits.
        **kwargs: those of a NumPyro function.

    Returns:
        The draws.

    Raises:
        ModelError: the model cannot be read, or its prior cannot be drawn from.

    Example:
        >>> import numpyro, numpyro.distributions as dist
        >>> def normal(y):
        ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
        ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
        >>> prior = spos.prior_predictive(normal, np.array([1.0, 2.0]), num_draws=100)
        >>> prior.draws["mean"].shape, prior.predictions["y"].shape
        ((100,), (100, 2))
    """
    checks.whole("num_draws", num_draws)
    checks.whole("seed", seed, at_least=0, below=2**32)
    found = read_model(model, args, kwargs, ("num_draws", "seed"), "prior_predictive")
    everything = {
        name: np.asarray(values)
        for name, values in found.prior_batch(jax.random.key(seed), num_draws).items()
    }
    observed, _ = found.data()
    own = [name for name in found.dims if name not in observed]
    return PriorPredictive(
        draws={name: everything[name] for name in own},
        predictions={name: everything[name] for name in observed},
        observed=observed,
        coords=found.coords,
        dims=found.dims,
    )
