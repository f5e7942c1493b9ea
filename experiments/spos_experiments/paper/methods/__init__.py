"""`spos paper methods`: all methods on four targets, at equal numbers of gradients.

    Gaussian   5 dimensions, covariance 0.9^|i - j|, from a cloud that is off by 2
    banana     θ1 ~ N(0, 1), θ2 | θ1 ~ N(θ1² - 1, ½²): a bent ridge
    wide       N(0, I) in 100 dimensions with 50 particles: does the cloud keep its variance?
    modes      five Gaussians of width ½ on a circle of radius 2.5, from a cloud around one of them

Every method takes the same number of steps with the same number of particles. Its step size comes
from one grid for all, by the least KSD of the last cloud over a few seeds: no truth has a part in
the choice. The runs that are shown have other seeds and are made by `spos.compare`.

A mode counts as found when it holds at least a quarter of the particles due to it. Kernels with a
fixed bandwidth have η² = d, the number of dimensions they see: those of noisy SVGD and of the KSD,
and with d = 1 the blocks of SVGD, whose medians for each of 100 coordinates would take long.

    spos paper methods
    spos paper methods --quick
"""

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.diagnostics.stein import ksd
from spos_experiments.frame.experiment import Findings, Tick, once
from spos_experiments.frame.record import numbers
from spos_experiments.paper.methods.figures import draw
from spos_experiments.paper.methods.findings import claims, measures, table
from spos_experiments.paper.methods.problems import problem
from spos_experiments.paper.methods.settings import METHODS, Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Which method when"
ABOUT = (
    "Every method of the library on four targets with known answers, with the same number of "
    "particles, steps and gradients, and with step sizes chosen alike, without the truth."
)


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    cases = [(name, method) for name in settings.problems for method in settings.methods]
    total = len(cases) + len(settings.problems)
    chosen: dict[tuple[str, str], float] = dict.fromkeys(cases, settings.grid[0])
    tried: dict[tuple[str, str], list[float]] = {}
    if len(settings.grid) > 1:
        # one after another: two programs with factorisations at a time have been seen to hang
        for pair in cases:
            tick(len(tried), total)
            tried[pair] = step_discrepancies(settings, seed, *pair)
        chosen = {pair: settings.grid[int(np.argmin(found))] for pair, found in tried.items()}
    results = []
    for done, name in enumerate(settings.problems, start=1):
        case = problem(name, settings, seed)
        size = len(case.mean)
        compared = spos.compare(
            case.target,
            {m: METHODS[m](case.target, chosen[name, m], size) for m in settings.methods},
            case.start,
            settings.num_steps,
            truth=(case.mean, case.covariance),
            reference=case.draws,
            ksd_kernel=spos.imq(float(size)),
            num_seeds=settings.repeats,
            seed=seed,
            progress=False,
        )
        for method, row in compared.rows.items():
            results.append(
                {
                    "problem": name,
                    "method": method,
                    "step size": chosen.get((name, method)),
                    "KSD by step size": tried.get((name, method)),
                    **measures(row, name, case, settings.num_steps),
                }
            )
        tick(len(cases) + done, total)
    found = numbers({"runs": results})
    return Findings(numbers=found, claims=claims(found, settings), table=table(found, settings))


def step_discrepancies(settings: Settings, seed: int, name: str, method: str) -> list[float]:
    """The mean KSD of the last cloud for every step size of the grid; infinite if one diverges."""
    case = problem(name, settings, seed)
    size = len(case.mean)
    kernel = spos.imq(float(size))

    def one(h: jax.Array, key: jax.Array) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        sampler = METHODS[method](case.target, h, size)
        state, _ = spos.run(
            sampler, run_key, case.start(start_key), settings.num_steps, observe=lambda *_: None
        )
        return jnp.sqrt(jnp.maximum(ksd(case.target, state.particles, kernel), 0.0))

    keys = jax.random.split(jax.random.key(seed + 1), settings.choice_repeats)
    both = jax.jit(jax.vmap(jax.vmap(one, (None, 0)), (0, None)))
    found = np.asarray(both(jnp.asarray(settings.grid), keys), np.float64).mean(axis=1)
    return [float(value) for value in np.where(np.isfinite(found), found, np.inf)]
