"""A trained policy where it is put to use: one file, and NumPy alone.

    trained.export("pole.npz")                    # where it was trained

    policy = deployed.load("pole.npz")            # where it acts
    action = policy.act(observation)

This module imports nothing but NumPy and the standard library, and nothing of `spos`: copied beside
the exported file, it acts on a machine without JAX. The file holds arrays and a description as
JSON; nothing in it is unpickled or run.

All policies act together: the mean of their actions where these are numbers, and the choice with
the highest mean probability where they are choices. The first layers of all of them are one matrix,
so that it takes three small products.
"""

import json
import os
from typing import Any

import numpy as np

FORMAT = "spos deployed policy 1"


class DeployedPolicy:
    """Policies that act together; `load` reads them from a file.

    Args:
        weights: of each layer, (policies, inputs, outputs).
        biases: of each layer, (policies, outputs).
        about: what the file says of them: the task, the kind and number of actions.
    """

    def __init__(self, weights: list[np.ndarray], biases: list[np.ndarray], about: Any) -> None:
        self.about = about
        self._discrete = about["actions"] == "discrete"
        count, inputs, width = weights[0].shape
        self.inputs = inputs
        self._first = np.ascontiguousarray(weights[0].transpose(1, 0, 2).reshape(inputs, -1))
        self._offset = biases[0].reshape(-1)
        self._shape = count, 1, width
        self._rest = [(w, b[:, None, :]) for w, b in zip(weights[1:], biases[1:], strict=True)]

    def act(self, observation: Any) -> Any:
        """The action, as `Trained.policy()` would choose it.

        Args:
            observation: as many numbers as the task shows.

        Returns:
            An array of numbers, which a task clips to [-1, 1] and scales itself; or the number of
            the choice.

        Raises:
            ValueError: if the observation has another size.
        """
        seen = np.asarray(observation, np.float32)
        if seen.shape != (self.inputs,):
            raise ValueError(f"observation must be {self.inputs} numbers, got shape {seen.shape}")
        x = (seen @ self._first + self._offset).reshape(self._shape)
        for weights, bias in self._rest:
            x = np.tanh(x) @ weights + bias
        if not self._discrete:
            return x.mean(axis=(0, 1))
        odds = np.exp(x - x.max(axis=2, keepdims=True))
        return int(np.argmax((odds / odds.sum(axis=2, keepdims=True)).sum(axis=(0, 1))))


def load(path: Any) -> DeployedPolicy:
    """The policies that `Trained.export` wrote.

    Args:
        path: of the file.

    Returns:
        The policies.

    Raises:
        TypeError: if `path` is no path.
        ValueError: if it is no such file, or its arrays do not fit together.
        FileNotFoundError: if there is none.

    Example:
        >>> trained = spos.rl.train("cartpole", num_iterations=2, num_particles=2, num_episodes=2)
        >>> spos.rl.deployed.load(trained.export("pole.npz")).act([0.0, 0.0, 0.1, 0.0]).shape
        (1,)
    """
    if not isinstance(path, str | os.PathLike):  # a number is a file that is open: it would be shut
        raise TypeError(f"path must name a file, got {path!r}")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}")
    try:
        policy = _read(path)
        if not np.isfinite(policy.act(np.zeros(policy.inputs))).all():
            raise ValueError("its numbers are too large to act")
    except Exception as error:
        told = f"path must name a file of Trained.export, got {str(path)!r}: {error}"
        raise ValueError(told) from error
    return policy


def _read(path: Any) -> DeployedPolicy:
    if not os.path.isfile(path):
        raise ValueError("it is not a regular file")
    # opened here: NumPy leaves a file open that is no archive
    with open(path, "rb") as whole, np.load(whole, allow_pickle=False) as file:
        # sizes are compared with the file before room is made for them
        if sum(each.file_size for each in file.zip.infolist()) > os.path.getsize(path):
            raise ValueError("it is compressed")
        arrays = {name: file[name] for name in file.files}
    about = json.loads(arrays["__meta__"].tobytes())
    if about["format"] != FORMAT:
        raise ValueError(f"its format must be {FORMAT!r}, got {str(about['format'])[:50]!r}")
    if about["actions"] not in ("discrete", "continuous"):
        raise ValueError(f"its actions are {str(about['actions'])[:50]!r}")
    sizes = [about["observation_size"], *about["hidden"], about["size"]]
    weights, biases = (
        [arrays.get(f"{kind}{n}", np.empty(0)) for n in range(len(sizes) - 1)] for kind in "wb"
    )
    count = len(weights[0])
    for n, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        shapes = (count, *sizes[n : n + 2]), (count, sizes[n + 1])
        if (weight.shape, bias.shape) != shapes or not weight.size:
            raise ValueError(f"layer {n} must have the shapes {shapes}")
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise ValueError(f"layer {n} has numbers that are not finite")
    return DeployedPolicy(weights, biases, about)
