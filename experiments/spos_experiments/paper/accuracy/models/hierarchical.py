"""Groups that share what they know."""

import numpy as np
from numpyro import sample
from numpyro.distributions import (
    Bernoulli,
    Binomial,
    HalfCauchy,
    HalfNormal,
    LogNormal,
    Normal,
)

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])  # of coaching, Rubin (1981)
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools_centred(rng):
    """Eight schools, with the funnel that the centred form has."""

    def model():
        mean = sample("mean", Normal(0, 5))
        spread = sample("spread", HalfCauchy(5.0))
        effects = sample("effects", Normal(mean, spread).expand([8]).to_event(1))
        sample("y", Normal(effects, ERRORS), obs=EFFECTS)

    return model


def schools_noncentred(rng):
    def model():
        mean = sample("mean", Normal(0, 5))
        spread = sample("spread", HalfCauchy(5.0))
        z = sample("z", Normal(0, 1).expand([8]).to_event(1))
        sample("y", Normal(mean + spread * z, ERRORS), obs=EFFECTS)

    return model


def radon(rng):
    """A level for each of 85 counties, with a predictor of the county and one of the house."""
    counties, houses = 85, 919
    county = rng.choice(counties, houses, p=rng.dirichlet(np.ones(counties)))
    uranium, floor = rng.normal(size=counties), rng.binomial(1, 0.17, houses)
    levels = 1.5 + 0.7 * uranium + 0.3 * rng.normal(size=counties)
    y = levels[county] - 0.65 * floor + 0.75 * rng.normal(size=houses)

    def model():
        level = sample("level", Normal(0, 5))
        slope = sample("slope", Normal(0, 2))
        effect = sample("effect", Normal(0, 2))
        spread = sample("spread", HalfNormal(1.0))
        noise = sample("noise", HalfNormal(1.0))
        levels = sample("levels", Normal(level + slope * uranium, spread).to_event(1))
        sample("y", Normal(levels[county] + effect * floor, noise), obs=y)

    return model


def binomial_groups(rng):
    """Proportions of thirty groups, centred."""
    groups = 30
    trials, x = rng.integers(5, 40, groups), rng.normal(size=groups)
    logits = -0.5 + 0.8 * x + 0.5 * rng.normal(size=groups)
    y = rng.binomial(trials, 1 / (1 + np.exp(-logits)))

    def model():
        intercept = sample("intercept", Normal(0, 2))
        slope = sample("slope", Normal(0, 2))
        spread = sample("spread", HalfNormal(1.0))
        effects = sample("effects", Normal(0, spread).expand([groups]).to_event(1))
        sample("y", Binomial(trials, logits=intercept + slope * x + effects), obs=y)

    return model


def item_response(rng):
    """Sixty persons and twenty questions with two parameters each: 100 parameters."""
    persons, items = 60, 20
    ability, difficulty = rng.normal(size=persons), rng.normal(size=items)
    sharpness = np.exp(0.3 * rng.normal(size=items))
    y = rng.binomial(1, 1 / (1 + np.exp(-sharpness * (ability[:, None] - difficulty))))

    def model():
        a = sample("ability", Normal(0, 1).expand([persons]).to_event(1))
        b = sample("difficulty", Normal(0, 2).expand([items]).to_event(1))
        s = sample("sharpness", LogNormal(0, 0.5).expand([items]).to_event(1))
        sample("y", Bernoulli(logits=s * (a[:, None] - b)), obs=y)

    return model
