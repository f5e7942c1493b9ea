"""Jobs that are given up when they take too much of the processor.

A compiled loop cannot be asked to stop, but its process can be ended: the system does so when the
process has used its seconds. One process does the jobs one after another, and another takes its
place when it was ended.
"""

import functools
import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

T = TypeVar("T")


class TooLongError(RuntimeError):
    """A job has used up its processor time."""


def within(seconds: float, job: Callable[..., T], *arguments: Any) -> T:
    """What the job gives, done in another process.

    Args:
        seconds: of processor time that it may take.
        job: a function of a module.
        arguments: of the job.

    Raises:
        TooLongError: They were used up, or the process came to another sudden end.
    """
    try:
        return _process().submit(_limited, seconds, job, arguments).result()
    except BrokenProcessPool as error:
        _process.cache_clear()
        raise TooLongError(f"stopped after {seconds:g} seconds of processor time") from error


@functools.cache
def _process() -> ProcessPoolExecutor:
    # a process that was forked from one with JAX's threads may hang
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def _limited(seconds: float, job: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # its end is no crash to look into
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), most))
    try:
        return job(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
