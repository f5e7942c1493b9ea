"""From runs to numbers, each beside its bound or the condition that the bound fails."""

import math
from collections.abc import Mapping
from typing import Any

from spos import theory
from spos_experiments.frame.experiment import CLEAR, Estimate
from spos_experiments.paper.theory.densities import CURVATURE, DENSITIES, DEVIATION
from spos_experiments.paper.theory.laws import distance, slope
from spos_experiments.paper.theory.measure import about, fastest, gamma0
from spos_experiments.paper.theory.settings import Settings


def as_plain(value: Any) -> Any:
    """Estimates as pairs of mean and standard error, for the record."""
    if isinstance(value, Estimate):
        return {"mean": value.mean, "se": value.se}
    if isinstance(value, Mapping):
        return {key: as_plain(item) for key, item in value.items()}
    return [as_plain(item) for item in value] if isinstance(value, list | tuple) else value


def as_columns(distances: Any) -> dict[str, list[float]]:
    each = list(distances)
    return {
        "w1": [d.mean for d in each],
        "se": [d.se for d in each],
        "floor": [d.floor for d in each],
    }


def particle_findings(settings: Settings, by_size: Mapping[Any, Any]) -> list[dict[str, Any]]:
    found = []
    for name, beta in settings.cases:
        limit = by_size[name, settings.mean_field][beta]["law"]
        each = {m: by_size[name, m][beta] for m in settings.sizes}
        kinds = {"law": {m: distance(e["law"], limit) for m, e in each.items()}}
        kinds |= {
            kind: {m: e[kind] for m, e in each.items()} for kind in ("twin", "cloud", "draws")
        }
        bounds = [theory.particle_error(about(DENSITIES[name]), beta=beta, num_particles=m,
                                        gamma0=gamma0(0.0)) for m in settings.sizes]  # fmt: skip
        slopes = {}
        for kind, at in kinds.items():
            used = {m: d for m, d in at.items() if d.clear}
            slopes[kind] = {"fit": slope([*used], [*used.values()]), "sizes": list(used)}
        found.append(
            {
                "target": name,
                "beta": beta,
                "sizes": list(settings.sizes),
                **{kind: as_columns(at.values()) for kind, at in kinds.items()},
                "slopes": slopes,
                "bound": [b.value for b in bounds],
                "why": bounds[0].why,
            }
        )
    return found


def decay_findings(settings: Settings, decay: list[dict[str, Any]]) -> list[dict[str, Any]]:
    where = about(DENSITIES["Gaussian"])
    found = []
    for each in decay:
        beta, tau = each["beta"], each["tau"]
        # c3 is the distance of start and target when they are independent, as in the proof
        c3 = math.hypot(settings.shift, math.sqrt(2) * DEVIATION)
        printed = [theory.relaxation(where, beta=beta, tau=t, c3=c3) for t in tau]
        sound = [theory.relaxation(where, beta=beta, tau=t / 2, c3=c3) for t in tau]
        rate = theory.relaxation_rate(where, beta)
        curve = as_columns(each["curve"])
        over = None
        if printed[0].applies:
            # by two standard errors, and where the distance is not chance
            over = {
                kind: any(d.clear and d.mean - CLEAR * d.se > float(b)
                          for d, b in zip(each["curve"], bounds, strict=True))
                for kind, bounds in (("printed", printed), ("sound", sound))
            }  # fmt: skip
        found.append(
            {
                "beta": beta,
                "tau": list(tau),
                **curve,
                "window": [float(tau[n]) for n in each["inside"][[0, -1]]]
                if len(each["inside"])
                else None,
                "rate": each["rate"],
                "fell": each["fell"],
                "lambda1": rate,
                "langevin": CURVATURE / beta,
                "wide": fastest(beta),
                "printed": [b.value for b in printed],
                "sound": [b.value for b in sound],
                "over": over,
                "why": printed[0].why,
            }
        )
    return found


def steps_findings(settings: Settings, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    where = about(DENSITIES["Gaussian"])
    found = []
    for each in steps:
        total = theory.fixed_step_total if each["power"] == 0 else theory.decreasing_step_total
        bounds = [
            total(
                where,
                # all data in every step: the term for minibatches is that of an endless batch
                theory.Run(settings.steps_beta, settings.steps_particles, t, each["h0"], 10**12,
                           gamma0(settings.shift), 0.0),
                c4=1.0,
            )
            for t in each["steps"]
        ]  # fmt: skip
        settled = [
            n for n, tau in enumerate(each["tau"]) if tau * fastest(settings.steps_beta) > 16
        ]
        late = {each["steps"][n]: each["curve"][n] for n in settled}
        found.append(
            {
                "power": each["power"],
                "h0": each["h0"],
                "steps": each["steps"],
                **as_columns(each["curve"]),
                "late": slope([*late], [*late.values()]),
                "settled": list(late),
                "bound": [b.value for b in bounds],
                "numerical": [b.terms.get("numerical") for b in bounds],
                "why": bounds[0].why,
            }
        )
    return found


def _as_data(trial: theory.Trial) -> dict[str, Any]:
    count, step_size, steps, error, se = trial
    return {"particles": count, "step_size": step_size, "steps": steps, "error": error, "se": se}


def plan_findings(settings: Settings, plan: theory.Plan, grid: Any, tried: list[theory.Pilot],
                  followed: list[theory.Pilot]) -> dict[str, Any]:  # fmt: skip
    model = plan.model
    targets: dict[str, dict[str, Any]] = {}
    for name in settings.checked:
        trials = [_as_data(t) for (n, _), p in zip(grid, tried, strict=True) if n == name
                  for t in p.trials]  # fmt: skip
        targets[name] = {"grid": trials}
    for name, each in zip(settings.checked, followed, strict=False):
        targets[name]["followed"] = _as_data(each.trials[0])
    return {
        "budget": settings.budget,
        "why": plan.why,
        "chosen": {"particles": plan.num_particles, "step_size": plan.step_size,
                   "steps": plan.num_steps, "expected": plan.expected},
        "model": None if model is None else {
            **{n: getattr(model, n) for n in "abce"}, "se": model.se, "misfit": model.misfit,
            "worst": max(map(abs, model.residuals)),
        },
        "targets": targets,
    }  # fmt: skip
