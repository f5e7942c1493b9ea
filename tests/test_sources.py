"""Data that are read while a run goes on: the same bits as in memory, nothing lost, little held."""

import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.loop import feed
from spos.loop.chunk import advance_to
from spos.targets.random_access import RandomAccess

N, D, B, STEPS = 300, 3, 16, 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)).astype(np.float32)
Y = (X.sum(1) + rng.normal(size=N) > 0).astype(np.float32)
START = jnp.asarray(rng.normal(size=(4, D)).astype(np.float32))
IN_MEMORY = {"x": X, "y": Y}


def log_likelihood(theta, batch):
    logits = batch["x"] @ theta
    return batch["y"] * logits - jnp.logaddexp(0.0, logits)


def log_prior(theta):
    return -0.5 * jnp.sum(theta**2)


def posterior(data, batch_size=B, **options):
    return spos.posterior(log_likelihood, log_prior, data, batch_size, **options)


def sample(target, num_steps=STEPS, **options):
    return spos.sample(spos.sgld(target, 1e-3), START, num_steps, progress=False, **options)


def particles(target, **options):
    return np.asarray(sample(target, **options).particles)


class Table:
    """A class of one's own, which writes down what it is asked for."""

    def __init__(self, x=X, y=Y):
        self.x, self.y, self.asked, self.threads = x, y, [], set()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        self.asked.append(rows)
        self.threads.add(threading.current_thread())
        return {"x": self.x[rows], "y": self.y[rows]}


class Broken(Table):
    """It fails after some readings."""

    def __init__(self, good, wrong):
        super().__init__()
        self.good, self.wrong = good, wrong

    def __getitem__(self, rows):
        found = super().__getitem__(rows)
        return found if len(self.asked) <= self.good else self.wrong(found)


def memmaps(folder):
    for name, array in IN_MEMORY.items():
        np.save(folder / f"{name}.npy", array)
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in IN_MEMORY}


def h5py_arrays(folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "data.h5", "w")
    return {name: file.create_dataset(name, data=array) for name, array in IN_MEMORY.items()}


def zarr_arrays(folder):
    zarr = pytest.importorskip("zarr")
    return {
        name: zarr.array(array, chunks=(64, *array.shape[1:])) for name, array in IN_MEMORY.items()
    }


def lists(folder):
    """As Hugging Face gives them when it is not told otherwise."""

    class Lists(Table):
        def __getitem__(self, rows):
            return {name: array.tolist() for name, array in super().__getitem__(rows).items()}

    return Lists()


SOURCES = {
    "memmaps": memmaps,
    "h5py": h5py_arrays,
    "zarr": zarr_arrays,
    "a class": lambda folder: Table(),
    "lists": lists,
    "a memmap and an array": lambda folder: {**memmaps(folder), "y": Y},
}


@pytest.fixture
def short_blocks(monkeypatch):
    """Several blocks in a short run, the last of them not full."""
    monkeypatch.setattr(feed, "BLOCK_STEPS", 7)


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_gives_the_bits_of_memory(kind, tmp_path, short_blocks):
    read = particles(posterior(SOURCES[kind](tmp_path)))
    np.testing.assert_array_equal(read, particles(posterior(IN_MEMORY)))


@pytest.mark.parametrize(
    "options",
    [{"replace": True}, {"batch_size": spos.schedules.growing_batch(5, 12)}],
    ids=["with replacement", "growing"],
)
def test_every_kind_of_minibatch(options, short_blocks):
    read = particles(posterior(Table(), **options))
    np.testing.assert_array_equal(read, particles(posterior(IN_MEMORY, **options)))


def test_double_precision_on_disk_is_rounded_as_in_memory(short_blocks):
    read = particles(posterior(Table(X.astype(np.float64), Y)))
    np.testing.assert_array_equal(read, particles(posterior(IN_MEMORY)))


@pytest.mark.parametrize(
    "reduced",
    [
        lambda target: spos.control_variate(target, np.full(D, 0.4, np.float32)),
        lambda target: spos.svrg(target, every=11),
        spos.saga,
    ],
    ids=["control_variate", "svrg", "saga"],
)
def test_scores_with_less_noise(reduced, tmp_path, short_blocks):
    """Full passes are sums in another order: equal up to rounding."""
    wanted = particles(reduced(posterior(IN_MEMORY)))
    read = particles(reduced(posterior(Table())))
    np.testing.assert_allclose(read, wanted, atol=1e-5)
    interrupted = reduced(posterior(Table()))
    sample(interrupted, checkpoint=tmp_path, callback=lambda *_: True, callback_every=25)
    np.testing.assert_array_equal(particles(interrupted, checkpoint=tmp_path), read)


def test_full_passes_come_in_blocks(monkeypatch):
    from spos.targets import passes

    monkeypatch.setattr(passes, "BLOCK_ROWS", 64)  # 300 rows: the last block is not full
    target, table = posterior(IN_MEMORY), Table()
    exact = spos.posterior(log_likelihood, log_prior, IN_MEMORY).score(START)
    found = passes.streamed_score(posterior(table), START)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)
    assert max(map(len, table.asked)) == 64
    mode = spos.find_mode(posterior(table), np.zeros(D, np.float32))
    np.testing.assert_allclose(mode, spos.find_mode(target, np.zeros(D, np.float32)), atol=1e-3)


def test_a_pass_that_was_forgotten_is_not_a_wrong_score():
    for reduced in (
        spos.svrg,
        lambda target: spos.control_variate(target, np.zeros(D, np.float32)),
    ):
        target = reduced(posterior(Table()))
        sampler = spos.sgld(target, 1e-3)
        batch = target.posterior.read(jax.jit(target.draw)(jax.random.key(0)))
        state, _ = jax.jit(sampler.step)(jax.random.key(1), sampler.init(START), batch)
        assert np.isnan(state.particles).all()


def test_a_resumed_run_has_the_same_bits(tmp_path, short_blocks):
    target = posterior(Table())
    part = sample(target, checkpoint=tmp_path, callback=lambda *_: True, callback_every=24)
    assert part.num_steps == 24  # inside a block
    np.testing.assert_array_equal(particles(target, checkpoint=tmp_path), particles(target))


def test_another_file_is_another_run(tmp_path):
    sample(posterior(Table()), 5, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="belongs to another run"):
        sample(posterior(Table(X + 1.0, Y)), 9, checkpoint=tmp_path)


def test_reading_runs_ahead_in_a_thread_and_not_too_far(short_blocks):
    table = Table()
    target = posterior(table)
    own = threading.current_thread()
    assert table.threads == {own}  # the form of a row was asked for
    table.threads.clear(), table.asked.clear()
    seen = []
    sample(target, callback=lambda *_: seen.append(len(table.asked)) and False, callback_every=7)
    assert own not in table.threads
    assert len(table.asked) == -(-STEPS // 7)  # no row is read for steps that never come
    assert all(read <= done + 1 + 2 for done, read in enumerate(seen, start=1))


def test_another_source_of_one_form_compiles_nothing(short_blocks):
    sample(posterior(Table()))
    programs = advance_to.programs.cache_info().misses
    sample(posterior(Table(X[::-1].copy(), Y)))
    assert advance_to.programs.cache_info().misses == programs


def test_a_loop_of_ones_own():
    target, key = posterior(Table()), jax.random.key(0)
    sampler = spos.sgld(target, 1e-3)
    state = sampler.init(START)
    with pytest.raises(TypeError, match=r"row numbers alone.*posterior\.read"):
        sampler.step(key, state, jax.jit(target.draw)(key))
    draw, step = jax.jit(target.draw), jax.jit(sampler.step)
    for _ in range(3):
        here = jax.random.fold_in(key, state.step)
        batch = target.read(draw(jax.random.fold_in(here, 2), state.step))
        state, _ = step(here, state, batch)
    np.testing.assert_allclose(state.particles, particles(target, num_steps=3), rtol=1e-6)


WRONG = {
    "too few rows": (lambda found: {"x": found["x"][:-1], "y": found["y"]}, "a row for each of"),
    "another shape": (lambda found: {**found, "x": found["x"][:, :2]}, r"float32\[3\].*got.*\[2\]"),
    "another type": (lambda found: {**found, "y": found["y"] > 0}, "float32.*got bool"),
    "another form": (lambda found: found["x"], "rows of one form"),
    "a disk that fails": (lambda found: np.load("/nowhere/at/all"), "No such file"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_was_computed_is_kept_when_reading_fails(what, tmp_path, short_blocks):
    wrong, message = WRONG[what]
    table = Broken(4, wrong)
    target = posterior(table)
    with pytest.raises(spos.SourceError, match=f"step 21: .*{message}") as caught:
        sample(target, checkpoint=tmp_path)  # after three blocks
    assert caught.value.result.num_steps == 21
    assert caught.value.__cause__ is not None
    table.good = 10**9
    np.testing.assert_array_equal(particles(target, checkpoint=tmp_path), particles(target))


def batches(count=None, size=20):
    """Batches in order, again and again; 300 rows make fifteen of twenty."""
    begins = itertools.chain.from_iterable(itertools.repeat(range(0, N, size)))
    for begin in itertools.islice(begins, count):
        yield {"x": X[begin : begin + size], "y": Y[begin : begin + size]}


def test_a_stream_scores_as_its_batches_do(short_blocks):
    target = posterior(batches(), None, num_examples=N)
    seen = sample(target, 20, history_every=1)
    sampler, key = spos.sgld(posterior(IN_MEMORY, 20), 1e-3), jax.random.key(0)
    step = jax.jit(lambda state, batch: spos.advance(sampler, key, state, batch)[0])
    state = sampler.init(START)
    for batch, wanted in zip(batches(20), seen.history, strict=True):
        state = step(state, batch)
        np.testing.assert_allclose(wanted, state.particles, rtol=1e-5, atol=1e-6)


def test_a_smaller_last_batch_counts_for_all_the_data_too(short_blocks):
    """A loader of 300 rows in batches of 64, the last of 44, which begins again after it."""
    loader = list(batches(5, 64))
    target = posterior(loader, None, num_examples=N)
    reading = target.data.open()
    examples, weights = reading.several(6)
    assert weights.shape == (6, 64)
    np.testing.assert_allclose(weights.sum(1), N, rtol=1e-6)
    assert (weights[4] > 0).sum() == 44
    np.testing.assert_array_equal(examples["x"][5], X[:64])
    short = target.score(
        START, spos.types.Batch(jax.tree.map(lambda a: a[4], examples), weights[4])
    )
    wanted = posterior(IN_MEMORY).score(START, loader[4])
    np.testing.assert_allclose(short, wanted, rtol=1e-4, atol=1e-3)


def test_an_iterable_that_ends_early_keeps_the_run(tmp_path, short_blocks):
    target = posterior(batches(17), None, num_examples=N)
    with pytest.raises(spos.SourceError, match=r"step 17: .*ended.*iterated again") as caught:
        sample(target, checkpoint=tmp_path)
    assert caught.value.result.num_steps == 17
    longer = posterior(batches(), None, num_examples=N)
    assert sample(longer, checkpoint=tmp_path).num_steps == STEPS


def test_a_stream_that_knows_its_place_resumes_to_the_same_bits(tmp_path, short_blocks):
    grain = pytest.importorskip("grain")
    rows = [{"x": x, "y": y} for x, y in zip(X, Y, strict=True)]
    loader = grain.MapDataset.source(rows).shuffle(seed=1).repeat().batch(20).to_iter_dataset()
    target = posterior(loader, None, num_examples=N)
    whole = particles(target)
    sample(target, checkpoint=tmp_path, callback=lambda *_: True, callback_every=25)
    np.testing.assert_array_equal(particles(target, checkpoint=tmp_path), whole)


def test_a_mapped_file_stays_out_of_the_resident_memory(tmp_path):
    """A sparse file of half a gigabyte, every part of which is touched."""
    rows = np.memmap(tmp_path / "sparse", np.float32, "w+", shape=(2**16, 2048))
    del rows
    mapped = np.memmap(tmp_path / "sparse", np.float32, "r", shape=(2**16, 2048))
    source = RandomAccess(mapped)
    before = _resident_file_pages()
    source.take(np.arange(0, 2**16, 16))
    assert _resident_file_pages() - before < 2**26
    written = np.memmap(tmp_path / "sparse", np.float32, "c", shape=(2**16, 2048))
    written[5] = 1.0  # a copy: its pages must not be let go
    assert (RandomAccess(written).take(np.array([5])) == 1.0).all()
    assert (written[5] == 1.0).all()


def _resident_file_pages():
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssFile"))
