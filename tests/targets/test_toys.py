"""The toys: known values, gradients everywhere, and exact facts by an independent route."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize

from spos.targets import toys

# mode: mass, as worked out by hand for this potential
KNOWN = {
    -1.916: 0.016,
    -1.119: 0.094,
    -0.225: 0.531,
    0.677: 0.336,
    1.508: 0.019,
    2.418: 0.004,
    3.040: 0.001,
}


def potential(x: float) -> float:
    """V written out again, one term at a time."""
    c = [-0.47, -0.83, -0.71, -0.02, 0.24, 0.01, 0.27, -0.37, 0.87, -0.37]
    return 0.75 * x * x - 1.5 * sum(
        c[i - 1] * np.sin(np.pi * i * (x + 4) / 4) for i in range(1, 11)
    )


@pytest.mark.parametrize("x", [-3.0, -0.225, 0.0, 0.7, 2.5])
def test_multimode_is_minus_v_and_the_literal_form_its_exponential(x):
    assert float(toys.multimode(jnp.float32(x))) == pytest.approx(-potential(x), rel=1e-4, abs=1e-5)
    literal = float(toys.multimode_literal(jnp.float32(x)))
    assert literal == pytest.approx(-np.exp(potential(x)), rel=1e-4)


@pytest.mark.parametrize("log_density", [toys.multimode, toys.multimode_literal])
def test_multimode_gives_a_scalar_for_a_number_and_for_a_vector_of_one(log_density):
    number, vector = log_density(jnp.float32(0.3)), log_density(jnp.full(1, 0.3))
    assert number.shape == vector.shape == ()
    assert float(number) == float(vector)


def test_basins_have_the_known_modes_and_masses():
    basins = toys.multimode_basins()
    assert [b.mode for b in basins] == pytest.approx(list(KNOWN), abs=6e-4)
    assert [b.mass for b in basins] == pytest.approx(list(KNOWN.values()), abs=6e-4)


def test_basins_cover_the_line_and_their_edges_are_minima_of_the_density():
    basins = toys.multimode_basins()
    assert basins[0].left == -np.inf
    assert basins[-1].right == np.inf
    assert sum(b.mass for b in basins) == pytest.approx(1.0, abs=1e-12)
    for basin, after in itertools.pairwise(basins):
        assert basin.right == after.left
        valley = optimize.minimize_scalar(
            lambda x: -potential(x), bounds=(basin.mode, after.mode), method="bounded"
        )
        assert basin.right == pytest.approx(valley.x, abs=1e-3)


def test_basin_masses_agree_with_adaptive_quadrature():
    total = integrate.quad(lambda x: np.exp(-potential(x)), -8, 8, limit=500)[0]
    for basin in toys.multimode_basins():
        ends = np.clip([basin.left, basin.right], -8, 8)
        mass = integrate.quad(lambda x: np.exp(-potential(x)), *ends, limit=500)[0]
        assert basin.mass == pytest.approx(mass / total, abs=1e-6)


def test_points_are_counted_in_the_basin_they_lie_in():
    basins = toys.multimode_basins()
    points = [[-50.0], [-1.9], [-0.2], [-0.3], [3.04], [50.0]]
    assert toys.count_by_basin(points, basins).tolist() == [2, 0, 2, 0, 0, 0, 2]


# energies worked out by hand: on the crest of a wave, in a moon, in the middle of the ring
@pytest.mark.parametrize(
    ("name", "z", "energy"),
    [
        ("U1", (2.0, 0.0), -np.log(1 + np.exp(-0.5 * (4 / 0.6) ** 2))),
        ("U1", (0.0, 0.0), 12.5 - np.log(2 * np.exp(-0.5 * (2 / 0.6) ** 2))),
        ("U2", (1.0, 1.0), 0.0),
        ("U2", (1.0, 1.4), 0.5),
        ("U3", (1.0, -2.0), -np.log(1 + np.exp(-0.5 * (3 / 0.35) ** 2))),
        ("U3", (0.5, 0.0), None),
        ("U4", (1.0, -0.5), -np.log(1 + np.exp(-0.5 * (1.5 / 0.4) ** 2))),
        ("U4", (0.8, 0.1), None),
        ("U4", (3.0, -1.0), None),
    ],
)
def test_toys_have_the_energies_of_their_formulas(name, z, energy):
    if energy is None:
        energy = by_formula(name, *z)
    assert float(toys.toy(name)(jnp.asarray(z))) == pytest.approx(-energy, rel=1e-4, abs=1e-4)


def by_formula(name: str, z1: float, z2: float) -> float:
    w1 = np.sin(2 * np.pi * z1 / 4)
    if name == "U3":
        w, wide, narrow = 3 * np.exp(-0.5 * ((z1 - 1) / 0.6) ** 2), 0.35, 0.35
    else:
        w, wide, narrow = 3 / (1 + np.exp(-(z1 - 1) / 0.3)), 0.4, 0.35
    upper = np.exp(-0.5 * ((z2 - w1) / wide) ** 2)
    return -np.log(upper + np.exp(-0.5 * ((z2 - w1 + w) / narrow) ** 2))


@pytest.mark.parametrize("name", ["U1", "U2", "U3", "U4"])
def test_scores_are_finite_even_at_the_origin_and_far_away(name):
    points = jnp.asarray([[0.0, 0.0], [4.0, 4.0], [-30.0, 20.0], [1e-20, 0.0]])
    scores = jax.vmap(jax.grad(toys.toy(name)))(points)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", ["U2", "U3", "U4"])
def test_the_wall_is_absent_inside_and_makes_the_density_proper(name):
    log_density = toys.toy(name)
    grid = np.linspace(-9, 9, 361)
    plane = jnp.asarray(np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2))
    density = np.exp(np.asarray(jax.vmap(log_density)(plane), np.float64))
    inside = (np.abs(plane) <= 4).all(axis=1)
    near = (np.abs(plane) <= 5).all(axis=1)
    assert density[~near].sum() < 1e-4 * density.sum()
    assert 0.9 < density[inside].sum() / density.sum() < 0.99
    # period 4 of the wave: without a wall these two would be equally likely
    here, there = (log_density(jnp.asarray([x, 0.0])) for x in (-2.0, -6.0))
    assert float(here) > float(there) + 50


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="name must be one of U1, U2, U3, U4, got 'U5'"):
        toys.toy("U5")
    with pytest.raises(ValueError, match=r"shape \(2,\), got \(3,\)"):
        toys.u2(jnp.zeros(3))
