"""Draws that know their model: its names, its data, what it predicts, and all of it for ArviZ."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import numpy as np

from spos.io.arviz import arviz_object
from spos.names import leaf_name
from spos.result import Result
from spos.types import PyTree


@dataclass(frozen=True, kw_only=True, repr=False)
class NamedDraws(Result):
    """Draws in a model's own parameters, or of a plain log-density, which has none.

    Attributes:
        draws: with one leading axis: for a model in its own parameters, else like the particles.
        coords: labels of the model's axes.
        dims: names of the model's axes.
        model: the `spos.Model` whose parameters were drawn; not saved, since no file holds code.
        data: the observations and constants of a model that was saved.
    """

    draws: PyTree
    coords: Mapping[str, Any] | None = None
    dims: Mapping[str, list[str]] | None = None
    model: Any = None
    data: PyTree = None

    def predict(self, *args: Any, **kwargs: Any) -> Mapping[str, np.ndarray]:
        """Draws of what the model observes, one for each of `draws`: the posterior predictive.

        Args:
            *args: other arguments for a NumPyro function, such as new inputs; without any, those
                of the fit.
            **kwargs: the same; for a PyMC model, new values of its `pymc.Data` and new labels of
                its dims, by name.

        Returns:
            Arrays by name, whose first axis counts the draws. The same call gives the same bits.

        Raises:
            TypeError: there is no model, as for a log-density or a fit from a file.
            ModelError: the model cannot predict with these arguments.

        Example:
            >>> import numpyro, numpyro.distributions as dist
            >>> def line(x, y=None):
            ...     slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
            ...     numpyro.sample("y", dist.Normal(slope * x, 0.1), obs=y)
            >>> x = np.arange(10.0)
            >>> fit = spos.fit(line, x, 0.5 * x)
            >>> fit.predict(np.array([20.0]))["y"].mean().round(1)
            np.float32(10.0)
        """
        key = jax.random.fold_in(jax.random.key(self.settings["seed"]), 2**31)
        found = self._known_model("predict").predict(key, self.history, *args, **kwargs)
        for name, values in found.items():
            found[name] = values.reshape(-1, *values.shape[2:])
        return found

    def log_likelihood(self) -> dict[str, np.ndarray]:
        """The log-likelihood of every single observation, for each of `draws`.

        Returns:
            Arrays by the names of what is observed, whose first axis counts the draws.

        Raises:
            TypeError: there is no model, as for a log-density or a fit from a file.
        """
        found = self._known_model("log_likelihood").log_likelihood(self.history)
        return {name: values.reshape(-1, *values.shape[2:]) for name, values in found.items()}

    def with_model(self, model: Any) -> Self:
        """The same fit with its model, which no file holds: it can predict again.

        Args:
            model: what `spos.from_numpyro` or `spos.from_pymc` gives, of the model and the
                arguments that were fitted.

        Returns:
            The fit.

        Raises:
            ValueError: the model has other parameters, or other data.

        Example:
            >>> import numpyro, numpyro.distributions as dist
            >>> def coin(heads):
            ...     p = numpyro.sample("p", dist.Beta(2.0, 2.0))
            ...     numpyro.sample("heads", dist.Bernoulli(p), obs=heads)
            >>> heads = np.array([1, 1, 0])
            >>> loaded = spos.load(spos.fit(coin, heads).save("coin.npz"))
            >>> fit = loaded.with_model(spos.from_numpyro(coin, heads))
            >>> fit.log_likelihood()["heads"].shape[1]
            3
        """
        if not hasattr(model, "flatten"):
            raise TypeError(
                "model must come from spos.from_numpyro or spos.from_pymc, with the arguments that "
                f"were fitted, got {model!r}"
            )
        model.flatten(self.history)  # which complains if it cannot
        for fitted, given in zip(self._data(), model.data(), strict=True):
            for name, array in fitted.items():
                if not _same(array, given.get(name)):
                    raise ValueError(
                        f"model must have the arguments that were fitted, and its {name} is another"
                    )
        return replace(self, model=model)

    def to_arviz(
        self,
        *,
        log_likelihood: bool = False,
        posterior_predictive: bool = False,
        predictions: Mapping[str, Any] | None = None,
    ) -> Any:
        """The draws for ArviZ, with the particles dealt to four chains.

        Args:
            log_likelihood: add the log-likelihood of every observation, which `az.loo` and
                `az.compare` need.
            posterior_predictive: add draws of what the model observes, as `predict()` gives them.
            predictions: what `predict` gave for other arguments.

        Returns:
            The groups `posterior`, `sample_stats`, for a model `observed_data` and
            `constant_data`, and those asked for. An `InferenceData` where ArviZ before version 1
            is installed, as PyMC needs it; else a DataTree, which ArviZ 1 and arviz-base take.
        """
        observed, constant = self._data()
        groups: dict[str, Any] = {
            "posterior": self._in_order(self._leaves()),
            "posterior_predictive": self.predict() if posterior_predictive else {},
            "predictions": predictions or {},
            "log_likelihood": self.log_likelihood() if log_likelihood else {},
        }
        dealt = {
            group: {name: self._by_chain(values) for name, values in arrays.items()}
            for group, arrays in groups.items()
        }
        plain = {
            "sample_stats": self.sample_stats(),
            "observed_data": observed,
            "constant_data": constant,
        }
        return arviz_object(
            dealt | plain,
            coords={**(self.coords or {}), **getattr(predictions, "coords", {})},
            dims={**(self.dims or {}), **getattr(predictions, "dims", {})},
            version=self.versions["spos"],
        )

    def sample_stats(self) -> dict[str, np.ndarray]:
        """What was seen of each draw, under ArviZ's names.

        Returns:
            The log-density and the acceptance, with axes of chains and draws.
        """
        known = {"log_prob": "lp", "acceptance": "acceptance_rate"}
        return {known[own]: by_groups(seen) for own, seen in self.info.items() if own in known}

    def _known_model(self, verb: str) -> Any:
        if self.model is not None:
            return self.model
        if self.dims is None:
            raise TypeError(
                f"{verb} needs a model of NumPyro or PyMC, and this is the fit of a log-density; "
                "its draws are in fit.draws"
            )
        raise TypeError(
            f"{verb} needs the model's code, which no file holds: give it again, with the "
            "arguments that were fitted, by fit.with_model(spos.from_numpyro(model, …)) or "
            "spos.from_pymc(model)"
        )

    def _data(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Observations and constants of the model."""
        if self.model is not None:
            found: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = self.model.data()
            return found
        return self.data or ({}, {})

    def _by_chain(self, values: Any) -> np.ndarray:
        array = np.asarray(values)
        records = jax.tree.leaves(self.history)[0].shape[:2]
        return by_groups(array.reshape(*records, *array.shape[1:]))

    def _saved_words(self) -> dict[str, Any]:
        """What a file holds in place of the model."""
        coords = (
            None
            if self.coords is None
            else {axis: _plain_labels(labels) for axis, labels in self.coords.items()}
        )
        return {"data": self._data(), "coords": coords}

    def _leaves(self) -> dict[str, np.ndarray]:
        leaves = jax.tree_util.tree_leaves_with_path(self.draws)
        return {leaf_name(path): np.asarray(leaf) for path, leaf in leaves}

    def _in_order(self, named: dict[str, Any]) -> dict[str, Any]:
        """The model's order, where a tree of JAX has its own."""
        if isinstance(self.draws, Mapping):
            return {name: named[name] for name in self.draws if name in named} | named
        return named


def _same(one: np.ndarray, other: Any) -> bool:
    floats = one.dtype.kind == "f" and other is not None
    return bool(np.array_equal(one, other, equal_nan=floats))


def _plain_labels(labels: Any) -> Any:
    """As a file holds them: numbers and strings stay, dates and the like become strings."""
    array = np.asarray(labels)
    return array if array.dtype.kind in "biufU" else array.astype(str)


def by_groups(records: np.ndarray) -> np.ndarray:
    """Records and particles as four chains (two if four do not divide the particles), each the
    paths of its particles one after the other."""
    n, count = records.shape[:2]
    groups = 4 if count % 4 == 0 else 2
    return np.swapaxes(records, 0, 1).reshape(groups, count // groups * n, *records.shape[2:])
