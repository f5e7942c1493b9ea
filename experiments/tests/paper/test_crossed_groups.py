"""The reference of the crossed groups against an integral: given both spreads and the noise, all
else is normal."""

import zlib
from pathlib import Path

import numpy as np

from spos_experiments.frame import resume
from spos_experiments.paper.accuracy.reference import Reference
from spos_experiments.paper.accuracy.settings import Settings

RESULTS = Path(__file__).parents[2] / "results"

ROWS = np.linspace(np.log(0.3), np.log(4.0), 24)
COLUMNS = np.linspace(-14.0, np.log(3.0), 100)
NOISE = np.linspace(np.log(0.78), np.log(1.35), 16)


def posterior():
    """Points of (rows' spread, columns' spread, noise) and their weights."""
    rng = np.random.default_rng(zlib.crc32(b"crossed_centred"))
    row, column = rng.integers(0, 12, 150), rng.integers(0, 8, 150)
    y = rng.normal(size=12)[row] + 0.1 * rng.normal(size=8)[column] + rng.normal(size=150)
    design = np.concatenate([np.ones((150, 1)), np.eye(12)[row], np.eye(8)[column]], 1)
    gram, moments = design.T @ design, design.T @ y
    grid = np.stack(np.meshgrid(ROWS, COLUMNS, NOISE, indexing="ij"), -1).reshape(-1, 3)
    spread, other, noise = np.exp(grid).T
    sds = np.repeat(np.stack([np.full(len(grid), 3.0), spread, other], 1), [1, 12, 8], 1)
    square = np.eye(21) + sds[:, :, None] * gram * sds[:, None, :] / noise[:, None, None] ** 2
    root = np.linalg.cholesky(square)
    white = np.linalg.solve(root, (sds * moments / noise[:, None] ** 2)[..., None])[..., 0]
    log_density = -150.0 * np.log(noise) - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
    log_density += 0.5 * (white**2).sum(1) - 0.5 * y @ y / noise**2
    log_density += -0.5 * (spread**2 + other**2 + (noise / 2.0) ** 2) + grid.sum(1)
    weights = np.exp(log_density - log_density.max())
    return np.exp(grid), weights / weights.sum()


def test_the_reference_is_that_of_an_integral():
    store = RESULTS / "accuracy" / "runs" / Settings().mark()
    known = resume.read(store / "crossed_centred-reference.npz", Reference)
    points, weights = posterior()
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    where = [known.names.index(name) for name in ("spreads[0]", "spreads[1]", "noise")]
    np.testing.assert_allclose((known.mean[where] - mean) / sd, 0.0, atol=0.05)
    np.testing.assert_allclose(np.log(known.sd[where] / sd), 0.0, atol=0.05)
