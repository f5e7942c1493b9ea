"""Processes that tests start together.

Importing takes a process longer than most of what tests ask of it. So a server imports everything
once and starts nothing of JAX; the processes are its copies, and keep their words in files.
"""

import atexit
import importlib
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

import jax

PRELOADED = ["started", "mesh_cases", "orbax.checkpoint", "arviz_stats.base"]
LIMIT = 600.0  # seconds


def start(module, said, count, devices, *given):
    """So many processes, each of which calls `module.main(coordinator, count, number, *given)`."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    processes = []
    for number in range(count):
        arguments = (module, devices, coordinator, count, number, str(said), *given)
        process = server.Process(target=_part, args=arguments, daemon=True)
        process.start()
        processes.append(process)
    return processes


def _part(module, devices, coordinator, count, number, said, *given):
    """Like a script of its own, to its very end."""
    for stream, kind in ((sys.stdout, "out"), (sys.stderr, "err")):
        with words(said, number, kind).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_disable_most_optimizations", True)
    code = 0
    try:
        importlib.import_module(module).main(coordinator, count, number, *given)
    except Exception:
        code = 1
        sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def words(said, number, kind):
    """The file with what a process said."""
    return Path(said) / f"{number}.{kind}"


class Ended:
    """Processes that were started together and have ended."""

    def __init__(self, module, folder, count, devices, *given):
        said = Path(tempfile.mkdtemp(dir=folder))
        processes = start(module, said, count, devices, *given)
        try:
            processes[-1].join(LIMIT)
            began = time.monotonic()
            for process in processes:
                process.join(LIMIT)
            self.seconds_after_the_last = time.monotonic() - began
        finally:
            for process in processes:
                process.kill()
        self.out, self.errors = (
            [words(said, number, kind).read_text() for number in range(count)]
            for kind in ("out", "err")
        )
        self.codes = [process.exitcode for process in processes]

    def must_have(self, phase):
        for out, errors in zip(self.out, self.errors, strict=True):
            assert f"{phase} is done" in out, errors[-3000:]
