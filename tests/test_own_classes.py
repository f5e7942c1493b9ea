"""A method, a kernel, a target and a preconditioner of a user's own: ten lines each, and they work
wherever the library's do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos import diagnostics

KEY = jax.random.key(3)
START = jax.random.normal(jax.random.key(0), (12, 2)) + 1.0
NUM_STEPS = 40


def log_prob(theta):
    return -0.5 * jnp.sum(theta**2)


@spos.value
class Climb(spos.Sampler):
    strength: float = 1.0

    def drift(self, key, state, scores):
        return spos.Drift(jax.tree.map(lambda s: self.strength * s, scores))


@spos.value
class Cauchy(spos.Kernel):
    def __call__(self, sq, bandwidth):
        k = 1.0 / (1.0 + sq / bandwidth)
        return k, 2.0 * k / bandwidth


@spos.value
class Shifted(spos.Target):
    shift: jax.Array

    def log_prob(self, theta, batch=None):
        return -0.5 * jnp.sum((theta - self.shift) ** 2)


@spos.value
class Halved(spos.Preconditioner):
    def update(self, drift, memory):
        return jax.tree.map(lambda v: jnp.full_like(v, 0.5), drift), drift, memory


SAMPLERS = {
    "method": lambda: Climb.of(log_prob, step_size=0.1, strength=2.0),
    "kernel": lambda: spos.svgd(log_prob, 0.1, kernel=Cauchy(1.0)),
    "target": lambda: spos.spos(Shifted(jnp.array([1.0, -1.0])), 0.1),
    "preconditioner": lambda: spos.sgld(log_prob, 0.1, preconditioner=Halved()),
}


@pytest.fixture(params=SAMPLERS)
def sampler(request):
    return SAMPLERS[request.param]()


def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(sampler, tmp_path):
    whole = spos.sample(sampler, START, NUM_STEPS, progress=False)
    assert not np.array_equal(whole.particles, START)

    def stop(state, info):
        return int(state.step) >= NUM_STEPS // 2

    half = spos.sample(
        sampler, START, NUM_STEPS, callback=stop, callback_every=10, checkpoint=tmp_path / "run"
    )
    assert half.num_steps < NUM_STEPS
    rest = spos.sample(sampler, START, NUM_STEPS, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(rest.particles, whole.particles)
    other = jax.tree.map(lambda leaf: 0.5 * leaf, sampler)
    with pytest.raises(ValueError, match="checkpoint"):
        spos.sample(other, START, NUM_STEPS, checkpoint=tmp_path / "run")


def test_it_is_compared_checked_and_described(sampler, tmp_path):
    truth = jnp.zeros(2), jnp.eye(2)
    found = spos.compare(sampler.target, {"own": sampler}, START, 20, truth=truth, num_seeds=2)
    assert not len(found.rows["own"].diverged)
    report = spos.check_sampler(sampler, START)
    assert report.passed, report
    result = spos.sample(sampler, START, 5, progress=False)
    saved = spos.load(result.save(tmp_path / "result.npz"))
    assert saved.settings == result.settings
    assert saved.settings["algorithm"] in ("climb", "svgd", "spos", "sgld")


def test_a_diagnostic_takes_the_target_and_the_kernel():
    target = Shifted(jnp.zeros(2))
    square = diagnostics.ksd(target, START - 1.0, Cauchy(1.0))
    far = diagnostics.ksd(target, START + 3.0, Cauchy(1.0))
    assert far > square > -1.0
    assert not diagnostics.collapse(target, START - 1.0, num_steps=20).collapsed
    report = diagnostics.bias(lambda h: Climb.of(target, h), 0.1, START, 20, num_replicas=3)
    assert np.isfinite(report.extrapolated["mean"].value).all()


def test_numbers_are_leaves_and_share_a_program(compilations):
    def go(strength):
        spos.run(Climb.of(log_prob, 0.1 * strength, strength=strength), KEY, START, 3)

    go(1.0)
    before = len(compilations)
    for strength in (1.2, 1.7, 2.0):
        go(strength)
    assert len(compilations) == before


def test_values_of_ones_own_are_equal_when_their_numbers_are():
    assert SAMPLERS["target"]() == SAMPLERS["target"]()
    assert SAMPLERS["kernel"]() != spos.svgd(log_prob, 0.1, kernel=Cauchy(2.0))


class Unregistered(spos.Sampler):
    def drift(self, key, state, scores):
        return spos.Drift(scores)


@spos.value
class WordAsLeaf(Climb):
    word: str = "fast"


@spos.value
class WithoutDrift(spos.Sampler):
    pass


@spos.value
class BareArray(spos.Sampler):
    def drift(self, key, state, scores):
        return scores


@spos.value
class Word(spos.Sampler):
    def drift(self, key, state, scores):
        return "up"


@spos.value
class OneForAll(spos.Sampler):
    def drift(self, key, state, scores):
        return spos.Drift(scores.mean(0))


class UnregisteredKernel(spos.Kernel):
    __call__ = Cauchy.__call__


@spos.value
class WithoutSlope(spos.Kernel):
    def __call__(self, sq, bandwidth):
        return jnp.exp(-sq / bandwidth)


FAULTS = {
    "not registered": (
        lambda: Unregistered.of(log_prob, 0.1),
        TypeError,
        "Unregistered is not registered: put @spos.value above the class",
    ),
    "built by hand": (
        lambda: Climb(log_prob, 0.1),
        TypeError,
        r"target must be a spos\.Target, .*: build .* with Climb\.of\(log_prob, step_size\)",
    ),
    "a step size by hand": (
        lambda: Climb(Shifted(jnp.zeros(2)), 0.1),
        TypeError,
        r"step_size must be a schedule, got 0\.1: build the sampler with Climb\.of",
    ),
    "a word that is a leaf": (
        lambda: WordAsLeaf.of(log_prob, 0.1),
        TypeError,
        r"word is a leaf of WordAsLeaf but no number, 'fast': .*spos\.static\(\)",
    ),
    "no drift": (
        lambda: WithoutDrift.of(log_prob, 0.1),
        NotImplementedError,
        r"WithoutDrift must have `drift\(key, state, scores\)`",
    ),
    "a drift that is an array": (
        lambda: BareArray.of(log_prob, 0.1),
        TypeError,
        r"BareArray\.drift must return spos\.Drift\(direction\), got float32\[12, 2\]",
    ),
    "a drift that is a word": (
        lambda: Word.of(log_prob, 0.1),
        TypeError,
        r"Word\.drift must return spos\.Drift\(direction\), got str\[\]",
    ),
    "one direction for all particles": (
        lambda: OneForAll.of(log_prob, 0.1),
        ValueError,
        r"OneForAll\.drift must .* like the particles, float32\[12, 2\], got float32\[2\]",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_a_method_is_told_in_its_own_words(name):
    build, kind, words = FAULTS[name]
    with pytest.raises(kind, match=words):
        spos.sample(build(), START, 3, progress=False)
    report = spos.check_sampler(build(), START)
    assert not report.passed
    assert words.partition(" ")[0].replace("\\", "") in str(report)


class Pair:
    """A pytree whose class does not say when two of it are equal."""

    def __init__(self, one, two):
        self.one, self.two = one, two


jax.tree_util.register_pytree_node(Pair, lambda p: ((p.one, p.two), None), lambda _, c: Pair(*c))


def test_particles_may_be_of_any_class_that_is_a_pytree():
    climb = Climb.of(lambda theta: log_prob(theta.one) + log_prob(theta.two), 0.1)
    result = spos.sample(climb, Pair(START, START[:, 0]), 3, progress=False)
    assert result.particles.one.shape == START.shape


def test_a_kernel_that_is_none_is_refused_where_it_is_given():
    with pytest.raises(TypeError, match=r"UnregisteredKernel is not registered: put @spos\.value"):
        spos.sample(spos.svgd(log_prob, 0.1, kernel=UnregisteredKernel(1.0)), START, 3)
    words = r"WithoutSlope must give the pair \(k, slope\).* of shape \(2, 3\) it gave \(2, 3\)"
    with pytest.raises(TypeError, match=words):
        spos.svgd(log_prob, 0.1, kernel=WithoutSlope(1.0))


def test_a_log_density_that_raises_is_told_what_it_was_given():
    def mistyped(theta):
        return -jnp.sum(theta["b"] ** 2)

    with pytest.raises(KeyError) as caught:
        spos.sample(spos.sgld(mistyped, 0.1), {"a": START, "c": START[:, 0]}, 3)
    note = "\n".join(caught.value.__notes__)  # JAX has one of its own
    assert "one particle, {'a': 'float32[2]', 'c': 'float32[]'}" in note
