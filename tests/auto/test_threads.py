"""The host's products stay on one thread where they are small."""

import jax.numpy as jnp
import numpy as np
import pytest
import threadpoolctl

import spos
from spos.auto import threads

WIDE = threads.SMALL + 1


def counts():
    """How many threads each BLAS library may use."""
    return [
        pool["num_threads"]
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    ]


@pytest.fixture
def several():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if 2 not in counts():
            pytest.skip("this BLAS has one thread")
        yield


def test_small_products_have_one_thread_and_large_ones_all(several):
    with threads.for_size(5):
        assert set(counts()) == {1}
    assert 2 in counts()
    with threads.for_size(WIDE):
        assert 2 in counts()


def test_a_fit_gives_the_threads_back(several):
    seen = []

    def look(_):
        seen.append(set(counts()))
        return True

    start = jnp.asarray(np.random.default_rng(0).normal(size=(20, 2)), jnp.float32)
    with pytest.warns(spos.ConvergenceWarning):
        spos.fit(lambda x: -0.5 * (x**2).sum(), start=start, callback=look)
    assert seen == [{1}]
    assert 2 in counts()
