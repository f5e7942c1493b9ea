"""What all tests share: one hypothesis profile, a count of compiled programs, and haste.

Nearly all of the time of most tests is compiling. So XLA is told to take less care: no
optimisation, its older and quicker code generator, one module of LLVM instead of many. A typical
program then compiles in a quarter of the time. A module whose runs are so long that running takes
longest asks for care again (`careful`). Processes that tests start share what they compile.
"""

import gc
import os
import tempfile

HASTE = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
# before JAX is imported, which reads them once; processes that tests start inherit them
os.environ["XLA_FLAGS"] = f"{HASTE} {os.environ.get('XLA_FLAGS', '')}".strip()
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"

import jax  # noqa: E402
import jax.monitoring  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from jax._src import pjit  # noqa: E402
from jax._src.interpreters import pxla  # noqa: E402

pytest_plugins = ["chromium"]  # the browser of those tests that need one

# Processes that tests start find what another has compiled. Not this one: tests count its programs.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _shared = tempfile.TemporaryDirectory(prefix="spos-programs-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _shared.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
jax.config.update("jax_enable_compilation_cache", False)

settings.register_profile("spos", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("spos")

gc.set_threshold(100_000, 20, 100)  # tracing makes many small objects, few of them garbage


@pytest.fixture(scope="module", autouse=True)
def young():
    """A worker stays as quick as it was.

    JAX keeps the module that every program was compiled from, and each of them makes the next one
    slower: after 2,000 programs, five times. Nobody needs them once they are compiled. And what a
    module of tests leaves behind is not walked through by later collections of garbage.
    """
    yield
    for cache in (pjit._pjit_lower, pxla._cached_lowering_to_hlo):
        cache.cache_clear()
    gc.collect()
    gc.freeze()


@pytest.fixture
def compilations():
    """A list that grows by one for each program XLA compiles while the test runs."""
    seen = []

    def listen(event: str, duration: float, **_: object) -> None:
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seen
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture(scope="module")
def careful():
    """Programs compiled with care, for runs so long that they take longest."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)
