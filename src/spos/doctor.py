"""`spos doctor`: is everything there, and does it work?

It prints versions, devices and extras, and makes a self-test of about two seconds: 300 steps of
SPOS on a normal whose moments are known, the same again for the same bits, and a file there and
back.
"""

import platform
import re
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import spos
from spos.result import versions

FOR_DEVELOPERS = ("demo", "docs", "lint", "test")  # extras that no user asks for
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]*\])?.*extra == ['\"](\w+)['\"]")


class SelfTestError(OSError):
    """The self-test did not come out right."""


def run() -> None:
    """Print what is there, and test it."""
    for heading, lines in (
        ("versions", _versions()),
        ("devices", [f"{one.platform} {one.device_kind}" for one in jax.devices()]),
        ("extras", extras()),
        ("self-test", self_test()),
    ):
        print(heading)
        for line in lines:
            print(f"  {line}", flush=True)


def _versions() -> list[str]:
    found = {**versions(), "optax": metadata.version("optax"), "system": platform.platform()}
    return [f"{name} {number}" for name, number in found.items()]


def extras() -> list[str]:
    """A line for each extra: there, or what is missing and how to get it."""
    needs: dict[str, list[str]] = {}
    for line in metadata.requires("spos") or []:
        if (found := REQUIREMENT.match(line)) and found[3] not in FOR_DEVELOPERS:
            needs.setdefault(found[3], []).append(found[1])
    lines = []
    for extra, packages in sorted(needs.items()):
        missing = [name for name in packages if not _installed(name)]
        there = f"not there ({', '.join(missing)}): pip install 'spos[{extra}]'"
        lines.append(f"{extra:12} {there if missing else 'there'}")
    return lines


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def self_test() -> Iterator[str]:
    """A line for each thing that works; `SelfTestError` for the first that does not."""
    began = time.monotonic()
    # nearly all of the time is compiling: a fixed bandwidth and NumPy's numbers save half of it
    sampler = spos.spos(lambda x: -0.5 * jnp.sum((x - 2.0) ** 2), 0.1, kernel=spos.rbf(1.0))
    start = np.random.default_rng(0).normal(size=(200, 1))
    result, again = (spos.sample(sampler, start, 300, seed=1, progress=False) for _ in range(2))
    particles = np.asarray(result.particles)
    mean, variance = particles.mean(), particles.var()
    # five standard errors of two hundred draws of N(2, 1), and the step's own error
    right = abs(mean - 2.0) < 0.4 and abs(variance - 1.0) < 0.55
    yield _told(right, f"300 steps: mean {mean:.2f} (2), variance {variance:.2f} (1)")
    same = np.array_equal(particles, np.asarray(again.particles))
    yield _told(same, "the same seed gives the same bits")
    with tempfile.TemporaryDirectory() as folder:
        back = spos.load(result.save(Path(folder) / "run.npz"))
    kept = np.array_equal(back.particles, particles)
    yield _told(kept, "a result comes back from its file")
    yield f"all is well, in {time.monotonic() - began:.1f} s"


def _told(works: bool, sentence: str) -> str:
    if not works:
        raise SelfTestError(f"the self-test failed: {sentence}")
    return f"ok  {sentence}"
