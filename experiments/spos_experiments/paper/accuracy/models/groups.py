"""Hierarchies whose scale is open: where it is small, everything below it is narrow."""

import jax.numpy as jnp
import numpy as np
from numpyro import factor, sample
from numpyro.distributions import (
    Bernoulli,
    Exponential,
    HalfCauchy,
    HalfNormal,
    LKJCholesky,
    NegativeBinomial2,
    Normal,
    Poisson,
    TransformedDistribution,
)
from numpyro.distributions.transforms import ExpTransform


def _counts(rng):
    group, offset = rng.integers(0, 6, 80), np.log(rng.uniform(0.5, 3.0, 80))
    level = 0.4 + 0.5 * rng.normal(size=6)
    return group, offset, rng.poisson(np.exp(level[group] + offset))


def poisson_groups(rng):
    """Counts with exposures in six groups, non-centred."""
    group, offset, y = _counts(rng)

    def model():
        mean = sample("mean", Normal(0, 1))
        spread = sample("spread", HalfNormal(1.0))
        z = sample("z", Normal(0, 1).expand([6]).to_event(1))
        sample("y", Poisson(jnp.exp(mean + spread * z[group] + offset)), obs=y)

    model.moments = _by_quadrature(group, offset, y)  # type: ignore[attr-defined]
    return model


def _by_quadrature(group, offset, y):
    """Exact moments of `poisson_groups`, on which long NUTS runs do not agree: on a grid of the
    mean and the spread every group is one integral over its own z."""
    mean, spread = np.linspace(-3.0, 3.5, 80), (np.arange(120) + 0.5) / 120 * 4.5
    z = np.linspace(-6.0, 6.0, 121)
    log_prior = -0.5 * mean[:, None] ** 2 - 0.5 * spread**2
    eta = mean[:, None, None] + spread[:, None] * z
    parts = []
    for each in range(6):
        seen = y[group == each].sum() * eta - np.exp(offset[group == each]).sum() * np.exp(eta)
        seen = seen - 0.5 * z**2
        top = seen.max(-1)
        weight = np.exp(seen - top[..., None])
        total = weight.sum(-1)
        log_prior = log_prior + np.log(total) + top
        parts.append([(weight @ z**n) / total for n in (1, 2)])
    outer = np.exp(log_prior - log_prior.max())
    outer /= outer.sum()

    def moments(first, second):
        m = (outer * first).sum()
        return m, np.sqrt((outer * second).sum() - m**2)

    levels = np.array([moments(*part) for part in parts]).T
    known = {
        "mean": moments(mean[:, None], mean[:, None] ** 2),
        "spread": moments(spread, spread**2),
        "z": levels,
    }
    return {name: tuple(np.atleast_1d(part) for part in both) for name, both in known.items()}


def poisson_groups_centred(rng):
    group, offset, y = _counts(rng)

    def model():
        mean = sample("mean", Normal(0, 1))
        spread = sample("spread", HalfNormal(1.0))
        levels = sample("levels", Normal(mean, spread).expand([6]).to_event(1))
        sample("y", Poisson(jnp.exp(levels[group] + offset)), obs=y)

    return model


def zero_inflated_groups(rng):
    """Overdispersed counts with too many zeros in twelve groups."""
    group, x = rng.integers(0, 12, 200), rng.normal(size=200)
    rate = np.exp(1.0 + 0.4 * x + 0.4 * rng.normal(size=12)[group])
    y = rng.poisson(rate * rng.gamma(2.0, 0.5, 200)) * rng.binomial(1, 0.7, 200)

    def model():
        mean = sample("mean", Normal(0, 2))
        slope = sample("slope", Normal(0, 1))
        spread = sample("spread", HalfNormal(1.0))
        z = sample("z", Normal(0, 1).expand([12]).to_event(1))
        shape = sample("shape", Exponential(0.5))
        gate = sample("gate", Normal(0, 1.5))
        counts = NegativeBinomial2(jnp.exp(mean + slope * x + spread * z[group]), shape)
        some = -jnp.logaddexp(0.0, gate) + counts.log_prob(y)
        factor("y", jnp.where(y == 0, jnp.logaddexp(-jnp.logaddexp(0.0, -gate), some), some).sum())

    return model


def crossed_centred(rng):
    """Two crossed factors of twelve and eight levels, the second of which matters little."""
    row, column = rng.integers(0, 12, 150), rng.integers(0, 8, 150)
    y = rng.normal(size=12)[row] + 0.1 * rng.normal(size=8)[column] + rng.normal(size=150)

    def model():
        mean = sample("mean", Normal(0, 3))
        spreads = sample("spreads", HalfNormal(1.0).expand([2]).to_event(1))
        noise = sample("noise", HalfNormal(2.0))
        rows = sample("rows", Normal(0, spreads[0]).expand([12]).to_event(1))
        columns = sample("columns", Normal(0, spreads[1]).expand([8]).to_event(1))
        sample("y", Normal(mean + rows[row] + columns[column], noise), obs=y)

    model.gaussian = ("mean", "rows", "columns")  # type: ignore[attr-defined]
    return model


def logistic_groups_centred(rng):
    """Yes or no in twenty groups of five rows each."""
    group, x = np.repeat(np.arange(20), 5), rng.normal(size=100)
    logits = 0.3 + 0.8 * x + 0.7 * rng.normal(size=20)[group]
    y = rng.binomial(1, 1 / (1 + np.exp(-logits)))

    def model():
        mean = sample("mean", Normal(0, 2))
        slope = sample("slope", Normal(0, 2))
        spread = sample("spread", HalfNormal(1.0))
        levels = sample("levels", Normal(mean, spread).expand([20]).to_event(1))
        sample("y", Bernoulli(logits=levels[group] + slope * x), obs=y)

    return model


def random_slopes(rng):
    """Intercepts and slopes of fifteen groups, correlated under an LKJ prior."""
    group, x = rng.integers(0, 15, 200), rng.normal(size=200)
    truth = rng.multivariate_normal([1.0, 0.5], [[0.5, 0.2], [0.2, 0.3]], 15)
    y = truth[group, 0] + truth[group, 1] * x + 0.8 * rng.normal(size=200)

    def model():
        mean = sample("mean", Normal(0, 2).expand([2]).to_event(1))
        spread = sample("spread", HalfNormal(1.0).expand([2]).to_event(1))
        root = sample("root", LKJCholesky(2, 2.0))
        z = sample("z", Normal(0, 1).expand([15, 2]).to_event(2))
        noise = sample("noise", HalfNormal(1.0))
        each = mean + z @ (spread[:, None] * root).T
        sample("y", Normal(each[group, 0] + each[group, 1] * x, noise), obs=y)

    return model


def horseshoe(rng):
    """Fifteen slopes of which three matter; scales by their logarithms, whose moments exist."""
    x = rng.normal(size=(80, 15))
    y = 2 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2] + rng.normal(size=80)

    def model():
        wide = TransformedDistribution(HalfCauchy(1.0), ExpTransform().inv)
        log_global = sample("log_global", wide)
        log_local = sample("log_local", wide.expand([15]).to_event(1))
        z = sample("z", Normal(0, 1).expand([15]).to_event(1))
        noise = sample("noise", HalfNormal(2.0))
        slopes = z * jnp.exp(log_local + log_global - 2.0)
        sample("y", Normal(x @ slopes, noise), obs=y)

    model.gaussian = ("z",)  # type: ignore[attr-defined]
    return model


def latent_factor(rng):
    """Six measurements of forty persons with one trait in common."""
    trait, loads = rng.normal(size=40), np.array([1.0, 0.8, 0.6, 0.9, 0.4, 0.7])
    y = trait[:, None] * loads + 0.6 * rng.normal(size=(40, 6))

    def model():
        first = sample("first", HalfNormal(1.0))
        rest = sample("rest", Normal(0, 1).expand([5]).to_event(1))
        noise = sample("noise", HalfNormal(1.0).expand([6]).to_event(1))
        trait = sample("trait", Normal(0, 1).expand([40]).to_event(1))
        loads = jnp.concatenate([first[None], rest])
        sample("y", Normal(trait[:, None] * loads, noise).to_event(2), obs=y)

    model.gaussian = ("trait",)  # type: ignore[attr-defined]
    return model


def measurement_error(rng):
    """A regression on what was measured with noise only."""
    truth = rng.normal(1.0, 1.5, 40)
    seen, y = truth + 0.7 * rng.normal(size=40), 0.5 + 0.9 * truth + 0.5 * rng.normal(size=40)

    def model():
        centre = sample("centre", Normal(0, 3))
        spread = sample("spread", HalfNormal(3.0))
        x = sample("x", Normal(centre, spread).expand([40]).to_event(1))
        b = sample("b", Normal(0, 2).expand([2]).to_event(1))
        noise = sample("noise", HalfNormal(1.0))
        sample("seen", Normal(x, 0.7), obs=seen)
        sample("y", Normal(b[0] + b[1] * x, noise), obs=y)

    model.gaussian = ("x",)  # type: ignore[attr-defined]
    return model
