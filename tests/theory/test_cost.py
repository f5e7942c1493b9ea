"""The model of a step over devices: its parts, and its bytes against a compiled program's."""

import runpy
from pathlib import Path

import pytest

import spos
from spos import theory

FAST = {"bytes_per_second": 1e10, "flops": 1e12}


def test_one_device_sends_nothing():
    alone = theory.cost(1000, 50, 1, **FAST)
    assert alone.bytes_sent == alone.ring == alone.latency == 0
    assert alone.seconds == alone.pairs + alone.own


def test_twice_the_devices_take_half_the_pairs_and_send_no_less():
    few, many = (theory.cost(10_000, 50, count, **FAST, latency=1e-5) for count in (10, 20))
    assert many.pairs == pytest.approx(few.pairs / 2)
    assert many.bytes_sent >= few.bytes_sent
    assert many.latency > few.latency


def test_a_ring_is_hidden_where_pairs_are_many():
    assert theory.cost(10**6, 100, 1000, **FAST).hidden
    assert not theory.cost(1000, 100, 1000, **FAST).hidden


def test_groups_save_pairs_and_cost_bytes():
    every, grouped = (theory.cost(4000, 10, 4, **FAST, group_size=b) for b in (None, 40))
    assert grouped.pairs == pytest.approx(every.pairs / 100)
    assert grouped.bytes_sent > every.bytes_sent


def test_particles_that_do_not_divide_are_named():
    with pytest.raises(ValueError, match="num_particles must divide by the 3 devices, got 100"):
        theory.cost(100, 2, 3, **FAST)


def test_it_is_public():
    assert spos.theory.cost is theory.cost


def test_the_table_of_the_guide_is_what_the_model_says():
    docs = Path(__file__).parents[2] / "docs"
    table = "\n".join(runpy.run_path(str(docs / "scale_table.py"))["lines"]())
    assert table in (docs / "scale.md").read_text(encoding="utf-8")
