"""What a policy has learned, as a film: the first ten seconds of an episode of the best particle.

The particle takes its mean action in every step, from a start that the seed of the run draws. The
record keeps the two positions of every frame, and the film is drawn from them.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from spos.io.figures import COLOURS, FAINT, TRUTH, Moving, new_figure
from spos.rl import Trained, envs
from spos.rl.envs import cart_pole, double_pendulum
from spos_experiments.frame.experiment import Drawing

LENGTH = 10.0  # seconds
# of each task: seconds a step, and how many steps to a frame
PACE = {
    "swing_up": (cart_pole.FRAME, 1),
    "double_pendulum": (double_pendulum.FRAME * double_pendulum.FRAMES, 2),
}
TITLES = {"swing_up": "Swing-up", "double_pendulum": "Double pendulum"}
WALL = 3.0


def film(task: str, run: Trained) -> dict[str, Any]:
    """The positions of the frames and the return of the whole episode."""
    environment = envs.make(task)
    particle = run.best()
    act = run.policy(particle=particle)
    observe, step = jax.jit(environment.observe), jax.jit(environment.step)
    state: Any = environment.reset(jax.random.key(run.settings["seed"]))
    places, earned = [np.asarray(state[:2], float)], 0.0
    for _ in range(environment.horizon):
        state, reward, ended = step(state, act(observe(state)))
        places.append(np.asarray(state[:2], float))
        earned += float(reward)
        if ended:
            break
    seconds, every = PACE[task]
    shown = places[: round(LENGTH / seconds) : every]
    return {
        "task": task,
        **{name: run.settings[name] for name in ("method", "gradient", "seed")},
        "particle": particle,
        "return": earned,
        "steps": len(places) - 1,
        "frame_seconds": every * seconds,
        "positions": np.stack(shown),
    }


def draw(made: dict[str, Any], label: str) -> Drawing:
    """The film of a record; `label` names the method."""
    task, places = made["task"], np.asarray(made["positions"])
    figure = new_figure(4.0, 3.2)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 0.9))
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.text(0.03, 0.92, f"{TITLES[task]}: the best policy of {label}", weight="bold", size=10)
    clock = figure.text(0.97, 0.04, "", ha="right")
    pose = {"swing_up": cart, "double_pendulum": _links}[task](axes)

    def show(n: int) -> None:
        pose(*places[n])
        clock.set_text(f"{n * made['frame_seconds']:.1f} s")

    return Drawing(
        f"{task}.gif",
        Moving(figure, show, len(places), made["frame_seconds"]),
        f"An animation of {TITLES[task].lower()}: an episode of one policy, with return "
        f"{made['return']:.0f} after {made['steps']} steps.",
        f"The first {LENGTH:.0f} seconds of an episode that the best particle of {label} "
        f"({made['gradient']}, seed {made['seed']}) plays by its mean action. Return of the whole "
        f"episode: {made['return']:.0f}.",
    )


def cart(axes: Any) -> Callable[[float, float], None]:
    """Draw a cart; what it returns poses it."""
    from matplotlib.patches import Rectangle

    axes.set(xlim=(-1.1 * WALL, 1.1 * WALL), ylim=(-1.9, 1.9))
    axes.plot([-WALL, WALL], [0, 0], color=FAINT, lw=2, zorder=1)
    for side in (-WALL, WALL):
        axes.plot([side, side], [-0.4, 0.4], color=TRUTH, lw=2)
    body = axes.add_patch(Rectangle((0, -0.12), 0.6, 0.24, color=TRUTH, zorder=2))
    [pole] = axes.plot([], [], color=COLOURS["spos"], lw=5, zorder=3)

    def pose(x: float, angle: float) -> None:
        body.set_x(x - 0.3)
        length = cart_pole.LENGTH
        pole.set_data([x, x - length * np.sin(angle)], [0, length * np.cos(angle)])

    return pose


def _links(axes: Any) -> Callable[[float, float], None]:
    axes.set(xlim=(-2.6, 2.6), ylim=(-2.2, 2.3))
    axes.plot([0], [double_pendulum.HEIGHT], "o", ms=12, mfc="white", mec=COLOURS["svgd"], mew=2)
    axes.plot([0], [0], "o", ms=7, color=TRUTH)
    [links] = axes.plot([], [], "o-", color=COLOURS["spos"], lw=5, ms=6)

    def pose(angle1: float, angle2: float) -> None:
        angles = np.asarray([angle1, angle2])
        length = double_pendulum.LENGTH
        across, below = (np.cumsum(length * part) for part in (np.sin(angles), np.cos(angles)))
        links.set_data([0, *across], [0, *-below])

    return pose
