"""Arguments are checked once, where they enter, and a complaint names the argument, what came and
what is allowed. Values that are still being traced (a grid of settings under `vmap`) pass: their
shape is known but not their number.

JAX holds numbers in 32 bits unless it is told otherwise, and says nothing of those that do not fit:
2**40 becomes 0 and 1e300 infinity. So a number is checked as what it will be.
"""

from spos.checks.pytrees import (
    array,
    arrays,
    broken,
    data,
    log_prob_output,
    no_mask,
    numbers,
    particles,
    rows,
    shapes,
)
from spos.checks.scalars import (
    as_held,
    as_path,
    folder,
    fraction,
    function,
    is_traced,
    key,
    one_of,
    positive,
    real,
    seed,
    switch,
    whole,
    wholes,
)

__all__ = [
    "array",
    "arrays",
    "as_held",
    "as_path",
    "broken",
    "data",
    "folder",
    "fraction",
    "function",
    "is_traced",
    "key",
    "log_prob_output",
    "no_mask",
    "numbers",
    "one_of",
    "particles",
    "positive",
    "real",
    "rows",
    "seed",
    "shapes",
    "switch",
    "whole",
    "wholes",
]
