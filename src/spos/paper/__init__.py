"""The experiments of the SPOS paper on synthetic targets, one module each.

An experiment is a module with `TITLE`, `ABOUT`, a `Settings` dataclass that knows its `quick()`
form, `run(settings, seed, tick)` and `draw(record)`; `spos.paper.experiment` does the rest. They
are found by name and loaded when asked for.
"""

import importlib
import importlib.util
from typing import Any

EXPERIMENTS = (
    "gaussian",
    "particles",
    "posterior",
    "variance",
    "multimode",
    "toys",
    "collapse",
    "methods",
    "theory",
    "control",
    "accuracy",
    "regression",
    "mnist",
)
# beyond the paper's synthetic part: done when asked for by name, not by `spos paper all`
ON_REQUEST = ("variance", "methods", "control", "accuracy", "regression", "mnist")


def available() -> tuple[str, ...]:
    """The names of the experiments that this installation has."""
    return tuple(
        name for name in EXPERIMENTS if importlib.util.find_spec(f"spos.paper.{name}") is not None
    )


def find(name: str) -> Any:
    """The module of an experiment."""
    if name not in available():
        raise ImportError(f"there is no experiment {name!r} here, only {', '.join(available())}")
    return importlib.import_module(f"spos.paper.{name}")
