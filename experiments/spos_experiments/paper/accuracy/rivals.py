"""Other people's samplers, with the settings of their own documentation, from the same starts.

    nutpie    its defaults: 6 chains, 400 steps to warm up and 1,000 draws, the log-density given as
              a compiled JAX function. Its threads share the processor's cores
    laps      BlackJAX's late-adjusted parallel sampler. Only the last states are draws, so that it
              gets 1,000 chains; 500 steps before and 500 after adjustment begins, five times those
              of its documentation's example in two dimensions
    meads     BlackJAX's MEADS: 128 chains, 2,000 steps to adapt and 2,000 of GHMC
    chees     BlackJAX's ChEES-HMC: 16 chains, 1,000 steps to adapt with Adam at .5, 500 draws
    mclmc     BlackJAX's adjusted MCLMC: 4 chains of 10,000 draws, a fifth as many steps to tune,
              acceptance .9, trajectories of random length

Each runs in single precision, as `spos.fit` and NUTS do here. They have converged if r_hat is at
most 1.01 and nothing diverged. LAPS has one draw of every chain, and does not say.
"""

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

import spos
from spos_experiments.paper.accuracy import models
from spos_experiments.paper.accuracy.reference import AGREE, columns, finite_starts, judged
from spos_experiments.paper.accuracy.sampled import Sampled

LAPS_CHAINS, LAPS_STEPS = 1000, 500
MEADS_CHAINS, MEADS_STEPS, MEADS_THINNED = 128, 2000, 10
CHEES_CHAINS, CHEES_WARMUP, CHEES_DRAWS, CHEES_STEP = 16, 1000, 500, 0.1
MCLMC_CHAINS, MCLMC_DRAWS, MCLMC_THINNED, MCLMC_ACCEPT = 4, 10_000, 2, 0.9
MCLMC_GRADIENTS = 2  # in a step of its integrator
NUTPIE_STARTS = 60  # it may reject some

Run = Callable[[int, Any], Sampled]


class Problem:
    """A model whose particles are vectors."""

    def __init__(self, name: str) -> None:
        self.model = spos.from_numpyro(models.build(name))
        like = {site: jnp.zeros(shape) for site, shape in self.model.shapes.items()}
        vector, self.unflatten = ravel_pytree(like)
        self.size = len(vector)

    def log_prob(self, vector: jax.Array) -> jax.Array:
        return self.model.target.log_prob(self.unflatten(vector))

    def start(self, seed: int, chains: int) -> jax.Array:
        """Where the other methods start too."""
        return jax.vmap(lambda each: ravel_pytree(each)[0])(finite_starts(self.model, seed, chains))

    def values(self, vectors: Any) -> np.ndarray:
        """Constrained draws, of any leading axes, as a matrix."""
        rows = jnp.asarray(vectors, jnp.float32).reshape(-1, self.size)
        return columns(self.model.constrain(jax.vmap(self.unflatten)(rows)))[1]

    def sampled(self, vectors: Any, gradients: int, divergences: int) -> Sampled:
        """What chains (chains, draws, parameters) say of themselves."""
        values = self.values(vectors)
        _, r_hat = judged(values.reshape(*vectors.shape[:2], -1))
        said = r_hat <= AGREE and divergences == 0
        return Sampled(values, gradients, said, f"r_hat {r_hat:.3f}, {divergences} divergences")


def nutpie(name: str, settings: Any) -> Run:
    library = _needed("nutpie")
    problem = Problem(name)
    score = jax.jit(jax.value_and_grad(problem.log_prob))

    def log_prob(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = score(vector.astype(np.float32))
        return float(value), np.asarray(gradient, np.float64)

    def run(seed: int, _: Any) -> Sampled:
        starts = itertools.cycle(np.asarray(problem.start(seed, NUTPIE_STARTS), np.float64))
        compiled = library.compiled_pyfunc.from_pyfunc(
            problem.size,
            lambda: log_prob,
            lambda *_: lambda vector: {"theta": vector},
            *([np.dtype(np.float64)], [(problem.size,)], ["theta"]),
            make_initial_point_fn=lambda _: next(starts),
        )
        found = library.sample(compiled, seed=seed, progress_bar=False)
        statistics = (found.warmup_sample_stats, found.sample_stats)
        gradients = sum(int(each.n_steps.sum()) for each in statistics)
        divergences = int(found.sample_stats.diverging.sum())
        return problem.sampled(found.posterior.theta.values, gradients, divergences)

    return run


def laps(name: str, settings: Any) -> Run:
    _needed("blackjax")
    from blackjax.adaptation.laps import laps as library

    problem = Problem(name)
    mesh = jax.sharding.Mesh(jax.devices()[:1], "chains")

    def run(seed: int, _: Any) -> Sampled:
        starts = problem.start(seed, LAPS_CHAINS)
        info, gradients, _, state = library(
            problem.log_prob,
            lambda key: starts[jax.random.randint(key, (), 0, len(starts))],
            problem.size,
            *(LAPS_STEPS, LAPS_STEPS, LAPS_CHAINS, mesh, jax.random.key(seed)),
        )
        before = len(info["phase_1"]["step_size"])
        after = gradients * int(np.sum(info["phase_2"]["steps_per_sample"]))
        values = problem.values(state.position)
        return Sampled(values, LAPS_CHAINS * (before + after))

    return run


def meads(name: str, settings: Any) -> Run:
    library = _needed("blackjax")
    from blackjax.adaptation.base import get_filter_adapt_info_fn

    problem = Problem(name)
    warmup = library.meads_adaptation(
        problem.log_prob, MEADS_CHAINS, adaptation_info_fn=get_filter_adapt_info_fn()
    )

    @jax.jit
    def all_steps(key: jax.Array, starts: jax.Array) -> Any:
        first, second = jax.random.split(key)
        (states, parameters), _ = warmup.run(first, starts, MEADS_STEPS)
        step = jax.vmap(library.ghmc(problem.log_prob, **parameters).step)
        return _chains(step, second, states, MEADS_CHAINS, MEADS_STEPS, MEADS_THINNED)

    def run(seed: int, _: Any) -> Sampled:
        drawn, _, divergences = all_steps(jax.random.key(seed), problem.start(seed, MEADS_CHAINS))
        return problem.sampled(drawn, 2 * MEADS_STEPS * MEADS_CHAINS, int(divergences))

    return run


def chees(name: str, settings: Any) -> Run:
    library = _needed("blackjax")
    from blackjax.adaptation.base import get_filter_adapt_info_fn

    problem = Problem(name)
    counts = get_filter_adapt_info_fn(info_keys={"num_integration_steps"})
    warmup = library.chees_adaptation(problem.log_prob, CHEES_CHAINS, adaptation_info_fn=counts)
    optimizer = optax.adam(0.5, b1=0.0, b2=0.95)

    @jax.jit
    def all_steps(key: jax.Array, starts: jax.Array) -> Any:
        first, second = jax.random.split(key)
        (states, parameters), info = warmup.run(
            *(first, starts, CHEES_STEP, optimizer, CHEES_WARMUP), max_sampling_steps=CHEES_DRAWS
        )
        step = jax.vmap(library.dhmc(problem.log_prob, **parameters).step)
        found = _chains(step, second, states, CHEES_CHAINS, CHEES_DRAWS)
        return found, info.info.num_integration_steps.sum()

    def run(seed: int, _: Any) -> Sampled:
        (drawn, after, divergences), before = all_steps(
            jax.random.key(seed), problem.start(seed, CHEES_CHAINS)
        )
        return problem.sampled(drawn, int(before) + int(after), int(divergences))

    return run


def mclmc(name: str, settings: Any) -> Run:
    library = _needed("blackjax")
    from blackjax.mcmc import adjusted_mclmc_dynamic as dynamic

    problem = Problem(name)
    lengths = dynamic.make_random_trajectory_length_fn(True)
    kernel = dynamic.build_kernel(integration_steps_fn=lengths)

    def tuned(key: jax.Array, start: jax.Array) -> Any:
        first, second = jax.random.split(key)
        state = dynamic.init(start, problem.log_prob, first)
        return library.adjusted_mclmc_find_L_and_step_size(
            *(kernel, problem.log_prob, MCLMC_DRAWS, state, second, MCLMC_ACCEPT)
        )

    @jax.jit
    def all_steps(key: jax.Array, starts: jax.Array) -> Any:
        first, second = jax.random.split(key)
        keys = jax.random.split(first, MCLMC_CHAINS)
        states, parameters, before = jax.vmap(tuned)(keys, starts)

        def one(key: jax.Array, state: Any, own: Any) -> Any:
            length = (own.L / own.step_size,)
            return kernel(
                *(key, state, problem.log_prob, own.step_size),
                inverse_mass_matrix=own.inverse_mass_matrix,
                integration_steps_params=length,
            )

        def step(keys: jax.Array, states: Any) -> Any:
            return jax.vmap(one)(keys, states, parameters)

        found = _chains(step, second, states, MCLMC_CHAINS, MCLMC_DRAWS, MCLMC_THINNED)
        return found, before.sum()

    def run(seed: int, _: Any) -> Sampled:
        (drawn, after, divergences), before = all_steps(
            jax.random.key(seed), problem.start(seed, MCLMC_CHAINS)
        )
        gradients = MCLMC_GRADIENTS * (int(before) + int(after))
        return problem.sampled(drawn, gradients, int(divergences))

    return run


def _chains(
    step: Callable, key: jax.Array, states: Any, chains: int, draws: int, thinned: int = 1
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Draws (chains, draws, parameters), integration steps and divergences of many chains."""

    def one(states: Any, key: jax.Array) -> Any:
        states, info = step(jax.random.split(key, chains), states)
        return states, (jnp.sum(info.num_integration_steps), jnp.sum(info.is_divergent))

    def some(states: Any, keys: jax.Array) -> Any:
        states, sums = jax.lax.scan(one, states, keys)
        return states, (states.position, *(each.sum() for each in sums))

    keys = jax.random.split(key, (draws // thinned, thinned))
    _, (drawn, steps, divergences) = jax.lax.scan(some, states, keys)
    return jnp.swapaxes(drawn, 0, 1), steps.sum(), divergences.sum()


def _needed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install './experiments[rivals]'") from error


RIVALS: dict[str, Callable[[str, Any], Run]] = {
    "nutpie": nutpie,
    "laps": laps,
    "meads": meads,
    "chees": chees,
    "mclmc": mclmc,
}
