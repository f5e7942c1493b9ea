"""From numbers to verdicts and the table."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.experiment import CLEAR, Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.theory.laws import ABOVE_FLOOR
from spos_experiments.paper.theory.settings import Settings

ALMOST = 1.25  # times the best of a grid: as good, for a plan


def _show(pair: Mapping[str, Any], digits: int = 3) -> str:
    if pair["mean"] is None:
        return "not measurable here"
    return f"{pair['mean']:.{digits}g} ± {pair['se']:.1g}"


def about_case(each: Mapping[str, Any]) -> str:
    return f"{each['target']}, β = {each['beta']:g}"


def estimate(values: Mapping[str, Any]) -> Estimate:
    """An estimate from the record; one that could not be made is nan, and no test is met by it."""
    if values["mean"] is None:
        return Estimate(math.nan, math.nan)
    return Estimate(values["mean"], values["se"])


def claims(found: Mapping[str, Any], settings: Settings) -> list[Claim]:
    return [
        *particle_claims(found["particles"]),
        *decay_claims(found["decay"]),
        *steps_claims(found["steps"], found["step_errors"], settings),
        *plan_claims(found["plan"]),
    ]


def particle_claims(cases: list[dict[str, Any]]) -> list[Claim]:
    kinds = {"law": "the law of one particle", "twin": "each particle and its mean-field twin",
             "cloud": "one cloud and the target"}  # fmt: skip
    fits = {
        kind: {about_case(c): estimate(c["slopes"][kind]["fit"]) for c in cases} for kind in kinds
    }
    shown = {
        kind: ", ".join(f"{_show(c['slopes'][kind]['fit'])} ({about_case(c)})" for c in cases)
        for kind in kinds
    }
    bounded = [c for c in cases if c["bound"][0] is not None]
    ratios = {about_case(c): [b / max(law, twin) for b, law, twin in
                         zip(c["bound"], c["law"]["w1"], c["twin"]["w1"], strict=True)]
              for c in bounded}  # fmt: skip
    refused = "; ".join(f"{about_case(c)}: {c['why']}" for c in cases if c["bound"][0] is None)
    return [
        Claim(
            claim="The law of one of M particles nears the mean-field law at least as fast as "
            "M^(−1/2).",
            measured=f"Slope of log W1 over log M: {shown['law']}.",
            verdict=verdict({n: f.mean <= -0.5 + CLEAR * f.se for n, f in fits["law"].items()}),
            rule="Seen for a target and β when the slope is at most −1/2, two standard errors "
            f"allowed. Sizes whose distance is {ABOVE_FLOOR:g} times what chance gives.",
        ),
        Claim(
            claim="M^(−1/2) is the rate, and not only a bound on it.",
            measured="Slope of log distance over log M: "
            + "; ".join(f"{text}: {shown[kind]}" for kind, text in kinds.items())
            + ".",
            verdict=verdict(
                {
                    f"comparing {text}, {name}": abs(f.mean + 0.5) <= max(0.05, CLEAR * f.se)
                    for kind, text in kinds.items()
                    for name, f in fits[kind].items()
                }
            ),
            rule="Seen for a distance when its slope is within 0.05 of −1/2, or two standard "
            "errors if that is more.",
        ),
        Claim(
            claim="c1/(√M (1/β − c2)) bounds that distance.",
            measured="Bound over distance, smallest and largest over M: "
            + ("; ".join(f"{n}: {min(r):.2g} to {max(r):.2g}" for n, r in ratios.items()) or "none")
            + (f". No bound: {refused}" if refused else "")
            + ".",
            verdict=verdict({n: min(r) >= 1 for n, r in ratios.items()} or {"no case": False}),
            rule="Seen, where the bound's conditions are met, when neither the law nor the twins "
            "are further apart than the bound at any M.",
        ),
    ]


def decay_claims(curves: list[dict[str, Any]]) -> list[Claim]:
    bounded = {f"β = {c['beta']:g}": c for c in curves if c["over"] is not None}
    free = {f"β = {c['beta']:g}": c for c in curves if c["over"] is None}

    def rates(name: str, factor: int) -> str:
        return "; ".join(
            f"{beta}: {_show(c['rate'])}, against {name} = {factor * c['lambda1']:.3g}"
            for beta, c in bounded.items()
        )

    def within(bound: str) -> str:
        return verdict({b: not c["over"][bound] for b, c in bounded.items()} or {"no β": False})

    fell = "; ".join(
        f"{beta}, λ1 = {c['lambda1']:.2g}: to {c['fell']:.2g} of the start, rate {_show(c['rate'])}"
        for beta, c in free.items()
    )
    return [
        Claim(
            claim="From its start the law decays to the target at least as fast as exp(−2λ1τ).",
            measured=f"Rates: {rates('2λ1', 2)}. A very wide kernel would give m_F (1/β + 1), "
            "which 2λ1 overtakes for small β.",
            verdict=within("printed"),
            rule="Seen for a β, of those with λ1 > 0, when W1 never exceeds c3 exp(−2λ1τ) by more "
            "than two standard errors; c3² is the mean squared distance of independent draws of "
            "start and target, as in the proof.",
        ),
        Claim(
            claim="It decays at least as fast as exp(−λ1τ), which is what the proof gives.",
            measured=f"Rates: {rates('λ1', 1)}.",
            verdict=within("sound"),
            rule="As above, with c3 exp(−λ1τ).",
        ),
        Claim(
            claim="Only for β so small that λ1 > 0 does the distance fall with time.",
            measured=f"Distance left at the end where λ1 ≤ 0: {fell}.",
            verdict=verdict({b: c["fell"] > 0.5 for b, c in free.items()} or {"no β": False}),
            rule="Seen for a β with λ1 ≤ 0 when more than half of the distance is left at time "
            "5/(m_F (1/β + 1)).",
        ),
    ]


def steps_claims(curves: list[dict[str, Any]], by_size: Mapping[str, Any], settings: Settings
                 ) -> list[Claim]:  # fmt: skip
    fixed = [c for c in curves if c["power"] == 0]
    falling = [c for c in curves if c["power"] == 1]

    def name(curve: Mapping[str, Any]) -> str:
        return f"{'h' if curve['power'] == 0 else 'h0'} = {curve['h0']:.2g}"

    def at(curve: Mapping[str, Any], n: int) -> Estimate:
        return Estimate(curve["w1"][n], curve["se"][n])

    last, middle = len(curves[0]["steps"]) - 1, len(curves[0]["steps"]) - 3
    sizes = by_size["particles"]
    few, many = (Estimate(by_size["w1"][n], by_size["se"][n]) for n in (0, -1))
    limits = "; ".join(f"{name(c)}: {c['why']}" for c in curves if c["why"]) or "none"
    return [
        Claim(
            claim="With a fixed step the error grows with the number of steps T.",
            measured="Slope of log W1 over log T, once the start is forgotten (the bound has 1/2 "
            "when its last term leads): "
            + "; ".join(f"{name(c)}: {_show(c['late'])}, W1 {at(c, last)} at T = {c['steps'][-1]}"
                        for c in fixed)
            + f". Bound without a number: {limits}.",
            verdict=verdict({name(c): estimate(c["late"]).mean > CLEAR * estimate(c["late"]).se
                             for c in fixed}),
            rule="Seen for a step when the slope exceeds 0 by two standard errors, over T with "
            "T h m_F (1/β + 1) > 16.",
        ),
        Claim(
            claim="With steps h0/(k+1) the error does not grow with T.",
            measured="W1 at T = "
            f"{curves[0]['steps'][middle]} and {curves[0]['steps'][last]}: "
            + "; ".join(f"{name(c)}: {at(c, middle)} and {at(c, last)}" for c in falling)
            + f". With the largest h0 that the bound allows, time has then come to "
            f"{_harmonic(falling[0]):.2g}, and {falling[0]['w1'][-1] / settings.shift:.0%} of the "
            "distance at the start is left.",
            verdict=verdict({name(c): not at(c, last).above(at(c, middle)) for c in falling}),
            rule="Seen for h0 when the second is not above the first by two standard errors.",
        ),
        Claim(
            claim="The error of the step grows with the number of particles.",
            measured=f"W1 between the stationary laws with h = {settings.large_step:g} and with an "
            f"eighth of it: {few} with M = {sizes[0]}, {many} with M = {sizes[-1]}; slope of "
            f"log W1 over log M: {_show(by_size['slope'])}, in the bound 1.",
            verdict=verdict({"M grows": many.above(few)}),
            rule="Seen when the last number exceeds the first by two standard errors.",
        ),
    ]  # fmt: skip


def _harmonic(curve: Mapping[str, Any]) -> float:
    return curve["h0"] * float(np.sum(1 / np.arange(1, curve["steps"][-1] + 1)))


def best_by_size(trials: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """For each M the step with the smallest error."""
    found: dict[int, dict[str, Any]] = {}
    for trial in trials:
        if trial["error"] is None:  # diverged
            continue
        here = found.get(trial["particles"])
        if here is None or trial["error"] < here["error"]:
            found[trial["particles"]] = trial
    return found


def plan_claims(found: Mapping[str, Any]) -> list[Claim]:
    targets, chosen = found["targets"], found["chosen"]
    inside, shown, good, texts = {}, [], {}, []
    for name, each in targets.items():
        bests = [*best_by_size(each["grid"]).values()]
        errors = [Estimate(t["error"], t["se"]) for t in bests]
        n = min(range(len(bests)), key=lambda i: errors[i].mean)
        first, last = errors[0], errors[-1]
        inside[name] = first.above(errors[n]) and last.above(errors[n])
        shown.append(f"{name}: {errors[n]} at M = {bests[n]['particles']}, against {first} at "
                     f"{bests[0]['particles']} and {last} at {bests[-1]['particles']}")  # fmt: skip
        if "followed" in each:
            got = Estimate(each["followed"]["error"], each["followed"]["se"])
            good[name] = got.mean <= ALMOST * errors[n].mean
            beaten = sum(t["error"] is None or t["error"] > got.mean for t in each["grid"])
            texts.append(f"{name}: error {got}, {got.mean / errors[n].mean:.2f} times the best of "
                         f"the grid, better than {beaten} of its {len(each['grid'])} settings"
                         )  # fmt: skip
    if found["why"]:
        plan_text = f"No recommendation: {found['why']}."
    else:
        plan_text = (
            f"Fitted to a Gaussian (misfit {found['model']['misfit']:.0%}): M = "
            f"{chosen['particles']}, h = {chosen['step_size']:.2g}, T = {chosen['steps']}, "
            f"expected error {chosen['expected']:.2g}. " + "; ".join(texts) + "."
        )
    return [
        Claim(
            claim="For a fixed amount of work M T there is a best number of particles, neither the "
            "smallest nor the largest.",
            measured=f"M T = {found['budget']}, the best step for each M: "
            + "; ".join(shown)
            + ".",
            verdict=verdict(inside),
            rule="Seen for a target when the error at the smallest and at the largest M exceeds "
            "that at the best by two standard errors. The largest M leaves T = 4 steps or so.",
        ),
        Claim(
            claim="The bound's three terms, fitted to short runs on one target, choose well on "
            "another.",
            measured=plan_text,
            verdict=verdict(good or {"no target": False}),
            rule=f"Seen for a target when the error of the chosen setting is at most {ALMOST:g} "
            "times the smallest of the grid that costs as much.",
        ),
    ]


def table(found: Mapping[str, Any]) -> Table:
    rows = []
    for c in found["particles"]:
        for kind, text in (("law", "law of one particle"), ("twin", "particle and twin"),
                           ("cloud", "one cloud"), ("draws", "independent draws")):  # fmt: skip
            bound = "−1/2" if kind in ("law", "twin") else "—"
            rows.append(
                (f"slope in M, {text}, {about_case(c)}", _show(c["slopes"][kind]["fit"]), bound)
            )
    for c in found["decay"]:
        bound = f"2λ1 = {2 * c['lambda1']:.3g}" if c["over"] else "none: λ1 ≤ 0"
        rows.append((f"rate in τ, β = {c['beta']:g}", _show(c["rate"]), bound))
    for c in found["steps"]:
        step = f"h = {c['h0']:.2g}" if c["power"] == 0 else f"h0/(k+1), h0 = {c['h0']:.2g}"
        bound = "1/2" if c["power"] == 0 else "0"
        shown = _show(c["late"]) if c["settled"] else "start not forgotten"
        rows.append((f"late slope in T, {step}", shown, f"up to {bound}"))
    rows.append(("slope in M of the step's error", _show(found["step_errors"]["slope"]), "up to 1"))
    return Table(
        ("quantity", "measured ± s.e.", "the bound has"),
        rows,
        "Slopes of log W1 over log M or log T, and rates of decay. A bound may be met by faster "
        "decay or slower growth.",
    )
