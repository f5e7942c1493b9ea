"""`check_sampler` passes what is sound, and names what is wrong with what is not."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from algorithm_table import ALGORITHMS
from spos.diagnostics.conformance import CHECKS

CHEAP = ("spos imq", "svgd adam", "sgld ensemble", "sghmc")


def log_prob(theta):
    return -0.5 * jnp.sum((theta - 1.0) ** 2) - 0.1 * jnp.sum(jnp.cos(theta))


def tree_log_prob(theta):
    return log_prob(theta["w"]) + log_prob(theta["b"])


TREE = {"w": jnp.linspace(-1.0, 1.0, 24).reshape(6, 2, 2), "b": jnp.linspace(0.0, 2.0, 6)}


@pytest.mark.parametrize("name", CHEAP)
def test_the_algorithms_of_the_library_pass(name):
    report = spos.check_sampler(ALGORITHMS[name](log_prob))
    assert report.passed, report
    assert [check.name for check in report.checks] == list(CHECKS)
    assert report.failed == ()


SPECIAL = {
    "random groups": lambda: spos.spos(tree_log_prob, 0.05, group_size=3),
    "births": lambda: spos.birth_death(spos.sgld(tree_log_prob, 0.05), every=1),
    "leaves": lambda: spos.svgd(tree_log_prob, 0.05, kernel=spos.rbf(blocks="leaf")),
    "minibatches that are remembered": lambda: spos.spos(
        spos.saga(
            spos.posterior(
                lambda theta, x: -0.5 * (x - theta["b"]) ** 2,
                tree_log_prob,
                np.linspace(0.0, 1.0, 9, dtype=np.float32),
                batch_size=3,
            )
        ),
        0.01,
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_randomness_leaves_and_memory_are_no_faults(name):
    report = spos.check_sampler(SPECIAL[name](), TREE)
    assert report.passed, report


class Plain(spos.Sampler):
    """Not registered."""

    def drift(self, key, state, scores):
        return spos.Drift(scores)


@spos.value
class Base(spos.Sampler):
    def drift(self, key, state, scores):
        return spos.Drift(scores)


@spos.value
class WordAsLeaf(Base):
    word: str = "fast"


@spos.value
class ListAsStatic(Base):
    sizes: list = spos.static(default_factory=lambda: [1, 2])


@spos.value
class OddSettings(Base):
    @property
    def settings(self):
        return {"algorithm": "odd", "array": np.zeros(2)}


@spos.value
class MovesAtOnce(Base):
    def init(self, particles):
        return super().init(jax.tree.map(lambda x: x + 1.0, particles))


@spos.value
class HalfPrecision(Base):
    def step(self, key, state, batch=None):
        state, info = super().step(key, state, batch)
        return state._replace(particles=state.particles.astype(jnp.float16)), info


@spos.value
class VectorInfo(Base):
    def step(self, key, state, batch=None):
        state, info = super().step(key, state, batch)
        return state, info._replace(epd=state.particles[:, 0])


@spos.value
class Timeless(Base):
    def step(self, key, state, batch=None):
        after, info = super().step(key, state, batch)
        return after._replace(step=state.step), info


@spos.value
class Concrete(Base):
    def drift(self, key, state, scores):
        return spos.Drift(scores if float(scores[0, 0]) > 0 else -scores)


@spos.value
class Explodes(Base):
    def drift(self, key, state, scores):
        return spos.Drift(1e38 * scores)


@spos.value
class OutsideRandomness(Base):
    def drift(self, key, state, scores):
        return spos.Drift(scores + np.random.default_rng().normal())


@spos.value
class FirstLeads(Base):
    def drift(self, key, state, scores):
        return spos.Drift(jax.tree.map(lambda s: s + 0.1 * s[:1], scores))


@spos.value
class ByLeaf(Base):
    def drift(self, key, state, scores):
        return spos.Drift(jax.tree.map(lambda s: s / jnp.linalg.norm(s), scores))


@spos.value
class DividesByDistance(Base):
    def drift(self, key, state, scores):
        gap = state.particles[:, None] - state.particles
        distance = jnp.sqrt(jnp.sum(gap**2, axis=-1)) + jnp.eye(len(gap))
        return spos.Drift(scores + jnp.sum(gap / distance[..., None] ** 2, axis=1))


@spos.value
class WithoutVmap(Base):
    def drift(self, key, state, scores):
        rows = jax.pure_callback(
            lambda s: np.asarray(s) * (1.0 if s.ndim == 2 else 2.0),
            jax.ShapeDtypeStruct(scores.shape, scores.dtype),
            scores,
            vmap_method="expand_dims",
        )
        return spos.Drift(rows)


FAULTS = {
    Plain: ("value", "@spos.value"),
    WordAsLeaf: ("value", "word"),
    ListAsStatic: ("value", "sizes"),
    OddSettings: ("settings", "plain data"),
    MovesAtOnce: ("init", "as they came"),
    HalfPrecision: ("step", "float16"),
    VectorInfo: ("step", "info.epd"),
    Timeless: ("step", "state.step"),
    Concrete: ("step", "ConcretizationTypeError"),
    Explodes: ("finite", "smaller step_size"),
    OutsideRandomness: ("repeat", "np.random"),
    FirstLeads: ("order", "place among the others"),
    ByLeaf: ("tree", "flat matrix"),
    DividesByDistance: ("meeting", "meet"),
    WithoutVmap: ("vmap", "vmap"),
}


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_a_fault_is_named(kind):
    name, words = FAULTS[kind]
    report = spos.check_sampler(kind.of(log_prob, 0.1))
    assert not report.passed
    assert name in report.failed
    (line,) = (check for check in report.checks if check.name == name)
    assert words in line.sentence
    assert f"FAIL  {name}" in str(report)
    assert report.checks[-1].name == (name if name in ("value", "init", "step") else "meeting")


def test_the_target_is_judged_before_the_sampler():
    report = spos.check_sampler(spos.sgld(lambda x: jnp.sqrt(x).sum(), 0.1))
    assert report.failed == ("target",)
    assert "finite" in report.checks[-1].sentence
    report = spos.check_sampler(spos.sgld(tree_log_prob, 0.1))
    assert report.failed == ("target",)
    loose = dataclasses.replace(Base.of(log_prob, 0.1), target=log_prob)
    assert spos.check_sampler(loose).failed == ("value",)


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="sampler must be"):
        spos.check_sampler(log_prob)
