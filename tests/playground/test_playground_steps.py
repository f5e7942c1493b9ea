"""The playground computes what the library does.

The page is given the library's own start, noise and luck and must arrive at the same particles. The
noise of a key is read off a walk on a flat target, whose steps are nothing but noise.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import densities
from scipy.stats import wasserstein_distance

import spos
from chromium import thorough

TARGETS = ("gaussian", "banana", "ring", "funnel", "three", "U1", "U2", "U3", "U4", "drawn")
STEPS = 10  # the tenth has births and deaths
STEP, BETA, BANDWIDTH = 0.1, 2.0, 0.7
METHODS = {
    "spos": lambda p, kernel: spos.spos(p, STEP, BETA, kernel=kernel),
    "svgd": lambda p, kernel: spos.svgd(p, STEP, kernel=kernel),
    "sgld": lambda p, kernel: spos.sgld(p, STEP, BETA),
    "blob": lambda p, kernel: spos.blob(p, STEP, kernel=kernel),
    "gfsf": lambda p, kernel: spos.gfsf(p, STEP, kernel=kernel),
    "noisy_svgd": lambda p, kernel: spos.noisy_svgd(p, STEP, kernel=spos.rbf(BANDWIDTH)),
    "birth_death": lambda p, kernel: spos.birth_death(spos.sgld(p, STEP, BETA)),
}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def log_densities(still):
    return densities(still.evaluate("spos.ink()"))


def start(count, size=2, seed=0):
    return np.random.default_rng(seed).standard_normal((count, size)) + 0.3


def keys():
    return jax.random.split(jax.random.key(5), STEPS)


@functools.cache
def noises_of(shape):
    """The noise that each key gives."""
    flat = spos.sgld(lambda theta: 0.0 * jnp.sum(theta), 0.5)
    step, nothing = jax.jit(flat.step), flat.init(jnp.zeros(shape))
    return [np.asarray(step(key, nothing)[0].particles).tolist() for key in keys()]


def walk(sampler, theta):
    """Where the library brings the particles."""
    step, state = jax.jit(sampler.step), sampler.init(jnp.asarray(theta))
    for key in keys():
        state, _ = step(key, state)
    return np.asarray(state.particles)


WALK_ON_THE_PAGE = """([settings, start, noises, luck]) => {
  spos.set(settings);
  spos.setParticles(start);
  noises.forEach((noise) => spos.step(noise, luck));
  return spos.particles();
}"""


@pytest.mark.parametrize(
    ("target", "rule"), [("three", "median"), pytest.param("U3", "fixed", marks=thorough)]
)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_takes_the_steps_of_the_library(
    method, target, rule, still, log_densities, monkeypatch
):
    theta = start(24)
    luck = np.random.default_rng(1).uniform(size=(3, len(theta)))
    luck[0] *= 0.1  # more births and deaths than a few steps would see
    monkeypatch.setattr(jax.random, "uniform", lambda key, shape, dtype: jnp.asarray(luck, dtype))
    kernel = spos.rbf("median" if rule == "median" else BANDWIDTH)
    ends = walk(METHODS[method](log_densities[target], kernel), theta)
    settings = {
        "target": target,
        "left": method,
        "right": method,
        "beta": BETA,
        "step": STEP,
        "rule": rule,
        "bandwidth": BANDWIDTH,
    }
    given = [settings, theta.tolist(), noises_of(theta.shape), luck.tolist()]
    left, right = still.evaluate(WALK_ON_THE_PAGE, given)
    np.testing.assert_allclose(left, ends, rtol=0, atol=1e-5)
    np.testing.assert_allclose(right, ends, rtol=0, atol=1e-5)
    assert np.abs(ends - theta).max() > 0.1
    copies = len(ends) - len(np.unique(ends, axis=0))
    assert (copies > 0) == (method == "birth_death")


@pytest.mark.parametrize("method", ["svgd", "spos"])
def test_the_second_view_takes_the_steps_of_the_library(method, still):
    theta = start(10, size=7)
    sampler = METHODS[method](lambda x: -0.5 * jnp.sum(x**2), spos.rbf())
    ends, ours = walk(sampler, theta), theta.tolist()
    for noise in noises_of(theta.shape):
        given = [method, ours, {"step": STEP, "beta": BETA, "rule": "median"}, noise]
        ours = still.evaluate("(given) => spos.normalStep(...given)", given)
    np.testing.assert_allclose(ours, ends, rtol=0, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_has_the_density_and_the_score_of_its_formula(target, still, log_densities):
    points = 5.2 * np.random.default_rng(2).uniform(-1, 1, (60, 2))  # the walls are at 4 and 4.8
    still.evaluate("(target) => spos.set({ target })", target)
    value_and_score = jax.jit(jax.vmap(jax.value_and_grad(log_densities[target])))
    values, scores = value_and_score(jnp.asarray(points))
    ours = np.asarray(still.evaluate("(points) => spos.logDensity(points)", points.tolist()))
    offset = ours - np.asarray(values)  # a constant
    np.testing.assert_allclose(offset, offset[0], rtol=0, atol=1e-8)
    found = still.evaluate("(points) => spos.score(points)", points.tolist())
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("apart", [0.0, 1.0])
@pytest.mark.parametrize("count", [1, 7, 24])
def test_the_median_rule_and_the_expected_particle_distance_are_the_library_s(count, apart, still):
    theta = 0.3 + apart * start(count, seed=3)
    sampler = spos.spos(lambda x: -0.5 * jnp.sum(x**2), STEP)
    _, info = jax.jit(sampler.step)(jax.random.key(0), sampler.init(jnp.asarray(theta)))
    still.evaluate("(rows) => spos.setParticles(rows)", theta.tolist())
    still.evaluate("spos.set({ left: 'spos', rule: 'median' })")
    seen = still.evaluate("({ eta2: spos.forces(0).eta2, epd: spos.measure().sides[0].epd })")
    assert seen["eta2"] == pytest.approx(float(info.bandwidth), rel=1e-12)
    assert seen["epd"] == pytest.approx(float(info.epd), rel=1e-12)


@thorough
@pytest.mark.parametrize("target", TARGETS)
def test_exact_draws_are_from_the_target(target, still):
    """By Stein's identity scores have mean 0 and θ·s has mean -2; five standard errors of 4000
    draws, one chance in a million for each number."""
    still.evaluate("(target) => spos.set({ target })", target)
    draws = np.asarray(still.evaluate("spos.exactDraws(4000)"))
    scores = np.asarray(still.evaluate("(rows) => spos.score(rows)", draws.tolist()))
    seen = np.column_stack([scores, (draws * scores).sum(axis=1) + 2.0])
    errors = seen.std(axis=0) / np.sqrt(len(seen))
    assert (np.abs(seen.mean(axis=0)) < 5 * errors).all()
    variance = still.evaluate("spos.measure().variance")
    squares = (draws - draws.mean(axis=0)) ** 2
    error = squares.mean(axis=1).std() / np.sqrt(len(squares))
    assert abs(squares.mean() - variance) < 5 * error


def test_modes_are_found_with_their_shares(still):
    shares = {}
    for target in TARGETS:
        still.evaluate("(target) => spos.set({ target })", target)
        shares[target] = still.evaluate("spos.measure().shares")
    assert {name for name, found in shares.items() if len(found) > 1} == {"three", "U1", "drawn"}
    assert shares["three"] == pytest.approx([0.5, 0.2, 0.3], abs=0.01)  # from left to right
    assert shares["U1"] == pytest.approx([0.5, 0.5], abs=0.01)
    assert len(shares["drawn"]) == 3
    assert all(sum(found) == pytest.approx(1.0) for found in shares.values())


def test_measures_of_a_cloud(still):
    theta = start(40, seed=4)
    still.evaluate("spos.set({ target: 'three' })")
    still.evaluate("(rows) => spos.setParticles(rows)", theta.tolist())
    seen = still.evaluate("spos.measure()")
    side = seen["sides"][0]
    assert side["variance"] == pytest.approx(theta.var(axis=0, ddof=1).mean())
    assert sum(side["shares"]) == pytest.approx(1.0)
    left = np.hypot(theta[:, 0] + 1.6, theta[:, 1] + 0.9) < 0.6
    assert side["shares"][0] >= left.mean()
    draws = np.asarray(still.evaluate("spos.exactDraws(2000, 0)"))
    angles = np.pi * (np.arange(24) + 0.5) / 24
    lines = np.stack([np.cos(angles), np.sin(angles)])
    far = [wasserstein_distance(theta @ u, draws @ u) for u in lines.T]
    assert side["distance"] == pytest.approx(np.mean(far), rel=1e-9)
    assert 0.0 < seen["floor"] < side["distance"]


@thorough
def test_in_many_dimensions_svgd_collapses_and_spos_does_not(still):
    few, many = (still.evaluate("(d) => spos.collapse(d)", d) for d in (2, 60))
    assert few["svgd"] > 0.8
    assert many["svgd"] < 0.1
    assert many["spos"] == pytest.approx(1.0, abs=0.1)
    assert few["spos"] == pytest.approx(1.0, abs=0.2)
