"""Tasks outside the compiled program: the same loop as for those inside.

The task here counts on the host, and can be told to fail.
"""

import jax
import numpy as np
import pytest

import spos
from spos import rl
from spos.io import progress
from spos.rl import outside
from spos.rl.envs import Continuous
from spos.rl.trajectories import Trajectories

TINY = {"num_iterations": 4, "num_particles": 3, "num_episodes": 2, "hidden": (4,)}
FEW, MANY = 2, 10**9


class Host:
    """Stay near 0, in NumPy; the collection number `fails` raises `error`."""

    name, observation_size, actions, horizon = "host", 1, Continuous(1), 5

    def __init__(self, fails=MANY, error=None):
        self.fails, self.error, self.seeds = fails, error, []

    def collect(self, act, num, seed):
        self.seeds.append(seed)
        if len(self.seeds) > self.fails:
            raise self.error
        x = np.random.default_rng(seed).uniform(-1, 1, (num, 1)).astype(np.float32)
        rows = []
        for t in range(self.horizon):
            action = act(x, t)
            after = x + 0.3 * np.clip(action, -1, 1)
            rows.append((x, action, 1.0 - after[:, 0] ** 2, np.ones(num)))
            x = after
        parts = [np.asarray(part, np.float32) for part in zip(*rows, strict=True)]
        return Trajectories(*parts, np.zeros(num, bool), np.ones(num, bool), x)


def bits(run):
    return [np.asarray(leaf).tobytes() for leaf in (*jax.tree.leaves(run.particles), run.returns)]


@pytest.fixture(scope="module")
def whole():
    return rl.train(Host(), **TINY, seed=3)


def test_with_many_steps_an_iteration_a_stopped_run_ends_in_the_same_bits(tmp_path):
    """New episodes are played in the first of them alone."""
    more = {"gradient": "ppo", "num_epochs": 2, "num_minibatches": 2}
    straight, host = rl.train(Host(), **TINY, **more, seed=3), Host()
    seen = []

    def stop(state, info):
        seen.append((int(state.step), len(info["drift_norm"])))
        return len(seen) == FEW

    rl.train(host, **TINY, **more, seed=3, checkpoint=tmp_path, callback=stop)
    assert seen == [(4, 4), (8, 4)]
    assert len(host.seeds) == FEW
    resumed = rl.train(host, **TINY, **more, seed=3, checkpoint=tmp_path)
    assert len(host.seeds) == TINY["num_iterations"]
    assert bits(resumed) == bits(straight)
    assert resumed.settings == straight.settings


def test_a_seed_decides_the_run(whole):
    assert whole.returns.shape == (4, 3)
    assert not whole.interrupted
    assert bits(rl.train(Host(), **TINY, seed=3)) == bits(whole)
    assert bits(rl.train(Host(), **TINY, seed=4)) != bits(whole)


def test_every_iteration_has_a_seed_of_its_own():
    task = Host()
    rl.train(task, **TINY)
    assert len(set(task.seeds)) == 4


def test_a_callback_sees_every_iteration_and_can_end_the_run(whole):
    seen = []

    def watch(state, info):
        seen.append((int(state.step), info["step_size"].shape))
        return state.step == FEW

    run = rl.train(Host(), **TINY, seed=3, callback=watch)
    assert seen == [(1, (1,)), (2, (1,))]
    assert run.interrupted
    assert (run.returns == whole.returns[:FEW]).all()


def test_a_run_that_was_stopped_ends_in_the_same_bits(whole, tmp_path):
    stop = lambda state, info: state.step == FEW  # noqa: E731
    half = rl.train(Host(), **TINY, seed=3, checkpoint=tmp_path, callback=stop)
    assert half.num_iterations == FEW
    rest = Host()
    again = rl.train(rest, **TINY, seed=3, checkpoint=tmp_path)
    assert len(rest.seeds) == TINY["num_iterations"] - FEW
    assert bits(again) == bits(whole)
    nothing_left = Host()
    assert bits(rl.train(nothing_left, **TINY, seed=3, checkpoint=tmp_path)) == bits(whole)
    assert nothing_left.seeds == []


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    rl.train(Host(), **TINY, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="belongs to another run: its seed was 0, now 1"):
        rl.train(Host(), **TINY, checkpoint=tmp_path, seed=1)
    with pytest.raises(ValueError, match="belongs to another run"):
        rl.train(Host(), **TINY, checkpoint=tmp_path, alpha=3.0)


@pytest.mark.parametrize("error", [RuntimeError("the server is gone"), KeyboardInterrupt()])
def test_whatever_ends_a_run_keeps_its_last_good_state(whole, error, tmp_path):
    if isinstance(error, KeyboardInterrupt):
        assert rl.train(Host(FEW, error), **TINY, seed=3, checkpoint=tmp_path).interrupted
    else:
        with pytest.raises(RuntimeError, match="the server is gone"):
            rl.train(Host(FEW, error), **TINY, seed=3, checkpoint=tmp_path)
    rest = Host()
    assert bits(rl.train(rest, **TINY, seed=3, checkpoint=tmp_path)) == bits(whole)
    assert len(rest.seeds) == TINY["num_iterations"] - FEW


def test_what_is_not_finite_comes_with_the_state_before(whole):
    failing = Host(FEW, FloatingPointError("the reward of environment 1 is not finite"))
    with pytest.raises(spos.NonFiniteError, match=r"iteration 2: the reward of environment 1") as e:
        rl.train(failing, **TINY, seed=3)
    assert int(e.value.state.step) == e.value.result.num_steps == FEW
    memory = e.value.result.score_memory
    assert (np.asarray(memory.returns)[:FEW] == whole.returns[:FEW]).all()


def test_particles_that_overshoot_come_with_the_state_before():
    with pytest.raises(spos.NonFiniteError, match=r"iteration \d: .* smaller step_size") as e:
        rl.train(Host(), **TINY, step_size=3e38)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(e.value.state.particles))


@pytest.mark.parametrize("fails", [MANY, FEW])
def test_the_progress_line_is_always_closed(monkeypatch, fails):
    closed = []

    class Bar(progress.Progress):
        def close(self):
            closed.append(self.total)

    monkeypatch.setattr(outside, "Progress", Bar)
    task = Host(fails, RuntimeError("gone"))
    if fails == FEW:
        with pytest.raises(RuntimeError):
            rl.train(task, **TINY, progress=True)
    else:
        rl.train(task, **TINY, progress=True)
    assert closed == [TINY["num_iterations"]]


def test_learners_that_differ_in_numbers_share_one_program(whole, compilations):
    rl.train(Host(), **TINY, seed=5, step_size=1e-2, alpha=3.0, beta=7.0, gamma=0.5)
    assert compilations == []


def test_its_sampler_does_not_pretend_to_play():
    learner = rl.learner(Host(), **TINY)
    with pytest.raises(ValueError, match="host lives outside the compiled program"):
        spos.sample(learner.sampler, learner.start(0), 1)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"callback": 3}, TypeError, "callback must be a function, got 3"),
        ({"checkpoint": 3}, TypeError, "checkpoint must name a folder, got 3"),
        ({"checkpoint_every": 0}, ValueError, "checkpoint_every must be a number above 0"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    with pytest.raises(error, match=message):
        rl.train(Host(), **TINY, **change)
