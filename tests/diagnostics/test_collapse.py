"""The collapse warning fires for SVGD in many dimensions and is silent where nothing is wrong.

On independent draws from the target the false alarm rate is the level, 0.01. With 24 clouds for
each of the silent cases, more than three alarms in one of them have probability 9e-5.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.diagnostics import collapse
from spos.diagnostics.collapse import _chains, _p_values
from spos.targets.target import as_target

REPEATS, ALARMS = 24, 3
SCALES = 10.0 ** np.linspace(-1.0, 1.0, 20).astype(np.float32)


def log_normal(theta):
    return -0.5 * jnp.sum(theta**2)


NORMAL = as_target(log_normal)
SCALED = as_target(lambda theta: -0.5 * jnp.sum((theta / SCALES) ** 2))


def normals(particles, dimension, seed=0):
    return jax.random.normal(jax.random.key(seed), (REPEATS, particles, dimension))


def runs(sampler, particles, dimension, steps, repeats=REPEATS):
    def one(key, start):
        return spos.run(sampler, key, start, steps, observe=lambda *_: 0)[0].particles

    keys = jax.random.split(jax.random.key(1), repeats)
    starts = normals(particles, dimension, seed=2)[:repeats]
    return jax.jit(jax.vmap(one))(keys, starts)


def reports(target, clouds):
    return [collapse(target, cloud, seed=n) for n, cloud in enumerate(clouds)]


@pytest.fixture(scope="module")
def svgd():
    return reports(NORMAL, runs(spos.svgd(log_normal, 1.0), 50, 100, 600, repeats=3))


def test_it_fires_for_svgd_in_many_dimensions(svgd):
    assert all(report.collapsed for report in svgd)
    assert all(report.kept == pytest.approx(0.04, abs=0.01) for report in svgd)
    assert all(len(report.narrow) > 90 for report in svgd)
    said = str(svgd[0])
    assert "4% of the variance" in said
    assert "use spos.spos with beta=1" in said


SILENT = {
    "exact, 20 in 2 dimensions": lambda: (NORMAL, normals(20, 2)),
    "exact, 100 in 20 dimensions": lambda: (NORMAL, normals(100, 20)),
    "exact, scales apart by 100": lambda: (SCALED, SCALES * normals(100, 20, seed=3)),
    "spos": lambda: (NORMAL, runs(spos.spos(log_normal, 0.03), 50, 100, 200)),
    "sgld": lambda: (NORMAL, runs(spos.sgld(log_normal, 0.05), 100, 20, 200)),
}


@pytest.mark.parametrize("name", SILENT)
def test_it_is_silent_where_nothing_is_wrong(name):
    target, clouds = SILENT[name]()
    found = reports(target, clouds)
    assert sum(report.collapsed for report in found) <= ALARMS
    assert "No sign of a collapse" in str(min(found, key=lambda report: report.collapsed))


def test_a_single_narrow_parameter_is_found_and_named():
    cloud = SCALES * normals(100, 20, seed=3)[0]
    report = collapse(
        lambda theta: SCALED.log_prob(theta["w"][:, 0]),
        {"w": cloud.at[:, 7].multiply(0.3)[:, :, None]},
    )
    assert report.collapsed
    assert report.narrow == ["w[7, 0]"]
    assert "The cloud is too narrow in w[7, 0]: do not" in str(report)
    assert report.kept_each[7] == pytest.approx(0.09, abs=0.05)
    assert "w[7, 0]" in str(report.table())


def test_copies_of_one_particle_have_collapsed():
    report = collapse(NORMAL, jnp.ones((20, 2)))
    assert report.collapsed
    assert report.kept == pytest.approx(0.0, abs=1e-6)


def test_a_loss_within_what_is_enough_is_no_collapse():
    # 0.8 of the variance: beyond chance with so many particles, but not a collapse
    report = collapse(NORMAL, 0.8**0.5 * jax.random.normal(jax.random.key(0), (5000, 2)))
    assert report.p_value < 0.001
    assert not report.collapsed


def test_the_chains_leave_the_target_as_it_is():
    # steps are large, so that without acceptance the variance would be 1/(1 - h/2) and more
    start = jax.random.normal(jax.random.key(0), (5000, 2))
    ends, h, acceptance = _chains(100, NORMAL, jax.random.key(1), start)
    assert h > 0.5
    assert acceptance == pytest.approx(0.7, abs=0.05)
    # standard error of the variance of 10,000 normals: 0.014
    assert float(jnp.var(ends)) == pytest.approx(1.0, abs=0.07)
    assert not np.allclose(ends, start, atol=0.1)


def test_p_values_hold_for_the_largest_of_all_columns():
    # symmetric columns with heavy tails; 60 tests at level 0.1: more than 17 have probability 2e-5
    growth = jax.random.t(jax.random.key(4), 2.0, (60, 15, 8))
    found = np.asarray([_p_values(jax.random.key(n), g).min() for n, g in enumerate(growth)])
    assert np.sum(found <= 0.1) <= 17
    moved = np.asarray(_p_values(jax.random.key(0), growth[0].at[:, 2].add(8.0)))
    assert moved[2] < 0.01 < np.delete(moved, 2).min()


def test_data_are_used_and_not_compiled_in():
    data = jnp.asarray([1.0, 2.0, 0.0, 1.0])  # the posterior is N(1, 1/4)
    posterior = spos.posterior(
        lambda theta, batch: -0.5 * (batch - theta) ** 2, lambda theta: 0.0, data, 2
    )
    exact = 1.0 + 0.5 * jax.random.normal(jax.random.key(0), (200,))
    assert not collapse(posterior, exact).collapsed
    assert collapse(posterior, 1.0 + 0.2 * (exact - 1.0)).collapsed
    key = jax.random.key(0)
    traced = jax.make_jaxpr(lambda target: _chains(2, target, key, exact))(posterior)
    assert data.shape not in [np.shape(constant) for constant in traced.consts]
    assert np.array_equal(posterior.data, data)


def no_mass(theta):
    """The chains could not move, and nothing would seem to widen."""
    return -jnp.inf + 0.0 * jnp.sum(theta)


def half_line(theta):
    return jnp.where(theta[0] > 0, -jnp.sum(theta), -jnp.inf)


@pytest.mark.parametrize(
    ("call", "kind", "complaint"),
    [
        (lambda: collapse(3, np.ones((4, 2), np.float32)), TypeError, "target must be a function"),
        (lambda: collapse(log_normal, np.ones((1, 2))), ValueError, "at least 2 particles, got 1"),
        (lambda: collapse(log_normal, np.full((3, 2), np.nan)), ValueError, "finite, got nan"),
        (lambda: collapse(log_normal, np.ones((3, 2)), num_steps=0), ValueError, "num_steps"),
        (lambda: collapse(log_normal, np.ones((3, 2)), level=0.0), ValueError, "level.*above 0"),
        (lambda: collapse(log_normal, np.ones((3, 2)), level=1.0), ValueError, "level"),
        (lambda: collapse(lambda t: -t, np.ones((3, 2))), ValueError, "log_prob.*one number"),
        (lambda: collapse(no_mass, np.ones((3, 2))), ValueError, "-inf or NaN at 3 of 3"),
        (lambda: collapse(half_line, np.eye(2)), ValueError, "-inf or NaN at 1 of 2.*particle 1"),
    ],
)
def test_bad_input_is_named(call, kind, complaint):
    with pytest.raises(kind, match=complaint):
        call()
