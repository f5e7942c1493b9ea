"""What an automatic run leaves behind: draws, and a verdict on them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from spos import result
from spos.auto.verdict import NOTHING_CHECKED, Verdict
from spos.io import archive
from spos.names import leaf_name
from spos.result import Result, Summary, data_tree
from spos.types import Particles, PyTree


@dataclass(frozen=True)
class AutomaticResult(Result):
    """A run that chose its own steps and judged itself.

    `draws` pools the records of the last round, with one leading axis: for a model in its own
    parameters, else like the particles. `history` and `particles` are what the sampler saw.
    `info` has the log-density and the acceptance of every record and particle, `num_steps` counts
    moves and `evaluations` those of the log-density with its gradient.
    """

    draws: PyTree = None
    verdict: Verdict = NOTHING_CHECKED
    evaluations: int = 0
    coords: Mapping[str, Any] | None = None
    dims: Mapping[str, list[str]] | None = None
    predict: Callable[[Particles], Mapping[str, Any]] | None = None  # what is observed; not saved

    @property
    def converged(self) -> bool:
        """Did the draws pass every check?"""
        return self.verdict.converged

    def report(self) -> str:
        """What was checked, and what to do where it failed, for people to read."""
        return f"{self.summary().title}\n{self.verdict}"

    def summary(self) -> Summary:
        """Mean, standard deviation, quantiles and range of every parameter over the draws."""
        return self._summary(self.draws, "draws")

    def to_arviz(self) -> Any:
        """An ArviZ DataTree in which the particles are dealt to four chains."""
        records = jax.tree.leaves(self.history)[0].shape[:2]
        named = {
            leaf_name(path): by_groups(np.asarray(leaf).reshape(*records, *leaf.shape[1:]))
            for path, leaf in jax.tree_util.tree_leaves_with_path(self.draws)
        }
        if isinstance(self.draws, Mapping):  # in the model's order, where the tree has its own
            named = {name: named[name] for name in self.draws if name in named} | named
        predicted = {} if self.predict is None else self.predict(self.history)
        return data_tree(
            named,
            sample_stats=self.sample_stats(),
            posterior_predictive={
                name: by_groups(np.asarray(values)) for name, values in predicted.items()
            },
            coords=self.coords,
            dims=self.dims,
            version=self.versions["spos"],
        )

    def sample_stats(self) -> dict[str, np.ndarray]:
        """What was seen of each draw, under ArviZ's names."""
        return {
            "lp": by_groups(self.info["log_prob"]),
            "acceptance_rate": by_groups(self.info["acceptance"]),
        }

    def _packed(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, meta = super()._packed()
        draws, structure = archive.pack(self.draws, "draws")
        ticks = {} if self.coords is None else self.coords
        meta["automatic"] = {
            "draws": structure,
            "verdict": self.verdict.as_json(),
            "evaluations": self.evaluations,
            "coords": {name: np.asarray(values).tolist() for name, values in ticks.items()},
            "dims": self.dims,
        }
        return {**arrays, **draws}, meta


def load(path: Any) -> Result:
    """The result that `Result.save` wrote, with NumPy arrays in place of JAX ones."""
    plain = result.load(path)
    arrays, meta = archive.read(Path(path))
    if "automatic" not in meta:
        return plain
    own = meta["automatic"]
    return AutomaticResult(
        **result.unpacked(arrays, meta),
        draws=archive.unpack(arrays, own["draws"]),
        verdict=Verdict.from_json(own["verdict"]),
        evaluations=own["evaluations"],
        coords=own["coords"],
        dims=own["dims"],
    )


def by_groups(records: np.ndarray) -> np.ndarray:
    """Records and particles as four chains (two if four do not divide the particles), each the
    paths of its particles one after the other."""
    n, count = records.shape[:2]
    groups = 4 if count % 4 == 0 else 2
    return np.swapaxes(records, 0, 1).reshape(groups, count // groups * n, *records.shape[2:])
