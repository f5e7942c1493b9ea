"""What all tests share: one hypothesis profile, a count of compiled programs, and haste."""

import jax
import jax.monitoring
import pytest
from hypothesis import settings

pytest_plugins = ["chromium"]  # the browser of those tests that need one

# nearly all of the time of most tests is compiling: less care is taken, unless a test asks for it
jax.config.update("jax_disable_most_optimizations", True)

settings.register_profile("spos", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("spos")


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


@pytest.fixture(scope="module")
def hasty():
    """The usual, said where it matters."""
