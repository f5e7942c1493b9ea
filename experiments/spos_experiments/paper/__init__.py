"""The experiments, one module or package each, found by name and loaded when asked for.

Every one has the same shape, `frame.experiment.Experiment`:

    TITLE, ABOUT    what the report calls it, and says of it
    Settings        a frozen dataclass with a `quick()` form; what the command line can change is
                    a field made by `frame.options.option`
    results         a generator of findings, or with `@once` a function that gives all at once
    draw            the figures of a record

A short one is a file that reads from top to bottom. A long one is a package: `__init__.py` has its
mathematics and these names, and beside it are its `settings`, what is run (`protocol`, `measure`),
what follows from it (`findings`) and what it looks like (`figures`).
"""

import importlib
from typing import cast

from spos_experiments.frame.experiment import Experiment

# the paper's synthetic part, in its order: `spos paper all`
SYNTHETIC = ("gaussian", "particles", "posterior", "multimode", "toys", "collapse", "theory")
# beyond it: done when asked for by name
ON_REQUEST = (
    *("variance", "methods", "control", "learning", "committee", "gymnasium"),
    *("accuracy", "trajectories", "tall", "interaction"),
    *("regression", "functions", "grades", "tables", "bde", "digits", "mnist"),
)
EXPERIMENTS = (*SYNTHETIC, *ON_REQUEST)


def find(name: str) -> Experiment:
    """The experiment of that name."""
    return cast(Experiment, importlib.import_module(f"spos_experiments.paper.{name}"))
