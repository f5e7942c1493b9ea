"""Batches as they come, from loaders, generators and other iterables."""

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from spos.targets.source import Form, Source, as_arrays
from spos.types import PyTree


@jax.tree_util.register_static
class Stream(Source):
    """Batches, one after another.

    What can be iterated again begins anew after its last batch, and for every run; what cannot,
    such as a generator, goes on where it is, and its end is an error.

    Args:
        batches: an iterable of batches, each a pytree of arrays with a leading axis.
        num_examples: the number of rows that they are drawn from.
    """

    def __init__(self, batches: Iterable[PyTree], num_examples: int) -> None:
        if not isinstance(batches, Iterable) or hasattr(batches, "toarray"):  # a sparse matrix
            raise TypeError(
                "data must be an iterable of batches when num_examples is given, got a "
                f"{type(batches).__name__}"
            )
        iterator = iter(batches)
        first = next(iterator, None)
        if first is None:
            raise ValueError("data must give at least one batch, got an iterable without any")
        self.once = itertools.chain([first], iterator) if iterator is batches else None
        self.batches = batches
        rows = as_arrays(first)
        super().__init__(num_examples, Form.of(rows))
        self.batch_size = len(jax.tree.leaves(rows)[0])

    def open(self, place: np.ndarray | None = None) -> "Passing":
        """Begin to read, or go on from a place."""
        return Passing(self, place)


class Passing:
    """One reading of a stream."""

    def __init__(self, stream: Stream, place: np.ndarray | None) -> None:
        self.stream, self.count = stream, 0
        self.batches: Iterator[PyTree] = (
            iter(stream.batches) if stream.once is None else stream.once
        )
        if place is not None and hasattr(self.batches, "set_state"):
            self.batches.set_state(_from_words(place))

    @property
    def place(self) -> np.ndarray | None:
        """Where it is, if the iterator can tell (`get_state`, as grain's) and it can be saved."""
        tell = getattr(self.batches, "get_state", None)
        return None if tell is None else _as_words(tell())

    def several(self, count: int) -> tuple[PyTree, np.ndarray]:
        """So many batches and their weights, stacked; fewer at the end of what ends."""
        read: list[tuple[PyTree, np.ndarray]] = []
        while len(read) < count and (one := self.next()) is not None:
            read.append(one)
        if not read:
            return None, np.empty((0, self.stream.batch_size), np.float32)
        return jax.tree.map(lambda *leaves: np.stack(leaves), *read)

    def next(self) -> tuple[PyTree, np.ndarray] | None:
        """The next batch and the weights of its rows: as large as the first, with weight 0 where a
        smaller one had to be filled up. None at the end of what ends."""
        batch = next(self.batches, None)
        if batch is None and self.stream.once is None:
            self.batches = iter(self.stream.batches)
            batch = next(self.batches, None)
        if batch is None:
            return None
        self.count += 1
        most, rows = self.stream.batch_size, as_arrays(batch)
        size = len(jax.tree.leaves(rows)[0])
        if not 0 < size <= most:
            raise ValueError(
                f"data must give batches of at most the {most} rows of its first, got {size} rows "
                f"in batch {self.count}"
            )
        rows = self.stream.form.fit(rows, size)
        filled = np.minimum(np.arange(most), size - 1)
        weights = np.where(np.arange(most) < size, self.stream.num_examples / size, 0.0)
        return jax.tree.map(lambda leaf: leaf[filled], rows), weights.astype(np.float32)


def _as_words(state: Any) -> np.ndarray | None:
    """A place as bytes; None if it is nothing that JSON can hold."""
    try:
        text = json.dumps({"bytes": state.decode("latin-1")} if isinstance(state, bytes) else state)
    except (TypeError, ValueError):
        return None
    return np.frombuffer(text.encode(), np.uint8).copy()


def _from_words(words: np.ndarray) -> Any:
    state = json.loads(words.tobytes())
    if isinstance(state, dict) and set(state) == {"bytes"}:
        return state["bytes"].encode("latin-1")
    return state
