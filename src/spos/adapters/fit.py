"""A model or a log-density in, its posterior out."""

import contextlib
import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from spos import checks
from spos.adapters.minibatches import (
    fit_minibatches,
    has_minibatches,
    must_be_left_out,
    with_minibatches,
)
from spos.adapters.model import Model, ModelError
from spos.adapters.subject import Subject, read_subject
from spos.auto import starts, threads
from spos.auto.approach import NowhereFiniteError
from spos.auto.budget import Budget
from spos.auto.controller import AutomaticRun
from spos.auto.engine import Problem
from spos.auto.judge import arviz_stats, own_check
from spos.auto.result import Adapted, Fit
from spos.auto.together import Programs, must_agree, team_of
from spos.auto.verdict import Check
from spos.auto.watch import Callback, warn
from spos.interaction.kernels import Kernel, rbf
from spos.io.checkpoint import Checkpoint, fingerprint
from spos.loop.code import LABEL, code_of
from spos.loop.identity import rounded, some_numbers
from spos.mesh import gather
from spos.mesh.processes import Team
from spos.names import parameters
from spos.targets.target import check_target
from spos.types import Particles, PathLike, PyTree

RBF = rbf()


def fit(
    model: Any,
    /,
    *args: Any,
    start: Particles | None = None,
    data: PyTree = None,
    batch_size: int | None = None,
    num_particles: int | None = None,
    mesh: Mesh | None = None,
    seed: int = 0,
    beta: float = 1.0,
    kernel: Kernel | None = None,
    max_seconds: float | None = None,
    max_evaluations: int | None = None,
    target_error: float | None = None,
    num_draws: int | None = None,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 30.0,
    warm_start: Fit | None = None,
    **kwargs: Any,
) -> Fit:
    """Draw from the posterior of a model, or from any log-density, without settings.

    Coordinates, steps and the end of the run are found without help, and the draws are judged:
    `fit.converged` and `fit.report()` say whether to trust them.

    Args:
        model: a NumPyro function, a PyMC model, a `spos.Model`; or, with `start`, a
            `spos.posterior`, another `spos.Target` or a function `log_prob(theta)` of one particle.
        *args: those of a NumPyro function.
        start: particles to begin with, a pytree whose leaves share a leading axis. A model begins
            uniformly between -2 and 2 in every unconstrained direction unless it is given.
        data: replaces the data of a `spos.posterior`; of equal shapes, nothing is compiled anew.
        batch_size: the rows of a minibatch, for data too tall to be seen whole in every move: of a
            `spos.posterior`, or of the plates of a NumPyro model that have a `subsample_size`,
            which alone is enough too. The run then walks around the mode with steps of its own
            choice; of the arguments below it knows `num_particles`, `seed`, `max_seconds`,
            `progress` and `callback`.
        num_particles: 100 unless `start` or `warm_start` says otherwise.
        mesh: what `spos.mesh.particle_mesh` gives. Its devices, those of other processes too, share
            the evaluations of the density; process 0 judges, decides, saves and calls `callback`.
            Unless it is given, that of a `start` which is sharded.
        seed: the same seed gives the same bits.
        beta: the weight of the kernel field beside the score, where there is one.
        kernel: `spos.rbf()` lets the particles of one half also move by the scores of the other,
            through a kernel. The law of the draws is the same, and it did not pay in the models
            that were measured (`spos paper accuracy`), so that None is the default.
        max_seconds: ends the run, after the chunk of moves in which they have passed.
        max_evaluations: of the log-density with its gradient, at most; ten million by default.
        target_error: go on until the Monte-Carlo error of every mean, in standard deviations, and
            of every log standard deviation is at most this; 0.025 by default.
        num_draws: how many draws to return, rounded up to a multiple of the particles; by default
            5,000 to 20,000 with 100 particles.
        progress: show a progress line; by default only on a terminal.
        callback: called with a `spos.FitProgress` after every chunk of moves; a true
            return value ends the run, which is judged by what it has.
        checkpoint: a folder. The run is saved there and goes on from there, to the same bits, when
            it is started again.
        checkpoint_every: the number of seconds between two saves.
        warm_start: an earlier fit of the same parameters, with whose points, coordinates and steps
            the run begins.
        **kwargs: those of a NumPyro function.

    Returns:
        The draws with their verdict: of a model in its own parameters, else like `start`.

    Raises:
        ModelError: the model cannot be sampled, or nowhere has a finite density.
        TypeError, ValueError: an argument is not what it must be.

    Example:
        >>> start = jax.random.normal(jax.random.key(0), (50, 2))
        >>> fit = spos.fit(lambda x: -0.5 * (x**2).sum(), start=start, seed=7)
        >>> bool(abs(fit.draws.mean(0)).max() < 0.2), fit.converged
        (True, True)
    """
    checks.whole("seed", seed, at_least=0, below=2**32)
    if num_particles is not None:
        checks.whole("num_particles", num_particles)
    if callback is not None:
        checks.function("callback", callback)
    checks.positive("checkpoint_every", checkpoint_every)
    if checkpoint is not None:
        checks.folder("checkpoint", checkpoint)
    budget = Budget(max_seconds, max_evaluations, target_error, num_draws).checked()
    weight = _kernel_weight(beta, kernel)
    arviz_stats()
    if warm_start is not None and not isinstance(warm_start, Fit):
        raise TypeError(f"warm_start must be what spos.fit returned, got {warm_start!r}")
    # with particles to begin with, those of a plain density, a function is one
    started = start is not None or (warm_start is not None and warm_start.dims is None)
    subject = read_subject(model, args, kwargs, started, data, RESERVED)
    subject = with_minibatches(subject, batch_size)
    if not (tall := has_minibatches(subject.target)):
        starts.must_be_exact(subject.target)
    first = _first_particles(subject, start, num_particles, warm_start, seed)
    team = team_of(mesh, first)
    if team.mesh is not None:
        first = gather(first)  # a fit learns from all of them
    _check_density(subject, first)
    if tall:
        others = {"checkpoint": checkpoint, "warm_start": warm_start, "mesh": team.mesh}
        must_be_left_out(budget._asdict() | others)
        found = fit_minibatches(subject, first, seed, progress, callback, max_seconds)
        return _judged(subject, found, budget, team)
    programs = Programs(Problem.of(subject.target, first, weight), team)
    must_agree(team, subject.target, first, seed, budget)

    def lead() -> Fit:
        run = _begin(subject, programs, first, seed, warm_start, start is None, budget)
        with contextlib.ExitStack() as stack:
            stack.enter_context(threads.for_size(run.size))
            saver = None
            if checkpoint is not None:
                identity = {
                    "fit": run.settings,
                    "start": fingerprint(first),
                    "numbers": fingerprint(subject.target),
                    "scores at the start": rounded(np.stack(some_numbers(jnp.asarray(run.score)))),
                    LABEL: code_of(subject.target),
                }
                saver = stack.enter_context(Checkpoint(checkpoint, checkpoint_every, identity))
            return run.go(progress, callback, saver)

    return _judged(subject, programs.make(lead), budget, team)


RESERVED = tuple(
    name
    for name, parameter in inspect.signature(fit).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
)


def _kernel_weight(beta: float, kernel: Kernel | None) -> float | None:
    checks.positive("beta", beta)
    if kernel is None:
        return None
    if kernel != RBF:
        raise ValueError(
            "kernel must be spos.rbf() or None (no kernel field): a fit whitens its particles and "
            f"finds the bandwidth itself, got {kernel!r}"
        )
    return beta


def _first_particles(
    subject: Subject,
    start: Particles | None,
    num_particles: int | None,
    warm_start: Fit | None,
    seed: int,
) -> Particles:
    if warm_start is not None:
        if start is not None:
            raise ValueError("give start or warm_start, not both")
        start = warm_start.particles
    if start is None:
        if subject.model is None:
            raise ValueError(
                f"start must be given for {subject.name}: particles to begin with, a pytree of "
                "arrays with a leading axis"
            )
        return subject.model.start(jax.random.key(seed), num_particles or starts.USUAL)
    first = checks.particles(start)
    if subject.model is not None:
        subject.model.flatten(first)  # which complains if it cannot
    count = len(jax.tree.leaves(first)[0])
    if num_particles not in (None, count):
        raise ValueError(
            f"num_particles must be left out or the {count} of the starts, got {num_particles}"
        )
    return first


def _check_density(subject: Subject, first: Particles) -> None:
    """Does the target take these particles? NumPyro looks at the numbers in its arguments too."""
    try:
        check_target(subject.target, first, numbers=True)
    except ValueError as error:
        if broken := checks.broken(dict(subject.inputs)):
            reason = str(error).partition("\n")[0]
            raise ModelError(f"In {subject.name}, {'; '.join(broken)}: {reason}") from error
        raise


def _begin(
    subject: Subject,
    programs: Programs,
    first: Particles,
    seed: int,
    warm_start: Fit | None,
    redrawn: bool,
    budget: Budget,
) -> AutomaticRun:
    """The run at its start, or an error that says why it has none."""
    names, theta = parameters(first)
    warm: Adapted | None = None if warm_start is None else warm_start.adapted
    model = subject.model

    def redraw(attempt: int) -> np.ndarray:
        assert model is not None
        key = jax.random.fold_in(jax.random.key(seed), attempt)
        return starts.two_halves(parameters(model.start(key, len(theta)))[1])

    again = redraw if model is not None and redrawn and warm is None else None
    try:
        return AutomaticRun(programs, names, starts.two_halves(theta), seed, again, warm, budget)
    except NowhereFiniteError as error:
        guilty = checks.broken(dict(subject.inputs))
        if model is not None:
            guilty.append(model.blame(first))
        words = f"{error}. In {subject.name}, {'; '.join(guilty)}" if guilty else str(error)
        raise (ModelError if model is not None else NowhereFiniteError)(words) from error
    except ValueError as error:
        error.add_note(f"while fitting {subject.name}")
        raise


def _judged(subject: Subject, found: Fit, budget: Budget, team: Team) -> Fit:
    """The fit in the words of its model, and a warning if it is not to be trusted."""
    if subject.model is not None:
        found = _in_own_words(subject.model, found, budget, team)
    if not found.converged and team.leads:
        warn(found.verdict, stacklevel=3)
    return found


def _in_own_words(model: Model, found: Fit, budget: Budget, team: Team) -> Fit:
    """The draws as the model knows them, and one more check of these."""
    own = model.constrain(found.history)
    verdict = found.verdict
    if verdict.checks:
        told = own_check(own, budget.error)
        told = Check(**team.meet(check=dataclasses.asdict(told))[0]["check"])  # of process 0
        verdict = dataclasses.replace(verdict, checks=(*verdict.checks, told))

    return dataclasses.replace(
        found,
        verdict=verdict,
        draws={name: values.reshape(-1, *values.shape[2:]) for name, values in own.items()},
        coords=model.coords,
        dims=model.dims,
        model=model,
    )
