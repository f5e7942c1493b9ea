"""The coordinates in which the target looks like a standard normal.

Two maps, one after the other: θ = c + W y, fixed by the starts once and for all, and y = m + L z,
learnt again and again.

**W** whitens the starts, and its free rotation is fixed by the first d + 1 of them. An affine map
of target and starts then leaves every y as it was, and with it all that follows. That takes
4 (d + 1) starts; with fewer, W only scales each parameter by itself.

**L** is a root of the C that solves

    C cov(∇ log p) C = cov(y),

the geometric mean of cov(y) and cov(∇ log p)⁻¹. For a Gaussian C is its covariance whatever the law
of the cloud, so it is right long before the cloud is. It is learnt in the whitened coordinates of
the metric before it, so that scales any number of digits apart are reached in several steps, and
few points teach many directions, others each time. With fewer than 4 d independent points both
covariances shrink towards their diagonals, by the weight d / (d + number of points), half at most.
Outside of what few rows span C then is diagonal, so that all is computed inside.
A direction without a slope, as between walls, keeps its spread.
"""

import numpy as np

POINTS_PER_DIMENSION = 4  # below, covariances shrink to their diagonals
SHRUNK = 0.5  # at most
FLATTEST = 1e-6  # slope in units of the spread, squared: below, a direction has no scale of its own
TINY = 1e-150
FLOOR = 1e-13  # of eigenvalues, relative to the largest


def start_coordinates(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """c and W from starts that differ in every coordinate."""
    centre = theta.mean(0)
    away = theta - centre
    scale = away.std(0)
    count, size = theta.shape
    if count < POINTS_PER_DIMENSION * (size + 1):
        return centre, np.diag(scale)
    # by QR and not from the covariance, which would square the condition number
    _, upper = np.linalg.qr(away / scale / np.sqrt(count))
    if np.linalg.cond(upper) > 1e8:
        return centre, np.diag(scale)
    factor = scale[:, None] * upper.T
    ruler = np.linalg.solve(factor, (theta[1 : size + 1] - theta[0]).T)
    rotation, triangle = np.linalg.qr(ruler)
    return centre, factor @ (rotation * np.where(np.diag(triangle) < 0, -1.0, 1.0))


def learn(y: np.ndarray, scores: np.ndarray, independent: float) -> tuple[np.ndarray, np.ndarray]:
    """m and L from rows of y and ∇ log p, worth `independent` points."""
    centre = y.mean(0)
    y, scores = y - centre, scores - scores.mean(0)
    size = y.shape[1]
    spread = np.maximum((y * y).mean(0), np.finfo(float).tiny)
    slope = np.maximum((scores * scores).mean(0), FLATTEST / spread)
    scale = (spread / slope) ** 0.25
    y, scores = y / scale, scores * scale
    few = independent < POINTS_PER_DIMENSION * size
    weight = min(size / (size + independent), SHRUNK) if few else FLOOR
    sizes = [max(np.square(x).sum() / len(x) / size, TINY) for x in (y, scores)]
    span = None
    if POINTS_PER_DIMENSION * independent <= size:
        some = np.linspace(0, len(y) - 1, int(independent)).astype(int)
        y, scores = y[some], scores[some]
        span, _ = np.linalg.qr(np.concatenate([y, scores]).T)
        y, scores = y @ span, scores @ span
    a, b = (_shrunk(_covariance(x) / of, weight) for x, of in zip((y, scores), sizes, strict=True))
    root, _ = _roots(a)
    slopes, vectors = np.linalg.eigh(root @ b @ root)  # in units of the spread; 1 for a Gaussian
    slopes = np.where(slopes * sizes[0] * sizes[1] < FLATTEST, 1.0 / (sizes[0] * sizes[1]), slopes)
    factor = root @ vectors * slopes**-0.25
    if span is not None:  # outside, a = b = weight, so that the root of C is 1
        factor = np.eye(size) + span @ (factor @ vectors.T - np.eye(len(factor))) @ span.T
    return centre, (sizes[0] / sizes[1]) ** 0.25 * scale[:, None] * factor


def _covariance(rows: np.ndarray) -> np.ndarray:
    return rows.T @ rows / len(rows)


def _shrunk(matrix: np.ndarray, weight: float) -> np.ndarray:
    return (1.0 - weight) * matrix + weight * np.eye(len(matrix))


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The symmetric square root and its inverse."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    root = np.sqrt(np.maximum(values, FLOOR * values[-1]))
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T
