"""Summaries against numpy, and a file that comes back as it was or not at all."""

import dataclasses
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.io.archive import DamagedFileError

RNG = np.random.default_rng(0)
PARTICLES = {
    "w": {"b": jnp.asarray(RNG.normal(size=(40, 2, 3)), jnp.float32)},
    "list": [jnp.asarray(RNG.normal(size=40), jnp.float32)],
    "pair": (jnp.asarray(RNG.normal(size=(40, 1)), jnp.float16), None),
}


def result(particles=PARTICLES, records=None):
    history = None
    if records is not None:
        history = jax.tree.map(
            lambda leaf: np.asarray(jnp.stack([leaf * n for n in range(records)])), particles
        )
    return spos.Result(
        particles=particles,
        info={"epd": np.float32([1.0, np.nan, 3.0]), "bandwidth": np.float32([0.1, 0.2, 0.3])},
        history=history,
        history_every=None if records is None else 1,
        settings={"algorithm": "spos", "beta": float("inf"), "kernel": spos.rbf(2.0), "seed": 3},
        versions={"spos": "0.1.0"},
        num_steps=3,
        seconds=1.5,
    )


@pytest.fixture
def saved(tmp_path):
    return result(records=4).save(tmp_path / "run.npz")


def test_the_summary_has_the_numbers_of_numpy():
    summary = result().summary()
    flat = np.concatenate(
        [np.asarray(leaf, np.float64).reshape(40, -1) for leaf in jax.tree.leaves(PARTICLES)],
        axis=1,
    )
    assert summary.names[0] == "list.0"
    assert summary.names[-1] == "w.b[1, 2]"
    assert len(summary.names) == flat.shape[1] == 8
    np.testing.assert_allclose(summary.columns["mean"], flat.mean(0))
    np.testing.assert_allclose(summary.columns["sd"], flat.std(0, ddof=1))
    for percent in (5, 25, 50, 75, 95):
        expected = np.percentile(flat, percent, axis=0)
        np.testing.assert_allclose(summary.columns[f"{percent}%"], expected)
    np.testing.assert_allclose(summary.columns["range"], flat.max(0) - flat.min(0))


def test_the_summary_reads_well():
    text = str(result().summary())
    assert "40 particles, 8 parameters after 3 steps of spos in 1.5 s" in text
    assert re.search(r"^w\.b\[0, 1\]( +-?[\d.e-]+){8}$", text, re.MULTILINE)
    pairs = np.concatenate(
        [np.asarray(leaf, np.float64).reshape(40, -1) for leaf in jax.tree.leaves(PARTICLES)],
        axis=1,
    )
    squares = np.sum((pairs[:, None] - pairs[None]) ** 2, axis=-1)
    assert f"two particles {np.sqrt(squares.mean()):.4g}" in text


def test_a_long_summary_is_cut_and_one_particle_has_no_spread():
    many = result({"x": jnp.zeros((1, 30))}).summary()
    assert "… and 10 more parameters" in str(many)
    assert (many.columns["sd"] == 0).all()


def test_a_saved_result_comes_back_in_its_structure_and_bits(saved):
    before, after = result(records=4), spos.load(saved)
    for one, other in ((before.particles, after.particles), (before.history, after.history)):
        assert jax.tree.structure(one) == jax.tree.structure(other)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(np.asarray(a).view(np.uint8), b.view(np.uint8))
    np.testing.assert_array_equal(after.info["epd"], before.info["epd"])
    assert after.settings["kernel"] == {"type": "rbf", "bandwidth": 2.0, "blocks": None}
    assert after.settings["beta"] == "inf"
    for name in ("history_every", "num_steps", "seconds", "interrupted", "versions"):
        assert getattr(after, name) == getattr(before, name)


def test_a_run_can_be_saved_and_a_bare_array_comes_back_bare(tmp_path):
    sampler = spos.svgd(lambda theta: -jnp.sum(theta**2), 0.1, kernel=spos.rbf(1.0))
    run = spos.sample(sampler, jnp.ones((3, 2)), 5, history_every=2, progress=False)
    loaded = spos.load(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(loaded.particles, run.particles)
    np.testing.assert_array_equal(loaded.history, run.history)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_half_precision_survives(tmp_path):
    before = result({"w": jnp.ones((3, 2), jnp.bfloat16)})
    after = spos.load(before.save(tmp_path / "half.npz"))
    assert after.particles["w"].dtype == jnp.bfloat16
    np.testing.assert_array_equal(after.particles["w"], before.particles["w"])


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "array"])
def test_a_damaged_file_is_refused_by_name(saved, damage):
    content = bytearray(saved.read_bytes())
    if damage == "cut":
        saved.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[len(content) // 3] ^= 1
        saved.write_bytes(content)
    elif damage == "empty":
        saved.write_bytes(b"")
    elif damage == "text":
        saved.write_text("not a result")
    else:
        with open(saved, "wb") as file:
            np.save(file, np.ones(3))
    with pytest.raises(DamagedFileError, match=re.escape(str(saved))):
        spos.load(saved)


def test_a_changed_number_is_noticed_even_in_a_whole_file(saved):
    with np.load(saved) as file:
        content = {name: file[name] for name in file.files}
    content["info epd"][0] += 1.0
    np.savez(saved, **content)
    with pytest.raises(DamagedFileError, match=r"run\.npz: the checksum does not match"):
        spos.load(saved)


def test_a_write_that_fails_half_way_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full_disk(file, arrays):
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr("spos.io.npz.write", full_disk)
    with pytest.raises(OSError, match="no space left"):
        result().save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "trap.npz"
    np.savez(path, particles0=np.array([Trap()], dtype=object))
    with pytest.raises(DamagedFileError, match=r"trap\.npz"):
        spos.load(path)
    assert not (tmp_path / "sprung").exists()


def test_a_result_is_shown_in_a_few_lines():
    shown = repr(dataclasses.replace(result(), interrupted=True))
    assert len(shown.splitlines()) == 2
    assert shown.startswith("<Result: 3 steps of spos in 1.5 s, interrupted")
    assert "'b': (40, 2, 3)" in shown
    assert ".history" not in shown
    assert ".history" in repr(result(records=4))


def test_where_particles_belong_a_result_is_refused_by_the_word_that_was_meant():
    with pytest.raises(TypeError, match=r"got a Result: give its \.particles"):
        spos.sgld(lambda theta: -jnp.sum(theta**2), 0.1).init(result())


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        spos.load(tmp_path / "none.npz")


def test_a_file_of_another_format_is_refused(tmp_path):
    from spos.io import archive

    archive.write(tmp_path / "old.npz", {}, {"format": 99})
    with pytest.raises(ValueError, match=r"old\.npz: .*Result or Fit.*format 99.*SPOSRegressor"):
        spos.load(tmp_path / "old.npz")


def test_arviz_sees_particles_as_draws_or_as_chains():
    particles = {"w": jnp.ones((40, 2, 3)), "b": jnp.arange(40.0)}
    without = result(particles).to_arviz().posterior
    assert without["w"].shape == (1, 40, 2, 3)
    assert without["b"].dims == ("chain", "draw")
    tree = result(particles, records=3).to_arviz()
    assert tree.posterior["w"].shape == (40, 3, 2, 3)
    np.testing.assert_array_equal(tree.posterior["b"].sel(chain=7), 7.0 * np.arange(3))
    np.testing.assert_array_equal(tree.sample_stats["epd"].sel(chain=7), [1.0, np.nan, 3.0])
    assert "sample_stats" not in result(particles).to_arviz()


def test_each_draw_has_what_its_own_step_saw():
    run = dataclasses.replace(
        result({"b": jnp.arange(5.0)}, records=2),
        info={"step_size": np.arange(7.0)},
        history_every=3,
        num_steps=7,
    )
    stats = run.to_arviz().sample_stats["step_size"]
    np.testing.assert_array_equal(stats, np.tile([2.0, 5.0], (5, 1)))
