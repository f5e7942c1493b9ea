"""A model in, its posterior out."""

import dataclasses
from typing import Any

import jax

from spos import adapters, checks
from spos.adapters.model import Model, ModelError
from spos.auto.approach import NowhereFiniteError
from spos.auto.host import sample_automatically, warn
from spos.auto.judge import own_check
from spos.auto.result import AutomaticResult


def fit(
    model: Any,
    /,
    *args: Any,
    particles: int = 100,
    seed: int = 0,
    progress: bool | None = None,
    **kwargs: Any,
) -> AutomaticResult:
    """Draws from the posterior of a NumPyro model with its arguments, or of a PyMC model.

    Starts, coordinates, steps and the end of the run are found without help. `result.draws` has the
    model's own parameters, `result.converged` and `result.report()` say whether to trust them.
    """
    checks.whole("particles", particles)
    checks.whole("seed", seed, at_least=0, below=2**32)
    read = _read(model, args, kwargs)
    key = jax.random.key(seed)

    def start(attempt: int) -> Any:
        return read.start(jax.random.fold_in(key, attempt), particles)

    try:
        run = sample_automatically(
            read.target, start(0), seed=seed, progress=progress, redraw=start
        )
    except NowhereFiniteError as error:
        raise ModelError(f"{error}. In {read.name}, {read.blame(start(0))}") from error
    except ValueError as error:
        error.add_note(f"while fitting {read.name}")
        raise
    own = read.constrain(run.history)
    verdict = run.verdict
    if verdict.checks and not run.interrupted:
        verdict = dataclasses.replace(verdict, checks=(*verdict.checks, own_check(own)))
        if run.converged and not verdict.converged:
            warn(verdict, stacklevel=2)
    return dataclasses.replace(
        run,
        verdict=verdict,
        draws={name: values.reshape(-1, *values.shape[2:]) for name, values in own.items()},
        coords=read.coords,
        dims=read.dims,
        predict=lambda history: read.predict(jax.random.fold_in(key, 2**31), history),
    )


def _read(model: Any, args: tuple, kwargs: dict[str, Any]) -> Model:
    if isinstance(model, Model):
        own = "spos.Model"
    elif type(model).__module__.partition(".")[0] == "pymc":
        own = "PyMC model"
    elif callable(model):
        return adapters.from_numpyro(model, *args, **kwargs)
    else:
        raise TypeError(
            f"model must be a NumPyro function, a pymc.Model or a spos.Model, got {model!r}"
        )
    if args or kwargs:
        raise TypeError(f"a {own} takes no arguments here, got {len(args) + len(kwargs)}")
    return model if isinstance(model, Model) else adapters.from_pymc(model)
