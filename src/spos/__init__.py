"""Bayesian sampling with interacting, noisy particles.

Without settings, from a log-density of one particle, a NumPyro model with its arguments, or a PyMC
model:

    >>> log_prob = lambda x: -0.5 * ((x - 2.0) ** 2).sum()
    >>> particles = jax.random.normal(jax.random.key(0), (100, 1))
    >>> fit = spos.fit(log_prob, start=particles)
    >>> fit.converged
    True

`fit.report()` has the reasons, `fit.draws` the draws. With a method and a step size of your choice:

    >>> sampler = spos.spos(log_prob, step_size=0.03)  # or spos.svgd, spos.sgld, …
    >>> result = spos.sample(sampler, particles, num_steps=1000)
    >>> result.particles.shape
    (100, 1)

Tables: `spos.SPOSRegressor` and `spos.SPOSClassifier`. Is a run right? `spos.diagnostics`.
Minibatches: `spos.posterior`. A method of your own: `spos.Sampler`.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from spos import diagnostics, mesh, pymc, rl, targets, theory, types
from spos.adapters import Model, from_numpyro, from_pymc
from spos.adapters.fit import fit
from spos.adapters.prior import prior_predictive
from spos.algorithms.birth_death import birth_death
from spos.algorithms.blob import blob
from spos.algorithms.gfsd import gfsd
from spos.algorithms.gfsf import gfsf
from spos.algorithms.noisy_svgd import noisy_svgd
from spos.algorithms.pos import pos
from spos.algorithms.psgld import psgld
from spos.algorithms.sghmc import sghmc
from spos.algorithms.sgld import sgld
from spos.algorithms.spos import spos
from spos.algorithms.svgd import svgd
from spos.auto.result import Fit, load
from spos.auto.watch import ConvergenceWarning, FitProgress
from spos.diagnostics.compare import compare
from spos.diagnostics.conformance import check_sampler
from spos.dynamics import schedules
from spos.dynamics.ensemble import ensemble
from spos.dynamics.moves import Drift
from spos.dynamics.preconditioners import Preconditioner, adagrad, adam, rmsprop
from spos.dynamics.sampler import Sampler
from spos.interaction.kernels import Kernel, imq, rbf
from spos.loop.guard import NonFiniteError, SourceError
from spos.loop.run import advance, run
from spos.loop.sample import sample
from spos.plots.forces import plot_forces
from spos.result import Result
from spos.targets.control_variate import control_variate
from spos.targets.mode import find_mode
from spos.targets.posterior import posterior
from spos.targets.saga import saga
from spos.targets.svrg import svrg
from spos.targets.target import Target
from spos.types import Info, State
from spos.values import static, value

if TYPE_CHECKING:
    from spos.estimators import SPOSClassifier as SPOSClassifier
    from spos.estimators import SPOSRegressor as SPOSRegressor

__version__ = _version("spos")

__all__ = [
    "ConvergenceWarning",
    "Drift",
    "Fit",
    "FitProgress",
    "Info",
    "Kernel",
    "Model",
    "NonFiniteError",
    "Preconditioner",
    "Result",
    "Sampler",
    "SourceError",
    "State",
    "Target",
    "adagrad",
    "adam",
    "advance",
    "birth_death",
    "blob",
    "check_sampler",
    "compare",
    "control_variate",
    "diagnostics",
    "ensemble",
    "find_mode",
    "fit",
    "from_numpyro",
    "from_pymc",
    "gfsd",
    "gfsf",
    "imq",
    "load",
    "mesh",
    "noisy_svgd",
    "plot_forces",
    "pos",
    "posterior",
    "prior_predictive",
    "psgld",
    "pymc",
    "rbf",
    "rl",
    "rmsprop",
    "run",
    "saga",
    "sample",
    "schedules",
    "sghmc",
    "sgld",
    "spos",
    "static",
    "svgd",
    "svrg",
    "targets",
    "theory",
    "types",
    "value",
]

_ESTIMATORS = ("SPOSClassifier", "SPOSRegressor")  # they need scikit-learn, which takes its time


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from spos import estimators
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("sklearn", "scipy"):
            raise
        raise ImportError(
            f"{name} needs scikit-learn: pip install 'spos[sklearn]'", name=error.name
        ) from error
    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ESTIMATORS, "__doc__", "__version__"])
