"""Reading ahead: the next items are made in a thread while the present one is used."""

import contextlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()


@contextlib.contextmanager
def read_ahead(items: Iterator[T], depth: int = 2) -> Iterator[Iterator[T]]:
    """The same items in the same order, each begun while the one before it is in use.

    Args:
        items: one after another, by one thread.
        depth: so many are made before they are asked for.

    Yields:
        An iterator. What goes wrong in the thread is raised where the item is asked for.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="spos-read-ahead") as pool:
        waiting = deque(pool.submit(next, items, _END) for _ in range(depth))

        def each() -> Iterator[T]:
            while (item := waiting[0].result()) is not _END:
                waiting.append(pool.submit(next, items, _END))
                waiting.popleft()
                yield item

        try:
            yield each()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # the item at hand is still finished
