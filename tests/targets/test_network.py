"""Bayesian networks: every density against one written by hand or by SciPy, any network, and the
exact posterior where there is one."""

import equinox
import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax.flatten_util import ravel_pytree
from scipy import stats

import spos
from spos.networks import plain
from spos.targets import bnn, likelihoods, priors
from spos.targets.layers import relu_network
from spos.targets.network import BayesianNetwork

rng = np.random.default_rng(0)
N, D, H = 12, 3, 4
X = rng.normal(size=(N, D)).astype(np.float32)
Y = rng.normal(size=N).astype(np.float32)
CLASSES = rng.integers(3, size=N).astype(np.int32)
NET = relu_network(D, 1, (H,))


def network(outputs=1, likelihood=None, prior=None) -> BayesianNetwork:
    plain = relu_network(D, outputs, (H,))
    return bnn(plain, likelihood=likelihood or likelihoods.gaussian(), prior=prior)


def by_hand(weights, x=X):
    hidden = np.maximum(np.float64(x) @ weights["w0"] + weights["b0"], 0.0)
    return hidden @ weights["w1"] + weights["b1"]


def weights_of(outputs=1, count=()):
    """Of networks, drawn by NumPy, which compiles nothing."""
    shapes = {"w0": (D, H), "b0": (H,), "w1": (H, outputs), "b1": (outputs,)}
    return {k: rng.normal(size=(*count, *shape)).astype(np.float32) for k, shape in shapes.items()}


def difference(log_density, one, other):
    """Of two log-densities, which a constant does not change."""
    return float(log_density(one)) - float(log_density(other))


def log_gamma_of_logarithm(value, shape, rate):
    return stats.gamma.logpdf(np.exp(value), shape, scale=1.0 / rate) + value  # with its Jacobian


def test_the_log_posterior_is_the_one_written_by_hand():
    net = network(likelihood=likelihoods.gaussian(2.0, 0.3), prior=priors.hierarchical(1.5, 0.2))
    target = net.posterior(X, Y)

    def expected(theta):
        noise, scale = float(theta["likelihood"]), float(theta["prior"])
        weights = np.asarray(ravel_pytree(theta["weights"])[0], np.float64)
        mean = by_hand(theta["weights"])[:, 0]
        return (
            stats.norm.logpdf(Y, mean, np.exp(-0.5 * noise)).sum()
            + stats.norm.logpdf(weights, 0.0, np.exp(-0.5 * scale)).sum()
            + log_gamma_of_logarithm(noise, 2.0, 0.3)
            + log_gamma_of_logarithm(scale, 1.5, 0.2)
        )

    one, other = (
        {"weights": weights_of(), "likelihood": np.float32(noise), "prior": np.float32(scale)}
        for noise, scale in ((-0.2, 0.5), (0.7, -1.1))
    )
    assert difference(target.log_prob, one, other) == pytest.approx(
        difference(expected, one, other), rel=1e-4
    )


def test_likelihoods_are_those_of_scipy():
    outputs = rng.normal(size=(N, 3)).astype(np.float32)
    constant, varying, classes = (
        likelihoods.gaussian(),
        likelihoods.heteroscedastic(),
        likelihoods.categorical(),
    )
    np.testing.assert_allclose(
        constant.log_prob(jnp.float32(0.5), outputs, Y),
        stats.norm.logpdf(Y, outputs[:, 0], np.exp(-0.25)),
        rtol=1e-4,
    )
    np.testing.assert_allclose(
        varying.log_prob((), outputs, Y),
        stats.norm.logpdf(Y, outputs[:, 0], np.exp(0.5 * capped(outputs[:, 1]))),
        rtol=1e-4,
    )
    chances = np.exp(outputs) / np.exp(outputs).sum(1, keepdims=True)
    np.testing.assert_allclose(
        classes.log_prob((), outputs, CLASSES),
        [
            stats.multinomial.logpmf(np.eye(3)[c], 1, p / p.sum())
            for c, p in zip(CLASSES, np.float64(chances), strict=True)
        ],
        rtol=1e-4,
    )


def test_moments_are_mean_and_variance_of_y():
    outputs = rng.normal(size=(N, 2)).astype(np.float32)
    mean, variance = likelihoods.gaussian().moments(jnp.float32(np.log(4.0)), outputs)
    np.testing.assert_allclose(mean, outputs[:, 0])
    np.testing.assert_allclose(variance, np.full(N, 0.25), rtol=1e-6)
    mean, variance = likelihoods.heteroscedastic().moments((), outputs)
    np.testing.assert_allclose(mean, outputs[:, 0])
    np.testing.assert_allclose(variance, np.exp(capped(outputs[:, 1])), rtol=1e-5)


def capped(log_variance):
    """Between log 1e-6 and log 25, with a bend of a half."""
    return plain.capped(np.float64(log_variance), np.log(1e-6), np.log(25.0), 0.5)


def test_a_wild_log_variance_is_bounded():
    outputs = np.float32([[0.0, 1e4], [0.0, -1e4]])
    assert np.isfinite(likelihoods.heteroscedastic().log_prob((), outputs, Y[:2])).all()
    _, variance = likelihoods.heteroscedastic().moments((), outputs)
    np.testing.assert_allclose(variance, [25.0, 1e-6], rtol=1e-3)
    np.testing.assert_allclose(capped([-5.0, 0.0, 1.0]), [-5.0, 0.0, 1.0], atol=0.01)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("heavy", [False, True])
def test_location_and_scale_are_those_of_scipy(varying, heavy):
    """Two outcomes a row, which are independent given x."""
    outputs = rng.normal(size=(N, 4)).astype(np.float32)
    y = rng.normal(size=(N, 2)).astype(np.float32)
    likelihood = likelihoods.location_scale(varying, heavy)
    own = {"log_precision": jnp.float32([0.3, -0.5]), "tails": jnp.float32([1.0, -1.0])}
    scale = np.exp(0.5 * capped(varying * outputs[:, 2:] - np.float32([0.3, -0.5])))
    freedom = 2.5 * (1.0 + np.exp([-1.0, 1.0])) if heavy else np.asarray([1e12, 1e12])
    expected = stats.t.logpdf(y, freedom, outputs[:, :2], scale).sum(1)
    np.testing.assert_allclose(likelihood.log_prob(own, outputs, y), expected, rtol=1e-4, atol=1e-4)
    mean, variance = likelihood.moments(own, outputs)
    np.testing.assert_allclose(mean, outputs[:, :2])
    np.testing.assert_allclose(variance, stats.t.var(freedom, scale=scale), rtol=1e-4)
    alone = {name: leaf[:1] for name, leaf in own.items()}
    one = likelihood.log_prob(alone, outputs[:, ::2], y[:, 0])
    np.testing.assert_allclose(
        one, stats.t.logpdf(y[:, 0], freedom[0], outputs[:, 0], scale[:, 0]), rtol=1e-4, atol=1e-4
    )
    # the prior of 1/ν is uniform: on the scale it is sampled on, a logistic law
    for t in (-2.0, 1.5):
        found = likelihood.log_prior({**alone, "tails": jnp.float32([t])})
        base = likelihood.log_prior({**alone, "tails": jnp.float32([0.0])})
        assert found - base == pytest.approx(stats.logistic.logpdf(t) - np.log(0.25), rel=1e-4)


def _wide(leaf):
    width = leaf.shape[0] if leaf.ndim == 2 else 1
    return stats.norm.logpdf(np.float64(leaf), 0.0, 0.7 * min(1.0, 2.0 / width) ** 0.5).sum()


def test_priors_are_those_of_scipy():
    one, other = weights_of(), weights_of()

    def flat(weights):
        return np.asarray(ravel_pytree(weights)[0], np.float64)

    normal = priors.normal(0.7)
    assert difference(lambda w: normal.log_prob((), w), one, other) == pytest.approx(
        difference(lambda w: stats.norm.logpdf(flat(w), 0.0, 0.7).sum(), one, other), rel=1e-4
    )
    wide = priors.normal(0.7, full_width=2.0)  # weights into units with more are smaller
    assert difference(lambda w: wide.log_prob((), w), one, other) == pytest.approx(
        difference(lambda w: sum(_wide(leaf) for leaf in jax.tree.leaves(w)), one, other), rel=1e-4
    )
    learnt = priors.hierarchical(2.0, 0.5)
    pairs = [(np.float32(0.3), one), (np.float32(1.4), other)]
    assert difference(lambda p: learnt.log_prob(*p), *pairs) == pytest.approx(
        difference(
            lambda p: (
                stats.norm.logpdf(flat(p[1]), 0.0, np.exp(-0.5 * p[0])).sum()
                + log_gamma_of_logarithm(p[0], 2.0, 0.5)
            ),
            *pairs,
        ),
        rel=1e-4,
    )
    start = float(learnt.init(one))  # as large as these weights
    assert np.exp(-start) == pytest.approx(np.mean(flat(one) ** 2), rel=1e-5)


def test_noise_starts_as_large_as_the_first_errors():
    outputs = by_hand(weights_of())
    start = likelihoods.gaussian().init(outputs, Y)
    assert np.exp(-float(start)) == pytest.approx(np.mean((outputs[:, 0] - Y) ** 2), rel=1e-5)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_a_weight_counts_like_repeated_rows(kind):
    y = Y if kind == "gaussian" else CLASSES
    net = network(3, getattr(likelihoods, kind)())
    repeats = rng.integers(4, size=N)
    weighted = net.posterior(X, y, weights=repeats.astype(np.float32))
    repeated = net.posterior(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    theta = {"weights": weights_of(3), "likelihood": np.float32(0.4), "prior": np.float32(0.1)}
    if kind == "categorical":
        theta["likelihood"] = ()
    assert float(weighted.log_prob(theta)) == pytest.approx(float(repeated.log_prob(theta)), 1e-5)
    plain = net.posterior(X, y)
    assert float(plain.log_prob(theta)) != pytest.approx(float(repeated.log_prob(theta)), 1e-3)


def test_the_log_predictive_is_that_of_the_mixture():
    net = network(2, likelihoods.heteroscedastic())
    particles = {"weights": weights_of(2, (5,)), "likelihood": ()}
    densities = []
    for n in range(5):
        outputs = by_hand(jax.tree.map(lambda leaf, n=n: leaf[n], particles["weights"]))
        densities.append(stats.norm.pdf(Y, outputs[:, 0], np.exp(0.5 * capped(outputs[:, 1]))))
    np.testing.assert_allclose(
        net.log_predictive(particles, X, Y), np.log(np.mean(densities, axis=0)), rtol=1e-3
    )


def through_equinox():
    layout = equinox.nn.MLP(D, 1, H, 1, key=jax.random.key(0))
    _, static = equinox.partition(layout, equinox.is_array)

    def init(key):
        return equinox.filter(equinox.nn.MLP(D, 1, H, 1, key=key), equinox.is_array)

    def apply(weights, x):
        return jax.vmap(equinox.combine(weights, static))(x)

    return apply, init


class Dense(flax.linen.Module):
    @flax.linen.compact
    def __call__(self, x):
        return flax.linen.Dense(1)(flax.linen.relu(flax.linen.Dense(H)(x)))


def through_linen():
    net = Dense()
    return net.apply, lambda key: net.init(key, jnp.zeros((1, D)))


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last = nnx.Linear(D, H, rngs=rngs), nnx.Linear(H, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(jax.nn.relu(self.first(x)))


def through_nnx():
    graph = nnx.graphdef(Perceptron(nnx.Rngs(0)))
    return (
        lambda weights, x: nnx.merge(graph, weights)(x),
        lambda key: nnx.state(Perceptron(nnx.Rngs(params=key)), nnx.Param),
    )


@pytest.mark.parametrize("bring", [through_equinox, through_linen, through_nnx])
def test_any_network_will_do(bring):
    net = bnn(*bring(), likelihoods.gaussian())
    particles = net.start(jax.random.key(8), 3, X, Y)
    outputs = net.outputs(particles, X)
    assert outputs.shape == (3, N, 1)
    assert not np.allclose(outputs[0], outputs[1])  # networks of their own
    target = net.posterior(X, Y)

    @jax.jit
    def gain(particles):
        climbed = jax.tree.map(lambda x, s: x + 1e-4 * s, particles, target.score(particles))
        log_prob = jax.vmap(target.log_prob)
        return log_prob(climbed) - log_prob(particles)

    assert (gain(particles) > 0).all()


# A linear network with known noise has the Gaussian posterior of Bayesian linear regression.
NOISE, SCALE = 0.5, 0.8
ROWS = rng.normal(size=(20, 2)).astype(np.float32)
SEEN = (ROWS @ [1.0, -0.5] + NOISE * rng.normal(size=20)).astype(np.float32)


@spos.value
class Known(likelihoods.Likelihood):
    """Noise of a known size: a likelihood of one's own."""

    noise: float

    def log_prob(self, own, outputs, y):
        return -0.5 * ((y - outputs[:, 0]) / self.noise) ** 2


def sampled_moments(scale):
    net = bnn(
        lambda w, x: x @ w[:, None],
        lambda key: jax.random.normal(key, (2,)),
        Known(NOISE),
        priors.normal(scale),
    )
    sampler = spos.sgld(net.posterior(ROWS, SEEN), 1e-3)
    start = net.start(jax.random.key(9), 4000, ROWS, SEEN)
    run = jax.jit(
        lambda start: spos.run(sampler, jax.random.key(10), start, 400, observe=lambda *_: ())
    )
    draws = np.float64(run(start)[0].particles["weights"])
    return draws.mean(0), np.cov(draws.T)


def test_a_linear_network_has_the_exact_posterior():
    """4000 independent chains: five standard errors for each of two means and three covariances,
    beside 4 % for the step (h λ/2, λ the largest precision): fails once in 3e5 seeds. With a prior
    half as wide the mean is off by far more."""
    precision = ROWS.T.astype(np.float64) @ ROWS / NOISE**2 + np.eye(2) / SCALE**2
    cov = np.linalg.inv(precision)
    mean = cov @ ROWS.T.astype(np.float64) @ SEEN / NOISE**2
    error = np.sqrt(np.diag(cov) / 4000)

    def agrees(found_mean, found_cov):
        spread = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
        allowed = 5.0 * np.sqrt(2.0 / 4000) * spread + 0.06 * spread
        return (np.abs(found_mean - mean) < 5.0 * error).all() and (
            np.abs(found_cov - cov) < allowed
        ).all()

    assert agrees(*sampled_moments(SCALE))
    assert not agrees(*sampled_moments(SCALE / 2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bnn(3, NET.init, likelihoods.gaussian()), TypeError, "apply.*function.*3"),
        (lambda: bnn(NET.apply, None, likelihoods.gaussian()), TypeError, "init.*function.*None"),
        (lambda: bnn(NET, NET.init, likelihoods.gaussian()), ValueError, "init.*left out"),
        (lambda: bnn(NET.apply, NET.init, "gaussian"), TypeError, "likelihood.*gaussian"),
        (lambda: bnn(NET.apply, NET.init, likelihoods.gaussian), TypeError, r"gaussian\(\)"),
        (lambda: network(prior="normal"), TypeError, r"prior.*normal\(\).*'normal'"),
        (lambda: likelihoods.gaussian(0.0), ValueError, "shape.*above 0.*0.0"),
        (lambda: likelihoods.gaussian(1.0, -1.0), ValueError, "rate.*above 0.*-1.0"),
        (lambda: priors.normal(-1.0), ValueError, "scale.*above 0.*-1.0"),
        (lambda: priors.hierarchical(rate=np.inf), ValueError, "rate.*above 0.*inf"),
        (lambda: relu_network(D, 1, (H,), linear="yes"), TypeError, "linear.*True or False.*yes"),
        (lambda: network().start(jax.random.key(0), 0, X, Y), ValueError, "num_particles.*at"),
        (lambda: network().posterior(X, Y[:3]), ValueError, "data.*leading axis"),
        (lambda: network().posterior(X, Y, weights=Y[:3]), ValueError, "data.*leading axis"),
        (lambda: network().posterior(X, Y, 13), ValueError, "batch_size.*at most the 12.*13"),
    ],
)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("hidden", [(), (4,), (300,), (4, 5)])
def test_units_in_rows_and_rows_of_the_table_in_columns_say_the_same(hidden):
    """Narrow relu networks turn a table around; an input with another axis is not turned."""
    wide = relu_network(D, 2, hidden)
    drawn = {k: rng.normal(size=v.shape) for k, v in wide.init(jax.random.key(0)).items()}
    turned, plain = wide.apply(drawn, X), wide.apply(drawn, X[None])[0]
    assert turned.shape == (N, 2)
    np.testing.assert_allclose(turned, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("hidden", [(4,), (300,)])
def test_a_linear_connection_adds_a_straight_line(hidden):
    straight = relu_network(D, 2, hidden, linear=True)
    drawn = straight.init(jax.random.key(0))
    np.testing.assert_array_equal(drawn["linear"], np.zeros((D, 2)))  # at first
    layers = {name: leaf for name, leaf in drawn.items() if name != "linear"}
    drawn["linear"] = rng.normal(size=(D, 2)).astype(np.float32)
    expected = relu_network(D, 2, hidden).apply(layers, X) + X @ drawn["linear"]
    np.testing.assert_allclose(straight.apply(drawn, X), expected, rtol=1e-4, atol=1e-4)
