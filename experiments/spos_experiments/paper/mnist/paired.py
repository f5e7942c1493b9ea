"""Does SPOS differ from SVGD, or is it chance?

Runs with the same seed begin with the same networks and see the same images in the same order, and
all are judged by the same test images. Other seeds might have other errors, and so might other
images, so there are two answers:

* Over seeds: the mean difference of runs with the same seed, and its standard error.
* Over images: which method is wrong on an image in more of its runs? If the methods do not differ,
  each has half of the images for which there is an answer: a sign test, which with one run of each
  is McNemar's. Only runs that keep which images were wrong take part.

This rule was written when the errors of all runs were known, and before it was known for any which
images were wrong.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from spos_experiments.frame.experiment import CLEAR, Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.mnist.outcomes import Outcome

LEVEL = 0.05
MEASURES = ("error", "nll", "ece")


class Signs(NamedTuple):
    """Images that were wrong in more runs of one method than of the other."""

    runs: int  # of each
    first: int
    second: int
    p: float


def signs(first: Sequence[Outcome], second: Sequence[Outcome]) -> Signs | None:
    """Of the runs that keep which images were wrong, if there are any."""
    kept = [
        (a.wrong, b.wrong)
        for a, b in zip(first, second, strict=False)
        if a.wrong is not None and b.wrong is not None
    ]
    if not kept:
        return None
    more = np.zeros(1 + max(int(wrong.max(initial=0)) for pair in kept for wrong in pair), int)
    for a, b in kept:
        more[a] += 1
        more[b] -= 1
    above, below = int((more > 0).sum()), int((more < 0).sum())
    p = binomtest(above, above + below).pvalue if above + below else 1.0
    return Signs(len(kept), above, below, float(p))


def least(difference: int) -> float:
    """What p is at least where one method is wrong on so many more images than the other, whichever
    they are: if those images are all on which the methods differ."""
    return min(1.0, 2.0 ** (1 - difference))


def differences(first: Sequence[Outcome], second: Sequence[Outcome]) -> dict[str, list[float]]:
    """By measure the first less the second, of each pair of runs."""
    pairs = list(zip(first, second, strict=False))  # a run of one may still be under way
    return {name: [getattr(a, name) - getattr(b, name) for a, b in pairs] for name in MEASURES}


def numbers(first: Sequence[Outcome], second: Sequence[Outcome]) -> dict[str, Any]:
    found = signs(first, second)
    return {**differences(first, second), "signs": None if found is None else found._asdict()}


def told(less: Estimate) -> str:
    return f"{less.mean:+.4f} ± {less.se:.4f}"


def claims(size: str, spos: Sequence[Outcome], svgd: Sequence[Outcome]) -> list[Claim]:
    """Of two methods with networks of that size, run by run."""
    less, images = differences(spos, svgd), signs(spos, svgd)
    if len(less["error"]) < 2:
        return []
    by = {name: Estimate.of(values) for name, values in less.items()}
    error = by["error"]
    cases = {"over seeds": abs(error.mean) <= CLEAR * error.se}
    if images is None:
        most = max(abs(a.num_wrong - b.num_wrong) for a, b in zip(spos, svgd, strict=False))
        over_images = (
            f"No run has kept which images were wrong: with a seed the numbers differ by {most} at "
            f"most, for which p is at least {least(most):.2g}"
        )
    else:
        cases["over images"] = images.p > LEVEL
        seeds = "seed" if images.runs == 1 else "seeds"
        over_images = (
            f"Over images ({images.runs} {seeds}) SPOS alone, or more often, is wrong on "
            f"{images.first} and SVGD on {images.second}: p = {images.p:.2g}"
        )
    each = ", ".join(f"{100 * value:+.2f}" for value in less["error"])
    return [
        Claim(
            claim=f"{size}: chance explains that SPOS and SVGD have different test errors.",
            measured=f"SPOS less SVGD: {100 * error.mean:+.3f} ± {100 * error.se:.3f} % over "
            f"{len(less['error'])} seeds ({each}). {over_images}.",
            verdict=verdict(cases),
            rule=f"Over runs with the same seed, a mean difference of at most {CLEAR:g} standard "
            "errors. Over images that one of them gets wrong in more runs than the other, an exact "
            f"sign test with p > {LEVEL}.",
        ),
        Claim(
            claim=f"{size}: the probabilities of SPOS are no worse than those of SVGD.",
            measured=f"SPOS less SVGD over {len(less['error'])} seeds: −log p {told(by['nll'])}, "
            f"calibration error {told(by['ece'])}.",
            verdict=verdict(
                {"−log p": by["nll"].mean <= 0, "calibration error": by["ece"].mean <= 0}, "by "
            ),
            rule="A mean difference of at most zero, whatever its size.",
        ),
    ]
