"""The maximum mean discrepancy against a double loop and the closed form of two Gaussians."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics import mmd, mmd_test
from spos.interaction import pairwise
from standard_errors import disagreement


@pytest.mark.parametrize("dimension", [2, 7])
@pytest.mark.parametrize("tiled", [False, True])
def test_both_statistics_are_means_of_the_kernel(dimension, tiled, monkeypatch):
    if tiled:
        monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 4)
        monkeypatch.setattr(pairwise, "TILE_ROWS", 5)
    rng = np.random.default_rng(dimension)
    a, b = rng.normal(size=(9, dimension)) + 4.0, rng.normal(size=(14, dimension)) + 4.5

    def k(x, y):
        return (1 + ((x[:, None] - y[None]) ** 2).sum(-1) / 3.0) ** -0.5

    v = k(a, a).mean() - 2 * k(a, b).mean() + k(b, b).mean()
    u = (k(a, a).sum() - 9) / 72 - 2 * k(a, b).mean() + (k(b, b).sum() - 14) / 182
    assert float(mmd(a, b, spos.imq(3.0))) == pytest.approx(v, rel=1e-3)
    assert float(mmd(a, b, spos.imq(3.0), statistic="u")) == pytest.approx(u, abs=1e-5)


def test_two_gaussians_have_their_closed_form():
    d, eta2, spread, shift = 3, 2.0, 2.0, 0.7  # N(0, I) and N(shift, spread² I)

    def expected(variances, distance2):
        return (1 + 2 * variances / eta2) ** (-d / 2) * np.exp(-distance2 / (eta2 + 2 * variances))

    exact = expected(2.0, 0.0) - 2 * expected(1 + spread**2, d * shift**2)
    exact += expected(2 * spread**2, 0.0)
    a, b = jax.random.normal(jax.random.key(0), (2, 300, 30, d))

    def values(statistic):
        one = lambda pair: mmd(pair[0], pair[1], spos.rbf(eta2), statistic=statistic)  # noqa: E731
        return np.asarray(jax.jit(lambda a, b: jax.lax.map(one, (a, b)))(a, shift + spread * b))

    assert disagreement(values("u"), exact) < 1
    assert disagreement(values("v"), exact) > 1  # the biased one is told apart


def test_it_fires_for_two_laws_and_not_for_one():
    draws = np.asarray(jax.random.normal(jax.random.key(3), (40, 2, 50, 2)))
    p = np.asarray(
        [mmd_test(a, b, num_permutations=99, seed=n).p_value for n, (a, b) in enumerate(draws)]
    )
    assert np.sum(p <= 0.1) <= 13  # an exact test: more have probability 3e-5
    assert 0.25 < p.mean() < 0.75
    for a, b in draws[:5]:
        assert mmd_test(a, b + 1.0, num_permutations=99).p_value == 0.01
        assert mmd_test(a, 0.3 * b, num_permutations=99).p_value == 0.01
    found = mmd_test(a, b, num_permutations=99)
    assert found.statistic == pytest.approx(float(mmd(a, b)), abs=1e-6)
    assert "MMD²" in str(found)


def test_a_pytree_is_its_flat_matrix():
    a, b = jax.random.normal(jax.random.key(0), (2, 9, 5))
    trees = [{"w": x[:, :4].reshape(9, 2, 2), "z": x[:, 4]} for x in (a, b)]
    kernel = spos.rbf(3.0)
    assert float(mmd(*trees, kernel)) == pytest.approx(float(mmd(a, b, kernel)), abs=1e-6)
    assert float(mmd(a, a[::-1], kernel)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: mmd(np.ones((3, 2)), np.ones((3, 1))), "one dimension, got 2 and 1"),
        (lambda: mmd(np.ones((3, 2)), np.ones((1, 2)), statistic="u"), "b must hold at least 2"),
        (lambda: mmd(np.full((3, 2), np.nan), np.ones((3, 2))), "a must be finite, got nan"),
        (lambda: mmd(jnp.ones(3), jnp.ones(3), statistic="x"), "statistic must be one of"),
        (
            lambda: mmd({"a": jnp.ones(3)}, {"b": jnp.ones(3)}),
            "a and b must be pytrees of one form",
        ),
        (
            lambda: mmd_test({"a": jnp.ones(3)}, [jnp.ones(3)]),
            "a and b must be pytrees of one form",
        ),
        (lambda: mmd_test(jnp.ones(3), jnp.ones(3), num_permutations=0), "num_permutations.*least"),
    ],
)
def test_bad_input_is_named(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call()
