"""Properties of the kernels as functions of a squared distance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import spos

KERNELS = {"rbf": spos.rbf(1.0), "imq": spos.imq(1.0)}
clouds = hnp.arrays(np.float64, (7, 2), elements=st.floats(-20, 20, allow_subnormal=False))
bandwidths = st.floats(0.05, 50.0)


def gram(kernel, x, bandwidth):
    sq = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    with jax.enable_x64(True):
        return np.asarray(kernel(sq, bandwidth)[0])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(x=clouds, bandwidth=bandwidths)
def test_kernel_matrices_are_symmetric_and_positive_semidefinite(kernel, x, bandwidth):
    k = gram(kernel, x, bandwidth)
    np.testing.assert_array_equal(k, k.T)
    np.testing.assert_array_equal(np.diagonal(k), 1.0)
    assert (k <= 1.0).all()
    assert np.linalg.eigvalsh(k).min() >= -1e-10


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(sq=st.floats(0.0, 100.0), bandwidth=bandwidths)
def test_the_slope_is_minus_twice_the_derivative_of_the_logarithm(kernel, sq, bandwidth):
    with jax.enable_x64(True):
        _, slope = kernel(jnp.asarray(sq), jnp.asarray(bandwidth))
        derivative = jax.grad(lambda s: jnp.log(kernel(s, bandwidth)[0]))(jnp.asarray(sq))
        if sq / bandwidth < 600:  # beyond, exp underflows and its logarithm is lost
            np.testing.assert_allclose(slope, -2.0 * derivative, rtol=1e-9)


def test_the_values_are_the_stated_formulas():
    sq, bandwidth = np.array([0.0, 0.5, 3.0]), 1.7
    np.testing.assert_allclose(
        spos.rbf(bandwidth)(sq, bandwidth)[0], np.exp(-sq / bandwidth), rtol=1e-6
    )
    np.testing.assert_allclose(
        spos.imq(bandwidth)(sq, bandwidth)[0], (1 + sq / bandwidth) ** -0.5, rtol=1e-6
    )


def test_only_a_slope_that_is_one_number_is_called_constant():
    sq = np.array([0.0, 0.5, 3.0])
    assert spos.rbf().constant_slope(1.7) == pytest.approx(2.0 / 1.7)
    assert np.ndim(spos.rbf()(sq, 1.7)[1]) == 0
    assert spos.imq().constant_slope(1.7) is None
    assert len(set(np.asarray(spos.imq()(sq, 1.7)[1]).tolist())) == 3
