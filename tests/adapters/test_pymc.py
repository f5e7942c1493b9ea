"""PyMC models: the same density, the same parameters, and JAX left as it was."""

import os
import sys

import jax
import numpy as np
import pytest
from eight_schools import EFFECT, ERROR, SCHOOLS, in_numpyro, in_pymc, log_density, pymc

import spos
from spos.adapters.model import ModelError
from standard_errors import disagreement

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def own():
    return in_pymc()


@pytest.fixture(scope="module")
def schools(own):
    before = jax.config.jax_enable_x64, os.environ.get("XLA_FLAGS")
    model = spos.from_pymc(own)
    assert (jax.config.jax_enable_x64, os.environ.get("XLA_FLAGS")) == before
    return model


@pytest.fixture(scope="module")
def particles(schools):
    return schools.start(KEY, 6)


def point(particles, n):
    return {name: np.float64(leaf[n]) for name, leaf in particles.items()}


def test_the_density_is_pymcs_and_that_of_the_formula_and_numpyros(own, schools, particles):
    ours = np.asarray(jax.jit(jax.vmap(schools.target.log_prob))(particles))
    theirs = own.compile_logp(mode="FAST_COMPILE")
    renamed = {"mu": particles["mu"], "tau": particles["tau_log__"], "z": particles["z"]}
    twin = spos.from_numpyro(in_numpyro, ERROR, effect=EFFECT).target
    np.testing.assert_allclose(ours, jax.jit(jax.vmap(twin.log_prob))(renamed), rtol=1e-5)
    for n in range(6):
        np.testing.assert_allclose(ours[n], theirs(point(particles, n)), rtol=1e-5)
        by_hand = log_density(*point(particles, n).values())
        np.testing.assert_allclose(ours[n], by_hand, rtol=1e-5)


def test_constrained_draws_are_pymcs_for_any_leading_axes(own, schools, particles):
    names = ["mu", "z", "tau", "theta"]
    outputs = [value for name in names for value in own.unobserved_value_vars if value.name == name]
    theirs = own.compile_fn(outputs, inputs=own.value_vars, mode="FAST_COMPILE")
    ours = schools.constrain(particles)
    assert list(ours) == names
    folded = schools.constrain({k: v.reshape(2, 3, *v.shape[1:]) for k, v in particles.items()})
    for n in range(6):
        for name, value in zip(names, theirs(point(particles, n)), strict=True):
            np.testing.assert_allclose(ours[name][n], value, rtol=1e-5)
            np.testing.assert_array_equal(folded[name][divmod(n, 3)], ours[name][n])


def test_new_inputs_need_a_shape_that_follows_them_which_is_said():
    def model(**shape):
        with pymc.Model() as model:
            x = pymc.Data("x", np.ones(9))
            shape = {name: follows(x) for name, follows in shape.items()}
            pymc.Normal("y", pymc.Normal("b") * x, 1.0, observed=np.ones(9), **shape)
        return spos.from_pymc(model)

    b, new = {"b": np.zeros(3)}, np.ones(4)
    drawn = model(shape=lambda x: x.shape).predict(KEY, b, x=new)
    assert drawn["y"].shape == (3, 4)
    with pytest.raises(ModelError, match=r"x of shape \(4,\): .*keeps its length.*shape=x\.shape"):
        model().predict(KEY, b, x=new)


def test_predictions_follow_the_observed_law_and_not_the_data(schools):
    count = 1500
    theta = {"mu": np.full(count, 3.0), "tau_log__": np.zeros(count), "z": np.ones((count, 8))}
    drawn = schools.predict(KEY, theta)
    assert list(drawn) == ["effect"]
    assert disagreement(drawn["effect"], np.full(8, 3.0 + 1.0)) <= 1
    assert disagreement((drawn["effect"] - 4.0) ** 2, ERROR**2) <= 1
    assert disagreement(drawn["effect"], EFFECT) > 1


def test_axes_have_pymcs_names_and_labels(schools):
    assert schools.dims == {"mu": [], "tau": [], "z": ["school"], "theta": ["school"]} | {
        "effect": ["school"]
    }
    assert list(schools.coords["school"]) == SCHOOLS


def test_it_runs(schools):
    run = spos.sample(spos.sgld(schools.target, 0.01), schools.start(KEY, 5), 4, history_every=2)
    assert run.particles["z"].dtype == np.float32
    assert schools.constrain(run.history)["theta"].shape == (2, 5, 8)


def test_a_flat_prior_is_fine():
    with pymc.Model() as model:
        pymc.Normal("y", pymc.Flat("m"), 1.0, observed=np.ones(3))
    target = spos.from_pymc(model).target
    np.testing.assert_allclose(target.log_prob({"m": 3.0}), -6.0 - 1.5 * np.log(2 * np.pi), 1e-5)


def discrete():
    pymc.Normal("y", pymc.Normal("m") + pymc.Bernoulli("kind", 0.5), 1.0, observed=np.ones(9))


def observed_only():
    pymc.Normal("y", observed=np.ones(9))


def wrong_shape():
    pymc.Normal("y", pymc.Normal("m", shape=9), 1.0, observed=np.ones(8))


def wrong_shape_of_shared_data():
    x, y = pymc.Data("x", np.ones(9)), pymc.Data("obs", np.ones(8))
    pymc.Normal("y", pymc.Normal("m") * x, 1.0, observed=y)


def minibatch():
    rows = pymc.Minibatch(np.ones(100), batch_size=10)
    pymc.Normal("y", pymc.Normal("m"), 1.0, observed=rows, total_size=100)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (discrete, r"PyMC model has discrete.*: kind\. Sum them out"),
        (observed_only, r"PyMC model has no parameters to sample"),
        (wrong_shape, r"cannot be evaluated with y of shape \(8,\): .*9"),
        (wrong_shape_of_shared_data, r"cannot be evaluated with y of shape \(.*,\): .*9"),
        (minibatch, r"draws random numbers in its density, as pymc\.Minibatch does"),
    ],
)
def test_what_cannot_be_sampled_is_refused_by_name(build, message):
    with pymc.Model() as model:
        build()
    with pytest.raises(ModelError, match=message):
        spos.from_pymc(model)


def test_bad_arguments_are_named(monkeypatch):
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, got 3 \(int\)"):
        spos.from_pymc(3)
    monkeypatch.setitem(sys.modules, "pymc", None)
    with pytest.raises(ImportError, match=r"pip install 'spos\[pymc\]'"):
        spos.from_pymc(3)
