"""The accuracy experiment: its models, errors, verdicts and calibration."""

import dataclasses
import functools
import importlib
import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos_experiments.frame import bounded, record
from spos_experiments.frame.perform import perform
from spos_experiments.frame.record import HOLDS, NOT_SEEN
from spos_experiments.paper import accuracy
from spos_experiments.paper.accuracy import calibration, methods, models, reference
from spos_experiments.paper.accuracy.findings import Found, accuracy_table, findings, row
from spos_experiments.paper.accuracy.reference import Reference, judged
from spos_experiments.paper.accuracy.sampled import Outcome, Sampled
from spos_experiments.paper.accuracy.so_far import against, rows_so_far, so_far

SIMULATIONS = 500


def outcome(mean, sd, converged, seconds=1.0):
    mean, sd = np.atleast_2d(mean), np.atleast_2d(sd)
    runs = len(mean)
    words, time = [converged] * runs, np.full(runs, seconds)
    return Outcome(mean, sd, time, [100] * runs, words, [""] * runs, processor=time)


TRUTH = Reference(["a", "b"], np.array([1.0, 2.0]), np.array([1.0, 4.0]), True, 1e5, 1.0, 0, 0)
RIGHT, SHIFTED = np.array([1.05, 2.1]), np.array([1.0, 3.0])


def test_every_model_has_its_function():
    assert len(models.MODELS) - len(models.TRAPS) >= 20
    for name, room in models.MODELS.items():
        assert callable(
            getattr(importlib.import_module(f"spos_experiments.paper.accuracy.models.{room}"), name)
        )


@pytest.mark.parametrize("name", ["raw_quadratic", "radon", "growth"])
def test_a_model_is_a_density_with_the_same_data_each_time(name):
    values = []
    for _ in range(2):
        model = spos.from_numpyro(models.build(name))
        theta = {site: jnp.full(shape, 0.3) for site, shape in model.shapes.items()}
        values.append(float(model.target.log_prob(theta)))
    assert np.isfinite(values[0])
    assert values[0] == values[1]


@pytest.mark.parametrize(("stretched", "right"), [(1.05, True), (1.2, False)])
def test_a_standard_deviation_that_nobody_knows_is_judged_by_the_central_width(stretched, right):
    values = np.exp(3.0 * np.random.default_rng(0).standard_normal((10_000, 2)))
    values[:, 1] = np.log(values[:, 1])
    error = reference.sd_error(values)
    assert error[1] == pytest.approx(0.5 * math.sqrt(2.0 / 10_000), rel=0.1)
    assert error[0] > 0.1
    mean, sd, width = values.mean(0), values.std(0), reference.width(values)
    truth = Reference(["a", "b"], mean, sd, True, 1e4, 1.0, 0, 0, width, error)
    wide = outcome(mean, sd * [2.0, 1.0], False)._replace(width=width[None] * [stretched, 3.0])
    assert row("m", "sgld", truth, wide)["right"] == [right]
    assert row("m", "sgld", truth._replace(sd_error=None), wide)["right"] == [False]


def test_errors_are_in_units_of_the_truth():
    found = row("m", "spos", TRUTH, outcome(SHIFTED, [1.0, 2.0], True))
    assert found["worst_mean"] == 0.25
    assert found["worst_sd"] == pytest.approx(np.log(2))
    assert found["mean_mean"] == 0.125
    assert found["right"] == [False]
    assert row("m", "spos", TRUTH, outcome(RIGHT, [1.05, 4.0], True))["right"] == [True]
    assert row("m", "spos", TRUTH, outcome(RIGHT, [1.15, 4.0], True))["right"] == [False]
    broken = row("m", "svgd", TRUTH, outcome([np.nan, 1.0], [1.0, 4.0], None))
    assert broken["worst_mean"] == np.inf


def test_what_never_varies_has_no_error():
    truth = TRUTH._replace(sd=np.array([1.0, 0.0]))  # as in a Cholesky factor
    assert row("m", "spos", truth, outcome([1.25, 2.0], [1.0, 0.0], True))["mean_mean"] == 0.25
    chains = np.random.default_rng(0).normal(size=(4, 100, 2))
    ess, r_hat = judged(chains)
    assert (ess, r_hat) == judged(np.concatenate([chains, np.ones((4, 100, 1))], axis=2))
    assert r_hat < 1.1


def first_claim(wrong):
    """The verdict with 19 right models and one that is `wrong`."""
    names = [f"m{n}" for n in range(20)]
    runs = {(name, "spos"): outcome(RIGHT, TRUTH.sd, True) for name in names[1:]}
    runs["m0", "spos"] = wrong
    found = Found(dict.fromkeys(names, TRUTH), runs, {})
    return findings(accuracy.Settings(models=tuple(names)), found).claims[0]


def test_a_wrong_answer_may_be_given_once_if_it_is_not_called_converged():
    warned, silent = (outcome(SHIFTED, TRUTH.sd, said) for said in (False, True))
    assert first_claim(warned).verdict == HOLDS
    assert first_claim(silent).verdict == NOT_SEEN
    assert "Not right: m0; of these it calls converged: m0" in first_claim(silent).measured
    names = ("m0", "m1")
    both = Found(dict.fromkeys(names, TRUTH), {(name, "spos"): warned for name in names}, {})
    assert findings(accuracy.Settings(models=names), both).claims[0].verdict == NOT_SEEN


@pytest.mark.parametrize(
    ("mean", "said", "verdict"),
    [(RIGHT, True, HOLDS), (SHIFTED, False, HOLDS), (SHIFTED, True, NOT_SEEN)],
)
def test_a_trap_is_a_wrong_answer_that_is_called_converged(mean, said, verdict):
    runs = {("funnel", "sgld"): outcome(mean, TRUTH.sd, said)}
    found = findings(accuracy.Settings(models=("funnel",)), Found({"funnel": TRUTH}, runs, {}))
    assert [claim.verdict for claim in found.claims] == [verdict]


def test_the_kernel_is_judged_in_pairs():
    names = ("m0", "m1", "m2")
    runs = {}
    for n, name in enumerate(names):
        runs[name, "spos"] = outcome(RIGHT, TRUTH.sd * 1.01, True)
        runs[name, "sgld"] = outcome(RIGHT + 0.04 + n / 100, TRUTH.sd * 1.02, True)
    found = findings(accuracy.Settings(models=names), Found(dict.fromkeys(names, TRUTH), runs, {}))
    (kernel,) = [c.verdict for c in found.claims if "kernel term" in c.claim]
    assert kernel == "holds only when judged by errors of means; or errors of sds"


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        ((0.4, 0.4, 1.4), HOLDS),
        ((0.4, 0.4, 2.4), "holds only when judged in the median"),
        ((0.6, 0.9, 1.4), "holds only when judged on every model"),
    ],
)
def test_times_are_compared_where_both_are_right(seconds, wanted):
    """In the median and at the worst, without a model on which the rival gave up."""
    names = ("m0", "m1", "m2", "m3")
    runs = {}
    for name, own in zip(names, (*seconds, 50.0), strict=True):
        runs[name, "sgld"] = outcome(RIGHT, TRUTH.sd, True, own)
        runs[name, "nutpie"] = outcome(RIGHT, TRUTH.sd, True, 1.0)
    runs["m3", "nutpie"] = Outcome.failed("stopped after 240 seconds of processor time", 1)
    found = findings(accuracy.Settings(models=names), Found(dict.fromkeys(names, TRUTH), runs, {}))
    with_compilation = [c for c in found.claims if "nutpie, with compilation" in c.claim]
    assert [claim.verdict for claim in with_compilation] == [wanted]


def test_a_job_that_takes_too_long_is_ended_and_the_next_one_is_done():
    with pytest.raises(bounded.TooLongError, match=r"after 0\.5 seconds"):
        bounded.within(0.5, sum, range(10**12))
    assert bounded.within(5.0, sum, range(10)) == 45


def test_a_rival_that_fails_counts_as_one_that_warns(monkeypatch, tmp_path):
    def stopped(*_):
        raise bounded.TooLongError("stopped after 1 second")

    monkeypatch.setattr(bounded, "within", stopped)
    found = methods.kept(tmp_path, "radon", "nutpie", accuracy.Settings(), 0)
    made = row("radon", "nutpie", TRUTH, found)
    assert (made["right"], made["converged"]) == ([False, False], [False, False])
    assert made["failure"] == "TooLongError: stopped after 1 second"


def test_chains_that_disagree_on_a_standard_deviation_make_a_weak_reference():
    """Independent normal draws know its logarithm to ½ √2 / √n, n of them in all."""
    chains = np.random.default_rng(0).normal(size=(4, 10_000, 2))
    error = reference.sd_error_of_halves(chains)
    assert error == pytest.approx(1.0 / math.sqrt(2.0 * 40_000), rel=0.8)
    known = Reference(["a", "b"], np.zeros(2), np.ones(2), False, 5000.0, 1.0, 0, 0)
    assert not known._replace(sd_error=error).weak
    chains[0, :5000, 1] *= 1.3  # an excursion of one chain
    assert known._replace(sd_error=reference.sd_error_of_halves(chains)).weak


def test_nuts_and_exact_references():
    tiny = accuracy.Settings(
        nuts_chains=2, reference_draws=10, reference_parts=2, exact_draws=20_000
    )
    made = reference.make("autoregression", tiny)  # weak, and so made again, five times as long
    assert made.leapfrogs >= 2 * 150  # two chains warmed up, and both parts used
    assert made.names == ["level", "memory", "noise"]
    assert made.weak
    np.testing.assert_allclose(made.mean, [0.5, 0.8, 0.4], atol=0.3)
    exact = reference.make("far_modes", tiny)
    np.testing.assert_allclose(exact.mean, -3.2, atol=0.15)
    np.testing.assert_allclose(exact.sd, np.sqrt(1 + 64 * 0.84), rtol=0.02)
    assert not exact.weak
    known = reference.make("conversion", tiny)  # a Beta(4, 98) and Gamma laws, by hand
    assert known.names == ["share[0]", "share[1]", "value[0]", "value[1]"]
    np.testing.assert_allclose(known.mean, [4 / 102, 10 / 102, 4 / 0.5, 10 / 1.0])
    np.testing.assert_allclose(known.sd[2:], [2 / 0.5, np.sqrt(10) / 1.0])


def conjugate_draws(rng, totals, width=1.0, count=100):
    """Exact posteriors of the normal model, too narrow where `width` is below one."""
    return totals[:, None] / 6 + width / np.sqrt(6) * rng.normal(size=(len(totals), count))


def test_ranks_of_exact_draws_are_uniform_and_others_are_not():
    truths, totals = calibration.simulated("normal", SIMULATIONS, seed=1)
    rng = np.random.default_rng(2)

    def chance(draws):
        return calibration.uniformity(calibration.ranks(truths, draws), 100)[1]

    assert chance(conjugate_draws(rng, totals)) > 1e-3
    assert chance(conjugate_draws(rng, totals, width=0.75)) < 1e-4
    assert chance(conjugate_draws(rng, totals) + 0.15) < 1e-4


@pytest.mark.parametrize("name", calibration.MODELS)
def test_langevin_particles_are_calibrated(name):
    """The cheap version: a fixed step, all simulations at once. Fails for one correct seed in a
    thousand, apart from the bias of the step."""
    truths, totals = calibration.simulated(name, SIMULATIONS, seed=3)
    mode = {"normal": lambda total: total / 6, "counts": lambda total: jnp.log((2 + total) / 6)}[
        name
    ]
    model = calibration.MODELS[name]

    def posterior(key, total):
        sampler = spos.sgld(
            lambda theta: model.log_prob(theta[0], total), 0.05, preconditioner=spos.ensemble()
        )
        start = mode(total) + jax.random.uniform(key, (20, 1), minval=-0.5, maxval=0.5)
        return spos.run(sampler, key, start, 150)[0].particles[:, 0]

    keys = jax.random.split(jax.random.key(0), SIMULATIONS)
    drawn = np.asarray(jax.jit(jax.vmap(posterior))(keys, jnp.asarray(totals, jnp.float32)))
    assert calibration.uniformity(calibration.ranks(truths, drawn), 20)[1] > 1e-3


def test_a_run_is_recorded_drawn_and_resumed(monkeypatch, tmp_path):
    """The whole frame, with draws that cost nothing in place of every method."""
    calls = []

    adapted = functools.cache(lambda name: spos.from_numpyro(models.build(name)))

    def free(name, settings):
        model = adapted(name)
        return lambda seed, start: (
            calls.append(seed)
            or Sampled(
                methods.constrained(model, model.start(jax.random.key(seed), 50), 40),
                50,
                False,
                "never tried",
            )
        )

    def given(name, particles):
        rng = np.random.default_rng(0)
        return lambda total, seed: conjugate_draws(rng, np.array([total]), count=particles)[0]

    monkeypatch.setattr(methods, "METHODS", dict.fromkeys(methods.METHODS, free))
    monkeypatch.setattr(bounded, "within", lambda _, job, *arguments: job(*arguments))
    monkeypatch.setattr(calibration, "automatic", given)
    changed = {
        "models": ("funnel",),
        "methods": tuple(methods.METHODS),
        "repeats": 2,
        "exact_draws": 500,
        "calibrations": ("normal",),
        "simulations": 40,
    }
    made = perform("accuracy", tmp_path, quick=True, changed=changed)
    assert {drawn.file for drawn in made.figures} == {"accuracy.png", "calibration.png"}
    asked = [name for name in methods.METHODS if "funnel" in methods.FEWER.get(name, ("funnel",))]
    assert len(calls) == len(asked) * 2
    again = perform("accuracy", tmp_path, quick=True, changed=changed)
    assert len(calls) == len(asked) * 2  # everything came from the folder
    assert json.dumps(again.numbers) == json.dumps(made.numbers)
    verdicts = {claim.claim: claim.verdict for claim in made.claims}
    assert (
        verdicts["The automatic recipe falls into no trap: where it is wrong, it says so."] == HOLDS
    )
    assert verdicts["Ranks of the truth among the draws of an automatic run are uniform."] == HOLDS


def test_svgd_begins_where_fit_ended_and_pays_for_it(monkeypatch, tmp_path):
    """Without running it again: each repeat has its own start."""
    begun, asked = [], []

    def first(name, settings):
        return lambda seed, start: (
            asked.append(seed) or Sampled(np.ones((3, 1)), 50, True, "", {"x": np.full(3, seed)})
        )

    def second(name, settings):
        return lambda seed, start: begun.append(start["x"][0]) or Sampled(np.ones((3, 1)), 7)

    monkeypatch.setattr(methods, "METHODS", {"sgld": first, "svgd": second})
    settings = accuracy.Settings(repeats=2)
    found = methods.kept(tmp_path, "radon", "svgd", settings, 3)
    assert (asked, begun) == ([3, 1003], [3, 1003])
    assert found.evaluations == [57, 57]
    before = methods.kept(tmp_path, "radon", "sgld", settings, 3)
    assert len(asked) == 2
    assert (found.seconds > before.seconds).all()


HERE = Path(__file__).parents[3]


def test_runs_with_other_settings_are_kept_apart():
    settings = accuracy.Settings()
    assert dataclasses.replace(settings, models=("scales",)).mark() == settings.mark()
    assert dataclasses.replace(settings, repeats=1).mark() != settings.mark()
    assert (HERE / "experiments" / "results" / "accuracy" / "runs" / settings.mark()).is_dir()


def test_the_page_quotes_the_runs():
    store = HERE / "experiments" / "results" / "accuracy" / "runs" / accuracy.Settings().mark()
    rows = rows_so_far(store)
    page = (HERE / "docs" / "automatic.md").read_text()
    assert accuracy_table(rows) in page
    assert so_far(rows) in page
    assert against(rows) in page


def test_the_readme_quotes_the_record():
    found = record.read(HERE / "experiments" / "results" / "accuracy" / "record.json")
    rows = {(each["model"], each["method"]): each for each in found.numbers["rows"]}
    own = {model: each for (model, method), each in rows.items() if method == "sgld"}
    rival = {m: rows[m, "nuts"]["evaluations"] for m in own if not rows[m, "nuts"]["failure"]}
    ratios = [own[m]["evaluations"] / evaluations for m, evaluations in rival.items()]
    right = sum(all(each["right"]) for each in own.values())
    told = " ".join((HERE / "README.md").read_text().split())
    assert f"On {len(own)} models of everyday statistics it is right on {right}" in told
    assert f"with {np.median(ratios):.2g} times the gradients of NUTS in the median" in told
