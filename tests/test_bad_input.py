"""Whatever is wrong with an argument is said at once, by name, before anything is compiled."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas
import pytest
import scipy.sparse

import spos
from spos import rl
from spos.networks import plain

START = jnp.asarray(np.ones((4, 2), np.float32))
ONE, WIDE = (jnp.asarray(np.ones(shape, np.float32)) for shape in ((1, 2), (4, 1001)))
NINE, TEN, NONE = (np.ones(size, np.float32) for size in (9, 10, 0))
Y = jnp.asarray(TEN)
KEY = jax.random.key(0)
KEYS = jax.random.split(KEY)


def log_prob(theta):
    return -0.5 * jnp.sum(theta**2)


def log_likelihood(theta, batch):
    return -0.5 * (batch - jnp.sum(theta)) ** 2


def init(particles, target=log_prob):
    return spos.spos(target, 0.1).init(particles)


def sample(particles=START, num_steps=3, step_size=0.1, **options):
    sampler = spos.sgld(log_prob, step_size)
    return spos.sample(sampler, particles, num_steps, progress=False, **options)


def posterior(
    log_likelihood=log_likelihood, log_prior=lambda theta: 0.0, data=Y, batch_size=None, **options
):
    return spos.posterior(log_likelihood, log_prior, data, batch_size, **options)


FAR_CENTRE = spos.control_variate(posterior(), np.ones(3, np.float32))


def with_nan(value, dtype=np.float32):
    array = np.ones((4, 2, 3), dtype)
    array[2, 1, 0] = value
    return {"w": array}


class Short:
    """A source that has fewer rows than it says."""

    def __len__(self):
        return 10

    def __getitem__(self, rows):
        return TEN[rows][:3]


class Source(Short):
    def __getitem__(self, rows):
        return TEN[rows]


CASES = {
    "no executor": (
        lambda: spos.compare(log_prob, {"a": spos.sgld(log_prob, 0.1)}, START, 3, executor=2),
        TypeError,
        r"executor must have submit\(function, \*arguments\).*got 2",
    ),
    # data that are read
    "a source without a batch size": (
        lambda: posterior(data=Source()),
        ValueError,
        r"batch_size must be given.*source.*10 rows.*got None",
    ),
    "a source of too few rows": (
        lambda: posterior(data=Short(), batch_size=2),
        ValueError,
        r"a row for each of 8 row numbers, got the array of shape \(3,\)",
    ),
    "a source of parts": (
        lambda: posterior(data={"x": Source(), "y": NINE}, batch_size=2),
        ValueError,
        r"all parts must have equally many rows, got .*10.*9",
    ),
    "a source that is run": (
        lambda: spos.run(spos.sgld(posterior(data=Source(), batch_size=2), 0.1), KEY, START, 3),
        ValueError,
        r"sampler must have its data in memory.*spos.sample reads",
    ),
    "all of a source": (
        lambda: posterior(data=Source(), batch_size=2).score(START),
        ValueError,
        r"batch must be given.*not in memory",
    ),
    "an iterable without its number of rows": (
        lambda: posterior(data=(TEN for _ in range(3))),
        TypeError,
        r"num_examples must be given for an iterable of batches.*generator",
    ),
    "an iterable without batches": (
        lambda: posterior(data=[], num_examples=10),
        ValueError,
        r"at least one batch",
    ),
    "an iterable with a batch size": (
        lambda: posterior(data=[TEN], num_examples=100, batch_size=5),
        ValueError,
        r"batch_size.*left out.*got batch_size=5",
    ),
    "no iterable": (
        lambda: posterior(data=3, num_examples=10),
        TypeError,
        r"iterable of batches.*got a int",
    ),
    "a sparse matrix as batches": (
        lambda: posterior(data=scipy.sparse.dia_matrix(np.eye(3)), num_examples=1),
        TypeError,
        r"iterable of batches.*got a dia_matrix",
    ),
    "numbers that give no rows": (
        lambda: posterior(data=range(10), batch_size=2),
        TypeError,
        r"data must give rows for an array of row numbers",
    ),
    "a switch that is none": (
        lambda: spos.targets.likelihoods.location_scale(heavy="yes"),
        TypeError,
        r"heavy must be True or False, got 'yes'",
    ),
    "the shape of particles": (
        lambda: init(jax.ShapeDtypeStruct((4, 2), jnp.float32)),
        TypeError,
        r"must be an array, got only the shape of one",
    ),
    # several devices
    "keys to gather": (
        lambda: spos.mesh.gather(KEYS),
        TypeError,
        r"particles must be a numeric array, got .*key",
    ),
    "a start that makes a number": (
        lambda: spos.mesh.shard(int, spos.mesh.particle_mesh()),
        ValueError,
        r"particles must have a leading axis, got a scalar",
    ),
    # policies
    "a deployed policy from an open file": (
        lambda: rl.deployed.load(1),
        TypeError,
        r"path must name a file, got 1",
    ),
    "an exported model from an open file": (
        lambda: plain.Exported.load(1),
        TypeError,
        r"path must name a file, got 1",
    ),
    "several discounts": (
        lambda: rl.learner("cartpole", gamma=np.ones((3, 3))),
        TypeError,
        r"gamma must be a number from 0 to 1, got an array",
    ),
    "a discount above 1": (
        lambda: rl.learner("cartpole", lam=1.5),
        ValueError,
        r"lam must be a number in \[0, 1\), got 1.5",
    ),
    "old gradients of a stream": (
        lambda: spos.svrg(posterior(data=[TEN], num_examples=100)),
        ValueError,
        r"random access.*does not number",
    ),
    # the ensemble
    "an ensemble of one": (
        lambda: spos.sgld(log_prob, 0.1, preconditioner=spos.ensemble()).init(ONE),
        ValueError,
        r"particles.*at least 2.*ensemble.*got 1",
    ),
    "an ensemble of networks": (
        lambda: spos.spos(log_prob, 0.1, preconditioner=spos.ensemble()).init(WIDE),
        ValueError,
        r"particles.*at most 1000 parameters.*got 1001.*rmsprop",
    ),
    "an ensemble with blocks": (
        lambda: spos.svgd(
            log_prob, 0.1, preconditioner=spos.ensemble(), kernel=spos.rbf(blocks="entry")
        ),
        ValueError,
        r"kernel.*blocks.*ensemble.*'entry'",
    ),
    "an ensemble that was not called": (
        lambda: spos.sgld(log_prob, 0.1, preconditioner=spos.ensemble),
        TypeError,
        r"preconditioner.*spos\.ensemble\(\).*function",
    ),
    # particles
    "nan in the start": (
        lambda: init(with_nan(math.nan)),
        ValueError,
        r"particles.*nan.*particle 2.*w\[1, 0\]",
    ),
    "inf in the start": (
        lambda: sample(with_nan(-math.inf)),
        ValueError,
        r"particles.*-inf.*particle 2.*w\[1, 0\]",
    ),
    "no leaves": (lambda: init({}), ValueError, r"particles.*at least one array.*\{\}"),
    "no particles at all": (lambda: init(None), ValueError, r"particles.*at least one array.*None"),
    "a scalar leaf": (
        lambda: init({"s": np.float32(1)}),
        ValueError,
        r"particles: s .*axis.*scalar",
    ),
    "a python number": (
        lambda: init({"s": 1.0}),
        TypeError,
        r"particles: s .*array.*1\.0 \(float\)",
    ),
    "a list of numbers": (
        lambda: init([1.0, 2.0]),
        TypeError,
        r"particles must be arrays.*jnp\.asarray of a list, got \[1\.0, 2\.0\] \(list\)",
    ),
    "a number of particles": (
        lambda: init(100),
        TypeError,
        r"particles must be arrays.*jax\.random\.normal.*got 100 \(int\)",
    ),
    "integer leaf": (
        lambda: init(np.ones((3, 1), int)),
        TypeError,
        r"particles: theta .*floating point.*int64: give its \.astype\(float\)",
    ),
    "boolean leaf": (
        lambda: init({"a": np.ones(3, bool)}),
        TypeError,
        r"particles: a .*floating point.*bool",
    ),
    "complex leaf": (
        lambda: init(np.ones((3, 1), np.complex64)),
        TypeError,
        r"particles: theta .*real.*complex64",
    ),
    "different particle axes": (
        lambda: init({"a": np.ones((3, 1), np.float32), "b": np.ones((4, 1), np.float32)}),
        ValueError,
        r"particles.*leading axis.*'a': 3.*'b': 4",
    ),
    "zero particles": (
        lambda: init(np.ones((0, 2), np.float32)),
        ValueError,
        r"particles: theta .*empty.*\(0, 2\)",
    ),
    "zero parameters": (
        lambda: init(np.ones((3, 0), np.float32)),
        ValueError,
        r"particles: theta .*empty.*\(3, 0\)",
    ),
    "an array with a mask": (
        lambda: init(np.ma.masked_less(np.ones((4, 2), np.float32), 0)),
        TypeError,
        r"particles: theta .*mask",
    ),
    "another byte order": (
        lambda: init(np.ones((4, 2), ">f8")),
        TypeError,
        r"particles: theta .*byte order.*>f8.*astype\('float64'\)",
    ),
    "a table of pandas": (
        lambda: init({"w": pandas.DataFrame(np.ones((4, 2)))}),
        TypeError,
        r"particles: w .*DataFrame.*to_numpy",
    ),
    "particles too large for float32": (
        lambda: init(with_nan(1e300, np.float64)),
        ValueError,
        r"particles: w holds 1e\+300.*float32.*jax_enable_x64",
    ),
    "an ensemble of copies": (
        lambda: spos.sgld(log_prob, 0.1, preconditioner=spos.ensemble()).init(START),
        ValueError,
        r"particles.*differ.*ensemble.*theta\[0\]",
    ),
    # target
    "target is a number": (lambda: spos.spos(3, 0.1), TypeError, r"target.*function.*3 \(int\)"),
    "target is None": (lambda: spos.sgld(None, 0.1), TypeError, r"target.*function.*None"),
    "log_prob gives a vector": (
        lambda: init(START, lambda t: -t),
        ValueError,
        r"log_prob.*one number.*\(2,\)",
    ),
    "log_prob gives an integer": (
        lambda: init(START, lambda t: jnp.int32(1)),
        TypeError,
        r"log_prob.*real floating.*int32",
    ),
    "log_prob gives a complex": (
        lambda: init(START, lambda t: jnp.sum(t) * 1j),
        TypeError,
        r"log_prob.*real floating.*complex64",
    ),
    "log_prob gives a pair": (
        lambda: init(START, lambda t: (t[0], t[1])),
        TypeError,
        r"log_prob.*one number.*tuple",
    ),
    "log_prob gives nothing": (
        lambda: init(START, lambda t: None),
        TypeError,
        r"log_prob.*one number.*NoneType",
    ),
    # step size and beta
    "step size 0": (lambda: spos.spos(log_prob, 0), ValueError, r"step_size.*above 0.*0"),
    "step size negative": (
        lambda: spos.svgd(log_prob, -0.1),
        ValueError,
        r"step_size.*above 0.*-0\.1",
    ),
    "step size nan": (
        lambda: spos.sgld(log_prob, math.nan),
        ValueError,
        r"step_size.*above 0.*nan",
    ),
    "step size inf": (
        lambda: spos.sgld(log_prob, math.inf),
        ValueError,
        r"step_size.*above 0.*inf",
    ),
    "step size string": (
        lambda: spos.spos(log_prob, "0.1"),
        TypeError,
        r"step_size.*above 0.*'0\.1' \(str\)",
    ),
    "step size array": (
        lambda: spos.spos(log_prob, np.ones(2)),
        TypeError,
        r"step_size.*above 0.*shape \(2,\)",
    ),
    "step size list": (
        lambda: spos.spos(log_prob, [0.1]),
        TypeError,
        r"step_size.*above 0.*\[0\.1\]",
    ),
    "step size None": (
        lambda: spos.spos(log_prob, None),
        ValueError,
        r"step_size must be given, got None; spos\.fit",
    ),
    "step size complex": (lambda: spos.spos(log_prob, 1j), TypeError, r"step_size.*above 0.*1j"),
    "step size numpy complex": (
        lambda: spos.spos(log_prob, np.complex64(1)),
        TypeError,
        r"step_size.*above 0.*complex64",
    ),
    "step size True": (lambda: spos.spos(log_prob, True), TypeError, r"step_size.*above 0.*True"),
    "schedule below zero": (
        lambda: spos.spos(log_prob, lambda k: -0.1),
        ValueError,
        r"step_size\(0\).*above 0.*-0\.1",
    ),
    "schedule gives a vector": (
        lambda: spos.spos(log_prob, lambda k: np.ones(3)),
        ValueError,
        r"step_size.*one number.*\(3,\)",
    ),
    "schedule gives a string": (
        lambda: spos.spos(log_prob, lambda k: "x"),
        TypeError,
        r"step_size\(0\).*above 0.*'x'",
    ),
    "step size beyond float32": (
        lambda: spos.sgld(log_prob, 1e-60),
        ValueError,
        r"step_size.*1e-60.*float32 holds as 0",
    ),
    "step size beyond all numbers": (
        lambda: spos.sgld(log_prob, 10**400),
        ValueError,
        r"step_size.*above 0.*beyond 1e308",
    ),
    "schedule that ends": (
        lambda: sample(num_steps=100, step_size=lambda k: 0.1 * (1 - k / 50)),
        ValueError,
        r"step_size\(99\).*above 0.*-0\.09",
    ),
    "schedule that ends, in a pure run": (
        lambda: spos.run(spos.sgld(log_prob, lambda k: 0.1 - 0.01 * k), KEY, START, 11),
        ValueError,
        r"step_size\(10\).*above 0.*got 0\.0",
    ),
    "beta 0": (lambda: spos.spos(log_prob, 0.1, 0.0), ValueError, r"beta.*above 0.*0\.0"),
    "beta negative": (lambda: spos.sgld(log_prob, 0.1, -2), ValueError, r"beta.*above 0.*-2"),
    "beta nan": (lambda: spos.spos(log_prob, 0.1, math.nan), ValueError, r"beta.*above 0.*nan"),
    "beta string": (lambda: spos.spos(log_prob, 0.1, "one"), TypeError, r"beta.*above 0.*'one'"),
    "beta infinite in sgld": (
        lambda: spos.sgld(log_prob, 0.1, math.inf),
        ValueError,
        r"beta.*above 0.*inf",
    ),
    "beta infinite, no kernel": (
        lambda: spos.spos(log_prob, 0.1, math.inf, kernel=None),
        ValueError,
        r"kernel.*None.*beta",
    ),
    # schedules
    "constant of 0": (
        lambda: spos.schedules.constant(0.0),
        ValueError,
        r"step_size.*above 0.*0\.0",
    ),
    "inverse of a string": (
        lambda: spos.schedules.inverse("a"),
        TypeError,
        r"initial.*above 0.*'a'",
    ),
    "power 0": (
        lambda: spos.schedules.polynomial(0.1, 1.0, 0.0),
        ValueError,
        r"power.*above 0.*0\.0",
    ),
    "shift negative": (
        lambda: spos.schedules.polynomial(0.1, -1.0),
        ValueError,
        r"shift.*above 0.*-1\.0",
    ),
    "growing from 0": (
        lambda: spos.schedules.growing_batch(0),
        ValueError,
        r"initial.*at least 1.*0",
    ),
    "growing from a float": (
        lambda: spos.schedules.growing_batch(2.5),
        TypeError,
        r"initial.*whole number.*2\.5",
    ),
    "maximum below initial": (
        lambda: spos.schedules.growing_batch(9, 8),
        ValueError,
        r"maximum.*at least 9.*8",
    ),
    # kernels and moves
    "bandwidth word": (lambda: spos.rbf("mean"), ValueError, r"bandwidth.*median.*'mean'"),
    "bandwidth 0": (lambda: spos.rbf(0.0), ValueError, r"bandwidth.*above 0.*0\.0"),
    "unknown kernel": (
        lambda: spos.spos(log_prob, 0.1, kernel="cubic"),
        TypeError,
        r"kernel.*spos\.rbf.*cubic",
    ),
    "groups of one": (
        lambda: spos.svgd(log_prob, 0.1, group_size=1),
        ValueError,
        r"group_size.*at least 2.*1",
    ),
    "groups without a kernel": (
        lambda: spos.spos(log_prob, 0.1, kernel=None, group_size=4),
        ValueError,
        r"group_size.*None without a kernel.*4",
    ),
    "bandwidth negative": (lambda: spos.imq(-1), ValueError, r"bandwidth.*above 0.*-1"),
    "bandwidth None": (lambda: spos.rbf(None), TypeError, r"bandwidth.*above 0.*None"),
    "refresh 0": (lambda: spos.rbf(refresh_every=0), ValueError, r"refresh_every.*at least 1.*0"),
    "refresh float": (
        lambda: spos.imq(refresh_every=1.5),
        TypeError,
        r"refresh_every.*whole number.*1\.5",
    ),
    "kernel is a word": (
        lambda: spos.spos(log_prob, 0.1, kernel="rbf"),
        TypeError,
        r"kernel.*spos\.rbf.*'rbf'",
    ),
    "kernel not called": (
        lambda: spos.spos(log_prob, 0.1, kernel=spos.rbf),
        TypeError,
        r"kernel.*spos\.rbf\(\.\.\.\).*function rbf",
    ),
    "svgd without kernel": (
        lambda: spos.svgd(log_prob, 0.1, kernel=None),
        TypeError,
        r"kernel.*None",
    ),
    "unknown blocks": (lambda: spos.rbf(blocks="row"), ValueError, r"blocks.*leaf, entry.*'row'"),
    "blocks with rare refresh": (
        lambda: spos.imq(refresh_every=2, blocks="entry"),
        ValueError,
        r"refresh_every.*1 with blocks.*2",
    ),
    "diffusion by blocks": (
        lambda: spos.blob(log_prob, 0.1, kernel=spos.rbf(blocks="leaf")),
        ValueError,
        r"kernel.*blocks.*'leaf'",
    ),
    "blob without kernel": (
        lambda: spos.blob(log_prob, 0.1, kernel=None),
        TypeError,
        r"kernel.*None",
    ),
    "gfsd without step size": (
        lambda: spos.gfsd(log_prob),
        ValueError,
        r"step_size.*optimizer.*None",
    ),
    "ridge 0": (lambda: spos.gfsf(log_prob, 0.1, ridge=0.0), ValueError, r"ridge.*above 0.*0\.0"),
    "unknown diffusion": (
        lambda: spos.pos(log_prob, 0.1, diffusion="noise"),
        ValueError,
        r"diffusion.*blob, gfsd, gfsf.*'noise'",
    ),
    "pos with beta infinite": (
        lambda: spos.pos(log_prob, 0.1, math.inf),
        ValueError,
        r"beta.*above 0.*inf",
    ),
    "exact noise with a rule": (
        lambda: spos.noisy_svgd(log_prob, 0.1, kernel=spos.rbf()),
        ValueError,
        r"kernel.*fixed bandwidth.*Median",
    ),
    "exact noise without kernel": (
        lambda: spos.noisy_svgd(log_prob, 0.1, kernel=None),
        TypeError,
        r"kernel.*None",
    ),
    "too many for a whole matrix": (
        lambda: jax.eval_shape(
            lambda x: spos.run(spos.gfsf(log_prob, 0.1), KEY, x, 1),
            jax.ShapeDtypeStruct((5000, 2), np.float32),
        ),
        ValueError,
        r"particles.*at most 4096 for gfsf.*5000",
    ),
    "preconditioner word": (
        lambda: spos.sgld(log_prob, 0.1, preconditioner="adam"),
        TypeError,
        r"preconditioner.*spos\.rmsprop.*'adam'",
    ),
    "preconditioner not called": (
        lambda: spos.svgd(log_prob, 0.1, preconditioner=spos.adagrad),
        TypeError,
        r"preconditioner.*function adagrad",
    ),
    "decay 1": (lambda: spos.rmsprop(1.0), ValueError, r"decay.*\[0, 1\).*1\.0"),
    "decay negative": (lambda: spos.rmsprop(-0.1), ValueError, r"decay.*\[0, 1\).*-0\.1"),
    "decay string": (lambda: spos.rmsprop("a"), TypeError, r"decay.*\[0, 1\).*'a'"),
    "epsilon 0": (lambda: spos.adagrad(0.0), ValueError, r"epsilon.*above 0.*0\.0"),
    "epsilon negative": (
        lambda: spos.rmsprop(epsilon=-1e-8),
        ValueError,
        r"epsilon.*above 0.*-1e-08",
    ),
    "optimizer number": (
        lambda: spos.svgd(log_prob, optimizer=0.1),
        TypeError,
        r"optimizer.*optax.*0\.1",
    ),
    "optimizer not called": (
        lambda: spos.svgd(log_prob, optimizer=optax.adam),
        TypeError,
        r"optimizer.*optax.*adam",
    ),
    "optimizer and step size": (
        lambda: spos.svgd(log_prob, 0.1, optimizer=optax.sgd(0.1)),
        ValueError,
        r"step_size.*optimizer.*0\.1",
    ),
    "optimizer and preconditioner": (
        lambda: spos.svgd(log_prob, optimizer=optax.sgd(0.1), preconditioner=spos.rmsprop()),
        ValueError,
        r"preconditioner.*optimizer.*RMSprop",
    ),
    "svgd without step size": (
        lambda: spos.svgd(log_prob),
        ValueError,
        r"step_size.*optimizer.*None",
    ),
    # posterior
    "likelihood not a function": (
        lambda: posterior(log_likelihood=1.0),
        TypeError,
        r"log_likelihood.*function.*1\.0",
    ),
    "prior not a function": (
        lambda: posterior(log_prior=None),
        TypeError,
        r"log_prior.*function.*None",
    ),
    "batch beyond the data": (
        lambda: posterior(batch_size=11),
        ValueError,
        r"batch_size.*at most the 10.*11",
    ),
    "growing beyond the data": (
        lambda: posterior(batch_size=spos.schedules.growing_batch(11)),
        ValueError,
        r"batch_size.*10.*11",
    ),
    "batch 0": (lambda: posterior(batch_size=0), ValueError, r"batch_size.*at least 1.*0"),
    "batch float": (
        lambda: posterior(batch_size=2.0),
        TypeError,
        r"batch_size.*whole number.*2\.0",
    ),
    "batch True": (
        lambda: posterior(batch_size=True),
        TypeError,
        r"batch_size.*whole number.*True",
    ),
    "replace without a batch": (
        lambda: posterior(replace=True),
        ValueError,
        r"replace.*batch_size is None",
    ),
    "unequal data axes": (
        lambda: posterior(data={"x": TEN, "y": NINE}),
        ValueError,
        r"data.*leading axis.*'x': 10.*'y': 9",
    ),
    "no data": (lambda: posterior(data=()), ValueError, r"data.*at least one array.*\(\)"),
    "no examples": (lambda: posterior(data=NONE), ValueError, r"data.*at least one example.*0"),
    "scalar data": (
        lambda: posterior(data=np.float32(1)),
        ValueError,
        r"data.*leading axis.*scalar",
    ),
    "data of numbers": (lambda: posterior(data=[1.0, 2.0]), TypeError, r"data: 0 .*array.*1\.0"),
    "data of words": (
        lambda: posterior(data={"w": np.array(["a", "b"])}),
        TypeError,
        r"data: w .*numeric.*<U1",
    ),
    "data of objects": (
        lambda: posterior(data=np.array([None, 1])),
        TypeError,
        r"data.*numeric.*object",
    ),
    "whole numbers too large": (
        lambda: posterior(data={"n": np.array([1, 2**40])}),
        ValueError,
        r"data: n holds 1099511627776.*int32.*jax_enable_x64",
    ),
    "numbers too large": (
        lambda: posterior(data=np.array([1.0, -1e300])),
        ValueError,
        r"data: the array holds -1e\+300.*float32.*jax_enable_x64",
    ),
    "masked data": (
        lambda: posterior(data=np.ma.masked_invalid([1.0, math.nan])),
        TypeError,
        r"data: the array .*mask",
    ),
    "data of pandas": (
        lambda: posterior(data={"x": pandas.Series([1.0])}),
        TypeError,
        r"data: x .*Series.*to_numpy",
    ),
    "sparse data": (
        lambda: posterior(data=scipy.sparse.eye(3)),
        TypeError,
        r"data: the array .*toarray",
    ),
    "likelihood summed": (
        lambda: init(START, posterior(lambda t, b: jnp.sum(b) * t[0])),
        ValueError,
        r"log_likelihood.*one value for each of 10 rows.*\(\)",
    ),
    "likelihood too wide": (
        lambda: init(START, posterior(lambda t, b: b[:, None] * t)),
        ValueError,
        r"log_likelihood.*one value for each of 10 rows.*\(10, 2\)",
    ),
    "likelihood of integers": (
        lambda: init(START, posterior(lambda t, b: b.astype(int))),
        TypeError,
        r"log_likelihood.*real floating.*int32",
    ),
    "vector prior": (
        lambda: init(START, posterior(log_prior=lambda t: -(t**2))),
        ValueError,
        r"log_prior.*one number.*\(2,\)",
    ),
    "prior gives nothing": (
        lambda: init(START, posterior(log_prior=lambda t: None)),
        TypeError,
        r"log_prior.*one number.*NoneType",
    ),
    # policies
    "unknown task": (
        lambda: rl.learner("chess"),
        ValueError,
        r"cartpole, swing_up, swing_up_sines, double_pendulum.*'chess'",
    ),
    "unknown method of policies": (
        lambda: rl.learner("cartpole", method="magic"),
        ValueError,
        r"method.*independent, svpg, spos.*'magic'",
    ),
    "unknown policy gradient": (
        lambda: rl.learner("cartpole", gradient="guess"),
        ValueError,
        r"gradient.*reinforce, a2c.*'guess'",
    ),
    "unknown critic": (
        lambda: rl.learner("cartpole", critic="guess"),
        ValueError,
        r"critic.*linear, network.*'guess'",
    ),
    "svpg alone": (
        lambda: rl.learner("cartpole", method="svpg", num_particles=1),
        ValueError,
        r"num_particles.*at least 2.*1",
    ),
    # friction and the scores of a posterior
    "friction 0": (lambda: spos.sghmc(log_prob, 0.1, 0), ValueError, r"friction.*above 0.*0"),
    "friction beyond 1": (
        lambda: spos.sghmc(log_prob, 0.1, 1.5),
        ValueError,
        r"friction.*at most 1.*1\.5",
    ),
    "births without a sampler": (
        lambda: spos.birth_death(log_prob),
        TypeError,
        r"sampler.*spos\.svgd.*log_prob",
    ),
    "births without a clock": (
        lambda: spos.birth_death(spos.svgd(log_prob, optimizer=optax.sgd(0.1))),
        ValueError,
        r"sampler.*step_size.*None",
    ),
    "births with memory": (
        lambda: spos.birth_death(spos.sgld(spos.svrg(posterior()), 0.1)),
        ValueError,
        r"sampler.*memory.*SVRG",
    ),
    "births every 0": (
        lambda: spos.birth_death(spos.sgld(log_prob, 0.1), every=0),
        ValueError,
        r"every.*at least 1.*0",
    ),
    "births at no rate": (
        lambda: spos.birth_death(spos.sgld(log_prob, 0.1), rate=0.0),
        ValueError,
        r"rate.*above 0.*0",
    ),
    "psgld without a preconditioner": (
        lambda: spos.psgld(log_prob, 0.1, preconditioner=None),
        ValueError,
        r"preconditioner.*None.*spos\.sgld",
    ),
    "svrg of a function": (
        lambda: spos.svrg(log_prob),
        TypeError,
        r"posterior.*spos\.posterior.*log_prob",
    ),
    "svrg every 0": (
        lambda: spos.svrg(posterior(), every=0),
        ValueError,
        r"every.*at least 1.*0",
    ),
    "saga twice": (
        lambda: spos.saga(spos.saga(posterior())),
        TypeError,
        r"posterior.*spos\.posterior.*SAGA",
    ),
    "saga beyond its memory": (
        lambda: init(START, spos.saga(posterior(), max_bytes=319)),
        ValueError,
        r"max_bytes.*at least 320.*10 examples.*319.*svrg",
    ),
    "centre of another shape": (
        lambda: init(START, FAR_CENTRE),
        ValueError,
        r"centre.*one particle.*\(2,\).*\(3,\)",
    ),
    # the loop
    "sampler is a function": (
        lambda: spos.sample(log_prob, START, 3),
        TypeError,
        r"sampler.*spos\.spos.*log_prob",
    ),
    "a key that is a seed": (
        lambda: spos.run(spos.sgld(log_prob, 0.1), 0, START, 3),
        TypeError,
        r"key.*jax\.random\.key\(0\).*0 \(int\)",
    ),
    "a pure run of negative length": (
        lambda: spos.run(spos.sgld(log_prob, 0.1), KEY, START, -1),
        ValueError,
        r"num_steps.*at least 0.*-1",
    ),
    "steps negative": (lambda: sample(num_steps=-1), ValueError, r"num_steps.*at least 0.*-1"),
    "steps float": (lambda: sample(num_steps=10.0), TypeError, r"num_steps.*whole number.*10\.0"),
    "seed negative": (lambda: sample(seed=-1), ValueError, r"seed.*at least 0.*-1"),
    "seed float": (lambda: sample(seed=0.5), TypeError, r"seed.*whole number.*0\.5"),
    "seed too large": (
        lambda: sample(seed=2**32),
        ValueError,
        r"seed.*below 4294967296.*4294967296",
    ),
    "history 0": (lambda: sample(history_every=0), ValueError, r"history_every.*at least 1.*0"),
    "history float": (
        lambda: sample(history_every=2.0),
        TypeError,
        r"history_every.*whole number.*2\.0",
    ),
    "callback word": (lambda: sample(callback="print"), TypeError, r"callback.*function.*'print'"),
    "callback every 0": (
        lambda: sample(callback_every=0),
        ValueError,
        r"callback_every.*at least 1.*0",
    ),
    "checkpoint is a file": (
        lambda: sample(checkpoint=__file__),
        ValueError,
        r"checkpoint.*folder.*test_bad_input",
    ),
    "checkpoint is a number": (
        lambda: sample(checkpoint=3),
        TypeError,
        r"checkpoint.*folder.*3 \(int\)",
    ),
    "checkpoint every 0": (
        lambda: sample(checkpoint_every=0),
        ValueError,
        r"checkpoint_every.*above 0.*0",
    ),
    "checkpoint every nan": (
        lambda: sample(checkpoint="x", checkpoint_every=math.nan),
        ValueError,
        r"checkpoint_every.*nan",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_name_before_anything_is_compiled(name, compilations):
    call, kind, complaint = CASES[name]
    with pytest.raises(kind, match=complaint) as caught:
        call()
    assert caught.type is kind
    assert compilations == []


def test_the_count_of_compilations_sees_a_compilation(compilations):
    jax.jit(lambda x: x * 3.0 + len(CASES))(START)
    assert len(compilations) == 1
