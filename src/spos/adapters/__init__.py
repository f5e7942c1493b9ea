"""Models written with other libraries: named parameters in, named draws out."""

from typing import Any

from spos.adapters.model import Model

__all__ = ["Model", "from_numpyro", "from_pymc"]


def from_numpyro(model: Any, /, *args: Any, **kwargs: Any) -> Model:
    """Read a NumPyro model with its arguments.

    Arrays among the arguments become `target.data`: a second model of the same function with arrays
    of the same shapes shares all compiled programs. Plates with a `subsample_size` become
    minibatches. `numpyro.param` sites keep their first value, as in NumPyro's own MCMC.

    Args:
        model: the function.
        *args: its arguments.
        **kwargs: its arguments.

    Returns:
        The target on unconstrained parameters, and the way back.

    Raises:
        ImportError: NumPyro is not there.
        ModelError: the model cannot be sampled, or not with these arguments.

    Example:
        >>> import numpyro, numpyro.distributions as dist
        >>> def normal(y):
        ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
        ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
        >>> model = spos.from_numpyro(normal, np.array([1.0, 2.0]))
        >>> model
        <Model: the NumPyro model normal with mean>
        >>> model.start(jax.random.key(0), 5)["mean"].shape
        (5,)
    """
    try:
        import numpyro  # noqa: F401
    except ImportError as error:
        raise ImportError("from_numpyro needs NumPyro: pip install 'spos[numpyro]'") from error
    from spos.adapters.numpyro import read

    return read(model, args, kwargs)


def from_pymc(model: Any) -> Model:
    """Read a PyMC model.

    Its parameters have the names of PyMC's value variables, such as `tau_log__`. The data are
    constants of the compiled program, with the values they have now.

    Args:
        model: a `pymc.Model`.

    Returns:
        The target on unconstrained parameters, and the way back.

    Raises:
        ImportError: PyMC is not there.
        ModelError: the model cannot be sampled.

    Example:
        >>> import pymc  # doctest: +SKIP
        >>> with pymc.Model() as coin:  # doctest: +SKIP
        ...     p = pymc.Beta("p", 1.0, 1.0)
        ...     pymc.Binomial("heads", 10, p, observed=7)
        >>> fit = spos.fit(spos.from_pymc(coin))  # doctest: +SKIP
    """
    try:
        import pymc  # noqa: F401
    except ImportError as error:
        raise ImportError("from_pymc needs PyMC: pip install 'spos[pymc]'") from error
    from spos.adapters.pymc import read

    return read(model)
