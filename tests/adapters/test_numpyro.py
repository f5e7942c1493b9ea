"""NumPyro models: the same density, the same parameters, unbiased minibatches, clear refusals."""

import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas
import pytest
from eight_schools import EFFECT, ERROR, in_numpyro, log_density
from numpyro.infer.util import constrain_fn, potential_energy
from regression import in_numpyro as in_rows

import spos
from spos.adapters.model import ModelError
from standard_errors import disagreement

KEY = jax.random.key(0)
ROWS, BATCH = 20, 4
RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(ROWS, 2)), RNG.normal(size=ROWS)
Y[-1] += 10.0  # an outlier, so that a row left out would show


def regression(x, y=None, batch=BATCH):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=batch) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ w, 1.0), obs=None if y is None else y[rows])


@pytest.fixture(scope="module")
def schools():
    return spos.from_numpyro(in_numpyro, ERROR, effect=EFFECT)


@pytest.fixture(scope="module")
def particles(schools):
    return schools.start(KEY, 6)


def test_the_density_is_numpyros_and_that_of_the_formula(schools, particles):
    def numpyros(theta):
        return -potential_energy(in_numpyro, (ERROR,), {"effect": EFFECT}, theta)

    ours = jax.jit(jax.vmap(schools.target.log_prob))(particles)
    np.testing.assert_allclose(ours, jax.jit(jax.vmap(numpyros))(particles), rtol=1e-6)
    columns = [np.float64(particles[name]) for name in ("mu", "tau", "z")]
    by_hand = [log_density(*point) for point in zip(*columns, strict=True)]
    np.testing.assert_allclose(ours, by_hand, rtol=1e-5)


def test_the_start_is_uniform_between_minus_two_and_two(schools):
    start = schools.start(KEY, 4000)
    assert {name: leaf.shape for name, leaf in start.items()} == {
        "mu": (4000,),
        "tau": (4000,),
        "z": (4000, 8),
    }
    for leaf in start.values():
        assert -2.0 <= leaf.min() < -1.99
        assert 1.99 < leaf.max() <= 2.0
    assert np.ptp(start["mu"] - start["tau"]) > 1.0  # each parameter has randomness of its own


@pytest.mark.parametrize("leading", [(6,), (2, 3), ()])
def test_constrained_draws_are_numpyros_for_any_leading_axes(schools, particles, leading):
    def numpyros(theta):
        return constrain_fn(in_numpyro, (ERROR,), {"effect": EFFECT}, theta, True)

    shaped = {k: v[: max(1, np.prod(leading, dtype=int))] for k, v in particles.items()}
    shaped = {k: v.reshape(*leading, *v.shape[1:]) for k, v in shaped.items()}
    ours = schools.constrain(shaped)
    assert list(ours) == ["mu", "tau", "z", "theta"]
    theirs = jax.jit(jax.vmap(numpyros))(particles)
    for row, index in enumerate(np.ndindex(leading)):
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name][index], values[row], rtol=1e-5)


def test_predictions_follow_the_observed_law_and_not_the_data(schools):
    count = 4000
    theta = {"mu": jnp.full(count, 3.0), "tau": jnp.zeros(count), "z": jnp.ones((count, 8))}
    drawn = schools.predict(KEY, theta)
    assert list(drawn) == ["effect"]
    assert disagreement(drawn["effect"], np.full(8, 3.0 + 1.0)) <= 1
    assert disagreement((drawn["effect"] - 4.0) ** 2, ERROR**2) <= 1
    assert disagreement(drawn["effect"], EFFECT) > 1


def test_axes_have_the_names_of_the_plates(schools):
    assert schools.dims == {"mu": [], "tau": [], "z": ["school"], "theta": ["school"]} | {
        "effect": ["school"]
    }
    np.testing.assert_array_equal(schools.coords["school"], np.arange(8))
    matrix = spos.from_numpyro(lambda: numpyro.sample("m", dist.Normal(jnp.zeros((2, 3)), 1.0)))
    assert matrix.dims["m"] == ["m_dim_0", "m_dim_1"]


def test_the_average_minibatch_score_is_the_full_score():
    target = spos.from_numpyro(regression, X, y=Y).target
    theta = {"w": jnp.asarray([[0.3, -1.0], [2.0, 0.5]])}
    residual = Y - np.asarray(theta["w"]) @ X.T
    exact = residual @ X - np.asarray(theta["w"])
    np.testing.assert_allclose(jax.jit(target.score)(theta)["w"], exact, rtol=1e-4)
    keys = jax.random.split(KEY, 2000)
    scores = jax.jit(jax.vmap(lambda k: target.score(theta, target.draw(k))))(keys)
    assert disagreement(scores["w"], exact) <= 1
    assert disagreement(scores["w"] * BATCH / (BATCH + 1), exact) > 1  # a wrong weight shows
    assert np.std(scores["w"], axis=0).min() > 0.1


def test_predictions_of_a_subsampled_model_have_all_rows():
    model = spos.from_numpyro(regression, X, y=Y)
    assert model.predict(KEY, model.start(KEY, 3))["y"].shape == (3, ROWS)
    assert model.dims["y"] == ["rows"]


def test_data_travel_as_an_argument(schools):
    other = jax.tree.map(lambda leaf: leaf + 1.0, schools.target.data)
    batch = dataclasses.replace(schools.target, data=other).draw(KEY)
    theta = {"mu": jnp.float32(1.0), "tau": jnp.float32(0.0), "z": jnp.zeros(8)}
    shifted = spos.from_numpyro(in_numpyro, ERROR + 1.0, effect=EFFECT + 1.0).target
    expected = jax.jit(shifted.log_prob)(theta)
    ours = jax.jit(schools.target.log_prob)(theta, batch)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    assert not np.allclose(jax.jit(schools.target.log_prob)(theta), expected)


def test_a_model_that_counts_its_data_gets_them_as_constants():
    def grouped(group, y):
        with numpyro.plate("group", len(np.unique(group))):
            mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mean[group], 1.0), obs=y)

    model = spos.from_numpyro(grouped, np.array([0, 1, 1, 2]), np.ones(4))
    assert model.target.data == ()
    assert model.shapes == {"mean": (3,)}


def test_a_mask_is_not_forgotten():
    with pytest.raises(TypeError, match="arguments of regression must be an array without a mask"):
        spos.from_numpyro(regression, np.ones((4, 2)), y=np.ma.masked_less(np.arange(4.0), 1.0))


def test_improper_priors_are_fine():
    def flat(y):
        positive = dist.ImproperUniform(dist.constraints.positive, (), ())
        numpyro.sample("y", dist.Normal(0.0, numpyro.sample("s", positive)), obs=y)

    target = spos.from_numpyro(flat, np.ones(3)).target
    by_hand = -3.0 * np.log(2.0) - 1.5 * np.log(2 * np.pi) - 3.0 / 8.0 + np.log(2.0)
    np.testing.assert_allclose(jax.jit(target.log_prob)({"s": np.log(2.0)}), by_hand, rtol=1e-5)


def discrete(y):
    kind = numpyro.sample("kind", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal()) + kind, 1.0), obs=y)


def local(y):
    with numpyro.plate("rows", 9, subsample_size=3):
        numpyro.sample("z", dist.Normal(0.0, 1.0))


def unplated(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal(jnp.zeros(9))), 1.0), obs=y)


REFUSED = {
    "discrete": (discrete, (np.ones(9),), r"model discrete has discrete.*: kind\. Sum them out"),
    "nothing to sample": (lambda: None, (), r"<lambda> has no parameters to sample"),
    "local": (local, (np.ones(9),), r"parameter z is inside the plate rows, which is subsampled"),
    "too short": (unplated, (np.ones(8),), r"unplated: .* y have shape \(8,\), .* \(9,\)"),
    "a column": (unplated, (np.ones((9, 1)),), r"unplated: .* y have shape \(9, 1\), .* \(9,\)"),
    "wrong matrix": (
        regression,
        (np.ones((9, 3)), np.ones(9)),
        r"regression cannot be evaluated with argument 0 of shape \(9, 3\), argument 1 of shape",
    ),
    "a column of a table": (
        in_rows,
        (pandas.Series(np.ones(9)), np.ones(9)),
        r"in_numpyro cannot be evaluated under jax\.jit: .*x is a Series: give its \.to_numpy\(\)",
    ),
    "missing": (regression, (), r"regression cannot be evaluated without arrays: .*'x'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_sampled_is_refused_by_name(name):
    model, args, message = REFUSED[name]
    with pytest.raises(ModelError, match=message):
        spos.from_numpyro(model, *args)


def test_bad_arguments_are_named(schools, particles, monkeypatch):
    with pytest.raises(TypeError, match=r"model must be a function, got 3 \(int\)"):
        spos.from_numpyro(3)
    with pytest.raises(ValueError, match=r"in_numpyro must be a dict of mu, tau, z, got \['mu'\]"):
        schools.constrain({"mu": jnp.zeros(3)})
    with pytest.raises(ValueError, match=r"z must have shape \(8,\) .* got \(6, 7\)"):
        schools.constrain(particles | {"z": jnp.zeros((6, 7))})
    with pytest.raises(ValueError, match=r"share their leading axes, got \(5,\) and \(6,\)"):
        schools.constrain(particles | {"mu": jnp.zeros(5)})
    with pytest.raises(ValueError, match=r"num_particles must be at least 1, got 0"):
        schools.start(KEY, 0)
    monkeypatch.setitem(sys.modules, "numpyro", None)
    with pytest.raises(ImportError, match=r"pip install 'spos\[numpyro\]'"):
        spos.from_numpyro(in_numpyro)


def test_models_share_programs_when_function_fixed_arguments_and_shapes_agree():
    def program(*args, model=regression, **kwargs):
        return spos.from_numpyro(model, *args, **kwargs).target.program

    assert program(X, Y) == program(X + 1.0, 2.0 * Y)
    assert program(X, Y) != program(X, Y, batch=3)
    assert program(X, Y) != program(X, y=Y)  # another structure
    assert program(X, Y) != program(X, Y, model=lambda x, y: regression(x, y))


def test_a_variable_that_the_model_reads_from_outside_is_part_of_the_program(monkeypatch):
    """Else a second model would silently be that of the first one's numbers."""
    outside = {"array": np.ones(3), "number": 1.0}

    def model():
        m = numpyro.sample("m", dist.Normal(0.0, outside["number"]))
        numpyro.deterministic("twice", m * jnp.sum(jax.jit(lambda: outside["array"] * 1.0)()))

    first = spos.from_numpyro(model)
    assert spos.from_numpyro(model).target.program == first.target.program
    for name, other in (("array", np.array([1.0, 1.0, 5.0])), ("number", 2.0)):
        monkeypatch.setitem(outside, name, other)
        changed = spos.from_numpyro(model)
        assert changed.target.program != first.target.program
    theta = {"m": jnp.ones(1)}
    assert first.constrain(theta)["twice"] == changed.constrain(theta)["twice"] == 7.0


def test_blocks_of_rows_give_what_rows_give(schools):
    many = schools.start(KEY, 1100)
    whole = schools.constrain(many)
    for row in (0, 511, 512, 1099):
        one = schools.constrain({name: leaf[row] for name, leaf in many.items()})
        for name, values in one.items():
            np.testing.assert_allclose(whole[name][row], values, rtol=1e-6)
    drawn = schools.predict(KEY, many)["effect"]
    assert drawn.shape == (1100, 8)
    assert len(np.unique(drawn[:, 0])) == 1100  # every row has random numbers of its own


def test_ten_observations_of_one_law_are_ten_draws():
    """NumPyro itself would draw once, which nobody can compare with the observations."""
    model = spos.from_numpyro(short, np.ones(10))
    drawn = model.predict(KEY, {"m": jnp.full(3, 5.0)})["y"]
    assert drawn.shape == (3, 10)
    assert len(np.unique(drawn)) == 30


def short(y):
    numpyro.sample("y", dist.Normal(numpyro.sample("m", dist.Normal()), 1.0), obs=y)


def test_constants_are_not_checked_where_a_device_has_its_share(monkeypatch):
    """JAX cannot look at them there; outside they are checked, and were before."""

    def model():
        numpyro.sample("x", dist.Normal(0.0, jnp.array(-1.0)))

    target = spos.from_numpyro(lambda: numpyro.sample("x", dist.Normal(0.0, 1.0))).target
    broken = dataclasses.replace(target, program=dataclasses.replace(target.program, model=model))
    with numpyro.validation_enabled():
        with pytest.raises(ValueError, match="scale"):
            broken.log_prob({"x": jnp.zeros(())})
        monkeypatch.setattr("spos.mesh.shards.inside", lambda: True)
        assert np.isnan(broken.log_prob({"x": jnp.zeros(())}))
