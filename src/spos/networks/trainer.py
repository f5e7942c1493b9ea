"""How Bayesian networks are trained: the one way of the estimators and of the paper's tables.

The posterior of the rows is sampled by a method of `methods.py`, whose step falls along half a
cosine, once or in cycles. The run looks at its particles now and then (`looks.py`): the networks of
the last looks, or of those that predict a validation set best, are what it gives.

Everything here is a value. Networks of one structure, whose rows have one shape, share a compiled
program, whatever the rows, the step size, β or the number of steps are.
"""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from spos import checks
from spos.dynamics.preconditioners import Preconditioner
from spos.dynamics.sampler import Sampler
from spos.dynamics.schedules import StepSize, cosine, cyclic
from spos.interaction.kernels import Bandwidth, rbf
from spos.io import archive
from spos.loop.guard import NonFiniteError
from spos.loop.run import Seed, run_key
from spos.loop.sample import sample
from spos.networks import joined
from spos.networks.looks import Looks
from spos.networks.methods import Method, Options, method_called
from spos.networks.rows import Rows
from spos.programs import ONCE, brief, compiled
from spos.result import Result
from spos.targets.network import FIRST_ROWS, BayesianNetwork
from spos.types import Array, Particles, PathLike

SAVED_EVERY = 120.0  # seconds

OnLook = Callable[[int, Particles], object]


class Setting(NamedTuple):
    """A method and what it is set to.

    Attributes:
        method: the name of one in `spos.networks.methods.METHODS`, or a method of one's own.
        step_size: of the first steps; None is the method's own, less for wide networks.
        last_step: as a share of the first, where the cosine ends; None keeps the step constant.
        beta: 1/β is the weight of Langevin drift and noise, in "spos" and "pos".
        bandwidth: of the kernel, "median" or a number. A method that needs a fixed bandwidth takes
            for "median" that of the start.
        preconditioner: None is the method's own.
        batch_size: rows in a step, at most.
        step_share: of the method's own step, where that is taken.
        cycles: of the step, which falls and begins anew; so many looks fall on their ends.
    """

    method: str | Method = "spos"
    step_size: float | None = None
    last_step: float | None = 0.1
    beta: float = 10.0
    bandwidth: Bandwidth = "median"
    preconditioner: Preconditioner | None = None
    batch_size: int = 100
    step_share: float = 1.0
    cycles: int = 1


class Trained(NamedTuple):
    """What a run gives.

    Attributes:
        particles: the networks to predict with, newest last.
        scores: the mean log-predictive of the validation set at each look.
        terms: the log-predictive of its rows, by the networks that are given.
        num_steps: that were taken.
        seconds: that they took.
        interrupted: did Ctrl-C end the run?
    """

    particles: Particles
    scores: list[float]
    terms: np.ndarray
    num_steps: int
    seconds: float
    interrupted: bool


def train(
    network: BayesianNetwork,
    rows: Rows,
    setting: Setting,
    num_steps: int,
    *,
    start: Particles,
    seed: Seed = 0,
    validation: Rows | None = None,
    patience: int | None = None,
    looks: int = 50,
    average: int = 5,
    on_look: OnLook | None = None,
    checkpoint: PathLike | None = None,
    quick: bool = False,
    progress: bool | None = None,
) -> Trained:
    """Sample networks that know these rows.

    Args:
        network: its likelihood and prior too, in the units of the rows.
        rows: the training set.
        setting: how.
        num_steps: at most.
        start: the first networks, such as `first_networks` gives.
        seed: of the run; a number or a key.
        validation: a validation set, which chooses the networks.
        patience: looks without a better score on the validation set before the run ends, in its
            second half.
        looks: so many in the whole run, at equal distances.
        average: the networks of so many looks are given, one after another.
        on_look: `on_look(number, particles)` is told of every look, from 1.
        checkpoint: a folder. A run that is started again goes on from there.
        quick: compile fast (`joined.py`); a step of large networks may take longer then.
        progress: show a progress line; by default only on a terminal.

    Returns:
        The networks and their scores.

    Raises:
        NonFiniteError: a network left the finite numbers: the step was too large.
        KeyboardInterrupt: Ctrl-C, with a checkpoint. Without one, what was found is given.

    Example:
        >>> x = np.linspace(-1, 1, 100, dtype=np.float32)[:, None]
        >>> rows = Rows(x, np.sin(3 * x[:, 0]))
        >>> plain = spos.targets.relu_network(1, 1, [20])
        >>> network = spos.targets.bnn(plain, likelihood=spos.targets.likelihoods.gaussian())
        >>> start = first_networks(network, 5, jax.random.key(0), *rows[:2])
        >>> trained = train(network, rows, Setting("svgd"), 100, start=start, average=2)
        >>> trained.particles["weights"]["w0"].shape
        (10, 1, 20)
    """
    checks.whole("num_steps", num_steps)
    every = max(1, num_steps // checks.whole("looks", looks))
    if patience is not None:
        checks.whole("patience", patience)
    sampler = sampler_of(network, rows, setting, num_steps, start)
    average = checks.whole("average", average)
    seen = Looks(network, average, validation, patience, -(-num_steps // every) // 2)
    made = (joined.quick if quick else joined.as_given)(sampler, start)
    steps = functools.partial(sample, made.sampler, made.start, seed=seed, progress=progress)

    def look(step: int, particles: Particles) -> bool:
        networks = made.networks(particles)
        if on_look is not None:
            on_look(-(-step // every), networks)
        return seen.see(networks)

    try:
        with brief(made.options):
            if checkpoint is None:
                result = steps(
                    num_steps,
                    callback=lambda state, info: look(int(state.step), state.particles),
                    callback_every=every,
                )
            else:
                options = {"checkpoint": checkpoint, "checkpoint_every": SAVED_EVERY}
                ends = [*range(every, num_steps, every), num_steps]
                form = jax.tree.structure(made.start)
                saved = functools.partial(steps, **options)
                result = _in_stages(saved, ends, look, Path(checkpoint), form)
    except NonFiniteError as error:
        raise made.explained(error, sampler, run_key(seed)) from None
    return Trained(
        particles=seen.pool(made.networks(result.particles)),
        scores=seen.scores,
        terms=seen.best.terms if seen.best else np.empty(0),
        num_steps=result.num_steps,
        seconds=result.seconds,
        interrupted=result.interrupted,
    )


def first_networks(
    network: BayesianNetwork, num_particles: int, key: jax.Array, x: Array, y: Array
) -> Particles:
    """Networks with weights of their own, and noise as large as their first errors.

    Args:
        network: what they are.
        num_particles: how many.
        key: of their weights.
        x: rows that tell how large the first errors are.
        y: what was observed there.

    Returns:
        The particles.
    """
    count = checks.whole("num_particles", num_particles)
    return _start(count, network, key, x[:FIRST_ROWS], y[:FIRST_ROWS])


@compiled(1, ONCE)
def _start(
    num_particles: int, network: BayesianNetwork, key: jax.Array, x: Array, y: Array
) -> Particles:
    return network.start(key, num_particles, x, y)


def sampler_of(
    network: BayesianNetwork, rows: Rows, setting: Setting, num_steps: int, start: Particles
) -> Sampler:
    """The sampler of a run; see `train`."""
    method = method_called(setting.method)
    matrices = [leaf for leaf in jax.tree.leaves(start["weights"]) if leaf.ndim > 2]
    step_size = setting.step_size
    if step_size is None:
        widest = max((leaf.shape[-2] for leaf in matrices), default=1)
        step_size = setting.step_share * method.default_step(widest)
    step_size = checks.positive("step_size", step_size)
    if method.per_row:
        step_size /= rows.total
    schedule: StepSize = step_size
    if setting.last_step is not None:
        falling = cosine if setting.cycles == 1 else cyclic
        schedule = falling(step_size, max(1, num_steps // setting.cycles), setting.last_step)
    bandwidth = setting.bandwidth
    if method.fixed_bandwidth and isinstance(bandwidth, str):
        bandwidth = _bandwidth_of(start)
    options = Options(
        schedule,
        checks.positive("beta", setting.beta),
        rbf(bandwidth),
        setting.preconditioner or method.preconditioner,
    )
    batch_size = min(checks.whole("batch_size", setting.batch_size), len(rows.y))
    return method.build(network.posterior(rows.x, rows.y, batch_size, rows.weights), options)


def _bandwidth_of(start: Particles) -> float:
    """The median rule for independent networks with weights around 0: ‖θ_i - θ_j‖² ≈ 2 ‖θ‖²."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(start["weights"])]
    count = len(leaves[0])
    return 2.0 * sum(float((leaf**2).sum()) for leaf in leaves) / count / math.log(count + 1)


def _in_stages(
    run: Callable[[int], Result],
    ends: list[int],
    look: Callable[[int, Particles], bool],
    folder: Path,
    form: jax.tree_util.PyTreeDef,
) -> Result:
    """A run that is saved, and goes on, up to each look in turn.

    The particles of a look are kept in a file beside the checkpoint, which only knows the newest:
    a run that is started again sees what it has seen before.
    """
    result = None
    for end in ends:
        place = folder / f"look-{end:09d}.npz"
        if place.exists():
            arrays, _ = archive.read(place)
            leaves = [arrays[f"leaf{n}"] for n in range(form.num_leaves)]
            result, particles = None, jax.tree.unflatten(form, leaves)
        else:
            result = run(end)
            if result.interrupted:
                raise KeyboardInterrupt
            particles = result.particles
            leaves = jax.tree.leaves(jax.device_get(particles))
            archive.write(place, {f"leaf{n}": leaf for n, leaf in enumerate(leaves)}, {})
        if look(end, particles):
            break
    # all steps are taken; but is the folder of this run?
    return run(end) if result is None else result
