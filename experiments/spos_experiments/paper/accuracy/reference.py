"""What is right: exact draws where a model has no data, moments by linear algebra where it brings
them (`model.moments`), and else a long NUTS run.

NUTS is NumPyro's, in double precision for a reference, with several chains at once. Where a model
names sites that are Gaussian given the others (`model.gaussian`), they are integrated out, and
where it knows that two places explain the data alike (`model.twins`), chains jump between them. A
reference goes on until its smallest effective sample size is `PLENTY`, its chains agree and their
halves know every standard deviation, or its draws are used up. It is weak where that size stays
below `ENOUGH`, or where its chains or halves disagree; then it is made once more, `LONGER` in all.
Errors against one that is weak still are partly its own.

Where tails are so heavy that not even exact draws know a standard deviation (that of log sd is
½ √((κ - 1)/n), κ the kurtosis), the width of the draws' central part is compared instead.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from spos.adapters import Model, from_numpyro
from spos.auto import threads
from spos_experiments.paper.accuracy import integrated, models

ENOUGH, PLENTY, AGREE = 1000.0, 4000.0, 1.01  # effective draws, and r_hat
KNOWN = 0.015  # the standard error of a log standard deviation
LONGER = 5  # times as many draws, to warm up and to keep
CANDIDATES = 25  # starts for a chain
CENTRAL = 0.8
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
    width: np.ndarray | None = None
    sd_error: np.ndarray | None = None  # of log sd

    @property
    def weak(self) -> bool:
        if self.exact:
            return False
        unknown = self.sd_error is not None and self.sd_error.max() > KNOWN
        return unknown or self.ess < ENOUGH or not self.r_hat <= AGREE


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
        moments = values.mean(0), values.std(0)
        made = Reference(names, *moments, True, float(len(values)), 1.0, 0, 0)
        return made._replace(width=width(values), sd_error=sd_error(values))
    if known := getattr(model, "moments", None):
        parts = [known[name] for name in sorted(known)]  # as `columns` has them
        mean, sd = (np.concatenate([each[n].ravel() for each in parts]) for n in (0, 1))
        names = columns({name: each[0][None] for name, each in known.items()})[0]
        return Reference(names, mean, sd, True, 1e9, 1.0, 0, 0)
    gaussian = getattr(model, "gaussian", ())
    sizes = {k: site["value"].size for k, site in trace.items() if not site.get("is_observed")}
    size = sum(n for name, n in sizes.items() if name not in gaussian)
    for times in (1, LONGER):
        draws = times * settings.reference_draws
        with jax.enable_x64(True), threads.for_size(size):
            chains = Jumping(
                getattr(model, "twins", ()),
                *(integrated.without(from_numpyro(model), gaussian), settings.nuts_chains, draws),
                target_accept_prob=0.95,
                dense_mass=size <= DENSE,
            )
            found = _long_run(chains, draws, settings.reference_parts)
        if not found.weak:
            break
    return found


def width(values: np.ndarray) -> np.ndarray:
    """Between the outer tenths of every column."""
    low, high = np.quantile(values, (0.5 - CENTRAL / 2, 0.5 + CENTRAL / 2), axis=0)
    return high - low


def sd_error(values: np.ndarray) -> np.ndarray:
    """The standard error of the log standard deviation of independent rows."""
    away = values - values.mean(0)
    kurtosis = (away**4).mean(0) / np.maximum((away**2).mean(0) ** 2, 1e-300)
    return 0.5 * np.sqrt(np.maximum(kurtosis - 1.0, 0.0) / len(values))


def sd_error_of_halves(chains: np.ndarray) -> np.ndarray:
    """The standard error of log standard deviations of (chains, draws, parameters), by those of the
    chains' halves. What does not vary is known."""
    halves = [half.std(1) for half in np.array_split(chains, 2, axis=1)]
    logs = np.log(np.maximum(np.concatenate(halves), 1e-300))
    error: np.ndarray = logs.std(0, ddof=1) / np.sqrt(len(logs))
    return error


def _long_run(nuts: "Nuts", draws: int, parts: int) -> Reference:
    """So many draws of every chain to warm up, and then as many again at most `parts` times."""
    go_on = jax.jit(jax.vmap(lambda state: nuts.go(state, draws)))
    state, path = go_on(jax.jit(jax.vmap(nuts.begin))(*nuts.start(0)))
    leapfrogs, divergences = int(path.leapfrogs.sum()), 0
    kept: list[np.ndarray] = []
    for _ in range(parts):
        state, path = go_on(state)
        leapfrogs += int(path.leapfrogs.sum())
        divergences += int(path.diverging.sum())
        names, values = columns(nuts.constrained(path.z))
        kept.append(values.reshape(nuts.chains, draws, -1))
        chains = np.concatenate(kept, axis=1)
        error, (ess, r_hat) = sd_error_of_halves(chains), judged(chains)
        if ess >= PLENTY and r_hat <= AGREE and error.max() <= KNOWN:
            break
    moments = chains.mean((0, 1)), chains.std((0, 1))
    made = Reference(names, *moments, False, ess, r_hat, divergences, leapfrogs)
    return made._replace(sd_error=error)


class Trace(NamedTuple):
    """What chains leave behind."""

    z: Any
    leapfrogs: jax.Array
    diverging: jax.Array


class Nuts:
    """Several chains at once, from where the other methods start too. `begin` and `go` are pure and
    of one chain, to be compiled, since NumPyro's own loop compiles parts of itself in every call.
    """

    def __init__(self, model: Model, chains: int, warmup: int, **options: Any) -> None:
        from numpyro.infer import NUTS

        self.model, self.chains, self.warmup = model, chains, warmup
        self.kernel = NUTS(potential_fn=self.potential, **options)

    def potential(self, z: Any) -> jax.Array:
        return -self.model.target.log_prob(z)

    def begin(self, key: jax.Array, theta: Any) -> Any:
        return self.kernel.init(key, self.warmup, theta, (), {})

    def move(self, state: Any) -> Any:
        return self.kernel.sample(state, (), {})

    def go(self, state: Any, steps: int) -> tuple[Any, Trace]:
        def step(state: Any, _: None) -> Any:
            state = self.move(state)
            return state, Trace(state.z, state.num_steps, state.diverging)

        return jax.lax.scan(step, state, length=steps)

    def start(self, seed: int) -> tuple[jax.Array, Any]:
        keys = jax.random.split(jax.random.PRNGKey(seed), self.chains)
        return keys, finite_starts(self.model, seed, self.chains)

    def constrained(self, z: Any) -> dict[str, Any]:
        """Draws of the model's own parameters, chain after chain."""
        return self.model.constrain(jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), z))


class Jumping(Nuts):
    """After every step of NUTS, a jump to a twin of the place, if the model knows any: a function
    that is its own inverse and keeps volumes, so that the densities alone decide."""

    def __init__(self, twins: Sequence[Callable[[Any], Any]], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.twins = twins

    def move(self, state: Any) -> Any:
        state = super().move(state)
        if not self.twins:
            return state
        key, which, chance = jax.random.split(state.rng_key, 3)
        there = jax.lax.switch(
            jax.random.randint(which, (), 0, len(self.twins)), self.twins, state.z
        )
        potential, slope = jax.value_and_grad(self.potential)(there)
        new = state._replace(z=there, potential_energy=potential, z_grad=slope)
        better = state.potential_energy - potential
        taken = jnp.log(jax.random.uniform(chance)) < better  # never to a place that is not finite
        state = jax.tree.map(lambda a, b: jnp.where(taken, a, b), new, state)
        return state._replace(rng_key=key)


def finite_starts(model: Model, seed: int, chains: int) -> Any:
    """The first particles of a cloud that have a finite score."""
    cloud = model.start(jax.random.key(seed), CANDIDATES * chains)
    rows = np.flatnonzero(np.asarray(_finite_scores(model.target, cloud)))[:chains]
    return jax.tree.map(lambda leaf: leaf[rows], cloud)


@jax.jit
def _finite_scores(target: Any, cloud: Any) -> jax.Array:
    return _finite(target.score(cloud))


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
    """The worst effective sample size and r_hat of (chains, draws, parameters) that vary."""
    try:
        from arviz_stats.base import array_stats  # type: ignore[attr-defined]
    except ImportError as error:
        raise ImportError("references need ArviZ: pip install 'spos[arviz]'") from error
    chains = chains[..., np.ptp(chains, axis=(0, 1)) > 0]
    axes = {"chain_axis": 0, "draw_axis": 1}
    ess, r_hat = array_stats.ess(chains, **axes), array_stats.rhat(chains, **axes)
    return float(np.min(ess)), float(np.max(r_hat))
