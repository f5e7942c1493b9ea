"""All that an automatic run hands from one chunk of moves to the next: arrays and plain numbers.

θ = origin + base y is fixed by the starts, y = middle + factor z is the metric of the moment; once
there is a bend, these are the straight coordinates of θ (`spos.auto.bend`). A run is a sequence of
*advances*, each of one or more chunks of moves with the same settings; `made`, `records` and
`running` say how far the present one is. What is computed between two advances depends on this
state alone, and every random number on the seed and the number of chunks. So a run that is restored
after any chunk ends in the same bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from spos.auto.bend import Bend
from spos.auto.engine import Records, Whitened
from spos.auto.judge import Round
from spos.auto.length import Length
from spos.auto.verdict import Check
from spos.io import archive, strictjson
from spos.io.checkpoint import Checkpoint
from spos.types import Array, State

PLAIN = "plain"  # the record that holds what is no array, as JSON
APPROACH, ROUNDS = "approach", "rounds"


@dataclass
class FitState:
    """The state of a run between two chunks.

    Attributes:
        origin: of the coordinates y.
        base: their axes.
        y: the particles, one a row.
        log_prob: the log-density there.
        score: its gradient with respect to y.
        middle: the centre of the metric.
        factor: its root.
        bend: from straight coordinates to θ; None while they are the same.
        log_step: the logarithm of each particle's step.
        phase: "approach" or "rounds".
        number: which chunk of the approach, or which round.
        asked: how many times as long as the first round this one has to be.
        stage: how many of a round's three tuning advances are done.
        births: how many birth-death steps moved particles.
        moved: how many particles they moved.
        widths: those of the particles, after each chunk of the approach.
        archive: where the particles were on average in the last round that taught something.
        left: where they stood when such rounds ended, and how high the log-density is there.
        leaps: how many leapfrogs a move of a round has.
        lengths: what was seen with each number of them that this round has tried.
        jumps: whether a round proposes jumps.
        local: whether its steps fit the place.
        finished: the records of the last finished round, of θ itself.
        thin: the number of moves between two of them.
        running: the particles inside an advance; None where `records` is empty.
        running_step: and their steps.
        made: how many moves it has made.
        records: what each of its chunks recorded.
        checks: of the last finished round.
        notes: for the report.
        evaluations: of the log-density with its gradient.
        chunks: how many were computed.
        moves: how many moves they had.
        seconds: spent.
    """

    origin: np.ndarray
    base: np.ndarray
    y: np.ndarray
    log_prob: np.ndarray
    score: np.ndarray
    middle: np.ndarray
    factor: np.ndarray
    log_step: np.ndarray
    bend: Bend | None = None
    phase: str = APPROACH
    number: int = 0
    asked: float = 1.0
    stage: int = 0
    births: int = 0
    moved: int = 0
    widths: list[np.ndarray] = field(default_factory=list)
    archive: np.ndarray | None = None
    left: list[np.ndarray] = field(default_factory=list)
    leaps: int = 1
    lengths: list[Length] = field(default_factory=list)
    jumps: bool = False
    local: bool = False
    finished: Round | None = None
    thin: int = 1
    running: Whitened | None = None
    running_step: Array | None = None
    made: int = 0
    records: list[Records] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evaluations: int = 0
    chunks: int = 0
    moves: int = 0
    seconds: float = 0.0

    def snapshot(self) -> "FitState":
        """The state as it is now. Arrays are never written to, so that only lists are copied."""
        now: dict[str, Any] = {name: getattr(self, name) for name in FIELDS}
        copies: dict[str, Any] = {k: list(v) for k, v in now.items() if isinstance(v, list)}
        return FitState(**now | copies)

    def restore(self, saved: "FitState") -> None:
        """Become like an earlier state."""
        vars(self).update(vars(saved.snapshot()))

    def packed(self) -> dict[str, np.ndarray]:
        """Everything as arrays by name."""
        arrays, plain = archive.pack_fields({n: getattr(self, n) for n in FIELDS}, FIELDS)
        return {**arrays, PLAIN: np.frombuffer(strictjson.dump(archive.plain(plain)), np.uint8)}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The state that `packed` took apart."""
        plain = strictjson.load(arrays[PLAIN].tobytes())
        return cls(**archive.unpack_fields(arrays, plain, FIELDS))


FIELDS: dict[str, Any] = archive.fields_of(FitState)


def save(saver: Checkpoint, state: FitState) -> None:
    """Write the state to the checkpoint's folder."""
    saver.save(_numbered(state.chunks), state.packed())


def restored(saver: Checkpoint) -> FitState | None:
    """The newest state in the checkpoint's folder; None if there is none."""
    found = saver.restore(_numbered(0), needed=[PLAIN])
    return None if found is None else FitState.unpacked(found[1])


def _numbered(chunks: int) -> State:
    """A checkpoint counts in the steps of a sampler's state; here chunks are counted."""
    return State((), jnp.asarray(chunks, jnp.int32), jnp.zeros(()), ())
