"""Diffusion by kernels: each direction against the energy or the equation that defines it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.interaction import pairwise
from spos.interaction.diffusion import correlate, diffuse
from spos.interaction.stein_direction import stein

KEY = jax.random.key(0)
ETA2 = 1.7
FORMULAS = {
    "rbf": lambda sq: jnp.exp(-sq / ETA2),
    "imq": lambda sq: (1.0 + sq / ETA2) ** -0.5,
}
KERNELS = {"rbf": spos.rbf(ETA2), "imq": spos.imq(ETA2)}


@pytest.fixture
def cloud():
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        yield rng.normal(size=(9, 6)), rng.normal(size=(9, 6))


def gram(name, x, y):
    return FORMULAS[name](jnp.sum((x[:, None] - y[None]) ** 2, axis=-1))


def push(name, x):
    """Σ_j ∇_j k_ij = Σ_j ∂k(θ_i, y_j)/∂y_j at y = θ."""
    rows = jax.jacobian(lambda y: jnp.sum(gram(name, x, y), axis=1))(x)  # (i, j, dimension)
    return jnp.sum(rows, axis=1)


def spread(x, s, diffusion, kernel, **options):
    """What is left of the direction without the score."""
    state = spos.State(jnp.asarray(x), jnp.asarray(0), jnp.asarray(np.nan), ())
    direction = jax.jit(lambda *given: diffuse(kernel, diffusion, *given, **options)[0])
    return np.asarray(direction(state, jnp.asarray(s))) - s


@pytest.mark.parametrize("name", KERNELS)
def test_blob_descends_its_smoothed_entropy(name, cloud):
    x, s = cloud

    def entropy(x):
        return jnp.mean(jnp.log(jnp.mean(gram(name, x, x), axis=1)))

    expected = -len(x) * jax.grad(entropy)(x)
    np.testing.assert_allclose(spread(x, s, "blob", KERNELS[name]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_gfsd_descends_the_smoothed_density_of_the_others_as_they_are(name, cloud):
    x, s = cloud

    def log_density(at):
        return jnp.log(jnp.mean(gram(name, at[None], x)))

    expected = -jax.vmap(jax.grad(log_density))(x)
    np.testing.assert_allclose(spread(x, s, "gfsd", KERNELS[name]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_gfsf_solves_for_the_field_whose_smoothing_is_the_push(name, cloud):
    x, s = cloud
    found = spread(x, s, "gfsf", KERNELS[name], ridge=0.03)
    smoothed = (gram(name, x, x) + 0.03 * np.eye(len(x))) @ found
    np.testing.assert_allclose(smoothed, push(name, x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_the_stein_direction_is_the_smoothed_score_and_the_push(name, cloud):
    x, s = cloud
    state = spos.State(jnp.asarray(x), jnp.asarray(0), jnp.asarray(np.nan), ())
    found, _ = jax.jit(stein)(KERNELS[name], KEY, state, jnp.asarray(s))
    expected = (gram(name, x, x) @ s + push(name, x)) / len(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("diffusion", ["blob", "gfsd", "gfsf"])
def test_pos_adds_the_stein_direction_to_a_share_of_the_flow(diffusion, cloud):
    x, _ = cloud

    def one_step(sampler):
        return np.asarray(jax.jit(sampler.step)(KEY, sampler.init(x))[0].particles) - x

    def target(theta):
        return -jnp.sum(jnp.cosh(theta))

    flow = {"blob": spos.blob, "gfsd": spos.gfsd, "gfsf": spos.gfsf}[diffusion]
    expected = one_step(flow(target, 0.1)) / 4.0 + one_step(spos.svgd(target, 0.1))
    found = one_step(spos.pos(target, 0.1, 4.0, diffusion=diffusion))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_the_root_of_the_noise_squares_to_the_kernel_matrix(name, cloud):
    x, _ = cloud

    def column(unit):
        return correlate(KERNELS[name], jnp.asarray(x), jnp.broadcast_to(unit[:, None], x.shape))[
            :, 0
        ]

    root = jax.jit(jax.vmap(column, out_axes=1))(jnp.eye(len(x))) * np.sqrt(len(x))
    np.testing.assert_allclose(root @ root.T, gram(name, x, x), atol=1e-12)


@pytest.mark.parametrize("diffusion", ["blob", "gfsd"])
@pytest.mark.parametrize("dimension", [2, 9])
def test_tiles_give_the_direction_of_the_whole_matrix(diffusion, dimension, monkeypatch):
    rng = np.random.default_rng(4)
    x, s = (np.float32(rng.normal(size=(37, dimension))) for _ in range(2))
    dense = spread(x, s, diffusion, spos.rbf())
    monkeypatch.setattr(pairwise, "DENSE_PARTICLES", 10)
    monkeypatch.setattr(pairwise, "TILE_ENTRIES", 37 * 5)
    np.testing.assert_allclose(spread(x, s, diffusion, spos.rbf()), dense, atol=1e-5)
    assert np.abs(dense).max() > 0.1


@pytest.mark.parametrize("count", [50, 400])
def test_the_noise_is_finite_in_float32_where_particles_meet(count):
    rng = np.random.default_rng(5)
    kicked = jax.jit(correlate)
    x = np.float32(rng.normal(size=(count, 6)))
    for meeting in (np.zeros_like(x), np.where(np.arange(count)[:, None] % 2, x[:1], x), 1e-3 * x):
        kick = kicked(spos.rbf(2.0), jnp.asarray(meeting), jnp.asarray(x))
        flow = spread(meeting, x, "gfsf", spos.rbf(2.0))
        assert np.isfinite(kick).all()
        assert np.isfinite(flow).all()
