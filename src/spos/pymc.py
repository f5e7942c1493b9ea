"""For PyMC users: a call in the place of `pymc.sample`.

`pymc.sample(nuts_sampler=…)` itself takes only the names of samplers that PyMC knows (up to 5.28:
"pymc", "nutpie", "numpyro", "blackjax"), and has no way to add one.
"""

from typing import Any

from spos.adapters.fit import fit


def sample(model: Any = None, **options: Any) -> Any:
    """Fit a PyMC model, and return what `pymc.sample` returns.

    Args:
        model: a `pymc.Model`; None means that of the `with` block around the call.
        **options: those of `spos.fit`, such as `seed`.

    Returns:
        The `InferenceData` of the fit. Its verdict is the attribute `converged` of the posterior,
        1 or 0, and a `spos.ConvergenceWarning` is given where it is 0.

    Example:
        >>> import pymc  # doctest: +SKIP
        >>> with pymc.Model():  # doctest: +SKIP
        ...     p = pymc.Beta("p", 1.0, 1.0)
        ...     pymc.Binomial("heads", 10, p, observed=7)
        ...     idata = spos.pymc.sample()
    """
    try:
        import pymc
    except ImportError as error:
        raise ImportError("spos.pymc needs PyMC: pip install 'spos[pymc]'") from error
    found = fit(pymc.modelcontext(model), **options)
    draws = found.to_arviz()
    draws.posterior.attrs |= {"converged": int(found.converged), "verdict": str(found.verdict)}
    return draws
