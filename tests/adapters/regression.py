"""One small regression in two languages, with inputs that can be replaced."""

import numpy as np
import numpyro
import numpyro.distributions as dist
from eight_schools import pymc

RNG = np.random.default_rng(0)
X = RNG.normal(size=20)
Y = 1.0 + 2.0 * X + RNG.normal(size=20)


def in_numpyro(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 3.0))
    b = numpyro.sample("b", dist.Normal(0.0, 3.0))
    s = numpyro.sample("s", dist.HalfNormal(2.0))
    with numpyro.plate("row", len(x)):
        mean = numpyro.deterministic("mean", a + b * x)
        numpyro.sample("y", dist.Normal(mean, s), obs=y)


def in_pymc():
    with pymc.Model() as model:
        x = pymc.Data("x", X, dims="row")
        a, b = pymc.Normal("a", 0.0, 3.0), pymc.Normal("b", 0.0, 3.0)
        s = pymc.HalfNormal("s", 2.0)
        mean = pymc.Deterministic("mean", a + b * x, dims="row")
        pymc.Normal("y", mean, s, observed=Y, shape=x.shape, dims="row")
    return model
