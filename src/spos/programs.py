"""Compiled programs that are shared, and forgotten.

`jax.jit` keeps a program for every structure of its arguments for ever. A sampler's structure holds
the user's functions, and someone who writes a new log-density in a loop would fill the memory with
programs that nobody can call again. So a compiled function here keeps the programs of the last few
structures it was called with, and drops the one that has not been used for longest.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax

KEPT = 16  # structures of each function

F = TypeVar("F", bound=Callable[..., Any])


def compiled(num_static: int = 0) -> Callable[[F], F]:
    """A decorator like `jax.jit`, with a bounded number of programs.

    The first `num_static` arguments are static, the others pytrees of arrays and numbers. While JAX
    is tracing (inside another `jit` or under `vmap`) the function runs as it is.
    """

    def decorate(function: F) -> F:
        @functools.lru_cache(maxsize=KEPT)
        def program(structure: Any, *fixed: Any) -> Callable[..., Any]:
            def from_leaves(*leaves: Any) -> Any:
                return function(*fixed, *jax.tree.unflatten(structure, leaves))

            from_leaves.__name__ = from_leaves.__qualname__ = function.__name__
            return jax.jit(from_leaves)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            fixed, given = arguments[:num_static], arguments[num_static:]
            leaves, structure = jax.tree.flatten(given)
            if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                return function(*arguments)
            return program(structure, *fixed)(*leaves)

        call.programs = program  # type: ignore[attr-defined]  # for tests
        return call  # type: ignore[return-value]

    return decorate
