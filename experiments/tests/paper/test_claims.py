"""The rules of the verdicts, on made-up numbers: each rule can say yes, no and partly."""

import dataclasses
import math

import numpy as np
import pytest

from spos_experiments.frame.experiment import Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper import collapse, gaussian, multimode, particles, posterior, toys
from spos_experiments.paper.collapse.findings import claims as collapse_claims
from spos_experiments.paper.multimode.findings import claims as multimode_claims
from spos_experiments.paper.multimode.findings import measure
from spos_experiments.paper.multimode.protocol import Run
from spos_experiments.paper.multimode.settings import METHODS, READINGS


def test_a_verdict_counts_the_conditions_that_hold():
    assert verdict({"a": True, "b": True}) == "holds"
    assert verdict({"a": False, "b": False}) == "not seen"
    assert verdict({"a": True, "b": False, "c": True}) == "holds only when a; or c"
    assert verdict({"a": True, "b": False}, "run as ") == "holds only when run as a"
    most = {"a": True, "b": False, "c": True, "d": True}
    assert verdict(most, "run as ") == "holds only when not run as b"
    assert verdict(most) == "holds only when a; or c; or d"
    with pytest.raises(ValueError, match="at least one condition"):
        verdict({})


def test_a_claim_takes_no_other_verdict():
    with pytest.raises(ValueError, match="verdict must be 'holds'"):
        Claim("c", "m", "maybe", "r")
    with pytest.raises(ValueError, match="verdict must be"):
        Claim("c", "m", "holds only when ", "r")


def test_an_estimate_is_above_another_only_beyond_two_standard_errors():
    low = Estimate.of([1.0, 1.2, 0.8, 1.0])
    assert low.mean == pytest.approx(1.0)
    assert low.se == pytest.approx(np.std([1.0, 1.2, 0.8, 1.0], ddof=1) / 2)
    assert Estimate(1.5, 0.1).above(low)
    assert not Estimate(1.2, 0.1).above(low)
    assert not low.above(Estimate(1.5, 0.1))
    assert str(Estimate(12.345, 0.06)) == "12.35 ± 0.06"
    assert str(Estimate(129.0, 20.0)) == "129 ± 20"
    assert str(Estimate(1.0, 0.0)) == "1.0000 ± <0.0001"


def runs(*means, repeats=20):
    """Errors of many repeats around the given means, one after another in time."""
    noise = 0.01 * np.random.default_rng(0).standard_normal((repeats, 1))
    return np.asarray(means)[None, :] + noise


SMALL = dataclasses.replace(
    gaussian.Settings(), particles=(1, 10, 300), num_steps=4, growth=(1, 2), early=2
)


def gaussian_verdicts(**series):
    errors = {(name, "w"): curves for name, curves in series.items()}
    return [claim.verdict for claim in gaussian.claims(errors, SMALL)]


FALLING = {1: runs(4, 3, 2, 1), 10: runs(4, 2, 1, 0.5), 300: runs(4, 1, 0.5, 0.2)}
RISING = {1: runs(1, 2, 3, 4), 10: runs(1, 3, 4, 5), 300: runs(1, 4, 5, 6)}


def test_the_gaussian_rules_give_every_verdict():
    assert gaussian_verdicts(A=FALLING) == ["not seen", "holds", "holds", "not seen"]
    assert gaussian_verdicts(A=RISING) == ["holds", "not seen", "not seen", "holds"]
    assert gaussian_verdicts(A=FALLING, B=RISING) == [
        "holds only when run as B, w",
        "holds only when run as A, w",
        "holds only when run as A, w",
        "holds only when run as B, w",
    ]


def test_a_best_size_must_be_clearly_best():
    tied = {**FALLING, 10: runs(4, 1.001, 1, 0.5)}
    assert gaussian_verdicts(A=tied)[1] == "not seen"


def estimates(*means):
    return dict(zip((5, 10, 100, 1000), (Estimate(mean, 0.01) for mean in means), strict=True))


@pytest.mark.parametrize(
    ("fixed", "median", "held", "expected"),
    [
        ((4, 3, 2, 1), (2, 2, 3, 4), (1, 1, 2, 3),
         ["holds only when run as SVGD, median η²", "not seen", "holds"]),
        ((4, 3, 2, 1), (3, 2, 1, 1.5), (1, 1, 1, 1),
         ["not seen", "holds only when run as SVGD, median η²", "not seen"]),
        ((1, 2, 3, 4), (1, 2, 3, 4), (1, 1, 2, 3), ["holds", "not seen", "not seen"]),
        ((3, 1.5, 1, 2), (3, 1.5, 1, 2), (1, 1, 2, 3), ["holds", "holds", "not seen"]),
    ],
)  # fmt: skip
def test_the_particle_rules_give_every_verdict(fixed, median, held, expected):
    errors = {("SVGD", "η² = 1"): estimates(*fixed), ("SVGD", "median η²"): estimates(*median)}
    settings = dataclasses.replace(particles.Settings(), particles=(5, 10, 100, 1000))
    eta2 = {5: 0.6, 10: 0.4, 100: 0.2, 1000: 0.1}
    found = particles.claims(errors, eta2, estimates(*held), settings)
    assert [claim.verdict for claim in found] == expected


def test_the_posterior_rules_give_every_verdict():
    settings = dataclasses.replace(posterior.Settings(), particles=(1, 10, 300), num_steps=20)
    falls, slow = np.geomspace(1, 0.01, 20), np.geomspace(1, 0.5, 20)
    back = np.concatenate([np.geomspace(1, 0.01, 12), np.linspace(0.01, 0.8, 8)])
    quick = {1: runs(*falls), 10: runs(*falls), 300: runs(*falls)}
    late = {1: runs(*back), 10: runs(*back), 300: runs(*slow)}

    def verdicts(errors, diverged):
        return [c.verdict for c in posterior.claims(errors, diverged, settings)]

    assert verdicts({("A", "w"): quick}, {"A": 1.0}) == ["not seen", "not seen", "not seen"]
    assert verdicts({("B", "w"): late}, {"B": 0.0}) == ["holds", "holds", "holds"]
    both = verdicts({("A", "w"): quick, ("B", "w"): late}, {"A": 1.0, "B": 0.0})
    assert both == ["holds only when run as B, w"] * 2 + ["holds only when run as B"]


def multimode_verdicts(svgd, spos_counts):
    """The verdicts when the last counts by basin are these, for the first and second reading."""
    settings = dataclasses.replace(multimode.Settings(), particles=100)
    made, measured, masses = {}, {}, {}
    for n, reading in enumerate(READINGS):
        masses[reading] = np.asarray([0.02, 0.1, 0.5, 0.33, 0.05, 0.0, 0.0])
        for method in METHODS:
            last = np.asarray((svgd if method == "SVGD" else spos_counts)[n])
            made[reading, method] = Run(np.zeros((3, 100)), np.tile(last, (3, 1, 1)))
            measured[reading, method] = measure(made[reading, method], masses[reading])
    chance = dict.fromkeys(READINGS, 0.1)
    found = multimode_claims(made, measured, masses, chance, settings)
    return [claim.verdict for claim in found]


def test_the_multimode_rules_give_every_verdict():
    home, two = [0, 0, 100, 0, 0, 0, 0], [0, 0, 60, 40, 0, 0, 0]
    everywhere = [2, 10, 50, 33, 5, 0, 0]
    assert multimode_verdicts([home, home], [home, home]) == ["holds", "not seen", "not seen"]
    assert multimode_verdicts([two, two], [two, two]) == ["not seen", "holds", "not seen"]
    first = "holds only when the density is exp(−V)"
    assert multimode_verdicts([home, two], [everywhere, home]) == [first] * 3


def test_the_toy_rules_give_every_verdict():
    settings = dataclasses.replace(toys.Settings(), particles=(50,))

    def verdicts(spos_at, svgd_at, sgld_at):
        off = {}
        for n, name in enumerate(toys.TOYS):
            off[name, "SPOS", 50] = Estimate(spos_at, 0.01)
            off[name, "SVGD", 50] = Estimate(svgd_at if n else spos_at, 0.01)
            off[name, "SGLD", 50] = Estimate(sgld_at, 0.01)
        return [claim.verdict for claim in toys.claims(off, settings)]

    but_the_first = "holds only when not run on U1 with 50 particles"
    assert verdicts(0.1, 0.2, 0.3) == [but_the_first, "holds"]
    assert verdicts(0.1, 0.1, 0.05) == ["not seen", "not seen"]


def collapse_verdicts(svgd, printed, bound, noisy, limit, left):
    def curve(name, beta, attractive, epd, bounds):
        return {"name": name, "beta": beta, "attractive": attractive, "radius": 0.25, "why": "no",
                "epd": epd, "bound": bounds, "proved": bounds}  # fmt: skip

    curves = [
        curve("SVGD", math.inf, False, svgd, None),
        curve("SPOS β = 1, the same flow", 1.0, False, [1, 1], None),
        curve("as printed, radius 0.25", math.inf, True, printed, bound),
        curve("SPOS β = 1", 1.0, False, noisy, None),
        curve("SPOS β = 0.1", 0.1, False, noisy, limit),
    ]
    variance = {n: {"mean": [1.0, v]} for n, v in zip(("SPOS β = 1", "SVGD"), left, strict=True)}
    return [claim.verdict for claim in collapse_claims(curves, variance, collapse.Settings())]


def test_the_collapse_rules_give_every_verdict():
    attracts = "holds only when the kernel attracts, as the paper prints it"
    kept = collapse_verdicts([1, 2], [1, 0.001], [1, 0.1], [1, 2], [1, 3], (1.0, 0.1))
    assert kept == [attracts, "holds", "holds", "holds"]
    broken = collapse_verdicts([1, 1], [1, 0.5], [1, 0.1], [1, 2], [1, 1.5], (0.1, 0.1))
    assert broken == ["not seen"] * 4
    assert collapse_verdicts([1, 0], [1, 0], None, [1, 2], None, (1, 1))[:3] == [
        "holds", "not seen", "not seen",
    ]  # fmt: skip
