"""One thread for the small matrix products that a fit makes with NumPy.

To wake another thread takes longer than such a product, and where the machine has other work that
thread comes late, while those that wait for it spin. One thread also rounds in one way, however
many cores there are.
"""

import contextlib

SMALL = 200  # parameters: beyond, a product is worth several threads


def for_size(size: int) -> contextlib.AbstractContextManager[object]:
    """What to do the host's part of a run with so many parameters in."""
    if size > SMALL:
        return contextlib.nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # which only makes it slower
        return contextlib.nullcontext()
    return threadpool_limits(1, user_api="blas")
