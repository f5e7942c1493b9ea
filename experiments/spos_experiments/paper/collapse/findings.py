"""The bounds for what was measured, and what follows from both."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spos import theory
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.collapse.flows import constants
from spos_experiments.paper.collapse.settings import Settings


def bounds(curve: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The bound on EPD/M for this curve, as printed and as proved, or why there is none."""
    count, tau = settings.particles, curve["tau"]
    about = constants(curve["reach"])
    if math.isinf(curve["beta"]):
        if not curve["attractive"]:
            return {"bound": None, "why": "the theorem is about the attractive flow"}
        start = float(curve["epd"][0]) * count
        printed = [theory.svgd_spread(about, initial_spread=start, tau=t) for t in tau]
        # the proof bounds the square of EPD, which halves the exponent
        proved = [theory.svgd_spread(about, initial_spread=start, tau=t / 2) for t in tau]
    else:
        if not curve["attractive"]:  # its kernel contributes at worst -L to λ
            worst = -about.kernel_gradient_lipschitz
            about = dataclasses.replace(about, kernel_concavity=worst)
        gap = curve["radius"] ** 2  # of two uniform points of a disc: E‖θ - θ'‖² = r²
        options: dict[str, Any] = {
            "beta": curve["beta"],
            "num_particles": count,
            "initial_gap": gap,
        }
        printed = [theory.spos_spread(about, tau=t, **options) for t in tau]
        proved = []
    if not printed[0].applies:
        return {"bound": None, "why": printed[0].why}
    return {
        "bound": [float(each) / count for each in printed],
        "proved": [float(each) / count for each in proved] or None,
        "why": "",
    }


def exceeds(curve: Mapping[str, Any], bound: str = "bound") -> bool:
    """Whether a curve leaves its bound anywhere, by more than rounding."""
    return worst(curve, bound) > 1.001


def worst(curve: Mapping[str, Any], bound: str = "bound") -> float:
    """The largest ratio of the measured distance to its bound."""
    return float(np.max(np.asarray(curve["epd"]) / np.asarray(curve[bound])))


def claims(
    curves: list[dict[str, Any]], variance: Mapping[str, Any], settings: Settings
) -> list[Claim]:
    named = {curve["name"]: curve for curve in curves}
    printed = [c for c in curves if c["attractive"] and math.isinf(c["beta"])]
    noisy = [c for c in curves if math.isfinite(c["beta"]) and c["name"].startswith("SPOS β")]
    noisy = [c for c in noisy if "same flow" not in c["name"]]
    applies = [c for c in noisy if c["bound"] is not None]
    refused = [c for c in noisy if c["bound"] is None]
    svgd = named["SVGD"]
    wide = printed[0]
    fell = {name: c["epd"][-1] / c["epd"][0] for name, c in (("SVGD", svgd), ("printed", wide))}
    top = settings.dimensions[-1]
    last = {name: each["mean"][-1] for name, each in variance.items()}
    return [
        Claim(
            claim="SVGD's particles collapse to a point.",
            measured=f"From time 0 to {settings.flow_time:g}, EPD changed by a factor of "
            f"{fell['SVGD']:.3g} with the repulsive sign that SVGD has, and of "
            f"{fell['printed']:.3g} with the attractive sign that the paper prints.",
            verdict=verdict(
                {
                    "the kernel repels, as in SVGD": fell["SVGD"] < 0.01,
                    "the kernel attracts, as the paper prints it": fell["printed"] < 0.01,
                }
            ),
            rule="Seen for a flow when EPD falls below a hundredth of its start.",
        ),
        Claim(
            claim="SVGD's EPD is bounded by C0 exp(−2λτ).",
            measured="Attractive flow: "
            + "; ".join(
                f"start radius {c['radius']:g}: EPD/M {c['epd'][-1]:.3g} at the end, "
                + (
                    f"bound {c['bound'][-1]:.3g}, with exp(−λτ) instead {c['proved'][-1]:.3g}"
                    if c["bound"] is not None
                    else f"no bound, because {c['why']}"
                )
                for c in printed
            )
            + f". The repulsive flow has no such bound: {svgd['why']}.",
            verdict=verdict(
                {
                    f"particles start within {c['radius']:g} of the mode": c["bound"] is not None
                    and not exceeds(c)
                    for c in printed
                }
            ),
            rule="Seen for a start when the attractive flow never exceeds the bound.",
        ),
        Claim(
            claim="SPOS's EPD is bounded by C1 exp(−2λτ) + 4 sqrt(d/β) M/λ.",
            measured="EPD/M and the bound, at the end: "
            + "; ".join(
                f"{c['name']}: {c['epd'][-1]:.3g} and {c['bound'][-1]:.3g} (at worst EPD is "
                f"{worst(c):.2f} times the bound)"
                for c in applies
            )
            + ". No bound, since λ ≤ 0: "
            + (", ".join(c["name"] for c in refused) or "none")
            + ". H_F and m_K are those of the region that the particles visited.",
            verdict=verdict(
                {c["name"]: not exceeds(c) for c in applies} or {"no β": False}, "run as "
            ),
            rule="Seen for a β and a sign, among those with λ > 0, when the measured EPD never "
            "exceeds the bound.",
        ),
        Claim(
            claim="The noise of SPOS keeps particles from collapsing.",
            measured=f"Variance left of 1 in {top} dimensions: "
            + "; ".join(f"{name}: {value:.3f}" for name, value in last.items())
            + ".",
            verdict=verdict({n: v > 0.5 for n, v in last.items() if n != "SVGD"}, "run as "),
            rule=f"Seen for a β when more than half of the variance is left in {top} dimensions.",
        ),
    ]
