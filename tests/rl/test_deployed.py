"""Exported policies: they act as the trained ones do, without JAX, and bad files are refused."""

import itertools
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from spos import rl
from spos.rl import deployed

RANDOM = np.random.default_rng(0)
SCALE = {"mean": [1.0, -2.0, 0.5], "deviation": [2.0, 0.5, 3.0]}


def trained(actions, scale=None, hidden=(5, 4), network=None):
    """Random policies: five particles, three observations, two outputs."""
    sizes = [3, *hidden, 2]
    theta = {}
    for n, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        theta[f"w{n}"] = RANDOM.normal(size=(5, inputs, outputs)).astype(np.float32)
        theta[f"b{n}"] = RANDOM.normal(size=(5, outputs)).astype(np.float32)
    if actions == "continuous":
        theta = {"network": theta, "log_std": np.zeros((5, 2), np.float32)}
    about = {"observation_size": 3, "actions": actions, "size": 2, "hidden": list(hidden)}
    settings = {"environment": "none", "policy": {**about, "scale": scale}}
    return rl.Trained(theta, np.zeros((1, 5)), np.empty(0), settings, {}, 0.0, False, network)


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
@pytest.mark.parametrize("scale", [None, SCALE], ids=["plain", "scaled"])
@pytest.mark.parametrize("particle", [None, 3])
def test_it_acts_as_the_trained_policies_do(actions, scale, particle, tmp_path):
    run = trained(actions, scale)
    policy = deployed.load(run.export(tmp_path / "policy.npz", particle=particle))
    before = run.policy(particle=particle)
    for seen in RANDOM.normal(size=(20, 3)):
        np.testing.assert_allclose(policy.act(seen), before(seen), rtol=1e-4, atol=1e-5)


def test_sixteen_policies_act_together_in_less_than_fifty_microseconds():
    """About 13 of processor time; the least of many rounds, so that a busy machine passes too."""
    shapes = (16, 4, 25), (16, 25, 10), (16, 10, 1)
    weights = [RANDOM.normal(size=shape).astype(np.float32) for shape in shapes]
    biases = [weight[:, 0] for weight in weights]
    policy = deployed.DeployedPolicy(weights, biases, {"actions": "continuous"})
    rounds = []
    for _ in range(30):
        began = time.process_time()
        for _ in range(50):
            policy.act([0.1, 0.2, 0.3, 0.4])
        rounds.append((time.process_time() - began) / 50)
    assert min(rounds) < 50e-6


def test_a_policy_without_hidden_layers_acts_too(tmp_path):
    run = trained("continuous", hidden=())
    policy = deployed.load(run.export(tmp_path / "policy.npz"))
    np.testing.assert_allclose(policy.act(np.ones(3)), run.policy()(np.ones(3)), rtol=1e-5)


def test_it_needs_numpy_alone(tmp_path):
    run = trained("continuous", SCALE)
    run.export(tmp_path / "policy.npz")
    shutil.copy(deployed.__file__, tmp_path / "deployed.py")
    script = (
        "import sys, deployed; print(deployed.load('policy.npz').act([.1, .2, .3]).tolist());"
        "assert not {'jax', 'spos'} & set(sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={}, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    expected = run.policy()(np.asarray([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(
        np.fromstring(told.stdout.strip("[]\n"), sep=","), expected, rtol=1e-4
    )


def test_bad_files_and_observations_are_refused(tmp_path):
    run = trained("continuous")
    path = run.export(tmp_path / "policy.npz")
    with pytest.raises(ValueError, match="observation must be 3 numbers"):
        deployed.load(path).act([1.0])
    with pytest.raises(FileNotFoundError):
        deployed.load(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match=r"path must name a file of Trained\.export"):
        deployed.load(tmp_path / "text.npz")
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(tmp_path / "cut.npz", **{**arrays, "w1": arrays["w1"][:, :2]})
    with pytest.raises(ValueError, match="layer 1 must have the shapes"):
        deployed.load(tmp_path / "cut.npz")
    np.savez(tmp_path / "nan.npz", **{**arrays, "b0": np.nan * arrays["b0"]})
    with pytest.raises(ValueError, match="layer 0 has numbers that are not finite"):
        deployed.load(tmp_path / "nan.npz")
    pickled = {**arrays, "w0": np.asarray([object()])}
    np.savez(tmp_path / "pickle.npz", allow_pickle=True, **pickled)
    with pytest.raises(ValueError, match="allow_pickle"):
        deployed.load(tmp_path / "pickle.npz")


def test_what_cannot_be_exported_says_why(tmp_path):
    network = rl.Network(lambda key: 0, lambda theta, o: o)
    with pytest.raises(ValueError, match="network must be the default one"):
        trained("continuous", network=network).export(tmp_path / "own.npz")
    with pytest.raises(ValueError, match="particle must be"):
        trained("continuous").export(tmp_path / "none.npz", particle=5)
