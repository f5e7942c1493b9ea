"""Bayesian sampling with interacting, noisy particles."""

from importlib.metadata import version as _version

from spos import diagnostics, mesh, schedules, targets, theory, types
from spos.algorithms.sgld import sgld
from spos.algorithms.spos import spos
from spos.algorithms.svgd import svgd
from spos.dynamics import adagrad, rmsprop
from spos.kernels import imq, rbf
from spos.loop import NonFiniteError, run, sample
from spos.result import Result, load
from spos.targets.posterior import posterior
from spos.types import Info, Sampler, State, Target

__version__ = _version("spos")

__all__ = [
    "Info",
    "NonFiniteError",
    "Result",
    "Sampler",
    "State",
    "Target",
    "adagrad",
    "diagnostics",
    "imq",
    "load",
    "mesh",
    "posterior",
    "rbf",
    "rmsprop",
    "run",
    "sample",
    "schedules",
    "sgld",
    "spos",
    "svgd",
    "targets",
    "theory",
    "types",
]
