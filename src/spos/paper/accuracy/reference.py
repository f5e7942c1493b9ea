"""What is right: exact draws where a model has no data, a long NUTS run where it has.

NUTS is NumPyro's, in double precision for a reference, with several chains at once. A reference is
weak where its smallest effective sample size is below `ENOUGH`, or where its chains disagree:
errors against it are then partly its own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos import archive
from spos.adapters import Model, from_numpyro
from spos.paper import models

ENOUGH, AGREE = 1000.0, 1.01  # effective draws, and r_hat
CANDIDATES = 25  # starts for a chain
DENSE = 60  # parameters up to which a reference adapts a full mass matrix


class Reference(NamedTuple):
    """Moments of all constrained parameters."""

    names: list[str]
    mean: np.ndarray
    sd: np.ndarray
    exact: bool
    ess: float
    r_hat: float
    divergences: int
    leapfrogs: int

    @property
    def weak(self) -> bool:
        return not self.exact and (self.ess < ENOUGH or not self.r_hat <= AGREE)


def kept(place: Path, name: str, settings: Any) -> Reference:
    """The reference in that file, which is made if it is not there."""
    if not place.exists():
        made = make(name, settings)._asdict()
        arrays = {key: made.pop(key) for key in ("mean", "sd")}
        archive.write(place, arrays, made)
    arrays, meta = archive.read(place)
    fields: dict[str, Any] = {**arrays, **meta}
    return Reference(**fields)


def make(name: str, settings: Any) -> Reference:
    from numpyro import handlers
    from numpyro.infer import Predictive

    model = models.build(name)
    key = jax.random.key(0)
    trace = handlers.trace(handlers.seed(model, key)).get_trace()
    if not any(site.get("is_observed") for site in trace.values()):
        with jax.enable_x64(True):
            drawn = Predictive(model, num_samples=settings.exact_draws)(key)
        names, values = columns(drawn)
        count = float(len(values))
        return Reference(names, values.mean(0), values.std(0), True, count, 1.0, 0, 0)
    size = sum(site["value"].size for site in trace.values() if not site.get("is_observed"))
    with jax.enable_x64(True):
        run = Nuts(
            *(
                from_numpyro(model),
                settings.nuts_chains,
                settings.reference_warmup,
                settings.reference_draws,
            ),
            target_accept_prob=0.95,
            dense_mass=size <= DENSE,
        )
        drawn, leapfrogs, divergences = run(0)
    names, values = columns(drawn)
    ess, r_hat = judged(values.reshape(settings.nuts_chains, -1, values.shape[1]))
    return Reference(
        *(names, values.mean(0), values.std(0), False, ess, r_hat, divergences, leapfrogs)
    )


class Nuts:
    """Several chains at once, from where the other methods start too. It is one compiled program,
    since NumPyro's own loop compiles parts of itself anew in every call."""

    def __init__(self, model: Model, chains: int, warmup: int, draws: int, **options: Any) -> None:
        from numpyro.infer import NUTS

        self.model, self.chains = model, chains
        self.finite = jax.jit(lambda some: _finite(model.target.score(some)))

        def one(key: jax.Array, theta: Any) -> Any:
            kernel = NUTS(potential_fn=lambda z: -model.target.log_prob(z), **options)
            state = kernel.init(key, warmup, theta, (), {})

            def step(state: Any, _: None) -> Any:
                state = kernel.sample(state, (), {})
                return state, (state.z, state.num_steps, state.diverging)

            _, (z, steps, diverging) = jax.lax.scan(step, state, length=warmup + draws)
            kept = jax.tree.map(lambda leaf: leaf[warmup:], z)
            return kept, steps.sum(), diverging[warmup:].sum()

        self.program = jax.jit(jax.vmap(one))

    def __call__(self, seed: int) -> tuple[dict[str, Any], int, int]:
        """Constrained draws, chain after chain; all leapfrogs; divergences after the warm-up."""
        keys = jax.random.split(jax.random.PRNGKey(seed), self.chains)
        z, leapfrogs, divergences = self.program(keys, self.start(seed))
        rows = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), z)
        return self.model.constrain(rows), int(leapfrogs.sum()), int(divergences.sum())

    def start(self, seed: int) -> Any:
        """The first particles of a cloud that have a finite score."""
        cloud = self.model.start(jax.random.key(seed), CANDIDATES * self.chains)
        rows = np.flatnonzero(np.asarray(self.finite(cloud)))[: self.chains]
        return jax.tree.map(lambda leaf: leaf[rows], cloud)


def _finite(scores: Any) -> jax.Array:
    leaves = [leaf.reshape(len(leaf), -1) for leaf in jax.tree.leaves(scores)]
    return jnp.isfinite(jnp.concatenate(leaves, axis=1)).all(axis=1)


def columns(draws: Mapping[str, Any]) -> tuple[list[str], np.ndarray]:
    """One name and one column for every number of a draw."""
    names, parts = [], []
    for name in sorted(draws):
        value = np.asarray(draws[name], np.float64)
        places = list(np.ndindex(value.shape[1:]))
        names += [f"{name}{list(place)}" if place else name for place in places]
        parts.append(value.reshape(len(value), -1))
    return names, np.concatenate(parts, axis=1)


def judged(chains: np.ndarray) -> tuple[float, float]:
    """The worst effective sample size and r_hat of (chains, draws, parameters)."""
    try:
        from arviz_stats.base import array_stats
    except ImportError as error:
        raise ImportError("references need ArviZ: pip install 'spos[arviz]'") from error
    axes = {"chain_axis": 0, "draw_axis": 1}
    ess, r_hat = array_stats.ess(chains, **axes), array_stats.rhat(chains, **axes)
    return float(np.min(ess)), float(np.max(r_hat))
