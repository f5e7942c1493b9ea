"""Attacks by surroundings: the same small run in strange places must give the same bits, or a
sentence.

A case is a program and how it is started. It prints the bits of its run, which must be those of the
plain start, and nothing of it may be a traceback.

    PYTHONPATH=tests python -m attack.surroundings
"""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from attack.table import Job, Score, report

SECONDS = 1200.0
RUN = """
import numpy as np, spos, jax.numpy as jnp
def log_prob(theta): return -0.5 * jnp.sum(theta**2)
def run(n=0, **options):
    start = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
    result = spos.sample(spos.spos(log_prob, 0.1), start, 40, seed=3, progress=False, **options)
    return np.asarray(result.particles).tobytes().hex()
"""
PLAIN = RUN + "print(run())"
THREADS = (
    RUN
    + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    found = set(pool.map(run, range(6)))
print(*found)
"""
)
# a module of its own: processes that are spawned must be able to import what they call
PROCESSES = """
import multiprocessing, sys
from ran import run
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(*set(pool.map(run, range(2))))
"""
JOBLIB = """
import numpy as np
from sklearn.model_selection import cross_val_score
from spos import SPOSRegressor
X = np.random.default_rng(0).normal(size=(60, 2))
model = SPOSRegressor((), method="svgd", n_particles=3, num_steps=50, random_state=0)
one, two = (cross_val_score(model, X, X[:, 0], cv=2, n_jobs=n, error_score="raise") for n in (1, 2))
print("same" if (one == two).all() else f"{one} {two}")
"""
# as another user only after all is imported, which that user might not be allowed to read
NOBODYS = (
    RUN
    + """
import os, sys
run()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
run(checkpoint=sys.argv[1])
"""
)
LARGE = """
import numpy as np, spos, sys, warnings
warnings.simplefilter("ignore")
start = np.zeros((2000, 300), np.float32)
result = spos.sample(spos.sgld(lambda x: -0.5 * (x**2).sum(), 0.1), start, 30, progress=False,
                     history_every=5, checkpoint=sys.argv[1] + "/run", checkpoint_every=1e-3)
try:
    result.save(sys.argv[1] + "/result.npz")
except OSError as error:
    print("same" if "result.npz" in str(error) else error)
"""


class Case(NamedTuple):
    """How a program is started, and what it must print."""

    name: str
    program: str
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: dict[str, str | None] = {}  # None takes a variable away
    prints: str | None = None  # None: the bits of the plain start
    refuses: str | None = None  # or a sentence that ends it


CASES = (
    Case("two threads", THREADS),
    Case("two processes, spawn", PROCESSES, arguments=("spawn",)),
    Case("two processes, fork", PROCESSES, arguments=("fork",)),
    Case("joblib, two workers", JOBLIB, prints="same"),
    Case("python -O", PLAIN, flags=("-O",)),
    Case("python -W error", PLAIN, flags=("-W", "error")),
    Case("LANG=C", PLAIN, environment={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}),
    Case("no HOME", PLAIN, environment={"HOME": None, "XDG_CACHE_HOME": None}),
)
ALL_AT_ONCE = Case(  # for the short form: one process; -O would compile all of Python's files anew
    "-W error, LANG=C, no HOME",
    PLAIN,
    flags=("-W", "error"),
    environment={"LANG": "C", "LC_ALL": "C", "HOME": None},
)


def start(case: Case, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program of a case, in a folder of its own."""
    (folder / "ran.py").write_text(RUN)
    (folder / "program.py").write_text(case.program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    for name, value in case.environment.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return subprocess.run(
        [sys.executable, *case.flags, str(folder / "program.py"), *case.arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def attack(case: Case, bits: str) -> Score:
    """One case; `bits` are those of the plain start."""
    broken = []
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        try:
            ran = start(case, Path(name))
        except subprocess.TimeoutExpired:
            return Score(case.name, "surroundings", 1, 0, 0, [f"{case.name}: took too long"])
    if case.refuses is not None:
        if case.refuses not in ran.stderr:
            broken.append(f"{case.name}: {ran.stderr.strip()[-200:]}")
    elif ran.returncode or ran.stdout.strip() != (case.prints or bits):
        told = (ran.stderr or ran.stdout).strip()[-200:]
        broken.append(f"{case.name}: exit {ran.returncode}: {told}")
    refused = int(case.refuses is not None and not broken)
    return Score(case.name, "surroundings", 1, refused, 1 - refused - len(broken), broken)


def shell(name: str, command: str) -> Score:
    """A command of the shell, after which there must be no traceback."""
    with tempfile.TemporaryDirectory() as folder:
        command = f"PYTHONPATH={os.pathsep.join(p for p in sys.path if p)} {command}"
        ran = subprocess.run(
            ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=SECONDS
        )
    bad = "Traceback" in ran.stderr or "Exception ignored" in ran.stderr
    broken = [f"{name}: {ran.stderr.strip()[-200:]}"] if bad else []
    return Score(name, "surroundings", 1, 0, 1 - len(broken), broken)


def read_only(bits: str) -> Score:
    """A checkpoint in a folder that another user may not write to: the run is refused."""
    name = "read-only folder, another user"
    if os.geteuid() != 0:
        return Score(f"{name} (skipped: not root)", "surroundings", 0, 0, 0, [])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        case = Case(name, NOBODYS, arguments=(f"{folder}/run",), refuses="Permission denied")
        return attack(case, bits)


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A disk of 5 MB, where one may be mounted."""
    mounted = (
        shutil.which("mount") is not None
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(folder)], capture_output=True
        ).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def full_disk(bits: str) -> Score:
    """A run whose checkpoints and result do not fit: it ends, and the save names its file."""
    with tempfile.TemporaryDirectory() as name, small_disk(Path(name)) as mounted:
        if not mounted:
            return Score("a disk of 5 MB (skipped: no mount)", "surroundings", 0, 0, 0, [])
        return attack(Case("a disk of 5 MB", LARGE, arguments=(name,), prints="same"), bits)


SHELL = {
    "spos --help, stdout closed": f"{sys.executable} -m spos --help >&-",
    "spos --help | head -1": f"{sys.executable} -m spos --help | head -1",
    "spos data list | head -1": f"{sys.executable} -m spos data list | head -1",
}
OTHERS: tuple[Callable[[str], Score], ...] = (read_only, full_disk)


@functools.cache
def bits_of_plain_start() -> str:
    with tempfile.TemporaryDirectory() as name:
        ran = start(Case("plain", PLAIN), Path(name))
    assert not ran.returncode, ran.stderr
    return ran.stdout.strip()


def jobs() -> Iterator[Job]:
    for case in CASES:
        yield Job(case.name, lambda case=case: [attack(case, bits_of_plain_start())])
    for name, command in SHELL.items():
        yield Job(name, lambda name=name, command=command: [shell(name, command)])
    for other in OTHERS:
        yield Job(other.__name__, lambda other=other: [other(bits_of_plain_start())])


if __name__ == "__main__":
    sys.exit(report(jobs()))
