"""Particles that precondition themselves: the maths of `spos.ensemble`, and its law."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.cloud import flatten, unflatten
from spos.dynamics.ensemble import frame, root, shrinkage
from standard_errors import disagreement

M, D = 20, 5
BUILDERS = {
    "spos": lambda target: spos.spos(target, 0.1, 2.0, preconditioner=spos.ensemble()),
    "sgld": lambda target: spos.sgld(target, 0.1, preconditioner=spos.ensemble()),
    "svgd": lambda target: spos.svgd(target, 0.2, preconditioner=spos.ensemble()),
}


def bent(z):
    """A density that is no Gaussian, so that nothing is invariant by accident."""
    return -0.5 * jnp.sum(z**2) - 0.1 * jnp.sum(z**4) - 0.5 * (z[0] - z[1] ** 2) ** 2


def standardised(particles):
    particles = np.asarray(particles)
    return (particles - particles.mean(axis=0)) / particles.std(axis=0)


@pytest.mark.parametrize("name", BUILDERS)
def test_scaling_turning_and_shifting_the_target_maps_the_path(name):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
    scaling = np.diag(np.logspace(-3, 3, D))
    start, shift = rng.normal(size=(M, D)), rng.normal(size=D)

    @jax.jit
    def end(mapped, inverse):
        sampler = BUILDERS[name](lambda theta: bent(inverse @ (theta - shift)))
        return spos.run(sampler, jax.random.key(1), mapped, 40)[0].particles

    with jax.enable_x64(True):
        plain = standardised(end(jnp.asarray(start + shift), jnp.eye(D)))
        for forth in (scaling, turn @ scaling, turn @ scaling @ turn.T):
            inverse = np.linalg.inv(forth)
            there = np.asarray(end(jnp.asarray(start @ forth.T + shift), jnp.asarray(inverse)))
            back = (there - shift) @ inverse.T
            np.testing.assert_allclose(standardised(back), plain, atol=1e-4)
            if forth is scaling:  # the user's own view of it
                np.testing.assert_allclose(standardised(there), plain, atol=1e-4)


@pytest.mark.parametrize("count", [20, 6, 4, 2])
def test_frame_factors_the_covariance_and_its_correction_is_the_divergence(count):
    with jax.enable_x64(True):
        theta = jnp.asarray(np.random.default_rng(count).normal(size=(count, D))) * 10.0 ** (
            jnp.arange(D) - 2.0
        )

        def covariance(theta):
            centred = theta - jnp.mean(theta, axis=0)
            full = centred.T @ centred / count
            weight = D / (D + count - 1) if count <= D + 1 else 0.0
            return (1 - weight) * full + weight * jnp.diag(jnp.diag(full))

        here, centred = frame(theta), theta - jnp.mean(theta, axis=0)
        expected = covariance(theta)
        relative = jnp.sqrt(jnp.outer(jnp.diag(expected), jnp.diag(expected)))
        for found in (here.triangle.T @ here.triangle, root(theta).T @ root(theta)):
            np.testing.assert_allclose(found / relative, expected / relative, atol=1e-12)
        np.testing.assert_allclose(here.z @ here.triangle / theta.std(0), centred / theta.std(0))
        slopes = jax.jacfwd(covariance)(theta)  # [a, b, i, c]
        divergence = jnp.einsum("abib->ia", slopes)
        np.testing.assert_allclose(here.correction * centred, divergence, rtol=1e-9)


def test_shrinkage_ends_where_the_cloud_is_no_longer_flat():
    assert shrinkage(D + 2, D) == 0.0
    assert shrinkage(D + 1, D) == 0.5
    assert shrinkage(2, D) == D / (D + 1)


def spread_of_a_normal(count=M):
    """Variances of ensembles that started from their target, N(0, S), after some time."""
    scales = jnp.asarray(10.0 ** np.linspace(-2, 2, D), jnp.float32)
    sampler = spos.sgld(
        lambda x: -0.5 * jnp.sum((x / scales) ** 2), 0.04, preconditioner=spos.ensemble()
    )

    def one(key):
        start = scales * jax.random.normal(key, (count, D))
        state, _ = spos.run(sampler, key, start, 100)
        return jnp.mean((state.particles / scales) ** 2)

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), 64)))


EULER = 0.02  # the bias of a step h = .04: 1/(1 - h/2) on a standard normal


@pytest.mark.parametrize("count", [M, 4])
def test_the_variance_of_a_normal_stays_right(count):
    assert disagreement(spread_of_a_normal(count=count), 1.0 + EULER) < 1


def test_without_its_correction_the_cloud_would_be_too_narrow(monkeypatch):
    module = importlib.import_module("spos.dynamics.ensemble")
    monkeypatch.setattr(module, "frame", lambda theta: frame(theta)._replace(correction=0.0))
    found = spread_of_a_normal()
    assert disagreement(found, 1.0 + EULER) > 1
    assert found.mean() < 0.9


def test_a_flat_cloud_still_explores_every_direction():
    """Four particles in five dimensions leave the plane in which they lie."""
    start = jax.random.normal(jax.random.key(0), (4, D))
    state, _ = jax.jit(lambda: spos.run(BUILDERS["sgld"](bent), jax.random.key(1), start, 5))()
    both = jnp.concatenate([start, state.particles])
    assert np.linalg.matrix_rank(both - both.mean(0)) == D


def test_flat_is_undone():
    tree = {"a": jnp.arange(12.0).reshape(3, 2, 2), "b": jnp.arange(3.0)}
    assert flatten(tree).shape == (3, 5)
    again = unflatten(flatten(tree), tree)
    assert all(np.array_equal(again[name], tree[name]) for name in tree)
