"""The law each algorithm settles in, on Gaussians where it is known.

Every check compares independent repeats with a known variance and fails by chance once in a million
numbers. Each is also run on broken dynamics, which it must reject.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.dynamics.moves import standard_normal
from spos.interaction.kernels import RBF
from standard_errors import disagreement

MEAN = 2.0
TABLE_ERROR = 0.01  # the standard error of the tabled variances

# (beta, step size) -> long-run variance of one particle, for M particles, η² = 1
TABLE = {
    10: {
        (1.0, 0.01): 0.940,
        (1.0, 0.03): 0.943,
        (1.0, 0.1): 0.981,
        (1.0, 0.3): 1.096,
        (10.0, 0.01): 0.823,
        (10.0, 0.03): 0.823,
        (10.0, 0.1): 0.819,
        (10.0, 0.3): 0.827,
        (100.0, 0.01): 0.827,
        (100.0, 0.03): 0.824,
        (100.0, 0.1): 0.822,
        (100.0, 0.3): 0.823,
    },
    100: {(1.0, 0.01): 1.002, (1.0, 0.03): 1.013, (1.0, 0.1): 1.040, (1.0, 0.3): 1.146},
    300: {(10.0, 0.03): 0.997, (10.0, 0.1): 0.999, (10.0, 0.3): 1.000},
}
EFFORT = {10: (16, 1500), 100: (16, 300), 300: (12, 120)}  # repeats and steps


def log_normal(theta):
    return -0.5 * jnp.sum((theta - MEAN) ** 2)


def long_run_variances(build, num_particles, cells, repeats, steps, spread=1.0):
    """Mean of (θ - MEAN)² over particles and the last three quarters of the steps: one row per
    repeat, one column per cell (beta, step size)."""

    def one(key, beta, step_size):
        start_key, run_key = jax.random.split(key)
        start = MEAN + spread * jax.random.normal(start_key, (num_particles, 1))
        _, squares = spos.run(
            build(step_size, beta),
            run_key,
            start,
            steps,
            observe=lambda state, info: jnp.mean((state.particles - MEAN) ** 2),
        )
        return jnp.mean(squares[steps // 4 :])

    keys = jax.random.split(jax.random.key(20), (repeats, len(cells)))
    beta, step_size = jnp.asarray(cells, jnp.float32).T
    over_cells = jax.vmap(one)
    over_repeats = jax.vmap(over_cells, in_axes=(0, None, None))
    return np.asarray(jax.jit(over_repeats)(keys, beta, step_size))


def spos_unit_bandwidth(step_size, beta):
    return spos.spos(log_normal, step_size, beta, kernel=spos.rbf(1.0))


def one_particle_law():
    """M = 1: the kernel adds its own score, so that θ is autoregressive with an exact variance."""
    cells = [(beta, h) for beta in (1.0, 10.0) for h in (0.03, 0.1, 0.3)]
    beta, h = np.transpose(cells)
    rate = 1.0 + 1.0 / beta
    exact = (2.0 / beta) / (rate * (2.0 - h * rate))
    return disagreement(long_run_variances(spos_unit_bandwidth, 1, cells, 64, 1500, 0.6), exact)


def sgld_law():
    cells = [(1.0, h) for h in (0.1, 0.3, 1.0)]
    exact = [1.0 / (1.0 - h / 2.0) for _, h in cells]

    def build(step_size, beta):
        return spos.sgld(log_normal, step_size, beta)

    return disagreement(long_run_variances(build, 4, cells, 64, 1000), exact)


def table_law(num_particles):
    cells = TABLE[num_particles]
    repeats, steps = EFFORT[num_particles]
    found = long_run_variances(spos_unit_bandwidth, num_particles, list(cells), repeats, steps)
    return disagreement(found, list(cells.values()), TABLE_ERROR)


def test_one_particle_has_the_exact_variance_of_the_discretised_law():
    assert one_particle_law() <= 1


def test_sgld_has_the_exact_variance_of_the_discretised_law():
    assert sgld_law() <= 1


@pytest.mark.parametrize("num_particles", TABLE)
def test_spos_has_the_tabled_variance(num_particles):
    assert table_law(num_particles) <= 1


def no_noise(monkeypatch):
    def nothing(key, particles):
        return jax.tree.map(jnp.zeros_like, particles)

    monkeypatch.setattr("spos.dynamics.moves.standard_normal", nothing)


def noise_without_root_two(monkeypatch):
    def weaker(key, particles):
        return jax.tree.map(lambda xi: xi / jnp.sqrt(2.0), standard_normal(key, particles))

    monkeypatch.setattr("spos.dynamics.moves.standard_normal", weaker)


def same_noise_for_all(monkeypatch):
    def shared(key, particles):
        noise = standard_normal(key, particles)
        return jax.tree.map(lambda xi: jnp.broadcast_to(xi[:1], xi.shape), noise)

    monkeypatch.setattr("spos.dynamics.moves.standard_normal", shared)


def unweighted_langevin_drift(monkeypatch):
    for module in ("spos.algorithms.spos", "spos.algorithms.sgld"):
        monkeypatch.setattr(f"{module}.scaled", lambda weight, scores: scores)


def doubled_langevin_drift(monkeypatch):
    for module in ("spos.algorithms.spos", "spos.algorithms.sgld"):
        monkeypatch.setattr(
            f"{module}.scaled", lambda weight, s: jax.tree.map(lambda v: 2.0 * weight * v, s)
        )


def repulsion_times(factor):
    true_kernel, true_slope = RBF.__call__, RBF.constant_slope

    def slope(kernel, bandwidth):
        return factor * true_slope(kernel, bandwidth)

    def mutate(monkeypatch):
        monkeypatch.setattr(RBF, "constant_slope", slope)
        monkeypatch.setattr(
            RBF,
            "__call__",
            lambda kernel, sq, eta2: (true_kernel(kernel, sq, eta2)[0], slope(kernel, eta2)),
        )

    return mutate


@pytest.mark.parametrize(
    ("law", "mutate"),
    [
        pytest.param(one_particle_law, noise_without_root_two, id="one particle, no root two"),
        pytest.param(one_particle_law, unweighted_langevin_drift, id="one particle, no 1/beta"),
        pytest.param(sgld_law, no_noise, id="sgld, no noise"),
        pytest.param(sgld_law, doubled_langevin_drift, id="sgld, doubled drift"),
        pytest.param(lambda: table_law(10), no_noise, id="table, no noise"),
        pytest.param(lambda: table_law(10), noise_without_root_two, id="table, no root two"),
        pytest.param(lambda: table_law(10), same_noise_for_all, id="table, shared noise"),
        pytest.param(lambda: table_law(10), repulsion_times(-1.0), id="table, flipped repulsion"),
        pytest.param(lambda: table_law(10), repulsion_times(0.5), id="table, half repulsion"),
    ],
)
def test_the_laws_reject_broken_dynamics(law, mutate, monkeypatch):
    mutate(monkeypatch)
    assert not law() <= 1  # a variance that is not a number is rejected too
