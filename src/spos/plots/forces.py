"""What acts on one particle of SPOS: its own score, the others' scores, their push, and noise.

(1/β) s_i        (1/M) Σ_j k_ij s_j        (1/M) Σ_j ∇_j k_ij        sqrt(2h/β) in a step of h
own score        attraction                repulsion                 noise
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from spos import checks
from spos.algorithms.spos import SPOS
from spos.algorithms.svgd import SVGD
from spos.interaction.pairwise import prepare
from spos.io.figures import COLOURS, FAINT, OTHER, WIDTH, new_figure, style
from spos.names import parameters
from spos.types import Particles

ARROWS = {"own": COLOURS["sgld"], "attraction": COLOURS["spos"], "repulsion": COLOURS["svgd"]}
LABELS = {"own": "own score", "attraction": "others' scores", "repulsion": "their push"}


class Forces(NamedTuple):
    """On one particle, as vectors over all its parameters; noise is the length of a usual step's
    divided by the step size, to be compared with the others."""

    own: np.ndarray
    attraction: np.ndarray
    repulsion: np.ndarray
    noise: float


def forces(sampler: SPOS | SVGD, particles: Particles, particle: int) -> Forces:
    """What acts on a particle, on all data."""
    _, theta = parameters(particles)
    _, scores = parameters(sampler.target.score(particles, None))
    weight = 0.0 if sampler.noise is None else float(sampler.noise)
    step = float(sampler.step_size(jnp.zeros((), jnp.int32)))
    own, pull, push = weight * scores[particle], np.zeros(theta.shape[1]), np.zeros(theta.shape[1])
    if sampler.kernel is not None:
        cloud = prepare(sampler.kernel, [jnp.asarray(theta)], None)
        away = theta[particle] - theta
        k, slope = sampler.kernel(jnp.asarray((away**2).sum(1)), cloud.eta2)
        weights, slopes = np.asarray(k, np.float64), np.asarray(slope, np.float64)
        pull = weights @ scores / len(theta)
        push = (weights * slopes) @ away / len(theta)
    return Forces(own, pull, push, float(np.sqrt(2.0 * weight / step)))


def plot_forces(sampler: SPOS | SVGD, particles: Particles, particle: int = 0) -> Any:
    """The three forces on a particle in the plane as arrows, and the noise of a step as a circle.

    Args:
        sampler: of `spos.spos` or `spos.svgd`, with a target on two parameters.
        particles: the cloud.
        particle: which one, by its place.

    Returns:
        A figure of matplotlib.

    Example:
        >>> cloud = jax.random.normal(jax.random.key(0), (20, 2))
        >>> sampler = spos.spos(lambda x: -0.5 * (x**2).sum(), step_size=0.1)
        >>> figure = spos.plot_forces(sampler, cloud, particle=3)  # doctest: +SKIP
    """
    particles = checks.particles(particles)
    names, theta = parameters(particles)
    if not isinstance(sampler, SPOS | SVGD):
        raise TypeError(f"sampler must be of spos.spos or spos.svgd, got {type(sampler).__name__}")
    if len(names) != 2:
        raise ValueError(f"particles must have two parameters to be drawn, got {len(names)}")
    if not 0 <= particle < len(theta):
        raise ValueError(f"particle must be from 0 to {len(theta) - 1}, got {particle!r}")
    acting = forces(sampler, particles, particle)
    here = theta[particle]
    largest = max(*(float(np.linalg.norm(f)) for f in acting[:3]), 1e-12)
    scale = 0.35 * max(float(np.ptp(theta)), 1e-12) / largest
    with style():
        figure = new_figure(WIDTH, 4.4, shown=True)
        axes = figure.subplots()
        axes.plot(theta[:, 0], theta[:, 1], "o", color=FAINT, markersize=4)
        for name, tint in ARROWS.items():
            end = here + scale * getattr(acting, name)
            axes.annotate(
                "", end, here, arrowprops={"arrowstyle": "-|>", "color": tint, "linewidth": 2.2}
            )
            axes.plot([], [], color=tint, label=LABELS[name])
        step = float(sampler.step_size(jnp.zeros((), jnp.int32)))
        if acting.noise:
            angle = np.linspace(0.0, 2.0 * np.pi, 100)
            ring = step * acting.noise * np.stack([np.cos(angle), np.sin(angle)])
            axes.plot(*(here[:, None] + ring), color=OTHER, linewidth=1.2, label="noise of a step")
        axes.plot(*here, "o", color="black", markersize=6)
        axes.set(xlabel=names[0], ylabel=names[1], aspect="equal")
        axes.legend(frameon=False, fontsize=9)
    return figure
