"""What holds for every algorithm."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from algorithm_table import ALGORITHMS
from spos.dynamics.ensemble import Ensemble

M = 12
KEY = jax.random.key(3)
FLAT = jax.random.normal(jax.random.key(1), (M, 5)) * jnp.array([1.0, 2.0, 0.5, 1.0, 1.0])
STEPS = 6


def log_prob(theta):
    scale = jnp.arange(1.0, theta.shape[-1] + 1.0, dtype=theta.dtype)
    return -0.5 * jnp.sum(scale * (theta - 1.0) ** 2) - 0.1 * jnp.sum(jnp.cos(theta))


def as_tree(matrix):
    return {"a": matrix[..., :3], "b": {"c": matrix[..., 3:].reshape(*matrix.shape[:-1], 2, 1)}}


def as_flat(tree):
    last = tree["b"]["c"]
    return jnp.concatenate([tree["a"], last.reshape(*last.shape[:-2], 2)], axis=-1)


@pytest.fixture(params=ALGORITHMS)
def build(request):
    return ALGORITHMS[request.param]


def allclose(one, other):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), one, other)


def without_noise(monkeypatch):
    def nothing(key, particles):
        return jax.tree.map(jnp.zeros_like, particles)

    monkeypatch.setattr("spos.dynamics.moves.standard_normal", nothing)


def test_a_sampler_is_a_pair_of_functions_over_a_target(build):
    sampler = build(log_prob)
    assert isinstance(sampler, spos.Sampler)
    assert isinstance(sampler.target, spos.Target)
    assert sampler.settings["algorithm"] in spos.__all__
    assert list(inspect.signature(sampler.step).parameters) == ["key", "state", "batch"]
    state = sampler.init(FLAT)
    assert isinstance(state, spos.State)
    after, info = jax.eval_shape(sampler.step, KEY, state)
    assert isinstance(info, spos.Info)
    assert {leaf.shape for leaf in info} == {()}
    assert jax.tree.structure(after) == jax.tree.structure(state)
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(s)] for s in (state, after)]
    assert kinds[0] == kinds[1]  # or a compiled loop could not carry it
    np.testing.assert_array_equal(state.particles, FLAT)
    assert int(state.step) == 0


def test_sample_equals_a_loop_of_ones_own_and_traces_once(build):
    traced = []

    def counted(theta):
        traced.append(None)
        return log_prob(theta)

    sampler = build(counted)
    result = spos.sample(sampler, FLAT, 20, seed=9, progress=False)
    once = len(traced)
    again = spos.sample(sampler, FLAT + 1.0, 33, seed=2, progress=False)
    assert again.num_steps == 33
    assert len(traced) == once  # no second program, and no second check of its shape

    key = jax.random.key(9)

    @jax.jit
    def own_loop(sampler, state):  # an argument: a constant might be rounded another way
        def body(state, _):
            return sampler.step(jax.random.fold_in(key, state.step), state)

        return jax.lax.scan(body, state, length=20)

    state, info = own_loop(sampler, sampler.init(FLAT))
    np.testing.assert_array_equal(state.particles, result.particles)
    for name, values in info._asdict().items():
        np.testing.assert_array_equal(values, result.info[name])


def test_vmapped_runs_over_trees_equal_single_runs_over_the_flat_matrix(build):
    """Three claims at one price: whole runs can be vmapped and jitted, and a pytree of particles
    moves exactly as the matrix of the same numbers does."""
    tree_sampler = build(lambda theta: log_prob(as_flat(theta)))
    flat_sampler = build(log_prob)
    keys = jax.random.split(KEY, 2)
    starts = jnp.stack([FLAT, FLAT[::-1] * 0.5])

    def observe(state, info):
        return state.particles

    together, seen = jax.jit(
        jax.vmap(lambda k, x: spos.run(tree_sampler, k, as_tree(x), STEPS, observe=observe))
    )(keys, starts)
    single = jax.jit(lambda k, x: spos.run(flat_sampler, k, x, STEPS)[0])
    for n in range(2):
        expected = single(keys[n], starts[n])
        allclose(as_flat(together.particles)[n], expected.particles)
        allclose(together.bandwidth[n], expected.bandwidth)
    allclose(as_flat(seen)[:, -1], as_flat(together.particles))


def test_a_step_does_not_care_about_the_order_nor_break_where_particles_meet(build, monkeypatch):
    without_noise(monkeypatch)
    sampler = build(log_prob)
    step = jax.jit(sampler.step)
    order = np.random.default_rng(0).permutation(M)

    def two_steps(particles):
        state = sampler.init(particles)
        for _ in range(2):
            state, info = step(KEY, state)
        return state, info

    state, info = two_steps(FLAT)
    permuted, permuted_info = two_steps(FLAT[order])
    allclose(permuted.particles, state.particles[order])
    allclose(permuted_info, info)
    for meeting in (
        jnp.zeros_like(FLAT),
        jnp.full_like(FLAT, 1e3),
        FLAT.at[: M // 2].set(FLAT[0]),
    ):
        alike = bool((meeting == meeting[0]).all())
        if alike and isinstance(getattr(sampler, "preconditioner", None), Ensemble):
            with pytest.raises(ValueError, match="differ in every parameter"):
                two_steps(meeting)
            continue
        state, info = two_steps(meeting)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.particles))
        assert np.isfinite(info.drift_norm)


@pytest.mark.parametrize("name", ["spos", "svgd adam"])
def test_one_particle_is_enough(name):
    sampler = ALGORITHMS[name](log_prob)
    state, info = jax.jit(lambda: spos.run(sampler, KEY, FLAT[:1], 20))()
    assert np.isfinite(state.particles).all()
    assert (np.asarray(info.epd) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_particles_keep_their_precision_under_x64(build, dtype):
    with jax.enable_x64(True):
        sampler = build(log_prob)
        start = np.asarray(FLAT, dtype)
        state, info = jax.eval_shape(lambda x: spos.run(sampler, KEY, x, STEPS), start)
        floats = [
            leaf.dtype
            for leaf in (*jax.tree.leaves(state), *info)
            if jnp.issubdtype(leaf.dtype, jnp.floating)
        ]
        assert state.particles.dtype == dtype
        if dtype == np.float64:
            assert set(floats) == {np.dtype(np.float64)}


def test_float64_is_more_than_a_label():
    """One step at float64 against the same mathematics, to more digits than float32 has."""
    with jax.enable_x64(True):
        x = np.asarray(FLAT[:, :1], np.float64)
        sampler = spos.svgd(lambda theta: -0.5 * jnp.sum(theta**2), 0.1, kernel=spos.rbf(2.0))
        state, _ = sampler.step(KEY, sampler.init(x))
        difference = x - x.T
        k = np.exp(-(difference**2) / 2.0)
        stein = np.mean(k * (-x.T + difference), axis=1, keepdims=True)
        np.testing.assert_allclose(state.particles, x + 0.1 * stein, rtol=1e-13)


def test_settings_can_be_a_grid_under_vmap():
    def end(step_size, beta, bandwidth):
        sampler = spos.spos(log_prob, step_size, beta, kernel=spos.rbf(bandwidth))
        return spos.run(sampler, KEY, FLAT, STEPS)[0].particles

    grid = (jnp.array([0.01, 0.1]), jnp.array([1.0, 50.0]), jnp.array([0.5, 3.0]))
    together = jax.jit(jax.vmap(end))(*grid)
    for n in range(2):
        allclose(together[n], end(*(float(values[n]) for values in grid)))
