"""The experiments of the SPOS paper on synthetic targets, one module each.

An experiment is a module with `TITLE`, `ABOUT`, a `Settings` dataclass that knows its `quick()`
form, `run(settings, seed, tick)` and `draw(record)`; `frame/experiment.py` does the rest. They are
found by name and loaded when asked for.
"""

import importlib
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


def find(name: str) -> Any:
    """The module of an experiment."""
    return importlib.import_module(f"spos_experiments.paper.{name}")
