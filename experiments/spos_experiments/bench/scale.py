"""Particles over devices and processes: what a step takes, what it sends, and what the model says.

Every row is made by processes of its own (`scale_part.py`), which have so many devices from the
start. **Strong** scaling keeps the particles, **weak** scaling the pairs of a device, M²/P.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from spos import theory
from spos_experiments.bench.measure import Row

PLACES = ((1, 1), (2, 1), (4, 1), (2, 2))  # devices in all, processes
SIZE = 50  # numbers of a particle


def sizes(devices: int, quick: bool) -> dict[str, int]:
    """The number of particles of either kind of scaling."""
    strong, weak = (512, 360) if quick else (6144, 4200)  # in tiles on one device, too
    near = round(weak * devices**0.5 / devices) * devices
    return {"strong": strong, "weak": near}


def scale(quick: bool) -> Iterator[Row]:
    """Rows by kind of scaling, places in their order."""
    seen = {place: together(*place, quick) for place in PLACES}
    for kind in ("strong", "weak"):
        for (devices, processes), found in seen.items():
            yield row(kind, devices, processes, found, seen[1, 1])


def row(kind: str, devices: int, processes: int, found: Any, first: Any) -> Row:
    """One row of the table, from what its processes and those of one device found."""
    here, machine = found[kind], found["machine"]
    model = theory.cost(
        *(here["num_particles"], SIZE, devices),
        bytes_per_second=machine["bytes_per_second"],
        flops=machine["flops"],
        latency=machine["latency"],
    )
    shared = devices if kind == "strong" else 1
    return {
        "case": f"{kind}, {devices} devices in {processes} processes",
        "kind": kind,
        "devices": devices,
        "processes": processes,
        "M": here["num_particles"],
        "d": SIZE,
        "step_ms": 1e3 * here["seconds"],
        "efficiency": first[kind]["seconds"] / here["seconds"] / shared,
        "of_the_machine": machine["flops"] / first["machine"]["flops"],
        "program_mb": here["program_bytes"] / 1e6,
        "socket_mb": None if processes == 1 else here["socket_bytes"] / 1e6,
        "model_mb": model.bytes_sent / 1e6,
        "model_ms": 1e3 * model.seconds,
        "model_ratio": model.seconds / here["seconds"],
        "gflops": machine["flops"] / 1e9,
        "gb_per_s": None if devices == 1 else machine["bytes_per_second"] / 1e9,
        "latency_us": None if devices == 1 else 1e6 * machine["latency"],
    }


def together(devices: int, processes: int, quick: bool) -> Any:
    """What processes that are started together find; process 0 tells."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "spos_experiments.bench.scale_part", coordinator]
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": str(devices // processes)}
    started = [
        subprocess.Popen(
            [*command, str(processes), str(number), json.dumps(sizes(devices, quick))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(processes)
    ]
    try:
        said = [process.communicate(timeout=600) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, errors) in zip(started, said, strict=True):
        if process.returncode:
            raise RuntimeError(f"a benchmark process failed:\n{errors[-2000:]}")
    return json.loads(said[0][0].strip().splitlines()[-1])
