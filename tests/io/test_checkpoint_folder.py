"""A folder of checkpoints: which files are kept, used, set aside, and who may work in it."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.io import archive
from spos.io.checkpoint import Checkpoint
from spos.io.lock import FolderInUseError
from spos.io.sharded_checkpoint import ShardedCheckpoint
from spos.mesh.processes import Team

STATE = spos.spos(lambda theta: -jnp.sum(theta**2), 0.1).init(jnp.ones((4, 2)))


def saver(folder, every=1e-9):
    return Checkpoint(folder, every, {"seed": 1})


def steps_on_disk(folder):
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.glob("step-*.npz"))


def flipped(content, place, bit):
    content = bytearray(content)
    content[place] ^= 1 << bit
    return content


def test_what_was_just_written_is_never_deleted(tmp_path):
    """Whatever else is in the folder, readable or not."""
    for step in (100, 200, 300):
        (tmp_path / f"step-{step:09d}.npz").write_bytes(b"later, by its name")
    with saver(tmp_path) as checkpoint:
        checkpoint.save(STATE, {})
        assert steps_on_disk(tmp_path) == [0, 300]


@pytest.mark.parametrize(
    "damage", ["encrypted", "method", "link", "folder", "pipe", "no state", "no record"]
)
def test_whatever_the_damage_the_file_before_it_is_used(tmp_path, damage):
    records = {"seconds": np.ones(())}
    with saver(tmp_path) as checkpoint:
        checkpoint.save(STATE, records)
        newest = tmp_path / "step-000000007.npz"
        checkpoint.save(STATE._replace(step=jnp.asarray(7)), records)
        content = newest.read_bytes()
        entry = content.index(b"PK\1\2")
        arrays, meta = archive.read(newest)
        newest.unlink()
        if damage == "encrypted":
            newest.write_bytes(flipped(content, entry + 8, 0))
        elif damage == "method":
            newest.write_bytes(flipped(content, entry + 10, 3))
        elif damage == "link":
            newest.symlink_to("nowhere")
        elif damage == "folder":
            newest.mkdir()
        elif damage == "pipe":
            os.mkfifo(newest)
        elif damage == "no state":
            archive.write(newest, {**arrays, "record seconds": np.array([1j])}, meta | {"x": 1})
            newest.write_bytes(newest.read_bytes().replace(b"state", b"stAte"))
        else:
            archive.write(newest, {k: v for k, v in arrays.items() if "record" not in k}, meta)
        with pytest.warns(RuntimeWarning, match=r"skipped: .*step-000000007\.npz.*set aside"):
            state, found = checkpoint.restore(STATE, needed=["seconds"])
        assert int(state.step) == 0
        assert found == records
        checkpoint.save(STATE._replace(step=jnp.asarray(9)), records)
        assert steps_on_disk(tmp_path) == [0, 9]


def test_a_state_in_another_order_is_put_in_its_own(tmp_path):
    with saver(tmp_path) as checkpoint:
        checkpoint.save(STATE, {})
        [path] = tmp_path.glob("step-*.npz")
        arrays, meta = archive.read(path)
        archive.write(path, dict(reversed(arrays.items())), meta)
        state, _ = checkpoint.restore(STATE)
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(STATE), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_save_that_fails_is_told_once_and_tried_again(tmp_path, monkeypatch):
    write = archive.write

    def full(path, arrays, meta):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with saver(tmp_path) as checkpoint:
        checkpoint.save(STATE, {})
        monkeypatch.setattr(archive, "write", full)
        big = {"history0": np.zeros(1_000_000)}
        with pytest.warns(RuntimeWarning, match=r"step-000000007\.npz: No space.*needs 8\.00 MB"):
            checkpoint.save(STATE._replace(step=jnp.asarray(7)), big)
        checkpoint.save(STATE._replace(step=jnp.asarray(8)), big)  # and no second warning
        assert steps_on_disk(tmp_path) == [0]
        monkeypatch.setattr(archive, "write", write)
        checkpoint.save(STATE._replace(step=jnp.asarray(9)), big)
        assert steps_on_disk(tmp_path) == [0, 9]


def test_a_folder_is_let_go_of_when_closed_or_forgotten(tmp_path):
    def taken():
        with ThreadPoolExecutor(1) as pool:  # another thread must wait for this one
            try:
                pool.submit(saver, tmp_path).result().close()
            except FolderInUseError:
                return True
        return False

    one = saver(tmp_path)
    assert taken()
    one.close()
    one.close()
    assert not taken()
    with saver(tmp_path):
        assert taken()
    assert not taken()
    one = saver(tmp_path)
    del one
    assert not taken()


def test_what_was_set_aside_before_stays(tmp_path):
    for number in range(2):
        with saver(tmp_path) as checkpoint:
            checkpoint.save(STATE, {})
            (tmp_path / "step-000000000.npz").write_bytes(b"damaged %d" % number)
            with pytest.warns(RuntimeWarning, match="set aside"):
                assert checkpoint.restore(STATE) is None
    aside = sorted(tmp_path.glob("*.damaged*"))
    assert [path.read_bytes() for path in aside] == [b"damaged 0", b"damaged 1"]


def test_a_damaged_share_of_several_processes_is_set_aside_too(tmp_path):
    pytest.importorskip("orbax.checkpoint")
    later = STATE._replace(step=jnp.asarray(7))

    def sharded():
        return ShardedCheckpoint(tmp_path, 1.0, {"seed": 1}, Team(None))

    with sharded() as checkpoint:
        checkpoint.save(STATE, {})
        checkpoint.save(later, {})
    for path in (tmp_path / "step-000000007.orbax").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:10])
    with sharded() as checkpoint:
        with pytest.warns(RuntimeWarning, match="set aside"):
            assert int(checkpoint.restore(STATE)[0].step) == 0
        checkpoint.save(later, {})  # its place is free
    with sharded() as checkpoint:
        assert int(checkpoint.restore(STATE)[0].step) == 7
        assert (tmp_path / "step-000000007.orbax.damaged").exists()
