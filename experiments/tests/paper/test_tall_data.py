"""The experiment with tall data: its posteriors, its chains on all rows, and its rules."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos_experiments.frame import record
from spos_experiments.frame.record import HOLDS, NOT_SEEN
from spos_experiments.paper import all_rows, tall
from spos_experiments.paper.tall.findings import claims
from spos_experiments.paper.tall.posteriors import build


def test_the_hierarchy_is_the_density_it_says():
    """Against the laws of scipy, up to a constant."""
    from scipy import stats

    given = build("counts", tall.Settings(counts_rows=30, groups=3))
    data = {name: np.asarray(leaf) for name, leaf in given.data.items()}

    def log_prob(theta):
        mu, log_tau, a, b = theta[0], theta[1], theta[2:5], theta[5:]
        rate = np.exp(a[data["group"]] + data["x"] @ b + data["offset"])
        rows = stats.poisson.logpmf(data["y"], rate).sum() + stats.norm.logpdf(mu)
        groups = stats.norm.logpdf(a, mu, np.exp(log_tau)).sum() + stats.norm.logpdf(b).sum()
        return rows + groups + stats.halfnorm.logpdf(np.exp(log_tau)) + log_tau

    def ours(theta):
        theta = jnp.asarray(theta, jnp.float32)
        return float(given.log_likelihood(theta, given.data).sum() + given.log_prior(theta))

    one, other = 0.3 * np.random.default_rng(0).normal(size=(2, given.size))
    assert ours(one) - ours(other) == pytest.approx(log_prob(one) - log_prob(other), abs=1e-3)


def test_chains_on_all_rows_know_a_normal_law():
    """Rows y ~ N(θ, 1) with a flat prior: N(mean of y, 1/n), from a wrong mode and scale."""
    y = jnp.asarray(np.random.default_rng(0).normal(size=(50, 1)), jnp.float32)
    place = y.mean(0) + 0.05, jnp.eye(1) * 0.13
    path = all_rows.walk(
        *(lambda theta, data: -0.5 * jnp.sum((data - theta) ** 2, axis=1), lambda theta: 0.0),
        *(y, *place, 20, 400, 1.0, 0, True),
    )
    for of in (all_rows.plain, all_rows.sharp):
        found = of(path, *place)
        assert abs(found.mean - y.mean(0)) < 5 * found.mean_error * np.sqrt(found.variance)
        assert found.variance == pytest.approx(1 / 50, rel=5 * found.variance_error)
    assert found.mean_error < 0.3 * all_rows.plain(path, *place).mean_error
    assert 0.5 < found.acceptance < 1.0


@pytest.mark.parametrize(
    ("shift", "passes", "said", "verdicts"),
    [
        (0.05, 50, True, [HOLDS, HOLDS, HOLDS]),
        (0.15, 50, False, [NOT_SEEN, HOLDS, HOLDS]),
        (0.15, 50, True, [NOT_SEEN, HOLDS, NOT_SEEN]),
        (0.05, 150, True, [HOLDS, NOT_SEEN, HOLDS]),
    ],
)
def test_a_fit_is_judged_by_errors_price_and_candour(shift, passes, said, verdicts):
    truth = tall.Truth(np.zeros(2), np.ones(2), 0.001, 0.02, 0.7)
    settings = tall.Settings(chains=10, chain_steps=100)
    fit = tall.Fitted(
        np.asarray([0.0, shift]), np.ones(2), np.zeros(2), np.eye(2), passes, said, "", 0.02
    )
    found = tall.row("counts", fit, truth, settings)
    assert found["share"] == pytest.approx(passes / 1000)
    rougher = tall.row("counts", fit._replace(precision=0.04), truth, settings)
    assert rougher["share"] == pytest.approx(4 * found["share"])  # chains need a quarter for that
    assert [claim.verdict for claim in claims([found])] == verdicts


def test_rows_of_a_posterior_are_always_the_same():
    settings = tall.Settings(counts_rows=20)
    one, other = (build("counts", settings).data for _ in range(2))
    assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), one, other)))


def test_the_page_quotes_the_record():
    here = Path(__file__).parents[3]
    made = record.read(here / "experiments" / "results" / "tall" / "record.json")
    assert made.table.markdown() in (here / "docs" / "automatic.md").read_text()
