"""The figure of `spos paper methods`: every target and method at a glance."""

from spos.diagnostics.compare import EXACT
from spos.io.figures import TRUTH
from spos_experiments.frame import draw as drawing
from spos_experiments.frame.experiment import Drawing
from spos_experiments.frame.record import Record
from spos_experiments.paper.methods.findings import measured
from spos_experiments.paper.methods.settings import NOISY


def draw(record: Record) -> list[Drawing]:
    found, settings = record.numbers, record.settings
    shown = {  # measure, heading, where the axis ends: one run far out must not hide the others
        "Gaussian": ("pooled covariance", "Gaussian:\npooled cov.", 1.1),
        "banana": ("sliced W1", "banana:\nsliced W1", 1.0),
        "wide": ("variance", "wide:\nvariance kept", 1.5),
        "modes": ("modes", "modes:\nfound of 5", 5.5),
    }
    problems = [name for name in shown if name in settings["problems"]]
    methods = list(settings["methods"])
    figure, panels = drawing.titled(
        0.28 * len(methods) + 2.4,
        f"{len(methods)} methods after {settings['num_steps']} steps",
        "dots: mean and two standard errors; blue with noise, orange without;\n"
        "line: as many independent draws; arrow: beyond the axis, at the number beside it",
        columns=len(problems),
        sharey=True,
        squeeze=False,
    )
    for axes, name in zip(panels[0], problems, strict=True):
        measure, heading, end = shown[name]
        exact = measured(found, name, EXACT, measure)
        if exact is not None:
            axes.axvline(exact.mean, color=TRUTH, linewidth=1.0)
        for place, method in enumerate(methods):
            value = measured(found, name, method, measure)
            if value is None:
                axes.text(0.5, place, "diverged", transform=axes.get_yaxis_transform(), size=8)
                continue
            tint = drawing.METHODS["SPOS"] if method in NOISY else drawing.METHODS["SVGD"]
            if value.mean > end:
                axes.plot(0.93 * end, place, ">", color=tint, markersize=6)
                axes.text(0.85 * end, place, f"{value.mean:.2g}", size=8, ha="right", va="center")
                continue
            axes.errorbar(value.mean, place, xerr=2 * value.se, fmt="o", color=tint, markersize=5)
        axes.set_title(heading, fontsize=9)
        axes.set_yticks(range(len(methods)), methods, fontsize=9)
        axes.tick_params(axis="x", labelsize=8)
        axes.grid(axis="both", color=drawing.GRID, linewidth=0.6)
        axes.set_xlim(0, end)
    panels[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    return [
        Drawing(
            "methods.png",
            figure,
            "One panel a target, one line a method: the error or share that the table gives.",
            "Errors are better to the left; shares and modes to the right.",
        )
    ]
