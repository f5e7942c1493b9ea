"""What is run by several devices or processes and by one: samplers and where they start.

They are made when asked for: `jax.distributed` must begin before anything is computed.
"""

import jax
import jax.numpy as jnp
import numpy as np

import spos

NUM_STEPS, SEED = 7, 5
CLOUD = (np.random.default_rng(3).normal(size=(128, 6)) * np.arange(1, 7)).astype(np.float32)
WIDE = np.random.default_rng(4).normal(size=(64, 600)).astype(np.float32)
TREE = {
    "v": np.ones((8, 5), np.float32),
    "w": np.random.default_rng(2).normal(size=(8, 3, 5)).astype(np.float32),
}
DATA = (np.random.default_rng(1).normal(size=(30, 3)).astype(np.float32), np.ones(30, np.float32))


def normal(theta):
    return -0.5 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))


def network(theta, batch):
    x, y = batch
    return -((jnp.tanh(x @ theta["w"]) @ theta["v"] - y) ** 2)


def posterior():
    return spos.posterior(network, normal, DATA, batch_size=10)


IN_PROCESSES = {
    "spos": lambda: (spos.spos(normal, 0.1), CLOUD[:16, :3]),
    "svgd": lambda: (spos.svgd(normal, 0.1), CLOUD[:16, :3]),
    "saga": lambda: (spos.sgld(spos.saga(posterior()), 0.01), TREE),
    "network": lambda: (spos.spos(posterior(), 0.01, preconditioner=spos.rmsprop()), TREE),
}
ON_DEVICES = {
    "rbf": lambda: (spos.spos(normal, 0.01), CLOUD),
    "few": lambda: (spos.spos(normal, 0.01), WIDE),
    "few, imq": lambda: (spos.svgd(normal, 0.01, kernel=spos.imq()), WIDE),
    "imq": lambda: (spos.svgd(normal, 0.01, kernel=spos.imq(refresh_every=2)), CLOUD[:, :2]),
    "groups": lambda: (spos.spos(normal, 0.01, group_size=9), CLOUD),
    "blob": lambda: (spos.blob(normal, 0.01), CLOUD),
    "gfsd": lambda: (spos.gfsd(normal, 0.01), CLOUD),
    "gfsf": lambda: (spos.gfsf(normal, 0.01, kernel=spos.rbf(2.0)), CLOUD[:64]),
    "network": lambda: (spos.spos(posterior(), 0.01, preconditioner=spos.rmsprop()), TREE),
}


def worst(one, other):
    """The largest difference of two pytrees, relative to the largest number of a leaf."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(np.max(np.abs(a - np.asarray(b))) / np.max(np.abs(a)) for a, b in pairs)


def same_bits(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def checkpointed(folder, mesh, callback=None):
    """A run of forty steps that is saved as often as can be."""
    return spos.sample(
        spos.spos(normal, 0.1),
        spos.mesh.shard(CLOUD[:16, :3], mesh),
        40,
        seed=3,
        history_every=5,
        callback=callback,
        callback_every=4,
        checkpoint=folder,
        checkpoint_every=1e-3,
    )


GROUPS, ERRORS = np.array([-1.0, 0.3, 1.4]), np.array([0.3, 0.25, 0.35])


def hierarchy(theta):
    """Three groups, centred: effects whose mean and scale are parameters."""
    mean, log_scale, effects = theta[0], theta[1], theta[2:]
    prior = -0.5 * (mean**2 + (2 * log_scale) ** 2)
    among = -0.5 * jnp.sum(((effects - mean) / jnp.exp(log_scale)) ** 2) - 3 * log_scale
    return prior + among - 0.5 * jnp.sum(((GROUPS - effects) / ERRORS) ** 2)


def fitted(mesh, seed=SEED, **options):
    """A fit in double precision, in which rounding has no time to grow: moves are accepted or not,
    which single precision would decide otherwise now and then."""
    start = np.random.default_rng(5).normal(size=(26, 5))
    with jax.enable_x64(True):
        return spos.fit(hierarchy, start=start, mesh=mesh, seed=seed, target_error=0.05, **options)
