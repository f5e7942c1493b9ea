"""Attacks on every kind of file that is read, from one seed.

A spoilt file must be refused by an error that is meant for it, or read as what it was. Files that
are whole but say something else (mostly the kinds `arrays`, `descriptions` and `texts`) may also be
read as what they say. Nothing else may happen: no other error, no other answer, no long wait.

The whole form prints a table:

    PYTHONPATH=tests python -m attack.files 10000
"""

import random
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import spos
from attack import mutations
from attack.table import Score, report
from spos import rl
from spos.estimators.regressor import SPOSRegressor
from spos.io.archive import DamagedFileError
from spos.io.checkpoint import Checkpoint
from spos.io.html import Table
from spos.networks.rows import Scaling
from spos_experiments import data
from spos_experiments.data import DataError
from spos_experiments.frame import page, record
from spos_experiments.frame.record import Claim, Illustration, Record, RecordError

MEANT = (DamagedFileError, RecordError, DataError)
SLOW = 5.0  # seconds, on a machine with other things to do
PNG = b"\x89PNG\r\n\x1a\nnot really"
RNG = np.random.default_rng(0)
TREE = {"w": RNG.normal(size=(5, 2, 3)).astype(np.float32), "b": [RNG.normal(size=5), None]}

BLIND = {"flips": mutations.flips, "cuts": mutations.cuts}
ZIPPED = {**BLIND, "headers": mutations.headers, "members": mutations.members}
ARCHIVED = {**ZIPPED, "arrays": mutations.arrays, "descriptions": mutations.descriptions}
TEXT = {**BLIND, "texts": mutations.texts}
SAYING = ("arrays", "descriptions", "texts")


class Victim(NamedTuple):
    """A kind of file: where it lies, how it is read, and in which ways it is spoilt."""

    name: str
    path: Path
    read: Callable[[], Any]
    kinds: dict[str, Callable[[bytes, random.Random], Iterator[bytes]]]
    saying: tuple[str, ...] = SAYING  # of those, the ones whose files are whole


def victims(folder: Path) -> Iterator[Victim]:
    """Good files of each kind, each in a folder of its own."""
    for make in (_result, _checkpoint, _policies, _estimator, _record, _data):
        place = folder / make.__name__.strip("_")
        place.mkdir()
        yield make(place)


def attack(victim: Victim, kind: str, cases: int, seed: int = 0) -> Score:
    """So many attacks of a kind on a victim, and what became of them."""
    good = victim.path.read_bytes()
    whole = _essence(victim.read())
    seed = zlib.crc32(f"{victim.name} {kind} {seed}".encode())
    refused, read, slowest, broken = 0, 0, 0.0, []
    for n, content in enumerate(islice(victim.kinds[kind](good, random.Random(seed)), cases)):
        victim.path.unlink(missing_ok=True)
        victim.path.write_bytes(content)
        began = time.monotonic()
        try:
            found = victim.read()
        except Exception as error:
            refused += 1
            if not isinstance(error, (*MEANT, ValueError) if kind in victim.saying else MEANT):
                broken.append(f"{victim.name} {kind} {n}: {type(error).__name__}: {error}")
        else:
            read += 1
            if kind not in victim.saying and _essence(found) != whole:
                broken.append(f"{victim.name} {kind} {n}: read as something else")
        slowest = max(slowest, time.monotonic() - began)
    if slowest > SLOW:
        broken.append(f"{victim.name} {kind}: one took {slowest:.1f} s")
    victim.path.unlink(missing_ok=True)
    victim.path.write_bytes(good)
    return Score(victim.name, kind, cases, refused, read, broken)


def _essence(value: Any) -> Any:
    """What two equal answers have in common, to the last bit."""
    if hasattr(value, "__dict__"):
        value = dict(vars(value))
    leaves, form = jax.tree.flatten(value)
    return str(form), [_bits(leaf) for leaf in leaves]


def _bits(leaf: Any) -> Any:
    if not hasattr(leaf, "dtype") or leaf.dtype == object:
        return repr(leaf)
    return leaf.dtype.str, leaf.shape, np.asarray(leaf).tobytes()


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
    path = run.save(folder / "run.npz")
    return Victim("result", path, lambda: spos.load(path), ARCHIVED)


def _checkpoint(folder: Path) -> Victim:
    state = spos.spos(lambda theta: -jnp.sum(theta**2), 0.1).init(jnp.ones((4, 2)))
    saver = Checkpoint(folder, 1.0, {"seed": 1, "sampler": {"step_size": 0.1}})
    saver.save(state, {"seconds": np.ones(()), "epd": np.ones(7)})

    def read() -> Any:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = saver.restore(state, needed=["seconds", "epd"])
        if found is None:  # an older file would be used
            raise DamagedFileError(str(warned[-1].message))
        return found

    return Victim("checkpoint", folder / "step-000000000.npz", read, ARCHIVED)


def _policies(folder: Path) -> Victim:
    policy = {"observation_size": 1, "actions": "discrete", "size": 2, "hidden": [4]}
    trained = rl.Trained(
        particles=TREE,
        returns=np.ones((3, 5)),
        coverage=np.zeros(0),
        settings={"policy": policy},
        versions={"spos": "0"},
        seconds=1.0,
        interrupted=False,
    )
    path = trained.save(folder / "policies.npz")
    return Victim("policies", path, lambda: rl.load(path), ARCHIVED)


def _estimator(folder: Path) -> Victim:
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
    path = model.save(folder / "model.npz")
    return Victim("estimator", path, lambda: SPOSRegressor.load(path), ARCHIVED)


def _record(folder: Path) -> Victim:
    made = Record(
        experiment="gaussian", title="Title", about="About.", quick=False, seed=0,
        command="spos paper gaussian", seconds=1.5, settings={"n": 1}, versions={"spos": "0.1.0"},
        claims=[Claim("Cats.", "By pet: a; b; c.", "holds", "Most.")],
        table=Table(("a", "b"), [("1", "2")]), numbers={"x": [1.0]},
        figures=[Illustration("pets.png", "Three cats.", "A caption.")],
    )  # fmt: skip
    place = folder / "gaussian"
    place.mkdir()
    record.write(place / record.FILE, made)
    (place / "pets.png").write_bytes(PNG)

    def read() -> Any:
        text = page.build(folder, folder / "report.html").read_text(encoding="utf-8")
        assert "<script" not in text
        return None  # a flipped bit in a text is another text

    return Victim("record", place / record.FILE, read, TEXT)


def _data(folder: Path) -> Victim:
    rows = np.arange(30)
    np.savez_compressed(
        folder / "boston.npz", X=RNG.normal(size=(30, 3)), y=RNG.normal(size=30),
        n_splits=2, names=np.array(["a", "b", "c"]),
        train_idx_0=rows[5:], test_idx_0=rows[:5], train_idx_1=rows[:9], test_idx_1=rows[9:],
    )  # fmt: skip
    path = folder / "boston.npz"  # without a checksum of all of it
    return Victim("data", path, lambda: data.load("boston", folder), ZIPPED, ("members",))


def everything(cases: int) -> Iterator[Score]:
    """All attacks, so many of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        for victim in victims(Path(folder)):
            for kind in victim.kinds:
                yield attack(victim, kind, cases)


if __name__ == "__main__":
    sys.exit(report(everything(int(sys.argv[1]))))
