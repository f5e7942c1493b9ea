"""Training: what it leaves behind, that a seed decides it, what it says when things go wrong."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos import rl
from spos.rl import envs, policies
from spos.rl.envs import Continuous, Discrete, Environment, Step

TINY = {"num_iterations": 3, "num_particles": 3, "num_episodes": 2, "hidden": (4,)}


def line(name="line", reward=lambda state: 1.0 - state**2, horizon=6):
    """Stay near 0: a point that the action moves."""

    def step(state, action):
        state = state + 0.3 * jnp.clip(action[0], -1.0, 1.0)
        return Step(state, reward(state), jnp.abs(state) > 2.0)

    return Environment(
        name=name,
        observation_size=1,
        actions=Continuous(1),
        horizon=horizon,
        reset=lambda key: jax.random.uniform(key, minval=-1.0, maxval=1.0),
        observe=lambda state: state[None].astype(jnp.float32),
        step=step,
    )


LINE = line()  # one task, so that the tests share its programs
PPO = {"num_epochs": 2, "num_minibatches": 2, "entropy": 0.01, "normalize_returns": True}


@pytest.fixture(scope="module")
def learner():
    return rl.learner(LINE, **TINY)


@pytest.fixture(scope="module")
def trained(learner):
    return learner.train(5)


def test_a_run_leaves_its_returns_and_particles(trained):
    assert trained.returns.shape == (3, 3)
    assert np.isfinite(trained.returns).all()
    assert jax.tree.leaves(trained.particles)[0].shape[0] == 3
    assert not trained.interrupted
    assert trained.coverage.size == 0


def test_a_run_is_shown_in_two_lines(trained):
    first, second = repr(trained).splitlines()
    count = trained.returns.shape[1]
    assert first == f"<Trained: {count} policies for line"
    assert f"mean return {trained.returns[-1].mean():.4g} in the last" in second


def test_a_seed_decides_the_run(learner, trained):
    again, other = learner.train(5), learner.train(6)
    assert (again.returns == trained.returns).all()
    assert (other.returns != trained.returns).any()


@pytest.mark.parametrize(
    ("gradient", "options"),
    [("reinforce", {}), ("a2c", {}), ("ppo", PPO)],
    ids=["reinforce", "a2c", "ppo"],
)
def test_a_run_that_was_stopped_ends_in_the_same_bits(gradient, options, tmp_path):
    """Also its log: that of the run that was stopped is written anew."""
    learner = rl.learner(LINE, gradient=gradient, **TINY, **options)
    straight = learner.train(5, callback=rl.csv_log(tmp_path / "straight.csv"))
    updates = learner.target.num_updates
    seen = []

    def stop(state, info):
        seen.append(int(state.step))
        return True

    half = learner.train(5, checkpoint=tmp_path / "run", callback=stop)
    assert seen == [updates]
    assert half.interrupted
    assert half.num_iterations == 1
    log = rl.csv_log(tmp_path / "resumed.csv")
    whole = learner.train(5, checkpoint=tmp_path / "run", callback=log)
    assert bits(whole) == bits(straight)
    assert whole.settings == straight.settings
    assert (tmp_path / "resumed.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()
    once_more = learner.train(5, checkpoint=tmp_path / "run")  # nothing is left to do
    assert bits(once_more) == bits(straight)


def bits(run):
    return [np.asarray(leaf).tobytes() for leaf in (*jax.tree.leaves(run.particles), run.returns)]


def test_a_log_has_a_row_an_iteration(learner, trained, tmp_path):
    learner.train(5, callback=rl.csv_log(tmp_path / "log.csv"))
    head, *rows = (tmp_path / "log.csv").read_text().splitlines()
    assert head == "iteration,mean,sd,worst,median,best,coverage"
    for n, row in enumerate(rows):
        count, mean, sd, worst, median, best, coverage = row.split(",")
        assert (int(count), coverage) == (n + 1, "")
        returns = trained.returns[n]
        expected = returns.mean(), returns.std(), returns.min(), np.median(returns), returns.max()
        np.testing.assert_allclose([float(x) for x in (mean, sd, worst, median, best)], expected,
                                   rtol=1e-4)  # fmt: skip
    assert len(rows) == 3


def test_a_stack_of_runs_is_the_runs_one_by_one():
    sizes, seeds = (1e-3, 3e-2), (5, 8)
    some = [rl.learner(LINE, gradient="ppo", step_size=h, **TINY, **PPO) for h in sizes]
    for learner, seed, stacked in zip(some, seeds, rl.train_stack(some, seeds), strict=True):
        alone = learner.train(seed)
        np.testing.assert_allclose(stacked.returns, alone.returns, rtol=1e-3, atol=1e-3)
        for one, two in zip(
            *map(jax.tree.leaves, (stacked.particles, alone.particles)), strict=True
        ):
            np.testing.assert_allclose(one, two, atol=1e-3)
        told = {name: dict(run.settings) for name, run in (("one", stacked), ("two", alone))}
        scales = [each.pop("policy").pop("scale")["mean"] for each in told.values()]
        np.testing.assert_allclose(*scales, atol=1e-4)
        assert told["one"] == told["two"]
        assert not stacked.interrupted


def test_a_stack_takes_learners_of_one_kind():
    one = rl.learner(LINE, **TINY)
    with pytest.raises(ValueError, match="seeds must be one for each of 1 learners"):
        rl.train_stack([one], [0, 1])
    with pytest.raises(ValueError, match="differ in numbers alone"):
        rl.train_stack([one, rl.learner(LINE, "svpg", **TINY)], [0, 1])
    with pytest.raises(ValueError, match="seeds must be at least 0"):
        rl.train_stack([one], [-1])


def test_normalized_observations_are_saved_with_the_policies(tmp_path):
    run = rl.train(LINE, gradient="ppo", **TINY, **PPO)
    scale = run.settings["policy"]["scale"]
    assert set(scale) == {"mean", "deviation"}
    assert abs(scale["deviation"][0]) != 1.0
    seen = np.asarray([0.3])
    again = rl.load(run.save(tmp_path / "line.npz"))
    assert (again.policy()(seen) == run.policy()(seen)).all()
    plain = dataclasses.replace(run, settings=rl.learner(LINE, **TINY).settings)
    by_hand = (seen - scale["mean"]) / scale["deviation"]
    np.testing.assert_allclose(plain.policy()(by_hand), run.policy()(seen), rtol=1e-4)
    assert not np.allclose(plain.policy()(seen), run.policy()(seen), rtol=1e-3)


def test_saved_policies_act_as_before(trained, tmp_path):
    loaded = rl.load(trained.save(tmp_path / "line.npz"))
    seen = np.asarray([0.3])
    assert (loaded.policy()(seen) == trained.policy()(seen)).all()
    each = [trained.policy(particle=n)(seen) for n in range(3)]
    np.testing.assert_allclose(np.mean(each, axis=0), trained.policy()(seen), rtol=1e-5)
    drawn = trained.policy(jax.random.key(1))(seen)
    assert any((drawn == one).all() for one in each)
    assert (loaded.returns == trained.returns).all()


def test_policies_with_a_network_of_their_own_ask_for_it(tmp_path):
    network = rl.Network(lambda key: {"w": jax.random.normal(key, (1,))}, lambda t, o: t["w"] * o)
    path = rl.train(line(), network=network, **TINY).save(tmp_path / "own.npz")
    with pytest.raises(ValueError, match="network must be the one"):
        rl.load(path)
    assert rl.load(path, network).policy()(np.zeros(1)) == 0


def test_a_network_with_the_wrong_outputs_is_refused():
    network = rl.Network(lambda key: jnp.zeros(1), lambda theta, o: jnp.zeros(3))
    with pytest.raises(ValueError, match="2 outputs"):
        policies.make(1, Discrete(2), own=network)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": "chess"}, "cartpole, swing_up, swing_up_sines, double_pendulum"),
        ({"method": "magic"}, "independent, svpg, spos"),
        ({"gradient": "guess"}, "reinforce, a2c, ppo"),
        ({"gradient": "ppo", "clip": 2.0}, "clip"),
        ({"gradient": "ppo", "num_epochs": 0}, "num_epochs must be at least 1"),
        ({"entropy": -1.0}, "entropy must be a number above 0"),
        ({"damping": 0.0}, "damping must be a number above 0"),
        ({"critic": "guess"}, "linear, network"),
        ({"num_episodes": 0}, "num_episodes must be at least 1"),
        ({"alpha": -1.0}, "alpha must be a number above 0"),
    ],
)
def test_a_wrong_argument_says_what_is_allowed(change, message):
    with pytest.raises(ValueError, match=message):
        rl.learner(**{"environment": "cartpole", **change})


def test_actions_of_an_unknown_kind_are_refused():
    odd = dataclasses.replace(line(), actions=("left", "right"))
    with pytest.raises(TypeError, match="Discrete"):
        rl.learner(odd)


def test_a_reward_that_is_not_a_number_is_found():
    bad = line("bad", lambda state: jnp.where(state > 0.9, jnp.nan, 1.0))
    with pytest.raises(
        spos.NonFiniteError, match=r"particle \d, episode \d, step \d: the reward is nan"
    ) as seen:
        rl.train(
            bad,
            method="independent",
            num_iterations=3,
            num_particles=3,
            num_episodes=4,
            hidden=(4,),
        )
    assert np.isfinite(jax.tree.leaves(seen.value.state.particles)[0]).all()


def test_cartpole_is_learned_to_nine_tenths_of_the_maximum():
    task = dataclasses.replace(envs.make("cartpole"), horizon=150)  # ten a step at most
    found = rl.train(task, num_iterations=35, num_particles=4, num_episodes=8, step_size=3e-2)
    # of four policies that learn in leaps, one is there within the last ten iterations; at which of
    # them depends on the last bits, and so on the processor
    assert found.returns[-10:].max() > 0.9 * 1500
    assert found.returns[0].max() < 0.6 * 1500
    assert found.coverage[-1] >= found.coverage[0] > 0


def test_gymnasium_takes_the_same_route():
    pytest.importorskip("gymnasium")
    with rl.gymnasium("CartPole-v1", horizon=100) as environment:
        found = rl.train(
            environment, num_iterations=12, num_particles=4, num_episodes=6, step_size=3e-2, seed=0
        )
    assert found.returns.shape == (12, 4)
    assert found.returns[-3:].mean() > 1.5 * found.returns[:3].mean()
    assert found.policy()(np.zeros(4)) in (0, 1)


def test_learners_that_differ_in_numbers_share_one_program(trained, compilations):
    """`trained` was the first."""
    others = [{"step_size": 1e-2}, {"alpha": 3.0}, {"beta": 7.0}, {"gamma": 0.5, "lam": 0.9}]
    for numbers in others:
        assert rl.learner(LINE, **TINY, **numbers) != rl.learner(LINE, **TINY)
        rl.learner(LINE, **TINY, **numbers).train(1)
    assert compilations == []
    rl.learner(LINE, **TINY, critic="network").train(0)
    assert compilations


def test_learners_of_equal_settings_are_equal():
    task = line("equal")
    assert rl.learner(task, **TINY) == rl.learner(task, **TINY)
    assert rl.learner(task, gradient="reinforce", **TINY) != rl.learner(task, **TINY)
    assert dataclasses.replace(task) == task != dataclasses.replace(task, horizon=7)
    assert Discrete(2) != Continuous(2)


@pytest.mark.parametrize("method", ["spos", "svpg", "independent"])
def test_settings_say_how_a_run_was_made(method):
    told = rl.learner("cartpole", method, "reinforce", gamma=0.9, step_size=0.1).settings
    assert (told["environment"], told["method"], told["gradient"]) == (
        "cartpole",
        method,
        "reinforce",
    )
    assert (told["step_size"], told["gamma"], told["lam"], told["critic"]) == (0.1, 0.9, None, None)
    assert told["beta"] == (1e5 if method == "spos" else None)
    assert told["policy"]["hidden"] == [25, 10]


RECORDED = Path(__file__).parents[2] / "experiments/results/control/runs"


def test_files_with_the_first_words_are_read_and_act():
    old = rl.load(RECORDED / "swing_up-a2c-spos-seed0.npz")
    told = {name: old.settings[name] for name in ("gradient", "num_particles", "step_size")}
    assert told == {"gradient": "a2c", "num_particles": 16, "step_size": 0.005}
    assert old.num_iterations == old.settings["num_iterations"] == len(old.returns) == 1000
    assert not set(old.settings) & {"estimator", "particles", "episodes", "learning_rate"}
    assert np.isfinite(old.policy(particle=old.best())(np.zeros(4))).all()


def test_every_task_of_the_registry_has_a_grid():
    assert set(rl.coverage.POSITIONS) == set(envs.ENVIRONMENTS)
