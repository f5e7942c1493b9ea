"""The methods that are compared, none of them tuned to a model.

    sgld             `spos.fit` as it is
    spos             the same recipe with the kernel
    svgd             our SVGD with `spos.ensemble()`, a fixed step and a fixed number of steps, from
                     where `spos.fit` ended: a fixed step overshoots in a cloud that is wide
    blackjax         BlackJAX's SVGD: median bandwidth, Adam with the same number of steps
    nuts             NumPyro's NUTS with its defaults, several chains at once
    nutpie, laps, meads, chees, mclmc    see `rivals`

All others start uniformly between -2 and 2 in every unconstrained direction. A method is built once
for a model, and then run with several seeds: only the first run compiles. One that begins where
another ended takes up what is kept of that run, whose cost counts as its own. NUTS and the rivals
run in a process that is ended when both runs together take too long (`bounded`).
"""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import spos
from spos_experiments.frame import bounded, resume
from spos_experiments.paper.accuracy import models
from spos_experiments.paper.accuracy.reference import AGREE, Nuts, columns, judged, width
from spos_experiments.paper.accuracy.rivals import RIVALS
from spos_experiments.paper.accuracy.sampled import Outcome, Sampled

Build = Callable[[str, Any], Callable[[int, Any], Sampled]]  # (seed, particles to begin with)


def kept(store: Path, name: str, method: str, settings: Any, seed: int) -> Outcome:
    """The outcome in a file of that folder, which is made if it is not there."""

    def make() -> Outcome:
        before = None
        if method in BEGINS:
            before = kept(store, name, BEGINS[method], settings, seed)
        if method not in BOUNDED:
            return measure(name, method, settings, seed, before)
        try:
            return bounded.within(settings.most_seconds, _afresh, name, method, settings, seed)
        except ImportError:
            raise
        except Exception as error:
            return Outcome.failed(f"{type(error).__name__}: {error}"[:300], settings.repeats)

    place = store / f"{name}-{method}-seed{seed}.npz"
    return resume.outcome(place, Outcome, make, trees=("particles",))


def _afresh(name: str, method: str, settings: Any, seed: int) -> Outcome:
    jax.clear_caches()  # of the job before
    return measure(name, method, settings, seed)


def measure(
    name: str, method: str, settings: Any, seed: int, before: Outcome | None = None
) -> Outcome:
    """`before` is the outcome of the method that this one begins with."""
    run, runs, seconds, processor = METHODS[method](name, settings), [], [], []
    for n in range(settings.repeats):
        start = None if before is None else jax.tree.map(lambda x, n=n: x[n], before.particles)
        began, used = time.perf_counter(), time.process_time()
        runs.append(run(seed + 1000 * n, start))
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    timed = not jax.config.read("jax_disable_most_optimizations")  # haste is no fair measure
    paid = [0] * settings.repeats if before is None else before.evaluations
    return Outcome(
        mean=np.stack([each.values.mean(0) for each in runs]),
        sd=np.stack([each.values.std(0) for each in runs]),
        seconds=np.asarray(seconds) + (0.0 if before is None else before.seconds),
        evaluations=[each.evaluations + more for each, more in zip(runs, paid, strict=True)],
        converged=[each.converged for each in runs],
        reasons=[each.reason for each in runs],
        particles=jax.tree.map(lambda *each: np.stack(each), *[each.particles for each in runs]),
        processor=np.asarray(processor) if timed and before is None else None,
        width=np.stack([width(each.values) for each in runs]),
    )


def automatic(kernel: bool) -> Build:
    def build(name: str, settings: Any) -> Callable[[int, Any], Sampled]:
        model = spos.from_numpyro(models.build(name))
        field = spos.rbf() if kernel else None

        def run(seed: int, _: Any) -> Sampled:
            start = model.start(jax.random.key(seed), settings.particles)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", spos.ConvergenceWarning)  # the verdict is kept
                found = spos.fit(model, start=start, seed=seed, kernel=field, progress=False)
            values = some(found.draws, settings.most_draws)
            return Sampled(
                *(values, int(found.evaluations), bool(found.converged)),
                *("; ".join(found.verdict.reasons), found.particles),
            )

        return run

    return build


def svgd(name: str, settings: Any) -> Callable[[int, Any], Sampled]:
    model = spos.from_numpyro(models.build(name))
    sampler = spos.svgd(model.target, settings.svgd_step, preconditioner=spos.ensemble())

    def run(seed: int, start: Any) -> Sampled:
        try:
            found = spos.sample(sampler, start, settings.svgd_steps, seed=seed, progress=False)
            particles, reason = found.particles, ""
        except spos.NonFiniteError as error:
            particles, reason = jax.tree.map(lambda leaf: leaf * np.nan, start), str(error)
        values = constrained(model, particles, settings.most_draws)
        return Sampled(values, settings.svgd_steps * settings.particles, None, reason)

    return run


def blackjax(name: str, settings: Any) -> Callable[[int, Any], Sampled]:
    try:
        import blackjax as library
    except ImportError as error:
        raise ImportError("this needs BlackJAX: pip install './experiments[bench]'") from error
    model = spos.from_numpyro(models.build(name))
    score = jax.grad(model.target.log_prob)
    algorithm = library.svgd(score, optax.adam(settings.adam_step))

    @jax.jit
    def all_steps(start: Any) -> Any:
        state = algorithm.init(start, {"length_scale": jnp.ones(())})
        state = jax.lax.fori_loop(0, settings.svgd_steps, lambda _, s: algorithm.step(s), state)
        return state.particles

    def run(seed: int, _: Any) -> Sampled:
        particles = all_steps(model.start(jax.random.key(seed), settings.particles))
        values = constrained(model, particles, settings.most_draws)
        return Sampled(values, settings.svgd_steps * settings.particles)

    return run


def reference_method(name: str, settings: Any) -> Callable[[int, Any], Sampled]:
    """NUTS; it has converged if r_hat is at most 1.01 and nothing diverged."""
    model = spos.from_numpyro(models.build(name))
    nuts, warmup = Nuts(model, settings.nuts_chains, settings.nuts_warmup), settings.nuts_warmup
    steps = warmup + settings.nuts_draws
    program = jax.jit(jax.vmap(lambda key, theta: nuts.go(nuts.begin(key, theta), steps)[1]))

    def run(seed: int, _: Any) -> Sampled:
        path = program(*nuts.start(seed))
        drawn = jax.tree.map(lambda leaf: leaf[:, warmup:], path.z)
        _, values = columns(nuts.constrained(drawn))
        _, r_hat = judged(values.reshape(settings.nuts_chains, -1, values.shape[1]))
        divergences = int(path.diverging[:, warmup:].sum())
        reason = f"r_hat {r_hat:.3f}, {divergences} divergences"
        said = r_hat <= AGREE and divergences == 0
        return Sampled(values, int(path.leapfrogs.sum()), said, reason)

    return run


def constrained(model: Any, draws: Any, most: int) -> np.ndarray:
    return some(model.constrain(draws), most)


def some(draws: Any, most: int) -> np.ndarray:
    """So many of the draws, as a matrix."""
    count = len(jax.tree.leaves(draws)[0])
    rows = np.random.default_rng(0).choice(count, min(count, most), replace=False)
    # by NumPy: JAX would compile for every number of draws
    return columns({name: np.asarray(x)[rows] for name, x in draws.items()})[1]


METHODS: dict[str, Build] = {
    "sgld": automatic(kernel=False),
    "spos": automatic(kernel=True),
    "svgd": svgd,
    "blackjax": blackjax,
    "nuts": reference_method,
    **RIVALS,
}
DEFAULT = "sgld"
OURS = (DEFAULT, "spos")
BOUNDED = ("nuts", *RIVALS)  # what we did not write may fail, or take any time
FEWER = {  # not run on every model
    **dict.fromkeys(("spos", "svgd", "blackjax"), models.COMPARED),
    **dict.fromkeys(("laps", "meads", "chees", "mclmc"), models.FOURTH),
}
BEGINS = {"svgd": DEFAULT}  # where another method ended
