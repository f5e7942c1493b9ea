"""The fast sum on a line is the library's own interaction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.interaction.stein_direction import stein
from spos.types import State
from spos_experiments.paper import gaussian, line


def dense(bandwidth):
    """The library's own direction, of particles and their scores."""

    def direction(theta, scores):
        state = State(theta, jnp.zeros((), jnp.int32), jnp.nan, ())
        return stein(spos.rbf(bandwidth), jax.random.key(1), state, scores)

    return direction


@pytest.mark.parametrize("bandwidth", [1.0, 0.1, "median"])
@pytest.mark.parametrize(("count", "scale"), [(60, 0.01), (1000, 1.0)])
def test_it_equals_the_dense_sum_to_rounding(count, scale, bandwidth):
    theta = 2.0 + scale * jax.random.normal(jax.random.key(0), (count,))
    scores = (2.0 - theta) / scale**2
    found, eta2 = jax.jit(lambda t, s: line.direction(t, s, spos.rbf(bandwidth)))(theta, scores)
    expected, expected_eta2 = jax.jit(dense(bandwidth))(theta, scores)
    assert float(eta2) == pytest.approx(float(expected_eta2), rel=1e-5)
    # both are float32 sums of terms as large as these, which cancel
    largest = jnp.abs(scores).max() + 2 / eta2 * jnp.abs(theta - theta.mean()).max()
    tolerance = 3e-6 * float(largest)
    np.testing.assert_allclose(found, expected, atol=tolerance)


def test_a_cloud_too_wide_for_the_nodes_is_still_covered():
    theta = jnp.linspace(-12.0, 12.0, 100)
    found, _ = jax.jit(lambda t: line.direction(t, -t, spos.rbf(1.0)))(theta)
    expected, _ = jax.jit(dense(1.0))(theta, -theta)
    np.testing.assert_allclose(found, expected, atol=0.01 * float(jnp.abs(expected).max()))


@pytest.mark.parametrize("beta", [1.0, jnp.inf])
def test_a_whole_run_ends_where_the_librarys_does(beta):
    start = jax.random.normal(jax.random.key(0), (80,))
    fast = line.sampler(gaussian.log_density, 0.03, jnp.asarray(beta), "median", 80)
    dense = spos.spos(gaussian.log_density, 0.03, beta)
    ends = [
        spos.run(sampler, jax.random.key(1), start, 100)[0].particles for sampler in (fast, dense)
    ]
    np.testing.assert_allclose(*ends, atol=2e-4)


def test_few_particles_use_the_library_itself():
    few = line.sampler(gaussian.log_density, 0.03, 1.0, "median", line.DENSE_UP_TO)
    assert few.kernel == spos.rbf("median")
