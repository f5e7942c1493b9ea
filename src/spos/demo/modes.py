"""All particles start in one of seven modes: SVGD stays there, noise gets out."""

from typing import Any

import numpy as np

import spos
from spos.demo.part import Figure, Part, sample
from spos.io import figures, html
from spos.io.figures import COLOURS, FAINT, TRUTH
from spos.targets import toys

MODE_PARTICLES, MODE_STEPS, MODE_STEP_SIZE = 100, 5000, 0.01
START, JITTER = -0.225, 0.05


def many_modes(seed: int) -> Part:
    """Where particles that all start in one mode are in the end."""
    basins = toys.multimode_basins()
    noise = np.random.default_rng(seed).standard_normal(MODE_PARTICLES)
    start = (START + JITTER * noise).astype(np.float32)
    samplers = {
        "SPOS": spos.spos(toys.multimode, MODE_STEP_SIZE),
        "SVGD": spos.svgd(toys.multimode, MODE_STEP_SIZE),
        "SGLD": spos.sgld(toys.multimode, MODE_STEP_SIZE),
    }
    found = {
        name: np.asarray(sample(sampler, start, MODE_STEPS, seed=seed).particles)
        for name, sampler in samplers.items()
    }
    counts = {name: toys.count_by_basin(points, basins) for name, points in found.items()}
    masses = np.asarray([basin.mass for basin in basins])
    off = {name: 0.5 * np.abs(n / n.sum() - masses).sum() for name, n in counts.items()}
    rows = [
        (f"{b.mode:.3f}", f"{100 * b.mass:.1f}", *(str(n[i]) for n in counts.values()))
        for i, b in enumerate(basins)
    ]
    rows.append(("all", f"{100 * masses.sum():.1f}", *(str(n.sum()) for n in counts.values())))
    rows.append(("off by", "0.0", *(f"{100 * value:.1f}" for value in off.values())))
    reached = {name: int((n > 0).sum()) for name, n in counts.items()}
    return Part(
        heading="Noise finds the other modes; a deterministic method stays where it started",
        setting=(
            f"A density on the line with {len(basins)} modes. All {MODE_PARTICLES} particles start "
            f"beside the mode at {START}: at a normal distance of standard deviation {JITTER}, "
            f"because coincident particles would not repel each other. Every method takes "
            f"{MODE_STEPS} steps of {MODE_STEP_SIZE} at β = 1, with the median bandwidth."
        ),
        findings=(
            f"SVGD has particles in {reached['SVGD']} of {len(basins)} basins, SPOS in "
            f"{reached['SPOS']}, SGLD in {reached['SGLD']}.",
            "Steps of this size are coarse for modes this sharp, which makes both noisy methods "
            "a little too flat; smaller steps come closer to the exact shares.",
        ),
        table=html.Table(
            ("mode", "exact %", *counts),
            rows,
            "Particles in the basin of each mode, out of "
            f"{MODE_PARTICLES}. “Off by” is the percentage of particles in the wrong basin.",
        ),
        figures=(
            Figure(
                "modes.png",
                figures.png(_draw_modes(found, reached, len(basins))),
                "Three histograms of particles over the true density with seven modes. "
                + " ".join(f"{n} reaches {k} of them." for n, k in reached.items()),
            ),
        ),
    )


def _draw_modes(found: dict[str, np.ndarray], reached: dict[str, int], total: int) -> Any:
    x, density = toys.multimode_density()
    shown = slice(None, None, 100)
    title = f"{MODE_PARTICLES} particles, all started near {START}".replace("-", "−")
    figure, panels = figures.titled(
        5.8, title, f"where they are after {MODE_STEPS} steps", rows=len(found), sharex=True
    )
    for axes, (name, points) in zip(panels, found.items(), strict=True):
        tint = COLOURS[name.lower()]
        axes.fill_between(x[shown], density[shown], color=FAINT, linewidth=0)
        axes.hist(points, bins=np.arange(-3.0, 4.0, 0.1), density=True, color=tint, alpha=0.7)
        axes.plot(x[shown], density[shown], color=TRUTH, linewidth=1.2)
        axes.plot(points, np.full_like(points, -0.2), "|", color=tint, markersize=9)
        axes.text(0.0, 0.80, name, transform=axes.transAxes, color=tint, weight="bold", size=13)
        count = f"reached {reached[name]} of {total} modes"
        axes.text(0.0, 0.64, count, transform=axes.transAxes, color=tint)
        axes.set_ylim(-0.4, 3.8)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    peak = np.argmax(density)
    panels[0].annotate(
        "true density",
        (x[peak], density[peak]),
        xytext=(10, 4),
        textcoords="offset points",
        fontsize=10,
    )
    panels[-1].set_xlim(-3.0, 3.6)
    panels[-1].set_xlabel("θ")
    return figure
