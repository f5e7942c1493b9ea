"""Honest predictions pass at a stated rate, dishonest ones are caught, and numbers agree with
scikit-learn's and with those worked out by hand."""

import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from spos.diagnostics.calibration import brier, coverage, ece, nll, pit

FALSE_ALARM = 1e-3  # the rate at which each test of uniformity would fail by chance


def mixture(count=2000, parts=10, seed=0):
    """Outcomes and the mixture of Gaussians they come from."""
    rng = np.random.default_rng(seed)
    means, sds = rng.normal(size=(parts, count)), rng.uniform(0.2, 0.6, size=parts)
    part = rng.integers(parts, size=count)
    return means[part, np.arange(count)] + sds[part] * rng.normal(size=count), means, sds


def forecast(count, sharpness=2.0, classes=10, seed=0):
    """Probabilities, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    weights = np.exp(sharpness * rng.normal(size=(count, classes)))
    p = weights / weights.sum(axis=1, keepdims=True)
    return p, (p.cumsum(axis=1) > rng.uniform(size=(count, 1))).argmax(axis=1)


def test_a_transform_is_the_share_of_the_mixture_below():
    expected = 0.5 * (stats.norm.cdf(0.4, 1.0, 2.0) + stats.norm.cdf(0.4, -1.0, 0.5))
    assert pit([0.4], [[1.0], [-1.0]], [2.0, 0.5]) == pytest.approx([expected])
    assert pit([0.4], [[1.0], [-1.0]], [[2.0], [0.5]]) == pytest.approx([expected])


def test_transforms_of_draws_lie_between_the_ranks_around_them():
    y, draws = np.asarray([0.5, 9.0, 2.0]), np.tile([[0.0], [1.0], [2.0]], 3)
    u = np.stack([pit(y, draws, seed=seed) for seed in range(300)])
    # one of three below; all three; two below and one equal
    np.testing.assert_allclose(4 * u.min(axis=0), [1, 3, 2], atol=0.05)
    np.testing.assert_allclose(4 * u.max(axis=0), [2, 4, 4], atol=0.05)
    np.testing.assert_array_equal(pit(y, draws, seed=5), u[5])


def test_the_exact_mixture_is_honest_and_half_its_spread_is_not():
    y, means, sds = mixture()
    honest, sure = coverage(y, means, sds), coverage(y, 0.5 * means, 0.5 * sds)
    assert honest.p_value > FALSE_ALARM
    errors = np.sqrt(honest.levels * (1 - honest.levels) / len(y))
    assert (np.abs(honest.observed - honest.levels) < 4.5 * errors).all()
    assert sure.p_value < 1e-6
    assert (sure.observed < sure.levels - 4.5 * errors)[2:].all()
    assert "as uniform as those of honest" in str(honest)
    assert "too sure" in str(sure)
    assert "too unsure" in str(coverage(y, means, 6 * sds))
    assert "too low" in str(coverage(y, means - 1.0, sds))
    assert "too high" in str(coverage(y, means + 1.0, sds))


@pytest.mark.parametrize("parts", [2, 5, 50])
def test_a_few_exact_draws_are_honest_too(parts):
    rng = np.random.default_rng(parts)
    y, draws = rng.normal(size=2000), rng.normal(size=(parts, 2000))
    assert coverage(y, draws).p_value > FALSE_ALARM
    assert coverage(y.round(), draws.round()).p_value > FALSE_ALARM  # with many ties
    assert coverage(y, 0.5 * draws).p_value < FALSE_ALARM


def test_p_values_of_honest_predictions_are_uniform():
    p = [coverage(*mixture(200, seed=seed)).p_value for seed in range(200)]
    assert stats.kstest(p, "uniform").pvalue > FALSE_ALARM


def test_intervals_are_the_central_ones():
    y = stats.norm.ppf([0.04, 0.06, 0.5, 0.94, 0.96])
    found = coverage(y, np.zeros((1, 5)), [1.0], levels=[0.9, 0.5, 0.94])
    np.testing.assert_allclose(found.observed, [0.6, 0.2, 1.0])
    assert "0.9 hold 0.600" in str(found)
    assert "0.94 hold" not in str(found)


def test_the_calibration_error_of_four_predictions_by_hand():
    # confidences .9 (right), .7 (wrong) in (2/3, 1]; .6 (right), .6 (wrong) in (1/3, 2/3]
    p = [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.4, 0.6]]
    found = ece(p, [0, 0, 0, 0], num_bins=3)
    np.testing.assert_array_equal(found.counts, [0, 2, 2])
    np.testing.assert_allclose(found.confidence, [np.nan, 0.6, 0.8])
    np.testing.assert_allclose(found.accuracy, [np.nan, 0.5, 0.5])
    assert found.ece == pytest.approx(0.5 * 0.1 + 0.5 * 0.3)
    spread = np.sqrt(2 * 0.6 * 0.4), np.sqrt(0.9 * 0.1 + 0.7 * 0.3)
    assert found.floor == pytest.approx(np.sqrt(2 / np.pi) * sum(spread) / 4)
    assert found.brier == pytest.approx(2 * (0.1**2 + 0.7**2 + 0.4**2 + 0.6**2) / 4)
    assert found.nll == pytest.approx(-np.log([0.9, 0.3, 0.6, 0.4]).mean())


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    np.testing.assert_array_equal(ece([[0.5, 0.5], [1.0, 0.0]], [0, 0], num_bins=2).counts, [1, 1])


def test_scikit_learn_agrees():
    p, labels = forecast(3000)
    p = p**2 / (p**2).sum(axis=1, keepdims=True)
    found = ece(p, labels)
    accuracy, confidence = calibration_curve(p.argmax(1) == labels, p.max(1), n_bins=15)
    full = found.counts > 0
    np.testing.assert_allclose(found.accuracy[full], accuracy)
    np.testing.assert_allclose(found.confidence[full], confidence)
    assert brier(p, labels) == pytest.approx(brier_score_loss(labels, p, scale_by_half=False))
    assert nll(p, labels) == pytest.approx(log_loss(labels, p))
    two, is_nine = np.column_stack([1 - p[:, 9], p[:, 9]]), (labels == 9).astype(int)
    assert brier(two, is_nine) == pytest.approx(2 * brier_score_loss(is_nine, p[:, 9]))


def test_an_honest_forecast_has_the_error_of_chance_and_a_sharpened_one_more():
    for count in (500, 8000):
        found = [ece(*forecast(count, seed=seed)) for seed in range(30)]
        ratio = np.asarray([one.ece / one.floor for one in found])
        # |normal| has a standard deviation of .76 of its mean and some ten bins count, so that one
        # ratio has about .24 and the mean of thirty .045; 4.5 of these have a chance of 1e-5
        assert ratio.mean() == pytest.approx(1.0, abs=0.2)
        p, labels = forecast(count)
        sharpened = ece(p**2 / (p**2).sum(axis=1, keepdims=True), labels)
        assert sharpened.ece > 3 * sharpened.floor
    assert found[0].floor == pytest.approx(ece(*forecast(500)).floor / 4, rel=0.1)


def test_extremes_stay_sensible():
    sure = np.eye(3, dtype=np.float32)[[0, 1, 2, 0]]
    right, wrong = ece(sure, [0, 1, 2, 0]), ece(sure, [1, 2, 0, 1])
    assert (right.ece, right.floor, right.nll, right.brier) == (0, 0, 0, 0)
    assert (wrong.ece, wrong.nll, wrong.brier) == (1, np.inf, 2)
    assert "accuracy 0.0%, mean confidence 100.0%" in str(wrong)


@pytest.fixture
def drawing(monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_pictures_show_what_was_found(drawing):
    y, means, sds = mixture(300)
    found = coverage(y, means, sds)
    left, right = found.plot().axes
    heights = [bar.get_height() for bar in left.patches if bar.get_width() < 0.5]
    np.testing.assert_allclose(heights, np.histogram(found.pit, 20, (0, 1), density=True)[0])
    np.testing.assert_allclose(right.lines[-1].get_ydata(), found.observed)
    given = drawing.figure().subplots(1, 2)
    assert found.plot(given) is given[0].figure
    reliability = ece(*forecast(400))
    [axes] = reliability.plot().axes
    full = reliability.counts > 0
    np.testing.assert_allclose(axes.lines[-1].get_ydata(), reliability.accuracy[full])
    assert reliability.plot(given[1]) is given[1].figure


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(
        ImportError, match=r"coverage needs scipy: pip install 'spos\[diagnostics\]'"
    ):
        coverage([0.0], [[0.0]])


HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: pit([[0.0]], [[0.0]]), ValueError, r"y must be .* 1 axes.*got shape \(1, 1\)"),
        (lambda: pit([], [[]]), ValueError, "y must be .* none empty"),
        (lambda: pit([0.0, 1.0], [[0.0]]), ValueError, r"draws must have shape \(S, 2\).*\(1, 1\)"),
        (lambda: pit([np.nan], [[0.0]]), ValueError, r"y must be finite, got nan at \(0,\)"),
        (lambda: pit([0.0], [[np.inf]]), ValueError, r"draws must be finite, got inf at \(0, 0\)"),
        (lambda: pit(["a"], [[0.0]]), TypeError, "y must be an array of real numbers"),
        (lambda: pit([1j], [[0.0]]), TypeError, "y must be an array of real numbers.*complex"),
        (lambda: pit([0.0], [[0.0]], [1.0, 1.0]), ValueError, r"sds must have shape \(1, 1\) or"),
        (lambda: pit([0.0], [[0.0]], 1.0), ValueError, r"sds must have shape"),
        (lambda: pit([0.0], [[0.0]], [0.0]), ValueError, "sds must be above 0, got 0.0"),
        (lambda: pit([0.0], [[0.0]], seed=-1), ValueError, "seed must be at least 0"),
        (lambda: coverage([0.0], [[0.0]], levels=[1.0]), ValueError, "levels must be above 0 and"),
        (lambda: ece([0.5, 0.5], [0]), ValueError, "probabilities must be an array with 2 axes"),
        (lambda: ece([[0.5, 0.6]], [0]), ValueError, "must sum to 1, got 1.1 in row 0"),
        (lambda: nll([[1.5, -0.5]], [0]), ValueError, "must not be negative, got -0.5"),
        (lambda: nll([[np.nan, 1.0]], [0]), ValueError, "probabilities must be finite, got nan"),
        (lambda: brier(HALF, [0]), ValueError, "labels must be 2 whole numbers"),
        (lambda: brier(HALF, [0.0, 1.0]), ValueError, "labels must be .* type float64"),
        (lambda: brier(HALF, [0, 2]), ValueError, "labels must be from 0 to 1, got 0 to 2"),
        (lambda: ece(HALF, [-1, 0]), ValueError, "labels must be from 0 to 1, got -1 to 0"),
        (lambda: ece(HALF, [0, 1], num_bins=0), ValueError, "num_bins must be at least 1"),
        (lambda: ece(HALF, [0, 1], num_bins=1.5), TypeError, "num_bins must be a whole number"),
    ],
)
def test_bad_input_is_named(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
