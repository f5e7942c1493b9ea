"""A run that is cut short: it returns what there is, goes on to the same bits, or begins warm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.auto.state import FitState

COUNT, SIZE = 100, 3
START = jax.random.uniform(jax.random.key(0), (COUNT, SIZE), minval=-2.0, maxval=2.0)
SCALE = jnp.asarray([0.01, 1.0, 30.0])


@spos.value
class Normal(spos.Target):
    """Scales far apart, so that a cold start has something to learn."""

    mean: jax.Array

    def log_prob(self, theta, batch=None):
        return -0.5 * jnp.sum(((theta - self.mean) / SCALE) ** 2)


TARGET = Normal(jnp.asarray([3.0, 40.0, -500.0]))


def run(target=TARGET, seed=1, **options):
    """The first round is not precise enough, and the second is."""
    if "warm_start" not in options:
        options["start"] = START
    return spos.fit(target, seed=seed, progress=False, target_error=0.019, **options)


@pytest.fixture(scope="module")
def whole():
    """A run, and the phase of each of its chunks."""
    phases = []
    return run(callback=lambda seen: phases.append(seen.phase)), phases


class Cut(Exception):
    """Something goes wrong outside."""


class At:
    """Ends a run at its n-th chunk, by an exception or by a true value."""

    def __init__(self, chunk, error=None):
        self.left, self.error = chunk, error

    def __call__(self, seen):
        self.left -= 1
        if self.left == 0 and self.error is not None:
            raise self.error
        return self.left == 0


def places(phases):
    """The first and the last chunk of the approach and of a round, and some inside."""
    assert phases[-1] == "round 2"
    first, second = phases.index("round 1"), phases.index("round 2")
    return [1, first, first + 1, second, second + 2, len(phases) - 1]


@pytest.mark.parametrize("error", [None, Cut(), KeyboardInterrupt()], ids=["true", "error", "key"])
@pytest.mark.filterwarnings("ignore:not converged:spos.ConvergenceWarning")
def test_a_run_goes_on_to_the_same_bits(whole, tmp_path, error):
    result, phases = whole
    for place in places(phases):
        folder = tmp_path / str(place)
        cut = At(place, error)
        if isinstance(error, Cut):
            with pytest.raises(Cut):
                run(callback=cut, checkpoint=folder)
        else:
            assert run(callback=cut, checkpoint=folder).interrupted
        later = []
        again = run(checkpoint=folder, callback=lambda seen: later.append(seen.phase))  # noqa: B023
        assert len(later) == len(phases) - place
        np.testing.assert_array_equal(again.draws, result.draws)
        assert again.verdict == result.verdict
        assert again.evaluations == result.evaluations
        assert again.num_steps == result.num_steps


def test_a_run_that_has_ended_is_not_run_again(whole, tmp_path):
    result, _ = whole
    run(checkpoint=tmp_path)
    again = run(checkpoint=tmp_path, callback=At(1, Cut()))
    np.testing.assert_array_equal(again.draws, result.draws)
    assert again.converged


@pytest.mark.filterwarnings("ignore:not converged:spos.ConvergenceWarning")
def test_a_folder_belongs_to_one_run(tmp_path):
    run(checkpoint=tmp_path, callback=At(1))
    with pytest.raises(ValueError, match=r"belongs to another run: its fit\.seed was 1, now 2"):
        run(checkpoint=tmp_path, seed=2)
    with pytest.raises(ValueError, match="belongs to another run: its numbers was"):
        run(Normal(jnp.zeros(SIZE)), checkpoint=tmp_path)
    folder = tmp_path / "plain"
    run(lambda x: -0.5 * jnp.sum(x**2), checkpoint=folder, callback=At(1))
    with pytest.raises(ValueError, match="belongs to another run: its scores at the start"):
        run(lambda x: -0.7 * jnp.sum(x**2), checkpoint=folder)


def test_a_state_comes_back_from_arrays():
    kept = []

    class Saver:
        def due(self):
            return True

        def save(self, step, records):
            kept.append((int(step.step), records))

        def restore(self, like, needed):
            return None

    from spos.auto.controller import AutomaticRun
    from spos.auto.engine import Problem
    from spos.auto.together import Programs

    theta = np.asarray(START, np.float64)
    one = AutomaticRun(Programs(Problem.of(TARGET, START, 1.0)), ["x"] * SIZE, theta, 0)
    one.go(False, At(9), Saver())
    assert [step for step, _ in kept] == [*range(1, 10), 9]
    state = FitState.unpacked(kept[-1][1])
    for name, value in vars(one.latest).items():
        jax.tree.map(np.testing.assert_array_equal, getattr(state, name), value)


def test_a_true_return_value_ends_the_run_with_what_there_is():
    seen = []
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        result = run(callback=lambda progress: seen.append(progress) or len(seen) == 3)
    assert result.interrupted
    assert not result.converged
    assert "interrupted" in result.report()
    assert result.draws.shape == (COUNT, SIZE)
    assert seen[0].phase == "approach"
    assert seen[0].log_prob.shape == seen[0].acceptance.shape == (COUNT,)
    assert seen[0].evaluations < seen[1].evaluations <= result.evaluations
    assert seen[0].checks == ()


def test_after_a_round_the_callback_sees_its_checks(whole):
    """And after an interruption there is that round, and what was added to it."""
    seen = []
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        result = run(callback=lambda progress: seen.append(progress) or bool(progress.checks))
    assert seen[-1].phase == "round 2"
    assert {check.name for check in seen[-1].checks} >= {"mixing", "precision"}
    assert result.draws.shape == (75 * COUNT, SIZE)


def test_ctrl_c_returns_what_there_is():
    with pytest.warns(spos.ConvergenceWarning, match="interrupted"):
        result = run(callback=At(2, KeyboardInterrupt()))
    assert result.interrupted
    assert result.draws.shape == (COUNT, SIZE)


def test_a_warm_start_needs_fewer_evaluations(whole, tmp_path):
    result, _ = whole
    phases = []
    moved = Normal(TARGET.mean + 0.3 * SCALE)
    loaded = spos.load(result.save(tmp_path / "fit.npz"))
    warm = run(moved, warm_start=loaded, callback=lambda seen: phases.append(seen.phase))
    cold = run(moved)
    assert warm.converged
    assert "approach" not in phases
    assert warm.evaluations < 0.75 * cold.evaluations  # it still has to be precise
    away = np.asarray(warm.draws, np.float64) - np.asarray(moved.mean)
    assert (np.abs(away.mean(0)) / np.asarray(SCALE) < 0.125).all()
    assert (np.abs(np.log(away.std(0) / np.asarray(SCALE))) < 0.125).all()


def test_a_warm_start_far_from_the_target_approaches_it_anew(whole):
    phases = []
    there = Normal(TARGET.mean + 200 * SCALE)
    warm = run(there, warm_start=whole[0], callback=lambda seen: phases.append(seen.phase))
    assert phases[0] == "approach"
    assert warm.converged, warm.report()
    assert "approached anew" in warm.report()
    assert np.abs((warm.draws - there.mean) / SCALE).max() < 10


def test_other_data_compile_nothing_new(compilations):
    def likelihood(theta, batch):
        return -0.5 * (batch["y"] - batch["x"] @ theta) ** 2

    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, SIZE))
    data = [{"x": x, "y": x @ w + rng.normal(size=30)} for w in (np.ones(SIZE), np.zeros(SIZE))]
    target = spos.posterior(likelihood, lambda theta: -0.5 * jnp.sum(theta**2), data[0])
    one = spos.fit(target, start=START)
    assert compilations
    compilations.clear()
    other = spos.fit(target, start=START, data=data[1])
    assert not compilations
    for found, given in ((one, data[0]), (other, data[1])):
        exact = np.linalg.solve(x.T @ x + np.eye(SIZE), x.T @ given["y"])
        sd = np.sqrt(np.diag(np.linalg.inv(x.T @ x + np.eye(SIZE))))
        assert (np.abs(found.draws.mean(0) - exact) / sd < 0.125).all()
