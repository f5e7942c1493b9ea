"""What an automatic run is made of: bends, metrics, steps, what is settled, and checks."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto import approach, bend, chance, engine, judge, metric, tails
from spos.auto.bend import Points
from spos.auto.controller import AutomaticRun
from spos.auto.engine import Coordinates, Problem, Whitened
from spos.auto.hierarchy import learn
from spos.auto.together import Programs
from spos.io import archive
from spos.targets.target import as_target

RNG = np.random.default_rng(0)


def a_bend(size=5):
    """The first two are parents of the next two."""
    shift, scale = np.zeros((6, size)), np.zeros((6, size))
    shift[:, 2:4] = 0.3 * RNG.normal(size=(6, 2))
    scale[:4, 2:4] = 0.3 * RNG.normal(size=(4, 2))
    long = tails.Tails(RNG.normal(size=size), *RNG.uniform(1.0, 2.0, size=(3, size)))
    return bend.Bend(RNG.normal(size=size), np.eye(size)[:, :2], np.ones(2), shift, scale, long)


def test_a_bend_and_its_scores_are_those_of_automatic_differentiation():
    given, straight = a_bend(), RNG.normal(size=(7, 5))

    def log_prob(theta):
        return -jnp.sum(theta**4) + theta[0] * theta[2]

    def straight_log_prob(x):
        theta, more, *_ = bend.bent(given, x)
        return log_prob(theta) + more

    theta, more, *_ = bend.bent(given, straight, np)
    with jax.enable_x64(True):
        scores = np.asarray(jax.vmap(jax.grad(log_prob))(jnp.asarray(theta)))
        wanted = np.asarray(jax.vmap(jax.grad(straight_log_prob))(jnp.asarray(straight)))
        slopes = jax.vmap(jax.jacobian(lambda x: bend.bent(given, x)[0]))(jnp.asarray(straight))
    np.testing.assert_allclose(more, np.linalg.slogdet(np.asarray(slopes))[1], atol=1e-10)
    points = Points(theta, np.zeros(7), scores)
    back = bend.straighten_points(given, points)
    np.testing.assert_allclose(back.theta, straight, atol=1e-10)
    np.testing.assert_allclose(back.score, wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(back.log_prob, more)
    again = bend.bend_points(given, back)
    for one, other in zip(again, points, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def hierarchy(log_scale):
    """Draws of x ~ N(mean, exp(log_scale)), and their scores."""
    mean, noise = RNG.normal(size=(50, 100, 1)), RNG.normal(size=(50, 100, 4))
    x = mean + np.exp(log_scale) * noise
    g = -noise * np.exp(-log_scale)
    others = np.concatenate([-mean - g.sum(-1, keepdims=True), -log_scale], -1)
    return np.concatenate([x, mean, log_scale], -1), np.concatenate([g, others], -1)


def test_a_centred_hierarchy_is_straightened():
    theta, score = hierarchy(RNG.normal(size=(50, 100, 1)))
    found = learn(theta, score)
    assert found is not None
    straight = bend.straighten_points(found, Points(theta, np.zeros((50, 100)), score)).theta
    residual = straight[..., 0] - straight[..., 0].mean()
    low = theta[..., 5] < -0.5
    assert np.log(residual[low].std() / residual[~low].std()) == pytest.approx(0.0, abs=0.2)
    residual = theta[..., 0] - theta[..., 4]
    assert np.log(residual[low].std() / residual[~low].std()) < -1


def test_a_banana_is_straightened():
    a, noise = RNG.normal(size=(2, 50, 100, 1))
    theta = np.concatenate([a, a**2 + 0.3 * noise], -1)
    pull = noise / 0.3
    score = np.concatenate([-a + 2 * a * pull, -pull], -1)
    found = learn(theta, score)
    assert found is not None
    straight = bend.straighten_points(found, Points(theta, np.zeros((50, 100)), score)).theta
    assert straight[..., 1].std() < 0.35


def test_data_pull_children_only_where_their_scale_is_large():
    """Of x_i ~ N(0, τ) with data around y_i - v: nothing but the scale is bent, such that far below
    what was seen children still stand around 0."""
    count = 60, 100, 1
    log_scale = np.log(RNG.exponential(size=count)) - 1.0  # with a long lower tail
    v, pulled = 3.0 * RNG.normal(size=count), np.array([0.5, -0.5, 0.2, -0.2])
    precision = np.exp(-2.0 * log_scale) + 10.0
    middle = (pulled - v) * 10.0 / precision
    noise = RNG.normal(size=(*count[:2], 4))
    theta = np.concatenate([middle + noise / np.sqrt(precision), v, log_scale], -1)
    score = np.concatenate([-noise * np.sqrt(precision), -v / 9.0, 0.0 * log_scale], -1)
    found = learn(theta, score)
    assert found is not None
    assert not found.shift.any()
    found = found._replace(tails=tails.none(6))
    at = np.zeros((1, 6, 6))
    at[..., 5] = np.arange(-6.0, 0.0)  # the first is seen once in four hundred draws
    nothing = np.zeros((1, 6))
    zero, one = (
        bend.straighten_points(found, Points(x, nothing, x)).theta[0, :, :4]
        for x in (at, at + np.array([1.0] * 4 + [0.0] * 2))
    )
    widths = np.log((one - zero) / np.sqrt(np.exp(-2.0 * at[0, :, 5:]) + 10.0))
    assert np.ptp(widths, axis=0).max() < 0.6
    usual = bend.straighten_points(found, Points(theta, np.zeros(count[:2]), score)).theta
    assert np.abs(zero[0] / usual.std((0, 1))[:4]).max() < 1.5


def test_where_no_scale_depends_on_another_parameter_there_is_no_bend():
    theta = RNG.normal(size=(50, 100, 6))
    assert learn(theta, -theta) is None


@pytest.mark.parametrize(
    ("draw", "below", "above"),
    [
        (lambda x: x, (1.0, 1.0), (1.0, 1.0)),
        (lambda x: np.where(x < 0, -(x**2), x), (1.5, 2.5), (1.0, 1.3)),
        (lambda x: x * np.exp(0.07 * x**2), (1.25, 3.0), (1.25, 3.0)),
    ],
    ids=["normal", "exponential below", "like a t"],
)
def test_long_tails_are_found_and_shortened(draw, below, above):
    s = 3.0 + 2.0 * draw(RNG.normal(size=(200, 100, 1)))
    found = tails.learn(s) or tails.none(1)
    assert below[0] <= found.below[0] <= below[1]
    assert above[0] <= found.above[0] <= above[1]
    short = tails.shortened(found, s)
    np.testing.assert_allclose(tails.stretched(found, short, np).s, s, rtol=1e-9, atol=1e-9)
    assert tails.of_few(short)[0] < 0.025


def test_tails_of_a_power_of_one_change_nothing():
    v = RNG.normal(size=(50, 3)) * 1e3
    same = tails.stretched(tails.none(3), v, np)
    np.testing.assert_array_equal(same.s, v)
    np.testing.assert_allclose(np.stack(same[1:]), 0.0, atol=1e-9)


def long_below(x):
    """A normal law, and a tail that falls half as fast as an exponential one."""
    return jnp.logaddexp(-0.5 * x**2, jnp.log(0.05) + 0.5 * x + jax.nn.log_sigmoid(-2.0 * x))


def test_a_spread_that_long_tails_make_takes_fewer_moves_where_they_are_shortened(monkeypatch):
    x = np.linspace(-60.0, 6.0, 200_001)
    density = np.exp(np.asarray(long_below(x), float))
    mean = np.average(x, weights=density)
    truth = math.sqrt(np.average((x - mean) ** 2, weights=density))

    def fitted():
        start = jax.random.normal(jax.random.key(0), (100, 3))
        return spos.fit(lambda x: long_below(x).sum(), start=start, progress=False)

    found = fitted()
    assert found.converged, found.report()
    np.testing.assert_allclose(np.asarray(found.draws).std(0), truth, rtol=0.1)
    monkeypatch.setattr(tails, "learn", lambda s: None)
    assert fitted().evaluations > 2 * found.evaluations


def test_a_fit_that_was_saved_when_bends_had_no_tails_is_read(tmp_path):
    """Its file has another format and fewer arrays."""
    start = jax.random.normal(jax.random.key(0), (100, 2))
    fit = spos.fit(lambda x: -0.5 * (x[0] ** 2 + 20.0 * (x[1] - x[0] ** 2) ** 2), start=start)
    assert fit.adapted.bend is not None
    arrays, meta = archive.read(fit.save(tmp_path / "new.npz"))
    kept = meta["adapted"]["dict"]["bend"]["dict"].pop("tails")["dict"].values()
    less = {name: x for name, x in arrays.items() if {"leaf": name} not in kept}
    archive.write(tmp_path / "old.npz", less, meta | {"format": "spos fit 1"})
    found = spos.load(tmp_path / "old.npz")
    np.testing.assert_array_equal(found.draws, fit.draws)
    again = spos.fit(lambda x: -0.5 * (x**2).sum(), warm_start=found)
    assert again.converged


def test_a_flat_direction_has_its_spread_as_scale():
    y = RNG.normal(size=(500, 2)) * [3.0, 5.0]
    _, factor = metric.learn(y, np.zeros_like(y), 500)
    np.testing.assert_allclose(factor @ factor.T, np.cov(y.T), rtol=0.05, atol=0.7)


def test_few_points_of_many_parameters_have_the_metric_that_their_shrunk_covariances_ask_for():
    """C b C = a, with both in units of the scale, though only what the points span is looked at."""
    y = RNG.normal(size=(20, 100)) * np.exp(RNG.normal(size=100))
    scores = RNG.normal(size=(20, 100))
    centre, factor = metric.learn(y, scores, 20)
    np.testing.assert_allclose(centre, y.mean(0))
    y, scores = y - y.mean(0), scores - scores.mean(0)
    scale = ((y**2).mean(0) / (scores**2).mean(0)) ** 0.25
    y, scores = y / scale, scores * scale
    a, b = (0.5 * x.T @ x / 20 / (x**2).mean() + 0.5 * np.eye(100) for x in (y, scores))
    factor /= scale[:, None] * ((y**2).mean() / (scores**2).mean()) ** 0.25
    square = factor @ factor.T
    np.testing.assert_allclose(square @ b @ square, a, atol=1e-10)


def test_few_points_teach_many_directions_one_after_another():
    size, factor = 200, np.eye(200)
    rows = RNG.normal(size=(300, size)) + RNG.normal(size=(300, 1))
    precision = rows.T @ rows
    root = np.linalg.cholesky(np.linalg.inv(precision))
    for _ in range(20):
        y = RNG.normal(size=(50, size)) @ root.T
        z = np.linalg.solve(factor, y.T).T
        factor = factor @ metric.learn(z, -y @ precision @ factor, 50)[1]
    lengths = np.linalg.eigvalsh(factor.T @ precision @ factor)
    assert lengths[-1] < 1.5 * lengths[0]  # and 1e4 times to begin with


def test_a_step_comes_back_as_fast_as_it_fell():
    """At a step of e^-10 nothing is rejected, and a chunk brings it to its usual size."""
    particles = RNG.normal(size=(20, 2)).astype(np.float32)
    problem = Problem.of(as_target(lambda x: -0.5 * jnp.sum(x**2)), particles, None)
    frame = Coordinates(jnp.zeros(2), jnp.eye(2))
    cloud: Whitened = problem.evaluate(frame, particles)
    plan = engine.plan(np.full(20, -10.0), np.float32, rate=0.7, pooled=False)
    random = chance.draw_random(np.random.default_rng(0), engine.MOVES, particles, plan)
    _, steps, _ = engine.chunk(problem, frame, random, engine.MOVES, cloud, plan)
    assert float(jnp.median(steps)) > -1.5


def test_particles_at_different_heights_or_growing_widths_have_not_settled():
    same = [np.ones(3)] * 5
    at_home = RNG.normal(size=(25, 100)) * math.sqrt(33)
    assert approach.settled(at_home, 66, same)
    assert not approach.settled(at_home + 4 * math.sqrt(33) * RNG.normal(size=100), 66, same)
    assert not approach.settled(at_home, 66, [10.0**n * np.ones(3) for n in range(5)])


def test_particles_that_spread_to_the_last_are_refused():
    approach.must_end([np.ones(2)] * approach.APPROACHES)
    with pytest.raises(approach.ImproperError, match="proper prior"):
        approach.must_end([1.5**n * np.ones(2) for n in range(approach.APPROACHES)])
    with pytest.raises(approach.ImproperError):
        approach.must_end([np.full(2, 1e16)])


def failed(theta, log_prob):
    z = (theta - theta.mean((0, 1))) / theta.std((0, 1))
    found, _ = judge.measure(judge.Round(theta, log_prob, z, -z, np.ones(z.shape[:2])), ["a", "b"])
    return [check.name for check in found if not check.passed]


def test_a_variance_of_few_draws_is_told():
    theta = RNG.normal(size=(200, 100, 2))
    log_prob = -0.5 * (theta**2).sum(-1)
    assert not failed(theta, log_prob)
    theta[..., 1] = RNG.standard_cauchy(size=(200, 100))
    assert "tails" in failed(theta, log_prob)


def test_a_spike_that_one_particle_met_is_told():
    theta = RNG.normal(size=(200, 100, 2))
    log_prob = -0.5 * (theta**2).sum(-1)
    log_prob[50:60, 3] += 14.0
    assert failed(theta, log_prob) == ["spikes"]


def test_equal_values_have_no_trend():
    theta = RNG.normal(size=(200, 100, 2))
    assert not failed(theta, np.zeros((200, 100)))


@pytest.mark.parametrize(("wall", "scale"), [(1.0, 1.0), (np.inf, 1e8), (1.0, 1e8)])
def test_a_box_is_sampled_and_a_scale_of_1e8_is_reached(wall, scale):
    start = jax.random.uniform(jax.random.key(0), (100, 2), minval=-2.0, maxval=2.0)

    def log_prob(x):  # uniform between 0 and 1, or normal
        inside = ((x[0] > 0) & (x[0] < 1)) | (wall > 1)
        soft = jnp.where(wall > 1, 6.0 * (x[0] - 0.5) ** 2, 0.0)  # of the same variance
        return jnp.where(inside, -soft - 0.5 * (x[1] / scale) ** 2, -jnp.inf)

    result = spos.fit(log_prob, start=start, progress=False)
    assert result.converged, result.report()
    draws = np.asarray(result.draws, np.float64)
    np.testing.assert_allclose(draws.mean(0) / [1, scale], [0.5, 0.0], atol=0.1)
    np.testing.assert_allclose(draws.std(0), [math.sqrt(1 / 12), scale], rtol=0.1)


class Watched(AutomaticRun):
    """Notes how long the typical whitened score is, in units of that at home."""

    def _refresh(self):
        super()._refresh()
        length = np.median(np.linalg.norm(self.score @ self.factor, axis=1)) / math.sqrt(self.size)
        self.lengths = [*getattr(self, "lengths", []), length]


def test_a_climb_ends_as_soon_as_particles_are_near():
    def log_prob(x):
        away = (x - 300.0) ** 2
        return -0.5 * away.sum() - 1e-3 * (away**2).sum()

    starts = np.random.default_rng(0).uniform(-2.0, 2.0, (50, 5))
    problem = Problem.of(as_target(log_prob), jnp.asarray(starts, jnp.float32), None)
    run = Watched(Programs(problem), list("abcde"), starts, 0)
    run._climb()
    assert run.lengths[0] > approach.FAR
    assert run.lengths[-1] < approach.NEAR < min(run.lengths[:-1])
