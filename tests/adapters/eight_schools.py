"""One hierarchical model in two languages, and its density by hand."""

import warnings

import numpy as np
import numpyro
import numpyro.distributions as dist
from scipy import stats

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "(?s).*ArviZ is undergoing a major refactor", FutureWarning)
    import pymc

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = ["A", "B", "C", "D", "E", "F", "G", "H"]


def in_numpyro(error, effect=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("school", len(error)):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("effect", dist.Normal(theta, error), obs=effect)


def in_pymc():
    with pymc.Model(coords={"school": SCHOOLS}) as model:
        mu = pymc.Normal("mu", 0.0, 5.0)
        tau = pymc.HalfCauchy("tau", 5.0)
        z = pymc.Normal("z", dims="school")
        theta = pymc.Deterministic("theta", mu + tau * z, dims="school")
        pymc.Normal("effect", theta, ERROR, observed=EFFECT, dims="school")
    return model


def log_density(mu, log_tau, z):
    tau = np.exp(log_tau)
    return (
        stats.norm.logpdf(mu, 0.0, 5.0)
        + stats.halfcauchy.logpdf(tau, scale=5.0)
        + log_tau
        + stats.norm.logpdf(z).sum()
        + stats.norm.logpdf(EFFECT, mu + tau * z, ERROR).sum()
    )
