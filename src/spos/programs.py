"""Compiled programs that are shared, and forgotten.

`jax.jit` keeps a program for every structure of its arguments for ever. A sampler's structure holds
the user's functions, and someone who writes a new log-density in a loop would fill the memory with
programs that nobody can call again. So a compiled function here keeps the programs of the last few
structures it was called with, and drops the one that has not been used for longest. So does what is
found by tracing alone (`by_form`), which takes as long as many a fit's moves.

To compile takes longer than many a run. Within `brief()` XLA does without the passes that take it
longest: it compiles much faster, and the program runs a little slower. Where all arrays are small
(`brief(SMALL)`) it also does without threads, which cost more than they bring there, and without
the care that a maximum takes of NaN.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax

KEPT = 16  # structures of each function

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Options = tuple[tuple[str, Any], ...]  # of XLA

BRIEF: Options = (("xla_cpu_use_fusion_emitters", False), ("xla_backend_optimization_level", 1))
SMALL: Options = (
    *BRIEF,
    ("xla_cpu_multi_thread_eigen", False),
    ("xla_cpu_enable_fast_min_max", True),
)
ONCE: Options = (*BRIEF[:1], ("xla_backend_optimization_level", 0))  # for what runs once

_options: contextvars.ContextVar[Options] = contextvars.ContextVar("options", default=())


@contextlib.contextmanager
def brief(options: Options = BRIEF) -> Iterator[None]:
    """Programs that are called in here are compiled fast, and run a little slower."""
    token = _options.set(options)
    try:
        yield
    finally:
        _options.reset(token)


def compiled_fast() -> bool:
    """Is this traced for a program of `brief()`?"""
    return bool(_options.get())


@functools.cache
def _known(options: Options) -> dict[str, Any] | None:
    """These options, where XLA compiles for CPUs and still has them."""
    if not options or jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda: 0, compiler_options=dict(options))()
    except (RuntimeError, ValueError):
        return None
    return dict(options)


def compiled(num_static: int = 0, options: Options | None = None) -> Callable[[F], F]:
    """A decorator like `jax.jit`, with a bounded number of programs.

    The first `num_static` arguments are static, the others pytrees of arrays and numbers. While JAX
    is tracing (inside another `jit` or under `vmap`) the function runs as it is. Without `options`
    of XLA it is compiled with those of the place where it is called, such as `brief()`.
    """

    def decorate(function: F) -> F:
        @functools.lru_cache(maxsize=KEPT)
        def program(structure: Any, chosen: Options, *fixed: Any) -> Callable[..., Any]:
            def from_leaves(*leaves: Any) -> Any:
                return function(*fixed, *jax.tree.unflatten(structure, leaves))

            from_leaves.__name__ = from_leaves.__qualname__ = function.__name__
            return jax.jit(from_leaves, compiler_options=_known(chosen))

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            fixed, given = arguments[:num_static], arguments[num_static:]
            leaves, structure = jax.tree.flatten(given)
            if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                return function(*arguments)
            chosen = _options.get() if options is None else options
            return program(structure, chosen, *fixed)(*leaves)

        call.programs = program  # type: ignore[attr-defined]  # for tests
        return call  # type: ignore[return-value]

    return decorate


def by_form(function: Callable[..., T]) -> Callable[..., T]:
    """A decorator for what is found by tracing, from the form of the arguments alone: the function
    is called with their shapes in place of arrays, and what it found is kept for the last few."""

    @functools.lru_cache(maxsize=KEPT)
    def found(structure: Any, types: tuple[Any, ...]) -> T:
        leaves = [jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak_type) for t in types]
        return function(*jax.tree.unflatten(structure, leaves))

    @functools.wraps(function)
    def call(*arguments: Any) -> T:
        leaves, structure = jax.tree.flatten(arguments)
        return found(structure, tuple(map(jax.typeof, leaves)))

    return call
