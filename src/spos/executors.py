"""Independent jobs, here or wherever an executor takes them.

An executor is anything with `submit(function, *arguments)` whose future has `result()`: those of
`concurrent.futures`, loky, `dask.distributed.Client(…).get_executor()`, submitit, `mpi4py.futures`.
Jobs are functions of a module with arguments that can be sent; what a user's log-density closes
over must be sendable, too. For processes of `concurrent.futures` that means a function of a module,
while Dask sends any.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


def check_executor(executor: Any) -> Any:
    """An executor or None, or an error."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must have submit(function, *arguments), as "
            "concurrent.futures.ProcessPoolExecutor(2) and "
            f"dask.distributed.Client().get_executor() have, or be None, got {executor!r}"
        )
    return executor


def outcomes(
    executor: Any, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]
) -> Iterator[T]:
    """What the function gives for each of the arguments, in their order.

    All jobs are submitted at once. One that fails does not cost the others: its error is raised
    when they have ended.

    Args:
        executor: None does one job after another here, when its outcome is asked for.
        function: of a module.
        arguments: of each job.

    Yields:
        The outcomes.
    """
    if executor is None:
        for each in arguments:
            yield function(*each)
        return
    futures = [executor.submit(function, *each) for each in arguments]
    failed: Exception | None = None
    for future in futures:
        try:
            found = future.result()
        except Exception as error:
            failed = failed or error
            continue
        if failed is None:
            yield found
    if failed is not None:
        raise failed
