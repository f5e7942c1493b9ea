"""What training leaves behind: the policies, and how their returns grew."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.io import archive
from spos.rl import deployed, policies
from spos.rl.envs import Continuous, Discrete
from spos.rl.policies import Policy
from spos.targets.layers import AnyNetwork
from spos.types import Particles, PathLike

FORMAT = "spos policies 1"
# what settings were called in the first files
EARLIER = {
    "estimator": "gradient",
    "iterations": "num_iterations",
    "particles": "num_particles",
    "episodes": "num_episodes",
    "learning_rate": "step_size",
}


@dataclass(frozen=True, repr=False)
class Trained:
    """A finished (or interrupted) training run.

    Attributes:
        particles: the policies, a pytree whose leaves have a leading axis of particles.
        returns: (iterations, M). `returns[k, i]` is the mean return of the episodes that particle i
            played in iteration k, before the update of that iteration.
        coverage: (iterations,), the share of the grid's cells that any particle has visited by
            then; empty for a task without a grid.
        settings: how the run was made, as plain data.
        versions: of the packages.
        seconds: how long it took.
        interrupted: did it end before its last iteration?
        network: that of the policies, where it is not the default one.
    """

    particles: Particles
    returns: np.ndarray
    coverage: np.ndarray
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    interrupted: bool
    network: AnyNetwork | None = None

    def __repr__(self) -> str:
        count = len(jax.tree.leaves(self.particles)[0])
        told = f"; mean return {self.returns[-1].mean():.4g} in the last" * bool(len(self.returns))
        return (
            f"<Trained: {count} policies for {self.settings.get('environment', '?')}"
            f"{', interrupted' * self.interrupted}\n"
            f" {self.num_iterations} iterations in {self.seconds:.1f} s{told}; see .returns, "
            ".policy(), .best()>"
        )

    @property
    def num_iterations(self) -> int:
        """How many were done."""
        return len(self.returns)

    def best(self, last: int = 10) -> int:
        """The particle with the highest mean return over the last iterations.

        Args:
            last: how many iterations count.

        Returns:
            The number of the particle.
        """
        checks.whole("last", last)
        return int(np.argmax(self.returns[-last:].mean(axis=0)))

    def policy(
        self, key: jax.Array | None = None, *, particle: int | None = None
    ) -> Callable[[Any], np.ndarray]:
        """A function from an observation to an action.

        Without arguments it is the average of all particles: of their actions where these are
        numbers, of their probabilities where they are choices.

        Args:
            key: draws one particle, which acts, as in Thompson sampling.
            particle: the number of the one that acts.

        Returns:
            The function.

        Raises:
            ValueError: if both are given, or there is no such particle.
        """
        if key is not None and particle is not None:
            raise ValueError("give key or particle, not both")
        if key is not None:
            checks.key("key", key)
            count = len(jax.tree.leaves(self.particles)[0])
            particle = int(jax.random.randint(key, (), 0, count))
        some = self._some(particle)
        average = jax.jit(self._policy().average)
        return lambda observation: np.asarray(average(some, jnp.asarray(observation, jnp.float32)))

    def save(self, path: PathLike) -> Path:
        """Write one `.npz` file, whole or not at all; `spos.rl.load` reads it.

        Args:
            path: of the file.

        Returns:
            The path.
        """
        path = checks.as_path("path", path)
        own = {OWN_NETWORK: self.network is not None}
        archive.save_fields(path, FORMAT, {**vars(self), **own}, SAVED)
        return path

    def export(self, path: PathLike, *, particle: int | None = None) -> Path:
        """Write the policies for deployment: `spos.rl.deployed` reads them with NumPy alone.

        Args:
            path: of the file.
            particle: the number of the one that acts; all together without.

        Returns:
            The path.

        Raises:
            ValueError: if the policies have a network of their own, or there is no such particle.
        """
        if self.network is not None:
            raise ValueError("network must be the default one to be exported, got one of your own")
        some, about = self._some(particle), self.settings["policy"]
        theta = some["network"] if about["actions"] == "continuous" else some
        arrays = {name: np.asarray(leaf, np.float32) for name, leaf in theta.items()}
        if (scale := about.get("scale")) is not None:  # the first layer sees to it
            mean, deviation = (np.asarray(scale[name]) for name in ("mean", "deviation"))
            first = arrays["w0"] / deviation[:, None]
            arrays["b0"] = (arrays["b0"] - mean @ first).astype(np.float32)
            arrays["w0"] = first.astype(np.float32)
        told = {name: about[name] for name in ("observation_size", "actions", "size", "hidden")}
        environment = self.settings["environment"]
        meta = {"format": deployed.FORMAT, "environment": environment, **told}
        archive.write(Path(path), arrays, meta)
        return Path(path)

    def _some(self, particle: int | None) -> Any:
        """The particle of this number as a cloud of one, or all of them."""
        count = len(jax.tree.leaves(self.particles)[0])
        if particle is not None:
            checks.whole("particle", particle, at_least=0, below=count)
        chosen = slice(None) if particle is None else slice(particle, particle + 1)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[chosen]), self.particles)

    def _policy(self) -> Policy:
        about = self.settings["policy"]
        kind: Any = {"discrete": Discrete, "continuous": Continuous}[about["actions"]]
        made = policies.make(
            about["observation_size"], kind(about["size"]), about["hidden"], self.network
        )
        scale = about.get("scale")  # of normalized observations
        if scale is None:
            return made
        mean, deviation = (np.asarray(scale[name], np.float32) for name in ("mean", "deviation"))
        return made.seeing(mean, deviation)


OWN_NETWORK = "own network"
SAVED = {**archive.fields_of(Trained, without=["network"]), OWN_NETWORK: bool}


def load(path: PathLike, network: Any = None) -> Trained:
    """What `Trained.save` wrote.

    Args:
        path: of the file.
        network: the one that the policies were trained with, where it is not the default one.

    Returns:
        The run.

    Raises:
        ValueError: if it is a file of another kind, or the network is missing.
        FileNotFoundError: if there is none.

    Example:
        >>> trained = spos.rl.train("cartpole", num_iterations=2, num_particles=2, num_episodes=2)
        >>> spos.rl.load(trained.save("cartpole.npz")).returns.shape
        (2, 2)
    """
    fields = archive.load_fields(checks.as_path("path", path), FORMAT, SAVED)
    if fields.pop(OWN_NETWORK) and network is None:
        raise ValueError(f"network must be the one that {path} was trained with, got None")
    told = {EARLIER.get(name, name): value for name, value in fields["settings"].items()}
    return Trained(**{**fields, "settings": told}, network=network)
