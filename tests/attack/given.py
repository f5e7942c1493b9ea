"""Arguments: good ones, by the name of the parameter, and strange ones.

A name means the same everywhere, so that one table serves all functions.
"""

import decimal
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas
import scipy.sparse

import spos
from spos import theory

KEY = jax.random.key(0)
CLOUD = np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(4, 2)
OUTCOMES = np.array([0.5, -1.0, 2.0, 0.0])
CHANCES = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])


def log_prob(theta: Any) -> Any:
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))


def log_likelihood(theta: Any, batch: Any) -> Any:
    return -0.5 * (batch - jnp.sum(theta)) ** 2


def numpyro_model() -> None:
    import numpyro

    numpyro.sample("x", numpyro.distributions.Normal(0.0, 1.0))


POSTERIOR = spos.posterior(log_likelihood, log_prob, OUTCOMES.astype(np.float32), 2)
SGLD = spos.sgld(log_prob, 0.1)
ABOUT = theory.Constants(
    dim=1, lipschitz=1.0, convexity=1.0, score_bound=1.0, bandwidth=4.0, kernel_concavity=0.1
)
RUN = theory.Run(
    beta=0.1,
    num_particles=4,
    num_steps=3,
    step_size=0.1,
    batch_size=1,
    gamma0=1.0,
    gradient_at_zero=0.0,
)
TRIALS = tuple(
    theory.Trial(m, h, t, 1.0 / m + h + 1.0 / t, 0.01)
    for m in (4, 8)
    for h in (0.1, 0.2)
    for t in (10, 20)
)

GOOD: dict[str, Any] = {
    "a": CLOUD,
    "apply": spos.targets.relu_network(2, 1, [3]),
    "b": CLOUD + 1.0,
    "bandwidth": 1.0,
    "beta": 1.0,
    "budget": 10_000,
    "c2": 1.0,
    "c3": 1.0,
    "c4": 1.0,
    "c6": 1.0,
    "centre": np.zeros(2, np.float32),
    "constants": ABOUT,
    "data": OUTCOMES.astype(np.float32),
    "dissipativity": (1.0, 1.0),
    "draws": np.zeros((5, 4)),
    "environment": "cartpole",
    "error": lambda cloud: jnp.mean(cloud),
    "gamma0": 1.0,
    "hidden": [3],
    "initial": 0.1,
    "initial_gap": 1.0,
    "initial_spread": 1.0,
    "inputs": 2,
    "key": KEY,
    "labels": np.array([0, 1, 1]),
    "last": 0.1,
    "level": 0.1,
    "log_likelihood": log_likelihood,
    "log_prior": log_prob,
    "log_prob": log_prob,
    "logarithm": 0.0,
    "make_sampler": lambda h: spos.sgld(log_prob, h),
    "mean": np.zeros(4),
    "mesh": spos.mesh.particle_mesh(),
    "model": log_prob,
    "name": "step_size",
    "num_bootstrap": 3,
    "num_directions": 3,
    "num_episodes": 1,
    "num_iterations": 1,
    "num_particles": 4,
    "num_permutations": 3,
    "num_points": 4,
    "num_repeats": 2,
    "num_replicas": 3,
    "num_seeds": 2,
    "num_steps": 3,
    "outputs": 1,
    "particle_counts": (2,),
    "particles": CLOUD,
    "path": "missing.npz",
    "pilot": theory.Pilot(TRIALS),
    "posterior": POSTERIOR,
    "probabilities": CHANCES,
    "radius": 1.0,
    "rate": 0.1,
    "region": (np.array([-1.0]), np.array([1.0])),
    "run": RUN,
    "sampler": SGLD,
    "samplers": {"sgld": SGLD, "svgd": spos.svgd(log_prob, 0.1)},
    "schedule": lambda k: 0.1,
    "sd": np.ones(4),
    "shape": 1.0,
    "sigma": 0.5,
    "start": np.zeros(2, np.float32),
    "std": np.ones(4),
    "step_counts": (2,),
    "step_size": 0.1,
    "step_sizes": (0.1,),
    "target": log_prob,
    "tau": 1.0,
    "test_lipschitz": 1.0,
    "truth": (np.zeros(2), np.eye(2)),
    "y": OUTCOMES,
}


def function(*_: Any, **__: Any) -> None:
    return None


STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.0,
    -0.0,
    0.5,
    1.0,
    -2.5,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1e300,
    1e-300,
    1j,
    decimal.Decimal(1),
    np.float64(0.3),
    np.float16(1),
    np.int64(2),
    np.bool_(True),
    np.complex64(1),
    "",
    "median",
    "v",
    "x",
    b"x",
    "\0",
    "\ud800",
    [],
    [1],
    [[1.0], [2.0, 3.0]],
    [None],
    (),
    (1, 2),
    (None, None),
    {},
    {"a": 1},
    {1: CLOUD},
    set(),
    object(),
    object,
    int,
    function,
    lambda *_: "x",
    lambda *_: 1.0,
    lambda *_: np.ones(3),
    range(3),
    iter(()),
    Path("x"),
    Ellipsis,
    NotImplemented,
    ValueError("x"),
    np.array(1.0),
    np.ones(3),
    np.ones((4, 2)),
    np.ones((4, 2), int),
    np.ones((4, 2), bool),
    np.ones((4, 2), np.float16),
    np.ones((4, 2), complex),
    np.ones((4, 3)),
    np.ones((3, 2)),
    np.ones((0, 2)),
    np.ones((2, 0)),
    np.full((4, 2), np.nan),
    np.full((4, 2), 1e300),
    np.array([2**40, 1]),
    np.array(["a", "b"]),
    np.array([None, 1]),
    np.array(["2020-01-01"], "M8[D]"),
    np.zeros(2, "V4"),
    np.ma.masked_less(np.ones((4, 2)), 0.0),
    np.array([1.0, 2.0], ">f8"),
    np.array([1.0], np.longdouble),
    np.recarray(2, [("a", float)]),
    jnp.ones((4, 2)),
    jnp.ones((4, 2), jnp.bfloat16),
    KEY,
    jax.random.split(KEY),
    jax.random.PRNGKey(0),
    {"a": CLOUD, "b": CLOUD[:3]},
    {"a": CLOUD},
    [CLOUD, CLOUD],
    pandas.DataFrame(CLOUD),
    pandas.Series(OUTCOMES),
    scipy.sparse.eye(3),
    spos.rbf(),
    spos.rbf(2.0),
    spos.imq(blocks="entry"),
    spos.rmsprop(),
    spos.ensemble(),
    spos.ensemble,
    optax.adam(0.1),
    optax.adam,
    SGLD,
    POSTERIOR,
    spos.schedules.inverse(0.1),
    spos.schedules.growing_batch(2),
    ABOUT,
    RUN,
    log_prob,
    log_likelihood,
    jax.ShapeDtypeStruct((4, 2), np.float32),
)
