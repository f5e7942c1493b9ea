"""The loop: same bits whatever the chunks, and honest about how a run ended."""

import io
import re
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.io import checkpoint
from spos.loop import sample as loop
from spos.types import Info

START = jax.random.normal(jax.random.key(0), (5, 2))
rng = np.random.default_rng(1)
DATA = rng.normal(size=50).astype(np.float32)


def log_likelihood(theta, batch):
    return -0.5 * (batch - theta[0]) ** 2


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2)


def build():
    target = spos.posterior(log_likelihood, log_prior, DATA, batch_size=8)
    return spos.spos(target, 0.01, kernel=spos.rbf(1.0))


@pytest.fixture(scope="module")
def sampler():
    return build()


def sample(sampler, num_steps=40, **options):
    return spos.sample(sampler, START, num_steps, progress=False, **options)


def assert_same(one, other):
    np.testing.assert_array_equal(one.particles, other.particles)
    np.testing.assert_array_equal(one.history, other.history)
    for name in Info._fields:
        np.testing.assert_array_equal(one.info[name], other.info[name])


def test_the_same_seed_gives_the_same_bits_and_another_does_not(sampler):
    first, again = (sample(sampler, seed=3, history_every=5) for _ in range(2))
    assert_same(first, again)
    assert not np.array_equal(first.particles, sample(sampler, seed=4, history_every=5).particles)


@pytest.mark.parametrize(("most", "seconds"), [(1, 0.25), (4096, 1e-9), (4096, 1e9)])
def test_chunks_change_nothing(sampler, monkeypatch, most, seconds):
    whole = sample(sampler, history_every=3)
    monkeypatch.setattr(loop, "CHUNK_STEPS", most)
    monkeypatch.setattr(loop, "CHUNK_SECONDS", seconds)
    stops = []
    advance_to = loop.advance_to
    monkeypatch.setattr(
        loop, "advance_to", lambda *given: (stops.append(given[-1]), advance_to(*given))[1]
    )
    assert_same(sample(sampler, history_every=3), whole)
    assert np.diff([0, *stops]).max() <= most


def test_a_long_history_is_split_to_fit(sampler, monkeypatch):
    whole = sample(sampler, history_every=2)
    monkeypatch.setattr(loop, "HISTORY_BYTES", 3 * START.nbytes)
    assert_same(sample(sampler, history_every=2), whole)


def test_the_history_and_the_info_are_those_of_the_steps(sampler):
    result = sample(sampler, 23, seed=6, history_every=5)
    state, (path, info) = jax.jit(
        lambda: spos.run(
            sampler,
            jax.random.key(6),
            START,
            23,
            observe=lambda state, info: (state.particles, info),
        )
    )()
    assert result.history.shape == (4, 5, 2)
    np.testing.assert_allclose(result.history, path[4::5], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(result.particles, state.particles, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(result.info["score_norm"], info.score_norm, rtol=1e-5)
    assert result.num_steps == 23
    assert not result.interrupted
    assert result.settings["seed"] == 6
    assert {"spos", "jax", "numpy"} <= set(result.versions)


def test_no_steps_are_a_run_too(sampler):
    result = sample(sampler, 0, history_every=1)
    np.testing.assert_array_equal(result.particles, START)
    assert result.history.shape == (0, 5, 2)
    assert len(result.info["epd"]) == 0


def test_the_callback_comes_in_time_with_the_steps_since_the_last(sampler):
    calls = []

    def callback(state, info):
        calls.append((int(state.step), {len(values) for values in info.values()}))

    result = sample(sampler, 25, callback=callback, callback_every=10)
    assert calls == [(10, {10}), (20, {10}), (25, {5})]
    np.testing.assert_array_equal(result.particles, sample(sampler, 25).particles)


def test_the_callback_can_end_the_run(sampler):
    result = sample(sampler, callback=lambda state, info: state.step >= 20, callback_every=10)
    assert result.num_steps == len(result.info["epd"]) == 20
    assert not result.interrupted
    np.testing.assert_array_equal(result.particles, sample(sampler, 20).particles)


def test_an_interrupt_keeps_what_there_is(sampler, tmp_path):
    def callback(state, info):
        if state.step == 30:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    result = sample(
        sampler, callback=callback, callback_every=10, history_every=10, checkpoint=folder
    )
    assert result.interrupted
    assert result.num_steps == 30
    assert "(interrupted)" in str(result.summary())
    assert_same(result, sample(sampler, 30, history_every=10))
    assert_same(
        sample(sampler, history_every=10, checkpoint=folder), sample(sampler, history_every=10)
    )


INTERRUPTED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
import jax.numpy as jnp, spos

def callback(state, info):
    print("going", flush=True)
    while {hangs}:
        time.sleep(0.01)

sampler = spos.svgd(lambda t: -0.5 * jnp.sum(t**2), 0.1, kernel=spos.rbf(1.0))
result = spos.sample(sampler, jnp.ones((3, 2)), 10**9, progress=False, callback=callback,
                     callback_every=50)
print(result.interrupted, result.num_steps == len(result.info["epd"]) > 0)
"""


@pytest.mark.parametrize(("hangs", "presses"), [(False, 1), (True, 2)])
def test_ctrl_c_ends_a_real_process_in_order(hangs, presses):
    """The first one at the end of a chunk; the second at once, wherever it is."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(hangs=hangs)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "going\n"
        for _ in range(presses):
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=600)
    assert rest.splitlines()[-1] == "True True"
    assert process.returncode == 0


def cliff(theta):
    """A slope of 1 that has no value where the second parameter of `w` is above 2."""
    return jnp.sum(theta["w"]) + 1e-4 * jnp.sqrt(2.0 - theta["w"][1]) + 0.0 * theta["b"]


def test_a_score_that_is_not_finite_is_found_to_the_step(tmp_path):
    start = {"b": jnp.zeros(4), "w": jnp.zeros((4, 3)).at[2, 1].set(0.95)}
    sampler = spos.svgd(cliff, 0.1, kernel=spos.rbf(1e6))
    with pytest.raises(spos.NonFiniteError) as caught:
        spos.sample(sampler, start, 500, history_every=1, checkpoint=tmp_path, progress=False)
    # 0.95 + 11 · 0.1 is the first place beyond 2
    assert re.match(
        r"step 11: particle 2, parameter w\[1\]: its score is nan\..*step_size", str(caught.value)
    )
    assert int(caught.value.state.step) == 11
    kept = caught.value.result
    assert kept.num_steps == len(kept.info["epd"]) == len(kept.history["w"]) == 11
    assert kept.seconds > 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(kept.particles))
    [newest] = tmp_path.glob("step-*.npz")
    assert newest.name == "step-000000011.npz"
    arrays, _ = checkpoint.archive.read(newest)
    np.testing.assert_array_equal(arrays["state1"], caught.value.state.particles["w"])


def test_a_step_that_overshoots_says_so():
    sampler = spos.svgd(lambda theta: -jnp.sum(theta**4), 10.0, kernel=spos.rbf(1.0))
    with pytest.raises(spos.NonFiniteError, match=r"step \d+: particle \d+, parameter theta\[\d\]"):
        spos.sample(sampler, START, 100, progress=False)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_progress_shows_rate_time_left_and_what_the_particles_do(sampler, monkeypatch, stream):
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    spos.sample(sampler, START, 40, progress=True)
    text = screen.getvalue()
    last = re.split(r"[\r\n]", text.rstrip("\n"))[-1]
    assert re.search(
        r"^spos 100% █{20} 40/40  [\d.e+]+/s  0:00 left  drift [\d.]+  bandwidth 1  spread [\d.]+",
        last,
    )
    assert text.endswith("\n")
    assert ("\r" in text) == (stream is Terminal)


class Broken(Terminal):
    """A terminal that was closed meanwhile."""

    def write(self, text):
        raise BrokenPipeError


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, closed(), Broken()], ids=["none", "closed", "broken"])
def test_a_run_goes_on_where_nobody_can_look_any_more(sampler, monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    for progress in (None, True):
        assert spos.sample(sampler, START, 3, progress=progress).num_steps == 3


def test_progress_is_quiet_where_nobody_looks(sampler, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    spos.sample(sampler, START, 10)
    assert screen.getvalue() == ""
