"""Process 0 leads, and the others do what it says.

Where a run is steered by what was found (`spos.fit`), every process that steered by itself would
have to find the same to the last bit, or they would part and wait for ever. So process 0 alone
steers. An **order** is a name, a note that JSON can hold, and arrays; the others wait for the next
one, however long that takes: the note waits in JAX's coordination service, which has more patience
than a collective operation, and only then the arrays are sent by one.
"""

import itertools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental import multihost_utils

from spos.mesh.processes import _client, losing_touch

WAIT = 10.0  # seconds, after which it is asked again: a lost process 0 is an error of the question
_runs = itertools.count()


class Order(NamedTuple):
    """What process 0 says."""

    name: str
    note: Any
    arrays: list[np.ndarray]


class Orders:
    """Those of one run; all processes make it, at the same place."""

    def __init__(self) -> None:
        self._run, self._count = next(_runs), 0

    def give(self, name: str, arrays: Sequence[Any] = (), note: Any = None) -> None:
        """From process 0, to all others."""
        sent = [np.asarray(array) for array in arrays]
        forms = [[array.dtype.str, array.shape] for array in sent]
        with losing_touch():
            _client().key_value_set(self._place(), json.dumps([name, note, forms]))
            self._count += 1
            if sent:
                _to_all(np.frombuffer(b"".join(array.tobytes() for array in sent), np.uint8))

    def take(self) -> Order:
        """The next order; not in process 0."""
        with losing_touch():
            name, note, forms = json.loads(self._wait())
            self._count += 1
            kinds = [(np.dtype(kind), tuple(shape)) for kind, shape in forms]
            sizes = [kind.itemsize * int(np.prod(shape)) for kind, shape in kinds]
            if not kinds:
                return Order(name, note, [])
            content = _to_all(np.zeros(sum(sizes), np.uint8)).tobytes()
        ends = np.cumsum(sizes)
        arrays = [
            np.frombuffer(content[end - size : end], kind).reshape(shape)
            for (kind, shape), size, end in zip(kinds, sizes, ends, strict=True)
        ]
        return Order(name, note, arrays)

    def _wait(self) -> str:
        while True:
            try:
                found: str = _client().blocking_key_value_get(self._place(), int(WAIT * 1000))
                return found
            except Exception as error:  # JAX has no public name for it
                if "DEADLINE_EXCEEDED" not in str(error):
                    raise

    def _place(self) -> str:
        return f"spos/orders/{self._run}/{self._count}"


def _to_all(content: np.ndarray) -> np.ndarray:
    """The bytes of process 0."""
    leads = jax.process_index() == 0
    return np.asarray(multihost_utils.broadcast_one_to_all(content, is_source=leads))
