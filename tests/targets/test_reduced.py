"""Scores of lower variance: unbiased over every batch there is, and what they remember is true."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import spos
from spos.targets.batches import Drawn
from spos.types import Batch, Info

N, M, B = 6, 3, 2
rng = np.random.default_rng(0)
DATA = {"x": rng.normal(size=(N, 2)).astype(np.float32), "y": np.float32([1, 0, 1, 1, 0, 1])}
OTHER = {"x": DATA["x"][::-1] + 1.0, "y": DATA["y"]}
START = {"w": rng.normal(size=(M, 2)).astype(np.float32), "b": np.float32([0.1, -1.0, 2.0])}
CENTRE = {"w": np.float32([0.2, -0.1]), "b": np.float32(0.3)}
KEY = jax.random.key(7)
# programs that run for a moment: compiled with less care, which is what takes the time here
jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def log_likelihood(theta, batch):
    logit = batch["x"] @ theta["w"] + theta["b"]
    return batch["y"] * logit - jnp.logaddexp(0.0, logit)


def log_prior(theta):
    return -0.7 * jnp.sum(theta["w"] ** 2) - 0.2 * theta["b"] ** 2


def posterior(batch_size=B, **options):
    return spos.posterior(log_likelihood, log_prior, DATA, batch_size, **options)


METHODS = {
    "control_variate": lambda target: spos.control_variate(target, CENTRE),
    "svrg": lambda target: spos.svrg(target, every=4),
    "saga": spos.saga,
}
BATCHES = {
    "without replacement": {},
    "with replacement": {"replace": True},
    "growing": {"batch_size": spos.schedules.growing_batch(2, maximum=4)},
}


@pytest.fixture(params=METHODS)
def reduce(request):
    return METHODS[request.param]


def allclose(one, other, tolerance=1e-4):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance), one, other
    )


def drawn(rows, weights, data=DATA):
    rows = jnp.asarray(rows)
    examples = jax.tree.map(lambda leaf: jnp.asarray(leaf)[rows], data)
    return Drawn(Batch(examples, jnp.asarray(weights)), rows, data)


def even(pair):
    return drawn(pair, [N / 2, N / 2])


def wander(target, steps):
    """Particles on a random walk, and what the scores remember of it; jitted as in a run."""
    apply, draw = jit(target.scores), jit(target.draw)
    particles, memory, path = START, target.first_memory(START), []
    for k in range(steps):
        batch = draw(jax.random.fold_in(KEY, k), k)
        scores, memory = apply(memory, particles, batch)
        path.append((particles, batch, scores))
        shift = np.random.default_rng(k).normal(size=3).astype(np.float32)
        particles = {"w": particles["w"] + 0.3 * shift[:2], "b": particles["b"] - 0.2 * shift[2]}
    return particles, memory, path


def bias(target, replace=False, steps=6):
    """The mean of the estimate over all batches of two, minus the exact score, at worst."""
    particles, memory, _ = wander(target, steps)
    choose = itertools.product if replace else itertools.combinations
    pairs = choose(range(N), repeat=2) if replace else choose(range(N), 2)
    apply = jit(jax.vmap(lambda pair: target.scores(memory, particles, even(pair))[0]))
    mean = jax.tree.map(lambda each: each.mean(axis=0), apply(jnp.asarray(list(pairs))))
    exact = target.posterior.score(particles)
    gaps = jax.tree.map(lambda a, b: np.abs(a - b).max(), mean, exact)
    return max(jax.tree.leaves(gaps))


@pytest.mark.parametrize("replace", [False, True])
def test_the_mean_over_all_batches_is_the_exact_score(reduce, replace):
    assert bias(reduce(posterior(replace=replace)), replace) < 1e-5


def without_weights(monkeypatch):
    monkeypatch.setattr("spos.targets.saga._over_batch", lambda w, d: jnp.sum(d, axis=0))


def stale_sum(monkeypatch):
    from spos.targets import saga

    true = saga._over_batch
    monkeypatch.setattr(
        saga, "_over_batch", lambda w, d: true(w, d) if w.dtype != bool else 0.0 * d[0]
    )


def full_score_elsewhere(monkeypatch):
    def elsewhere(target, x, data):
        return target.posterior.score(jax.tree.map(lambda v: 0.9 * v, x))

    monkeypatch.setattr("spos.targets.reduced.ReducedPosterior.full_score", elsewhere)


def difference_dropped(monkeypatch):
    for module in ("control_variate", "svrg"):
        monkeypatch.setattr(f"spos.targets.{module}.corrected", lambda total, here, there: total)


@pytest.mark.parametrize(
    ("name", "mutate"),
    [
        ("saga", without_weights),
        ("saga", stale_sum),
        ("control_variate", full_score_elsewhere),
        ("svrg", full_score_elsewhere),
        ("control_variate", difference_dropped),
        ("svrg", difference_dropped),
    ],
)
def test_a_biased_estimate_is_noticed(name, mutate, monkeypatch):
    mutate(monkeypatch)
    assert bias(METHODS[name](posterior())) > 1e-2


def test_scores_are_corrected_from_the_centre():
    target = METHODS["control_variate"](posterior())
    centre = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], CENTRE)
    exact = target.posterior.score(centre)
    for particles, batch, scores in wander(target, 4)[2]:
        here = target.score(particles, batch)
        there = target.posterior.score(centre, batch.batch)
        expected = jax.tree.map(lambda a, b, c: a - b + c, here, there, exact)
        allclose(scores, expected)


def test_a_snapshot_gives_the_exact_score_and_serves_until_the_next():
    target = METHODS["svrg"](posterior())
    _, memory, path = wander(target, 10)
    for k, (place, batch, scores) in enumerate(path):
        if k % 4 == 0:
            snapshot, exact = place, target.posterior.score(place)
            allclose(scores, exact, 1e-6)
        here, there = target.score(place, batch), target.score(snapshot, batch)
        allclose(scores, jax.tree.map(lambda a, b, c: a - b + c, here, there, exact))
    assert int(memory.age) == 10 % 4
    jax.tree.map(np.testing.assert_array_equal, memory.particles, path[8][0])


@pytest.mark.parametrize("options", BATCHES.values(), ids=BATCHES)
def test_the_table_holds_the_last_gradient_of_every_example(options):
    target = spos.saga(posterior(**options))
    _, memory, path = wander(target, 12)
    last = {}
    for k, (particles, batch, _) in enumerate(path):
        counted = np.asarray(batch.rows)[np.asarray(batch.batch.weights) > 0]
        assert len(counted) == min(4, 2 + int(np.log(k + 1))) if "batch_size" in options else B
        last.update(dict.fromkeys(counted.tolist(), particles))
    for row in range(N):
        kept = jax.tree.map(lambda leaf, n=row: leaf[n], memory.gradients)
        if row not in last:
            expected = jax.tree.map(jnp.zeros_like, kept)
        else:
            example = jax.tree.map(lambda leaf, n=row: leaf[n : n + 1], DATA)
            expected = jax.vmap(jax.grad(lambda t, e=example: log_likelihood(t, e)[0]))(last[row])
        allclose(kept, expected)
    allclose(memory.total, jax.tree.map(lambda leaf: leaf.sum(0), memory.gradients))


def test_rows_that_come_twice_are_counted_once():
    target = spos.saga(posterior(replace=True))
    _, memory = target.scores(
        target.first_memory(START), START, drawn([4, 4, 1, 4], [N / 2, N / 2, 0.0, 0.0])
    )
    allclose(memory.total, jax.tree.map(lambda leaf: leaf.sum(0), memory.gradients))
    touched = np.asarray(memory.gradients["b"]).any(axis=1)
    np.testing.assert_array_equal(touched, np.arange(N) == 4)


def test_whole_runs_over_seeds_and_data_at_once_are_the_runs_one_by_one(reduce):
    target = reduce(posterior(**BATCHES["growing"]))
    keys = jax.random.split(KEY, 2)
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), DATA, OTHER)

    def end(key, data):
        return spos.run(spos.sgld(target.with_data(data), 0.02), key, START, 9)[0].particles

    together = jit(jax.vmap(end))(keys, both)
    alone = jit(end)
    for n, data in enumerate((DATA, OTHER)):
        allclose(jax.tree.map(lambda leaf, n=n: leaf[n], together), alone(keys[n], data))
    assert not np.allclose(alone(KEY, DATA)["w"], alone(KEY, OTHER)["w"])


@pytest.mark.parametrize("name", ["svrg", "saga"])
def test_a_run_is_resumed_to_the_same_bits(name, tmp_path):
    sampler = spos.sghmc(METHODS[name](posterior()), 0.02)
    whole = spos.sample(sampler, START, 11, progress=False)
    for num_steps in (5, 11):
        resumed = spos.sample(sampler, START, num_steps, checkpoint=tmp_path, progress=False)
    jax.tree.map(np.testing.assert_array_equal, whole.particles, resumed.particles)
    for name in Info._fields:
        np.testing.assert_array_equal(whole.info[name], resumed.info[name])


def test_another_centre_is_another_run(tmp_path):
    def sample(shift):
        centre = {"w": CENTRE["w"] + np.float32(shift), "b": CENTRE["b"]}
        sampler = spos.sgld(spos.control_variate(posterior(), centre), 0.01)
        spos.sample(sampler, START, 0, checkpoint=tmp_path, progress=False)

    sample(0.0)
    sample(0.0)
    with pytest.raises(ValueError, match="belongs to another run"):
        sample(0.1)


def test_a_run_that_diverges_is_diagnosed():
    target = spos.posterior(
        lambda theta, batch: batch["y"] * theta["b"] ** 4, log_prior, DATA, batch_size=B
    )
    with pytest.raises(spos.NonFiniteError, match=r"particle \d"):
        spos.sample(spos.sgld(spos.svrg(target), 1.0), START, 50, progress=False)


def test_gradient_evaluations_are_those_that_happen():
    steps = 9
    for name, reduce in {"plain": lambda target: target, **METHODS}.items():
        seen = []

        def counted(theta, batch, seen=seen):
            jax.debug.callback(
                lambda value: seen.append(len(batch["y"])), theta["b"] + batch["y"][0]
            )
            return log_likelihood(theta, batch)

        target = reduce(spos.posterior(counted, log_prior, DATA, B))
        state, _ = jit(lambda t=target: spos.run(spos.sgld(t, 0.01), KEY, START, steps))()
        jax.block_until_ready(state)
        jax.effects_barrier()
        assert sum(seen) == target.gradient_evaluations(steps, M), name


@pytest.mark.parametrize("name", ["control_variate", "svrg"])
def test_near_the_old_place_there_is_little_noise_left(name):
    """At particles 0.01 from where the old gradients were taken, over batches, as a share of the
    variance of the plain score."""
    there = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * M), CENTRE)
    near = jax.tree.map(lambda leaf: leaf + 0.01, there)
    target = METHODS[name](posterior())

    @jit
    def scores():
        apply = target.scores
        _, memory = apply(target.first_memory(there), there, even([0, 1]))
        pairs = jnp.asarray(list(itertools.combinations(range(N), 2)))

        def both(pair):
            batch = even(pair)
            return apply(memory, near, batch)[0]["w"], target.score(near, batch)["w"]

        return jax.vmap(both)(pairs)

    reduced, plain = (np.var(each, axis=0).mean() for each in scores())
    assert reduced < 1e-3 * plain


def test_the_mode_is_where_the_score_vanishes():
    target = posterior()
    mode = spos.find_mode(target, CENTRE)
    score = target.score(jax.tree.map(lambda leaf: leaf[None], mode))
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(score)) < 1e-2
    assert not np.allclose(mode["w"], CENTRE["w"], atol=0.05)


def test_a_step_without_a_batch_takes_all_the_data(reduce):
    sampler = spos.sgld(reduce(posterior()), 0.01)
    scores, _ = sampler.target.scores(sampler.init(START).score_memory, START, None)
    allclose(scores, sampler.target.posterior.score(START))
    with pytest.raises(TypeError, match=r"batch must come from the draw.*got a dict"):
        sampler.step(KEY, sampler.init(START), DATA)


def test_saga_refuses_data_of_another_length():
    target = spos.saga(posterior())
    state = spos.sgld(target, 0.01).init(START)
    short = target.with_data(jax.tree.map(lambda leaf: jnp.asarray(leaf)[:5], DATA))
    with pytest.raises(ValueError, match=r"data must have 6 examples.*got 5"):
        spos.run(spos.sgld(short, 0.01), KEY, None, 2, state=state)
