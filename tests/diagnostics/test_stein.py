"""The kernelised Stein discrepancy against automatic differentiation and against closed forms.

Rates: a p-value of at most 0.1 under the null is a coin with chance 0.1; of 60 independent ones
more than 17 are that small with probability 2e-5.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics import ksd, ksd_test
from spos.interaction import pairwise
from standard_errors import disagreement

KERNELS = {"rbf": spos.rbf, "imq": spos.imq}
FORMULAS = {
    "rbf": lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2.5),
    "imq": lambda x, y: (1.0 + jnp.sum((x - y) ** 2) / 2.5) ** -0.5,
}


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


def by_differentiation(formula, x, s):
    """u for all pairs, every derivative by JAX."""

    def u(x, y, s, t):
        mixed = jax.jacfwd(jax.grad(formula, 1), 0)(x, y)
        push, pull = jax.grad(formula, 1)(x, y), jax.grad(formula, 0)(x, y)
        return s @ t * formula(x, y) + s @ push + t @ pull + jnp.trace(mixed)

    rows = jax.vmap(u, (None, 0, None, 0))
    return np.asarray(jax.jit(jax.vmap(rows, (0, None, 0, None)))(x, x, s, s))


@pytest.mark.parametrize(
    ("name", "dimension", "tiled"),
    [("rbf", 2, False), ("imq", 7, False), ("rbf", 7, True), ("imq", 2, True)],
)
def test_both_statistics_are_means_of_the_stein_kernel(name, dimension, tiled, monkeypatch):
    if tiled:
        monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 4)
        monkeypatch.setattr(pairwise, "TILE_ROWS", 3)
    x, s = jax.random.normal(jax.random.key(dimension), (2, 13, dimension))
    u = by_differentiation(FORMULAS[name], x, s)
    kernel = KERNELS[name](2.5)
    assert float(ksd(s, x + 3.0, kernel)) == pytest.approx(u.mean(), rel=1e-4)
    others = (u.sum() - np.trace(u)) / (13 * 12)
    assert float(ksd(s, x, kernel, statistic="u")) == pytest.approx(others, rel=1e-3, abs=1e-5)


def test_one_particle_has_a_closed_form():
    # k = 1, its gradients 0, and the trace is 2d/η² for rbf, d/η² for imq
    x = jnp.asarray([[1.5, -2.0]])
    assert float(ksd(log_normal, x, spos.rbf(0.5))) == pytest.approx(6.25 + 8.0)
    assert float(ksd(log_normal, x, spos.imq(0.5))) == pytest.approx(6.25 + 4.0)


@pytest.fixture(scope="module")
def shifted():
    """U-statistics of 300 clouds of 40 draws of N(0.5, 1), for four scores of which the first is
    right: the others are mutants."""
    clouds = 0.5 + jax.random.normal(jax.random.key(1), (300, 40, 1))

    def statistics(x):
        return jnp.stack(
            [ksd(score, x, spos.rbf(2.0), statistic="u") for score in (-x, x, -2 * x, 0 * x)]
        )

    return np.asarray(jax.jit(lambda clouds: jax.lax.map(statistics, clouds))(clouds))


def test_a_shifted_gaussian_has_its_closed_form(shifted):
    # the scores of N(0, 1) and N(μ, 1) differ by μ: KSD² = μ² E k(x - y), x - y ~ N(0, 2)
    exact = 0.25 / np.sqrt(1 + 2 * 2 / 2.0)
    assert disagreement(shifted[:, 0], exact) < 1
    for mutant in range(1, 4):  # among them the flipped sign of both cross terms
        assert disagreement(shifted[:, mutant], exact) > 1


def test_a_pytree_is_its_flat_matrix_and_a_target_its_scores():
    x = jax.random.normal(jax.random.key(0), (9, 5))
    tree = {"w": x[:, :4].reshape(9, 2, 2), "z": x[:, 4]}
    kernel = spos.imq(2.0)
    expected = float(ksd(log_normal, x, kernel))
    by_tree = ksd(lambda t: log_normal(t["w"]) + log_normal(t["z"]), tree, kernel)
    assert float(by_tree) == pytest.approx(expected, rel=1e-5)
    assert float(ksd(jax.tree.map(jnp.negative, tree), tree, kernel)) == pytest.approx(
        expected, rel=1e-5
    )
    # four observations of the mean with the flat prior: N(mean of the data, 1/4)
    data = jnp.asarray([1.0, 2.0, 0.0, 1.0])
    posterior = spos.posterior(
        lambda theta, batch: -0.5 * (batch - theta) ** 2, lambda theta: 0.0, data, 2
    )
    assert float(ksd(posterior, x[:, 0], kernel)) == pytest.approx(
        float(ksd(-4.0 * (x[:, 0] - 1.0), x[:, 0], kernel)), rel=1e-5
    )


@pytest.fixture(scope="module")
def p_values():
    draws = jax.random.normal(jax.random.key(5), (60, 80, 2))
    return {
        name: np.asarray(
            [ksd_test(-x, x, num_bootstrap=199, seed=n).p_value for n, x in enumerate(clouds)]
        )
        for name, clouds in {
            "right": draws,
            "shifted": draws[:10] + 0.6,
            "narrow": draws[:10] * 0.5,
            "wide": draws[:10] * 1.8,
        }.items()
    }


def test_p_values_of_the_right_law_are_spread_evenly(p_values):
    assert np.sum(p_values["right"] <= 0.1) <= 17
    assert 0.3 < p_values["right"].mean() < 0.7  # five standard errors of 0.29/sqrt(60)


@pytest.mark.parametrize("wrong", ["shifted", "narrow", "wide"])
def test_it_fires_for_a_wrong_law(p_values, wrong):
    assert (p_values[wrong] <= 0.05).all()


def test_the_statistic_does_not_change_the_p_value():
    x = jax.random.normal(jax.random.key(7), (50, 3))
    kernel = spos.imq(1.0)
    v, u = (ksd_test(log_normal, x, kernel, statistic=each, num_bootstrap=99) for each in "vu")
    assert v.p_value == u.p_value
    assert v.statistic == pytest.approx(float(ksd(log_normal, x, kernel)), rel=1e-5)
    assert u.statistic == pytest.approx(float(ksd(log_normal, x, kernel, statistic="u")), rel=1e-4)
    assert "KSD²" in str(v)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ksd(log_normal, np.ones((1, 2)), statistic="u"), "at least 2 particles, got 1"),
        (lambda: ksd_test(log_normal, np.ones((1, 2))), "at least 2 particles, got 1"),
        (lambda: ksd(log_normal, np.ones((3, 2)), statistic="w"), "statistic must be one of v, u"),
        (
            lambda: ksd(np.ones((3, 1)), np.ones((3, 2))),
            r"scores must have the shapes \[\(3, 2\)\]",
        ),
        (lambda: ksd(np.full((3, 2), np.nan), np.ones((3, 2))), "scores must be finite, got nan"),
        (lambda: ksd(log_normal, np.full((3, 2), np.inf)), "particles must be finite, got inf"),
        (lambda: ksd(lambda t: -t, np.ones((3, 2))), r"log_prob.*one number"),
        (lambda: ksd_test(log_normal, np.ones((3, 2)), num_bootstrap=0), "num_bootstrap.*at least"),
    ],
)
def test_bad_input_is_named(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
