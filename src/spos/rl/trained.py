"""What training leaves behind: the policies, and how their returns grew."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos.io import archive
from spos.rl import policies
from spos.rl.envs import Continuous, Discrete
from spos.rl.policies import Network, Policy
from spos.types import Particles

FORMAT = "spos policies 1"


@dataclass(frozen=True)
class Trained:
    """A finished (or interrupted) training run.

    `returns[k, i]` is the mean return of the episodes that particle i played in iteration k, before
    the update of that iteration. `coverage[k]` is the share of the grid's cells that any particle
    has visited by then (empty for a task without a grid).
    """

    particles: Particles
    returns: np.ndarray
    coverage: np.ndarray
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    interrupted: bool
    network: Network | None = field(default=None, repr=False)  # where it is not the default one

    @property
    def iterations(self) -> int:
        return len(self.returns)

    def best(self, last: int = 10) -> int:
        """The particle with the highest mean return over the last iterations."""
        return int(np.argmax(self.returns[-last:].mean(axis=0)))

    def policy(
        self, key: jax.Array | None = None, *, particle: int | None = None
    ) -> Callable[[Any], np.ndarray]:
        """A function from an observation to an action.

        With a `key` one particle is drawn and acts, as in Thompson sampling; with `particle` that
        one acts; with neither, the average of all: of their actions where these are numbers, of
        their probabilities where they are choices.
        """
        if key is not None and particle is not None:
            raise ValueError("give key or particle, not both")
        count = len(jax.tree.leaves(self.particles)[0])
        if key is not None:
            particle = int(jax.random.randint(key, (), 0, count))
        if particle is not None and not 0 <= particle < count:
            raise ValueError(f"particle must be from 0 to {count - 1}, got {particle}")
        chosen = slice(None) if particle is None else slice(particle, particle + 1)
        some = jax.tree.map(lambda leaf: jnp.asarray(leaf[chosen]), self.particles)
        average = jax.jit(self._policy().average)
        return lambda observation: np.asarray(average(some, jnp.asarray(observation, jnp.float32)))

    def save(self, path: Any) -> Path:
        """One `.npz` file, written whole or not at all."""
        path = Path(path)
        own = {OWN_NETWORK: self.network is not None}
        archive.save_fields(path, FORMAT, {**vars(self), **own}, SAVED)
        return path

    def _policy(self) -> Policy:
        about = self.settings["policy"]
        kind: Any = {"discrete": Discrete, "continuous": Continuous}[about["actions"]]
        return policies.make(
            about["observation_size"], kind(about["size"]), about["hidden"], self.network
        )


OWN_NETWORK = "own network"
SAVED = {**archive.fields_of(Trained, without=["network"]), OWN_NETWORK: bool}


def load(path: Any, network: Network | None = None) -> Trained:
    """What `Trained.save` wrote. Policies with a network of one's own need it again to act."""
    fields = archive.load_fields(Path(path), FORMAT, SAVED)
    if fields.pop(OWN_NETWORK) and network is None:
        raise ValueError(f"network must be the one that {path} was trained with, got None")
    return Trained(**fields, network=network)
