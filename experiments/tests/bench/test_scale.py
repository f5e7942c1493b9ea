"""The benchmark of devices and processes counts what it says."""

import socket

import pytest

from spos import theory
from spos_experiments.bench import scale, scale_part


def test_weak_scaling_keeps_the_pairs_of_a_device():
    for devices in (1, 2, 4):
        found = scale.sizes(devices, quick=False)
        assert found["strong"] % devices == found["weak"] % devices == 0
        assert found["weak"] ** 2 / devices == pytest.approx(4200**2, rel=0.01)


def test_a_row_has_efficiency_and_the_model_beside_it():
    rates = {"flops": 2e10, "bytes_per_second": 1e9, "latency": 1e-4}
    one, two = (
        {
            "strong": {
                "num_particles": 4096,
                "seconds": seconds,
                "program_bytes": 2_000_000,
                "socket_bytes": 2_100_000.0,
            },
            "machine": {**rates, "flops": flops},
        }
        for seconds, flops in ((0.2, 2e10), (0.16, 1.5e10))
    )
    row = scale.row("strong", 2, 2, two, one)
    assert row["efficiency"] == pytest.approx(0.2 / 0.16 / 2)
    assert row["of_the_machine"] == pytest.approx(0.75)
    assert (row["program_mb"], row["socket_mb"]) == (2.0, 2.1)
    model = theory.cost(4096, scale.SIZE, 2, bytes_per_second=1e9, flops=1.5e10, latency=1e-4)
    assert row["model_ratio"] == pytest.approx(model.seconds / 0.16)
    assert scale.row("strong", 1, 1, one, one)["socket_mb"] is None


def test_bytes_of_sockets_are_counted():
    with (
        socket.create_server(("localhost", 0)) as server,
        socket.create_connection(server.getsockname()) as mine,
        server.accept()[0] as theirs,
    ):
        before = scale_part.bytes_by_sockets()
        mine.sendall(bytes(50_000))
        received = 0
        while received < 50_000:
            received += len(theirs.recv(65536))
        theirs.sendall(b"seen")
        mine.recv(4)
        assert scale_part.bytes_by_sockets() - before == pytest.approx(50_004, abs=4)
