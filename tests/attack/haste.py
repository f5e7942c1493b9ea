"""Programs that are compiled in haste, as in the test-suite (`conftest.py`), and only once.

What is attacked is what happens around programs, and most of the time would be compiling.
"""

import os

HASTE = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


def hasty() -> dict[str, str]:
    """The environment of processes that compile in haste."""
    flags = os.environ.get("XLA_FLAGS", "")
    return {
        "XLA_FLAGS": flags if HASTE in flags else f"{HASTE} {flags}".strip(),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "JAX_PLATFORMS": "cpu",
    }


def sharing_programs(folder: object) -> dict[str, str]:
    """And of those that find their programs in a folder."""
    return {
        **hasty(),
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
