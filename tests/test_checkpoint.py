"""A run that was cut short goes on and ends in the same bits, or says why it does not."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import spos
from spos.io.lock import FolderInUseError
from spos.types import Info

START = jax.random.normal(jax.random.key(0), (6, 2))
DATA = np.random.default_rng(0).normal(size=30).astype(np.float32)


def build(data=DATA, batch_size=5, step_size=0.01, sharpness=1.0):
    target = spos.posterior(
        lambda theta, batch: -0.5 * sharpness * (batch - theta[0]) ** 2,
        lambda theta: -0.5 * jnp.sum(theta**2),
        data,
        batch_size=batch_size,
    )
    return spos.spos(target, step_size, preconditioner=spos.rmsprop(), kernel=spos.rbf(1.0))


SAMPLER = build()


def sample(folder=None, num_steps=40, sampler=SAMPLER, start=START, **options):
    options = {"seed": 1, "history_every": 4, "progress": False, "checkpoint": folder, **options}
    return spos.sample(sampler, start, num_steps, **options)


def steps_on_disk(folder):
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.glob("step-*.npz"))


def assert_same(one, other):
    np.testing.assert_array_equal(one.particles, other.particles)
    np.testing.assert_array_equal(one.history, other.history)
    for name in Info._fields:
        np.testing.assert_array_equal(one.info[name], other.info[name])


def test_a_resumed_run_ends_in_the_same_bits(tmp_path):
    for num_steps in (0, 7, 21, 40):
        result = sample(tmp_path, num_steps)
        assert result.num_steps == num_steps
    assert_same(result, sample())
    assert steps_on_disk(tmp_path) == [21, 40]


def test_a_finished_run_is_only_read(tmp_path, compilations):
    first = sample(tmp_path)
    before = len(compilations)
    second = sample(tmp_path)
    assert_same(first, second)
    assert second.seconds >= first.seconds > 0
    assert len(compilations) == before


def test_the_run_is_saved_while_it_goes_on(tmp_path):
    found = []
    sample(
        tmp_path,
        callback=lambda state, info: found.append(steps_on_disk(tmp_path)),
        callback_every=10,
        checkpoint_every=1e-9,
    )
    assert any(found[:-1])
    assert all(len(files) <= 2 for files in found)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_file_is_named_and_the_one_before_it_is_used(tmp_path, damage):
    sample(tmp_path, 12)
    sample(tmp_path, 24)
    newest = tmp_path / "step-000000024.npz"
    content = bytearray(newest.read_bytes())
    for place in range(len(content) // 3, len(content), 50):  # a single byte may be padding
        content[place] ^= 255
    newest.write_bytes(content if damage == "flipped" else content[: len(content) // 2])
    with pytest.warns(RuntimeWarning, match=r"checkpoint skipped: .*step-000000024\.npz"):
        result = sample(tmp_path)
    assert_same(result, sample())


def test_a_folder_of_damaged_files_starts_anew_and_is_saved(tmp_path):
    """Damaged files of later steps must not drive out what is saved after them."""
    sample(tmp_path, 32)
    sample(tmp_path, 40)
    for path in tmp_path.glob("step-*.npz"):
        path.write_bytes(path.read_bytes()[:1000])
    with pytest.warns(RuntimeWarning, match="checkpoint skipped") as warned:
        sample(tmp_path, 12)
    assert [str(each.message).split()[-1] for each in warned] == [
        "step-000000040.npz.damaged",
        "step-000000032.npz.damaged",
    ]
    assert steps_on_disk(tmp_path) == [12]
    sample(tmp_path, 24)
    assert_same(sample(tmp_path), sample())
    assert names(tmp_path) == [
        "step-000000024.npz",
        "step-000000032.npz.damaged",
        "step-000000040.npz",
        "step-000000040.npz.damaged",
    ]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


FULL = """
import resource, sys, warnings
import jax, jax.numpy as jnp
import spos

sampler = spos.spos(lambda t: -0.5 * jnp.sum(t**2), 0.1, kernel=spos.rbf(1.0))
start = jax.random.normal(jax.random.key(0), (20, 3))

def run(**options):
    return spos.sample(sampler, start, 200, seed=5, history_every=1, progress=False, **options)

whole = run()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    result = run(checkpoint=sys.argv[1], checkpoint_every=1e-9)
assert (result.history == whole.history).all()
print(*[each.message for each in warned], sep="\\n")
try:
    result.save(sys.argv[1] + "/result.npz")
except OSError as error:
    print(error)
"""


def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch):
    """Files may have 20 kB: the first saves fit, later ones do not."""
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    command = [sys.executable, "-c", FULL, str(tmp_path / "run"), "20000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told, last = done.stdout.splitlines()
    assert told.startswith(f"cannot save the run to {tmp_path / 'run' / 'step-'}")
    assert "File too large. It needs 0.0" in told
    assert last == f"[Errno 27] File too large: '{tmp_path / 'run' / 'result.npz'}'"
    assert done.stderr == ""
    assert 1 <= len(names(tmp_path / "run")) <= 2  # what could be saved was
    assert all(name.endswith(".npz") for name in names(tmp_path / "run"))


HELD = """
import sys, time
import jax.numpy as jnp
import spos

def callback(state, info):
    print(int(state.step), flush=True)
    time.sleep(600)

spos.sample(spos.sgld(lambda t: -0.5 * t**2, 0.1), jnp.zeros(3), 100, progress=False,
            checkpoint=sys.argv[1], callback=callback, callback_every=10)
"""


def test_two_processes_cannot_share_a_folder_but_follow_each_other(tmp_path):
    part = tmp_path / ".step-000000010.npz.4711.part"
    with subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "10\n"
        part.write_bytes(b"as the other process writes it")
        with pytest.raises(FolderInUseError, match=f"in use by process {process.pid} on "):
            sample(tmp_path)
        assert part.exists()
        process.kill()
    assert_same(sample(tmp_path), sample())
    assert not list(tmp_path.glob(".*"))


def test_a_run_that_was_ended_by_an_error_can_be_run_again(tmp_path):
    def broken(state, info):
        raise KeyError("a mistake of the user")

    with pytest.raises(KeyError) as caught:  # which keeps everything in its traceback
        sample(tmp_path, callback=broken, callback_every=10)
    assert_same(sample(tmp_path), sample())
    assert caught.value is not None


def test_what_a_killed_process_left_behind_is_cleared(tmp_path):
    (tmp_path / ".step-000000012.npz.4711.part").write_bytes(b"half")
    sample(tmp_path)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seed": 2}, "its seed was 1, now 2"),
        ({"sampler": build(step_size=0.02)}, r"its sampler\.step_size was 0\.01, now 0\.02\."),
        ({"start": START + 1.0}, "its start was"),
        ({"sampler": build(data=DATA + 1.0)}, "its data was"),
        ({"sampler": build(batch_size=6)}, r"its sampler\.target\..*batch.* was 5, now 6\."),
        ({"sampler": build(sharpness=2.0)}, "its scores and steps at the start were others"),
        ({"history_every": 5}, "its history_every was 4, now 5"),
        ({"history_every": None}, "its history_every was 4, now None"),
        ({"num_steps": 10}, "num_steps must be at least the 12 steps in .*, got 10"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_another_run_is_refused_in_a_sentence(tmp_path, change, sentence):
    sample(tmp_path, 12)
    with pytest.raises(ValueError, match=sentence):
        sample(tmp_path, **change)
    assert steps_on_disk(tmp_path) == [12]


def test_another_optimizer_is_refused_in_a_sentence(tmp_path, monkeypatch):
    """Even if its code could not be had, and its first step is the same."""
    monkeypatch.setattr("spos.loop.identity.code_of", lambda sampler: "")

    def with_optimizer(**options):
        return spos.svgd(SAMPLER.target, optimizer=optax.sgd(0.1, **options))

    sample(tmp_path, 12, with_optimizer())
    with pytest.raises(ValueError, match="its state has another form, as with another optimizer"):
        sample(tmp_path, 40, with_optimizer(momentum=0.9))
