"""The move leaves p × … × p exactly alone, at steps where anything less would show.

256 ensembles of 8 particles start with exact draws from p ∝ exp(-Σ x⁴) and move on. The mean of x²
over an ensemble's path has 256 independent replicates, and lies 5 standard errors from the truth
once in a million right runs.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from spos.auto import bend, chance, engine, jitter
from spos.auto.bend import Bend, Points
from spos.auto.engine import Coordinates, Problem, Whitened
from spos.auto.tails import Tails
from spos.targets.target import as_target

ENSEMBLES, PARTICLES, SIZE, MOVES = 256, 8, 2, 60
TRUTH = math.gamma(3 / 4) / math.gamma(1 / 4)  # E x²
RNG = np.random.default_rng(0)
EXACT = RNG.gamma(0.25, size=(ENSEMBLES, PARTICLES, SIZE)) ** 0.25
EXACT = jnp.asarray(EXACT * RNG.choice([-1, 1], EXACT.shape), jnp.float32)
ARCHIVE = RNG.normal(size=(PARTICLES, SIZE)).astype(np.float32)
FRAME = Coordinates(jnp.full(SIZE, 0.1), jnp.asarray([[0.6, 0.0], [0.2, 0.5]]))


def log_prob(theta):
    return -jnp.sum(theta**4)


def random_numbers(plan):
    """Those of every ensemble's moves."""
    found = chance.draw_random(np.random.default_rng(1), ENSEMBLES * MOVES, ARCHIVE, plan)
    return jax.tree.map(lambda part: part.reshape(ENSEMBLES, MOVES, *part.shape[1:]), found)


def walker(beta=4.0):
    """Ensembles' means of x² over 60 moves: a compiled function of the step, leaps and jumps."""
    problem = Problem.of(as_target(log_prob), EXACT[0], beta)

    def path(random, theta, plan):
        z = jnp.linalg.solve(FRAME.factor, (theta - FRAME.centre).T).T
        cloud: Whitened = problem.evaluate(FRAME, z)

        def moved(cloud, random):
            cloud, _, _ = engine.move(problem, FRAME, random, cloud, plan, len(cloud.z))
            return cloud, jnp.mean((FRAME.centre + cloud.z @ FRAME.factor.T) ** 2)

        return jax.lax.scan(moved, cloud, random)[1].mean()

    return jax.jit(jax.vmap(path, in_axes=(0, 0, None)))


def error(walk, step=1.2, leaps=1, jumps=False, local=False):
    """How many standard errors the mean of x² is away from the truth."""
    steps = np.full(PARTICLES, math.log(step))
    options = {"leaps": leaps, "jumps": jumps, "local": local}
    plan = engine.plan(steps, np.float32, **options)
    found = np.asarray(walk(random_numbers(plan), EXACT, plan))
    return (found.mean() - TRUTH) / (found.std() / math.sqrt(ENSEMBLES))


@pytest.fixture(scope="module", params=[4.0, None], ids=["kernel", "no kernel"])
def walk(request):
    return walker(request.param)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"leaps": 3, "step": 0.9, "jumps": True},
        {"step": 1e-6, "jumps": True},
        {"leaps": 2, "local": True},
    ],
    ids=[
        "one leap",
        "leaps and jumps",
        "a square of the momentum beyond float32 precision",
        "steps that fit the place",
    ],
)
def test_the_move_is_exact(walk, options):
    assert abs(error(walk, **options)) < 5


def spoil(monkeypatch, change):
    draw = chance.draw_random
    monkeypatch.setattr(chance, "draw_random", lambda *a: change(draw(*a)))


def test_without_the_metropolis_test_it_is_not(monkeypatch):
    spoil(monkeypatch, lambda u: u._replace(accept=np.zeros_like(u.accept)))
    assert abs(error(walker())) > 10


def test_jumps_go_both_ways_alike():
    """Every difference of two rows is as likely as its opposite."""
    archive = np.array([[0.0], [1.0], [10.0]], np.float32)
    plan = engine.plan(np.zeros(3), np.float32, jumps=True)
    jumps = chance.draw_random(np.random.default_rng(0), 20_000, archive, plan).jump
    counts = np.unique(jumps, return_counts=True)[1]
    assert len(counts) == 6
    assert np.abs(counts / 10_000 - 1).max() < 0.05  # five standard deviations


def test_with_jumps_that_go_one_way_only_it_is_not(monkeypatch):
    spoil(monkeypatch, lambda u: u._replace(jump=np.abs(u.jump)))
    assert abs(error(walker(None), step=1e-6, jumps=True)) > 10


def test_with_the_statistics_of_the_half_that_moves_it_is_not(monkeypatch):
    half = engine.move_some
    monkeypatch.setattr(
        *(engine, "move_some"),
        lambda problem, frame, random, own, other, *rest: half(
            problem, frame, random, own, own, *rest
        ),
    )
    assert abs(error(walker())) > 10


def test_without_the_ratio_of_the_laws_of_a_local_step_it_is_not(monkeypatch):
    monkeypatch.setattr(jitter, "log_density", jnp.zeros_like)
    assert abs(error(walker(), local=True)) > 10


SLANTED = Bend(
    *(jnp.asarray([0.1, -0.2]), jnp.asarray([[1.0], [0.0]]), jnp.asarray([0.5])),
    *(jnp.asarray([[0, 0.4], [0, -0.3], [0, 0.1]]), jnp.asarray([[0, 0.8], [0, 0.5], [0, 0.0]])),
    Tails(*map(jnp.asarray, ([0.1, 0.0], [0.5, 0.7], [2.0, 1.0], [1.0, 1.5]))),
)


def bent_error(local):
    """As `error`, of particles that move in the straight coordinates of a bend."""
    problem = Problem.of(as_target(log_prob), EXACT[0], 1.0)
    frame = FRAME._replace(bend=SLANTED, is_bent=True)
    exact = np.asarray(EXACT, float)
    plain = jax.tree.map(lambda part: np.asarray(part, float), SLANTED)
    given = Points(exact, np.zeros(exact.shape[:-1]), np.zeros_like(exact))
    away = bend.straighten_points(plain, given).theta - np.asarray(FRAME.centre, float)
    z = np.linalg.solve(np.asarray(FRAME.factor, float), away[..., None])[..., 0]
    plan = engine.plan(np.zeros(PARTICLES), np.float32, leaps=2, local=local)

    def path(random, z):
        cloud = problem.evaluate(frame, z)

        def moved(cloud, random):
            cloud, _, _ = engine.move(problem, frame, random, cloud, plan, len(cloud.z))
            theta = bend.bent(SLANTED, FRAME.centre + cloud.z @ FRAME.factor.T).theta
            return cloud, jnp.mean(theta**2) + jnp.mean(theta[:, 0])  # E x = 0

        return jax.lax.scan(moved, cloud, random)[1].mean()

    found = np.asarray(jax.jit(jax.vmap(path))(random_numbers(plan), jnp.asarray(z, jnp.float32)))
    return (found.mean() - TRUTH) / (found.std() / math.sqrt(ENSEMBLES))


def test_in_bent_coordinates_the_move_is_exact():
    assert abs(bent_error(local=True)) < 5


@pytest.mark.parametrize("part", ["all of it", "that of the tails"])
def test_without_the_determinant_of_the_bend_it_is_not(monkeypatch, part):
    whole = engine.bent

    def without(*given):
        found = whole(*given)
        missed = found.log_det if part == "all of it" else found.long.log_slope.sum(-1)
        return found._replace(log_det=found.log_det - missed)

    monkeypatch.setattr(engine, "bent", without)
    assert abs(bent_error(local=False)) > 10


def test_the_jitter_has_the_density_that_its_test_counts_with(monkeypatch):
    """Distribution functions, exact to the grid; a mutant with other shares is rejected."""
    u = np.linspace(-60.0, 6.0, 1_000_001)
    drawn = np.sort(jitter.local_jitter((np.arange(200_000) + 0.5) / 200_000))

    def apart():
        density = np.exp(np.asarray(jitter.log_density(jnp.asarray(u)), np.float64))
        below = np.cumsum(density) * (u[1] - u[0])
        return np.abs(np.interp(drawn, u, below) - np.linspace(0.0, 1.0, len(drawn))).max()

    assert apart() < 1e-3
    monkeypatch.setattr(jitter, "FAR", 0.1)
    assert apart() > 0.01
