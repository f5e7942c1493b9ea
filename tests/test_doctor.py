"""`spos doctor` tells what is there, and notices when something does not work."""

import jax.numpy as jnp
import pytest

import spos
from spos import doctor
from spos.cli import main


def test_it_says_what_is_there_and_that_it_works(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"spos {spos.__version__}" in said
    assert "cpu" in said
    assert "all is well" in said
    assert "lint" not in said  # what developers alone want


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(doctor, "_installed", lambda name: name != "matplotlib")
    [line] = [line for line in doctor.extras() if line.startswith("plot")]
    assert "not there (matplotlib): pip install 'spos[plot]'" in line
    assert any(line.endswith(" there") for line in doctor.extras())


def test_a_sampler_that_stands_still_is_noticed(monkeypatch, capsys):
    asleep = spos.sgld(lambda x: 0.0 * jnp.sum(x), step_size=1e-9)
    monkeypatch.setattr(spos, "spos", lambda *_, **__: asleep)
    assert main(["doctor"]) == 1
    assert "the self-test failed: 300 steps: mean" in capsys.readouterr().err


def test_bits_that_differ_are_noticed():
    with pytest.raises(doctor.SelfTestError, match="the same seed"):
        doctor._told(False, "the same seed gives the same bits")
