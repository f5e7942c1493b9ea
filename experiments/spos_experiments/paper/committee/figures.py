"""The figure and the film of `spos paper committee`."""

from typing import Any

import numpy as np

from spos.io.figures import COLOURS, FAINT, NOTE, Moving, new_figure
from spos.rl.envs import cart_pole
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.control.film import cart
from spos_experiments.paper.learning.figures import TINTS
from spos_experiments.paper.learning.findings import LABELS

SHOWN = {
    "best": ("o", "best member"),
    "particle": ("v", "one at random"),
    "mean": ("s", "committee"),
}


def draw(record: Record) -> list[Drawing]:
    return [_worlds(record), _film(record)]


def _worlds(record: Record) -> Drawing:
    rows = record.numbers["rows"]
    figure, (left, right) = drawing.titled(
        4.0,
        "Policies in worlds they were not trained in",
        "left: mean returns in the world of the training, on average over all, and in the worst\n"
        "right: how far members disagree, and what their committee earns; a point is a world",
        columns=2,
        width_ratios=(1.3, 1.0),
    )
    places = {"usual": 0, "average": 1, "worst": 2}
    for number, row in enumerate(rows):
        tint, shift = TINTS[row["method"]], 0.22 * (number - (len(rows) - 1) / 2)
        for which, place in places.items():
            for name, (mark, _) in SHOWN.items():
                left.plot(
                    place + shift, np.mean(row[which][name]), mark, color=tint, ms=6,
                    mfc=tint if name == "mean" else "white",
                )  # fmt: skip
        right.plot(row["doubts"], row["worlds"]["mean"], "o", color=tint, ms=4)
        left.text(
            0.03, 0.06 + 0.08 * number, LABELS[row["method"]], transform=left.transAxes,
            color=tint, weight="bold", fontsize=9,
        )  # fmt: skip
    for mark, words in SHOWN.values():
        full = words == "committee"
        left.plot([], [], mark, color=NOTE, mfc=NOTE if full else "white", label=words)
    left.legend(fontsize=8, frameon=False, loc="upper right")
    left.set_xticks(list(places.values()), ["as trained", "all", "worst"])
    left.set_ylabel("return")
    right.set_xlabel("doubt")
    for axes in (left, right):
        axes.grid(color=drawing.GRID, linewidth=0.6)
        axes.set_axisbelow(True)
    told = "; ".join(
        f"{LABELS[row['method']]}: best {np.mean(row['worst']['best']):.0f}, committee "
        f"{np.mean(row['worst']['mean']):.0f}"
        for row in rows
    )
    return Drawing(
        "worlds.png",
        figure,
        f"Returns of members and committees in changed worlds. In the worst world, {told}.",
        "The swing-up with lighter and heavier poles, friction and a delay; means over seeds.",
    )


def _film(record: Record) -> Drawing:
    made: dict[str, Any] = dict(record.numbers["film"])
    x, angle, proposed = (np.asarray(made[name]) for name in ("x", "angle", "proposed"))
    figure = new_figure(4.0, 3.4)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.14, 1.0, 0.76))
    axes.set_aspect("equal")
    axes.set_axis_off()
    pose = cart(axes)
    below = figure.add_axes((0.12, 0.05, 0.76, 0.09))
    below.set(xlim=(-1.1, 1.1), ylim=(-1, 1))
    below.set_axis_off()
    below.plot([-1, 1], [0, 0], color=FAINT, lw=2, zorder=1)
    tint = COLOURS["spos"]
    [each] = below.plot([], [], "o", color=tint, ms=5, alpha=0.35, mew=0)
    [together] = below.plot([], [], "|", color=tint, ms=16, mew=3)
    title = f"A committee and a pole {made['pole']:g} times as heavy"
    figure.text(0.03, 0.93, title, weight="bold", size=10)
    clock = figure.text(0.97, 0.85, "", ha="right")

    def show(n: int) -> None:
        pose(x[n], angle[n])
        each.set_data(proposed[n], np.zeros(proposed.shape[1]))
        together.set_data([proposed[n].mean()], [0.0])
        clock.set_text(f"{n * cart_pole.FRAME:.1f} s")

    return Drawing(
        "committee.gif",
        Moving(figure, show, len(x), cart_pole.FRAME),
        f"An animation of the swing-up: a committee of {proposed.shape[1]} policies, with return "
        f"{made['return']:.0f}.",
        f"Ten seconds of the committee of {LABELS[made['method']]}, seed {made['seed']}. Below: "
        "the force that each member proposes, from full left to full right, and their mean.",
    )
