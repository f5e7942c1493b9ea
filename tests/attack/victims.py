"""Good files of every kind that is read, to be spoilt (`files.py`) or written while somebody kills
the writer (`interruptions.py`)."""

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from attack import mutations
from spos import rl
from spos.auto import state as fit_state
from spos.auto.engine import Records, Whitened
from spos.auto.judge import Round
from spos.auto.result import Adapted
from spos.auto.verdict import Check, Verdict
from spos.estimators.regressor import SPOSRegressor
from spos.io.archive import DamagedFileError
from spos.io.checkpoint import Checkpoint
from spos.io.html import Table
from spos.networks.plain import Exported
from spos.networks.rows import Scaling
from spos_experiments import data
from spos_experiments.data import DataError
from spos_experiments.frame import page, record, resume
from spos_experiments.frame.record import Claim, Illustration, Record, RecordError

MEANT = (DamagedFileError, RecordError, DataError)
PNG = b"\x89PNG\r\n\x1a\nnot really"
RNG = np.random.default_rng(0)
TREE = {"w": RNG.normal(size=(5, 2, 3)).astype(np.float32), "b": [RNG.normal(size=5), None]}

BLIND = {"flips": mutations.flips, "cuts": mutations.cuts}
ZIPPED = {**BLIND, "headers": mutations.headers, "members": mutations.members}
ARCHIVED = {**ZIPPED, "arrays": mutations.arrays, "descriptions": mutations.descriptions}
TEXT = {**BLIND, "texts": mutations.texts}
SAYING = ("arrays", "descriptions", "texts")


class Victim(NamedTuple):
    """A kind of file: where it lies, how it is written and read, and in which ways it is spoilt."""

    name: str
    path: Path
    write: Callable[[], Any]
    read: Callable[[], Any]
    kinds: dict[str, Callable[[bytes, random.Random], Iterator[bytes]]]
    saying: tuple[str, ...] = SAYING  # of those, the ones whose files are whole
    meant: tuple[type[Exception], ...] = MEANT


def victims(folder: Path) -> Iterator[Victim]:
    """Good files of each kind, each in a folder of its own."""
    for name in MAKERS:
        place = folder / name
        place.mkdir()
        yield made(name, place)


def made(name: str, folder: Path) -> Victim:
    """The victim of that name, with a good file in its place."""
    victim = MAKERS[name](folder)
    victim.write()
    return victim


def _result(folder: Path) -> Victim:
    run = spos.Result(
        particles=TREE,
        info={"epd": np.arange(4.0), "drift_norm": np.ones(4, np.float32)},
        history={"w": np.ones((2, 5, 2)), "half": jnp.ones((2, 5), jnp.bfloat16)},
        history_every=2,
        settings={"algorithm": "spos", "step_size": 0.1},
        versions={"spos": "0"},
        num_steps=4,
        seconds=0.5,
    )
    path = folder / "run.npz"
    return Victim("result", path, lambda: run.save(path), lambda: spos.load(path), ARCHIVED)


def _fit(folder: Path) -> Victim:
    found = spos.Fit(
        particles=TREE,
        info={"log_prob": np.zeros((2, 5)), "acceptance": np.ones((2, 5))},
        history=jax.tree.map(lambda leaf: np.stack([leaf, leaf]), TREE),
        history_every=3,
        settings={"seed": 0},
        versions={"spos": "0"},
        num_steps=6,
        seconds=0.5,
        draws={"x": np.ones((10, 2))},
        verdict=Verdict((Check("R-hat", 1.0, 1.01, True, "it is 1.00"),)),
        evaluations=600,
        adapted=Adapted(np.zeros(3), np.eye(3), -0.5, 2, False),
        dims={"x": ["side"]},
        coords={"side": ["left", "right"]},
    )
    path = folder / "fit.npz"
    return Victim("fit", path, lambda: found.save(path), lambda: spos.load(path), ARCHIVED)


def _fit_checkpoint(folder: Path) -> Victim:
    """Of a fit in the middle of a round."""
    points, steps = np.ones((4, 2)), np.zeros(4)
    state = fit_state.FitState(
        *(np.zeros(2), np.eye(2), points, steps, points, np.zeros(2), np.eye(2), steps),
        phase=fit_state.ROUNDS,
        widths=[np.ones(2)],
        finished=Round(np.ones((3, 4, 2)), np.zeros((3, 4)), *2 * [np.ones((3, 4, 2))], steps),
        running=Whitened(*map(jnp.asarray, (points, steps, points))),
        records=[Records(*map(jnp.asarray, (points[None], steps[None], points[None], steps)))],
        checks=[Check("R-hat", 1.0, 1.01, True, "it is 1.00")],
        notes=["a note"],
    )
    saver = Checkpoint(folder, 1.0, {"fit": {"seed": 1}})

    def read() -> Any:
        return _or_warned(lambda: fit_state.restored(saver))

    path = folder / "step-000000000.npz"
    return Victim("fit checkpoint", path, lambda: fit_state.save(saver, state), read, ARCHIVED)


def _checkpoint(folder: Path) -> Victim:
    state = spos.spos(lambda theta: -jnp.sum(theta**2), 0.1).init(jnp.ones((4, 2)))
    saver = Checkpoint(folder, 1.0, {"seed": 1, "sampler": {"step_size": 0.1}})

    def write() -> None:
        saver.save(state, {"seconds": np.ones(()), "epd": np.ones(7)})

    def read() -> Any:
        return _or_warned(lambda: saver.restore(state, needed=["seconds", "epd"]))

    return Victim("checkpoint", folder / "step-000000000.npz", write, read, ARCHIVED)


def _or_warned(restore: Callable[[], Any]) -> Any:
    """What a folder gives back; where an older file would be used, the warning as an error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = restore()
    if found is None:
        raise DamagedFileError(str(warned[-1].message))
    return found


def _trained(particles: Any) -> rl.Trained:
    policy = {"observation_size": 2, "actions": "discrete", "size": 2, "hidden": [3]}
    return rl.Trained(
        particles=particles,
        returns=np.ones((3, 5)),
        coverage=np.zeros(0),
        settings={"policy": policy, "environment": "a task"},
        versions={"spos": "0"},
        seconds=1.0,
        interrupted=False,
    )


def _policies(folder: Path) -> Victim:
    path, trained = folder / "policies.npz", _trained(TREE)
    return Victim("policies", path, lambda: trained.save(path), lambda: rl.load(path), ARCHIVED)


def _deployed(folder: Path) -> Victim:
    shapes = {"w0": (5, 2, 3), "b0": (5, 3), "w1": (5, 3, 2), "b1": (5, 2)}
    rng = np.random.default_rng(0)
    trained = _trained({name: rng.normal(size=shape) for name, shape in shapes.items()})
    path = folder / "policy.npz"
    return Victim(
        *("deployed policy", path, lambda: trained.export(path)),
        *(lambda: rl.deployed.load(path), ARCHIVED),
        meant=(ValueError,),  # the one file that reads it knows no other
    )


def _regressor() -> SPOSRegressor:
    model = SPOSRegressor(hidden=(3,), random_state=0)
    model.n_features_in_, model.n_iter_, model.n_rows_seen_ = 2, 10, 20.0
    model.n_outputs_, model.noise_, model.target_transform_ = 1, "constant", "none"
    model.scaling_ = Scaling(
        np.zeros(2), np.ones(2), y_centre=np.float64(1.5), y_unit=np.float64(0.5)
    )
    model.feature_names_in_ = np.array(["height", "age"], object)
    rows = np.ones((2, 8), np.float32)  # columns are padded
    networks = model._network().start(jax.random.key(0), 4, rows, rows[:, 0])
    model.particles_ = jax.device_get(networks)
    return model


def _estimator(folder: Path) -> Victim:
    path, model = folder / "model.npz", _regressor()
    read = lambda: SPOSRegressor.load(path)  # noqa: E731
    return Victim("estimator", path, lambda: model.save(path), read, ARCHIVED)


def _export(folder: Path) -> Victim:
    path, model = folder / "export.npz", _regressor()
    read = lambda: Exported.load(path)  # noqa: E731
    return Victim(
        *("exported estimator", path, lambda: model.export(path), read, ZIPPED),
        saying=("members",),  # without a checksum of all of it
        meant=(ValueError,),
    )


class Outcome(NamedTuple):
    scores: np.ndarray
    label: str
    theta: Any


def _run(folder: Path) -> Victim:
    """Of an experiment, which reads it instead of running again."""
    path = folder / "run.npz"
    ended = Outcome(np.arange(6.0), "a run", TREE)
    read = lambda: resume.read(path, Outcome, ["theta"])  # noqa: E731
    return Victim(
        "experiment's run", path, lambda: resume.write(path, ended, ["theta"]), read, ARCHIVED
    )


def _record(folder: Path) -> Victim:
    told = Record(
        experiment="gaussian", title="Title", about="About.", quick=False, seed=0,
        command="spos paper gaussian", seconds=1.5, settings={"n": 1}, versions={"spos": "0.1.0"},
        claims=[Claim("Cats.", "By pet: a; b; c.", "holds", "Most.")],
        table=Table(("a", "b"), [("1", "2")]), numbers={"x": [1.0]},
        figures=[Illustration("pets.png", "Three cats.", "A caption.")],
    )  # fmt: skip
    place = folder / "gaussian"
    place.mkdir(exist_ok=True)
    (place / "pets.png").write_bytes(PNG)

    def read() -> Any:
        text = page.build(folder, folder / "report.html").read_text(encoding="utf-8")
        assert "<script" not in text
        return None  # a flipped bit in a text is another text

    path = place / record.FILE
    return Victim("record", path, lambda: record.write(path, told), read, TEXT)


def _data(folder: Path) -> Victim:
    rng = np.random.default_rng(0)
    rows, X, y = np.arange(30), rng.normal(size=(30, 3)), rng.normal(size=30)
    path = folder / "boston.npz"

    def write() -> None:
        np.savez_compressed(
            path, X=X, y=y, n_splits=2, names=np.array(["a", "b", "c"]),
            train_idx_0=rows[5:], test_idx_0=rows[:5], train_idx_1=rows[:9], test_idx_1=rows[9:],
        )  # fmt: skip

    read = lambda: data.load("boston", folder)  # noqa: E731
    return Victim("data", path, write, read, ZIPPED, ("members",))  # without a checksum of all


MAKERS: dict[str, Callable[[Path], Victim]] = {
    make.__name__.strip("_"): make
    for make in (
        *(_result, _checkpoint, _fit, _fit_checkpoint, _policies, _deployed),
        *(_estimator, _export, _record, _run, _data),
    )
}
KINDS = dict.fromkeys(MAKERS, ARCHIVED) | {
    "export": ZIPPED,
    "record": TEXT,
    "data": ZIPPED,
}
