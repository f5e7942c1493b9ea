"""What the chunks of a run have recorded, put together."""

import numpy as np

from spos.types import Info, State


def arrays_between(start: State, state: State, info: Info) -> dict[str, np.ndarray]:
    """The info of the steps between two states."""
    count = int(state.step) - int(start.step)
    return {name: np.asarray(rows)[:count] for name, rows in info._asdict().items()}


def join(chunks: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The info of all chunks, a value a step."""
    if not chunks:
        return {name: np.empty(0, np.float32) for name in Info._fields}
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in Info._fields}


def stack(chunks: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The history of all chunks, leaf by leaf."""
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
