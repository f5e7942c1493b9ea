"""Models written with other libraries: named parameters in, named draws out."""

from typing import Any

from spos.adapters.model import Model

__all__ = ["Model", "from_numpyro", "from_pymc"]


def from_numpyro(model: Any, /, *args: Any, **kwargs: Any) -> Model:
    """A NumPyro model with its arguments.

    Arrays among the arguments become `target.data`. Plates with a `subsample_size` become
    minibatches. `numpyro.param` sites keep their first value, as in NumPyro's own MCMC.
    """
    try:
        import numpyro  # noqa: F401
    except ImportError as error:
        raise ImportError("from_numpyro needs NumPyro: pip install 'spos[numpyro]'") from error
    from spos.adapters.numpyro import read

    return read(model, args, kwargs)


def from_pymc(model: Any) -> Model:
    """A PyMC model. Its parameters have the names of PyMC's value variables, such as `tau_log__`.

    The data are constants of the compiled program, with the values they have now.
    """
    try:
        import pymc  # noqa: F401
    except ImportError as error:
        raise ImportError("from_pymc needs PyMC: pip install 'spos[pymc]'") from error
    from spos.adapters.pymc import read

    return read(model)
