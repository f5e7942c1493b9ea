"""`spos paper variance`: minibatch scores with less noise, on logistic regression.

Four estimates of the score share their batches of B rows: the plain one, and those of
`spos.control_variate`, `spos.svrg` and `spos.saga`. Two things are measured.

    noise(k)       E ‖ŝ(θ_k) - s(θ_k)‖² over fresh batches, along a full-data Langevin run that
                   begins in the prior; each estimate remembers that run's earlier steps
    var. ratio     mean over parameters of Var(sampler) / Var(reference), 1 when right, from the
                   second half of a run that begins near the mode
    mean error     root mean square over parameters of (mean - reference) / standard deviation

Runs of the second kind all take the same number of gradients of single examples: an estimate that
needs more of them in a step gets fewer steps. The step size is a share of 1/λ, λ the largest
eigenvalue of the Hessian at the mode; every share is shown and none is chosen by its result. The
search for the mode is charged to none, since all runs begin there.

    spos paper variance
    spos paper variance --quick
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.io.html import Table
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import (
    Drawing,
    Estimate,
    Findings,
    Tick,
    compiled,
    in_parallel,
    once,
)
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper import covertype
from spos_experiments.paper.covertype import Problem, Reference

TITLE = "Scores with less noise"
ABOUT = (
    "Bayesian logistic regression with small minibatches. Control variates, SVRG and SAGA estimate "
    "the score from the same batches with less noise, at a price in gradients or memory; the "
    "moments of SGLD and SPOS are compared at equal numbers of gradients."
)
PLAIN = "plain"
COLOURS = {PLAIN: "#666666", "control variate": "#0072B2", "SVRG": "#D55E00", "SAGA": "#009E73"}
METHODS = {"SGLD": spos.sgld, "SPOS": spos.spos}
FAR_LESS = 0.1


@dataclass(frozen=True)
class Settings:
    rows: int = 50_000
    batch_size: int = 100
    particles: int = 20
    passes: int = 10  # over the data, in gradients for each particle
    shares: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)  # of 1/λ
    repeats: int = 4
    noise_steps: tuple[int, ...] = (5, 20, 60, 250, 750, 2750)
    noise_batches: int = 200
    noise_share: float = 0.1
    chains: int = 64
    chain_steps: int = 400
    methods: tuple[str, ...] = tuple(METHODS)
    scores: tuple[str, ...] = tuple(COLOURS)  # the plain one first
    hasty: bool = False

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            rows=1000,
            batch_size=50,
            particles=4,
            passes=5,
            shares=(0.03, 0.3),
            repeats=2,
            noise_steps=(5, 30),
            noise_batches=20,
            chains=8,
            chain_steps=40,
            methods=("SGLD",),
            scores=(PLAIN, "control variate"),
            hasty=True,
        )


def targets(settings: Settings, given: Problem) -> dict[str, Any]:
    plain = covertype.posterior(given.data, settings.batch_size)
    return {
        PLAIN: plain,
        "control variate": spos.control_variate(plain, given.mode),
        "SVRG": spos.svrg(plain),
        "SAGA": spos.saga(plain),
    }


def steps_within(target: Any, budget: int, particles: int) -> int:
    """The largest number of steps that takes no more than `budget` gradients, by bisection."""
    low, high = 0, budget
    while high - low > 1:
        middle = (low + high) // 2
        fits = target.gradient_evaluations(middle, particles) <= budget
        low, high = (middle, high) if fits else (low, middle)
    return low


def moments(
    settings: Settings, seed: int, given: Problem, method: str, name: str
) -> tuple[int, np.ndarray]:
    """The number of steps, and with axes (share, repeat, moment, parameter) the means of θ and of
    (θ - mode)² over the particles and the second half of the steps."""
    target = targets(settings, given)[name]
    count, budget = settings.particles, settings.particles * settings.passes * settings.rows
    steps = steps_within(target, budget, count)
    largest = float(np.linalg.eigvalsh(given.hessian)[-1])

    def one(share: jax.Array, key: jax.Array, data: Any) -> jax.Array:
        start_key, run_key = jax.random.split(key)
        spread = jax.random.normal(start_key, (count, len(given.mode))) / math.sqrt(largest)

        def seen(state: spos.State, info: spos.Info) -> jax.Array:
            away = state.particles - given.mode
            return jnp.stack([away.mean(axis=0), (away**2).mean(axis=0)])

        sampler = METHODS[method](target, share / largest)
        path = spos.run(sampler, run_key, given.mode + spread, steps, data=data, observe=seen)[1]
        return path[steps // 2 :].mean(axis=0)

    def every(shares: jax.Array, keys: jax.Array, data: Any) -> jax.Array:
        pairs = jnp.repeat(shares, len(keys)), jnp.tile(keys, len(shares))
        return jax.lax.map(lambda pair: one(pair[0], pair[1], data), pairs)

    keys = jax.random.split(jax.random.key(seed), settings.repeats)
    found = compiled(every, settings.hasty)(jnp.asarray(settings.shares), keys, given.data)
    shape = (len(settings.shares), settings.repeats, 2, len(given.mode))
    return steps, np.asarray(found, np.float64).reshape(shape)


def noises(settings: Settings, seed: int, given: Problem) -> dict[str, np.ndarray]:
    """The noise of every estimate at every place of the run, and as `distance` how far the
    particles are from the mode, root mean squares over particles."""
    made = targets(settings, given)
    reducing = {name: made[name].estimator for name in settings.scores[1:]}
    whole = covertype.posterior(given.data, None)
    h = settings.noise_share / float(np.linalg.eigvalsh(given.hessian)[-1])
    walker = spos.sgld(whole, h)
    start_key, walk_key, batch_key = jax.random.split(jax.random.key(seed), 3)

    def walk(carry: Any, first: jax.Array, last: jax.Array, data: Any) -> Any:
        def body(k: jax.Array, carry: Any) -> Any:
            state, memories = carry
            key = jax.random.fold_in(walk_key, k)
            batch = made["control variate"].draw(jax.random.fold_in(key, 2), k, data)
            memories = {
                name: estimate.apply(memories[name], state.particles, batch)[1]
                for name, estimate in reducing.items()
            }
            return walker.step(key, state, whole.draw(key, k, data))[0], memories

        return jax.lax.fori_loop(first, last, body, carry)

    def measure(carry: Any, data: Any) -> Any:
        state, memories = carry
        exact = whole.score(state.particles, whole.draw(batch_key, 0, data))

        def of_batch(key: jax.Array) -> dict[str, jax.Array]:
            batch = made["control variate"].draw(key, 0, data)
            scores = {PLAIN: made[PLAIN].score(state.particles, batch.batch)}
            for name, estimate in reducing.items():
                scores[name] = estimate.apply(memories[name], state.particles, batch)[0]
            return {n: jnp.mean(jnp.sum((s - exact) ** 2, axis=1)) for n, s in scores.items()}

        keys = jax.random.split(batch_key, settings.noise_batches)
        found = jax.tree.map(jnp.mean, jax.lax.map(of_batch, keys))
        away = jnp.sqrt(jnp.mean(jnp.sum((state.particles - given.mode) ** 2, axis=1)))
        return {**found, "distance": away}

    go, look = compiled(walk, settings.hasty), compiled(measure, settings.hasty)
    start = jax.random.normal(start_key, (settings.particles, len(given.mode)))
    carry = walker.init(start), {name: e.init(start) for name, e in reducing.items()}
    rows, here = [], 0
    for step in settings.noise_steps:
        carry, here = go(carry, here, step, given.data), step
        rows.append(look(carry, given.data))
    return {name: np.asarray([float(row[name]) for row in rows]) for name in rows[0]}


@once
def results(settings: Settings, seed: int, tick: Tick) -> Findings:
    given = covertype.problem(settings.rows, seed)
    cases = [(method, name) for name in settings.scores for method in settings.methods]
    jobs: list[Any] = [functools.partial(moments, settings, seed, given, *case) for case in cases]
    jobs.append(functools.partial(noises, settings, seed, given))
    jobs.append(
        lambda: covertype.reference(
            given, settings.chains, settings.chain_steps, seed + 1, settings.hasty
        )
    )
    *runs, noise, truth = in_parallel(jobs, tick)
    ratio, off, steps = {}, {}, {}
    for (method, name), (count, found) in zip(cases, runs, strict=True):
        mean, square = found[:, :, 0], found[:, :, 1]
        ratio[method, name] = ((square - mean**2) / truth.variance).mean(axis=-1)
        gap = (mean + np.asarray(given.mode, np.float64) - truth.mean) ** 2 / truth.variance
        off[method, name] = np.sqrt(gap.mean(axis=-1))
        steps[name] = count
    curves = [
        {"method": method, "score": name, "steps": steps[name],
         "ratio": [Estimate.of(row) for row in ratio[method, name]],
         "mean error": [Estimate.of(row) for row in off[method, name]]}
        for method, name in cases
    ]  # fmt: skip
    laplace = np.diag(np.linalg.inv(given.hessian)) / truth.variance
    return Findings(
        numbers={
            "data": given.source,
            "noise": numbers(noise),
            "curves": numbers(curves),
            "reference": numbers(truth._asdict()),
            "Laplace variance over reference": numbers(laplace),
            "eigenvalues of the Hessian": numbers(np.linalg.eigvalsh(given.hessian)),
        },
        claims=claims(noise, ratio, truth, settings),
        table=Table(
            ("variance over reference", *(f"h = {share:g}/λ" for share in settings.shares)),
            [
                (f"{method}, {name}", *(str(Estimate.of(row)) for row in ratio[method, name]))
                for method, name in cases
            ],
            f"1 is right. {settings.repeats} repeats ± s.e.; {settings.particles} particles, "
            f"batches of {settings.batch_size} of {settings.rows}. Equal gradients make "
            + ", ".join(f"{count} steps of {name}" for name, count in steps.items())
            + ".",
        ),
    )


def claims(
    noise: Mapping[str, Sequence[float]],
    ratio: Mapping[tuple[str, str], np.ndarray],
    truth: Reference,
    settings: Settings,
) -> list[Claim]:
    last, first = settings.noise_steps[-1], settings.noise_steps[0]
    left = {name: noise[name][-1] / noise[PLAIN][-1] for name in settings.scores[1:]}
    early = noise["control variate"][0] / noise[PLAIN][0]
    error = {case: np.abs(found - 1.0) for case, found in ratio.items()}
    smaller, best = {}, {}
    for method in settings.methods:
        for name in settings.scores[1:]:
            pairs = list(zip(error[method, PLAIN], error[method, name], strict=True))
            smaller[f"{method} with {name}"] = all(
                Estimate.of(plain).above(Estimate.of(less)) for plain, less in pairs
            )
            tops = [min(map(Estimate.of, error[method, each])) for each in (PLAIN, name)]
            best[f"{method} with {name}"] = (tops, tops[0].above(tops[1]))
    return [
        Claim(
            claim="Once a run has settled, reduced scores have far less noise than plain ones.",
            measured=f"Noise as a share of the plain score's at step {last}, "
            f"{noise['distance'][-1]:.3f} from the mode: "
            + "; ".join(f"{name} {share:.2g}" for name, share in left.items())
            + ".",
            verdict=verdict({name: share < FAR_LESS for name, share in left.items()}, "run as "),
            rule=f"Seen for an estimate when the share is below {FAR_LESS:g}.",
        ),
        Claim(
            claim="Far from its centre, a control variate makes the noise larger instead.",
            measured=f"{early:.3g} times the plain score's noise at step {first}, "
            f"{noise['distance'][0]:.2f} from the centre.",
            verdict=verdict({"control variate": early > 1}),
            rule="Seen when the noise at the first recorded step is above that of the plain score.",
        ),
        Claim(
            claim="At equal gradients and the same step size, reduced scores give a better "
            "posterior variance.",
            measured="Mean |variance ratio − 1| at steps "
            + ", ".join(f"{share:g}/λ" for share in settings.shares)
            + ": "
            + "; ".join(
                f"{method} with {name}: "
                + ", ".join(f"{value:.3f}" for value in found.mean(axis=1))
                for (method, name), found in error.items()
            )
            + f". The reference is known to {truth.variance_error:.3f}.",
            verdict=verdict(smaller, "run as "),
            rule="Seen for a method and an estimate when the error is smaller than with plain "
            "scores by more than two standard errors at every step size.",
        ),
        Claim(
            claim="That is so even when each may have the step size that suits it best.",
            measured="Smallest mean |variance ratio − 1| of the plain and of the reduced score: "
            + "; ".join(
                f"{case}: {plain.mean:.3f} and {less.mean:.3f}"
                for case, ((plain, less), _) in best.items()
            )
            + ". Nobody without the reference could choose that step.",
            verdict=verdict({case: seen for case, (_, seen) in best.items()}, "run as "),
            rule="Seen for a method and an estimate when the smallest of its errors is smaller "
            "than that with plain scores by more than two standard errors.",
        ),
    ]


def draw(record: Record) -> list[Drawing]:
    return [_noise(record), _moments(record)]


def _noise(record: Record) -> Drawing:
    noise, steps = record.numbers["noise"], record.settings["noise_steps"]
    names = record.settings["scores"]
    figure, axes = drawing.titled(
        4.2,
        "Noise of the score along a run",
        f"mean ‖estimate − exact‖² over {record.settings['noise_batches']} batches of "
        f"{record.settings['batch_size']}, as a share of that\nof the plain score; "
        f"{record.numbers['data']}, from the prior to the mode",
    )
    share = {name: np.asarray(noise[name]) / np.asarray(noise[PLAIN]) for name in names}
    for name in names:
        axes.plot(steps, share[name], color=COLOURS[name], marker="o", markersize=4)
    drawing.log_axes(axes, steps, _decades(np.concatenate(list(share.values()))))
    axes.set_xlabel("step")
    axes.set_ylabel("noise / plain")
    drawing.end_labels(
        axes, steps[-1], [share[n][-1] for n in names], names, [COLOURS[n] for n in names]
    )
    last = "; ".join(f"{name} {share[name][-1]:.2g}" for name in names[1:])
    return Drawing(
        "noise.png",
        figure,
        "Noise of score estimates against the step of a run, on logarithmic axes. Last "
        f"shares of the plain noise: {last}.",
        "SAGA begins as the plain score and gains as it meets every example; the control variate "
        "is good only near its centre.",
    )


def _decades(values: np.ndarray) -> list[float]:
    positive = [value for value in values if value > 0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return [10.0**e for e in range(low, high + 1)]


def _moments(record: Record) -> Drawing:
    shares, methods = record.settings["shares"], record.settings["methods"]
    figure, panels = drawing.titled(
        5.6,
        "Posterior moments at equal numbers of gradients",
        f"{record.settings['passes']} passes over the data for each of "
        f"{record.settings['particles']} particles, over the step size;\n"
        "bars of ± 2 standard errors",
        rows=2,
        columns=len(methods),
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    kinds = {"ratio": "variance / reference", "mean error": "error of the mean / sd"}
    lines = [(curve, row) for curve in record.numbers["curves"] for row in range(2)]
    for curve, row in lines:
        axes = panels[row, methods.index(curve["method"])]
        mean, se = np.asarray(curve[list(kinds)[row]], float).T
        tint = COLOURS[curve["score"]]
        axes.errorbar(shares, mean, yerr=2 * se, color=tint, marker="o", markersize=4, lw=1.8)
    for row, label in enumerate(kinds.values()):
        for axes in panels[row]:
            ticks = (1, 3, 10, 30, 100) if row == 0 else (0.01, 0.03, 0.1, 0.3, 1)
            drawing.log_axes(axes, shares, ticks)
            axes.set_xticks(shares, [f"{share:g}" for share in shares])
        panels[row, 0].set_ylabel(label)
    for column, method in enumerate(methods):
        panels[0, column].set_title(method)
        panels[0, column].axhline(1.0, color=drawing.NOTE, linewidth=0.8, zorder=0)
        panels[1, column].set_xlabel("step size · λ")
        for row, kind in enumerate(kinds):
            here = [c for c in record.numbers["curves"] if c["method"] == method]
            drawing.end_labels(
                panels[row, column],
                shares[-1],
                [c[kind][-1][0] for c in here],
                [c["score"] for c in here],
                [COLOURS[c["score"]] for c in here],
                fontsize=9,
                settle=column == row == 0,
            )
    return Drawing(
        "moments.png",
        figure,
        "Variance over reference and error of the mean against the step size, for SGLD and SPOS, "
        "with plain and reduced scores.",
        "A ratio of 1 is right. SPOS with few particles has a bias of its own.",
    )
