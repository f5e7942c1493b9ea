"""`spos bench`: measure, say so while it lasts, and write `bench.json` and a figure."""

import json
import os
import platform
from pathlib import Path
from typing import Any

import spos
from spos.io import figures
from spos.io.files import write_whole
from spos.result import versions
from spos_experiments.bench import tables
from spos_experiments.bench.against import against
from spos_experiments.bench.cases import CASES
from spos_experiments.bench.measure import Row

TINTS = (*figures.COLOURS.values(), figures.OTHER, "#E69F00", "#56B4E9", "#777777")


def perform(
    out: Path, only: str | None = None, quick: bool = False, other: Path | None = None
) -> Path:
    """Run the cases (or one) and return the file. One case alone updates the file's part of it,
    and so does the comparison with an `other` checkout."""
    cases = {only: CASES[only]} if only else CASES
    if other is not None:
        here = Path(spos.__file__).parents[1]
        cases = {"against": lambda quick: against(other, here, quick)}
    out.mkdir(parents=True, exist_ok=True)
    path = out / "bench.json"
    content: dict[str, Any] = {}
    if len(cases) == 1 and path.exists():
        content = json.loads(path.read_text())
    machines = content.setdefault("machines", {})
    for number, (name, case) in enumerate(cases.items(), start=1):
        print(f"[{number}/{len(cases)}] {name}", flush=True)
        content[name], machines[name] = [], machine() | {"quick": quick}
        for row in case(quick):
            content[name].append(row)
            print("  " + line(row), flush=True)
        write_whole(path, (json.dumps(content, indent=1) + "\n").encode())
    write_whole(out / "README.md", tables.page(content).encode())
    if content.get("scaling"):
        figures.save(scaling_figure(content["scaling"]), out / "scaling.png")
    return path


def machine() -> Row:
    """What the numbers were measured on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions() | _peer_versions(),
    }


def line(row: Row) -> str:
    """One row as a person reads it."""
    parts = []
    for name, value in row.items():
        if name in ("M", "d") or value is None:
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{key} {number:.3g}" for key, number in value.items())
        elif isinstance(value, float):
            value = f"{value:.1f}x" if name == "ratio" and value >= 10 else f"{value:.3g}"
        parts.append(str(value) if name == "case" else f"{name} {value}")
    return "  ".join(parts)


def scaling_figure(rows: list[Row]) -> Any:
    """Log-log: the cost of a step against the number of particles."""
    with figures.style():
        figure = figures.new_figure(6.4, 4.6)
        axes = figure.subplots()
        for who, tint in zip(dict.fromkeys(row["who"] for row in rows), TINTS, strict=False):
            x, y = zip(*[(row["M"], row["ms"]) for row in rows if row["who"] == who], strict=True)
            ours = who.startswith("ours")
            axes.loglog(x, y, "o-", color=tint, markersize=3, linewidth=2.6 if ours else 1.3)
            axes.annotate(
                who,
                (x[-1], y[-1]),
                xytext=(6, 0),
                textcoords="offset points",
                color=tint,
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                fontweight="bold" if ours else "normal",
            )
        axes.set(xlabel="particles", ylabel="milliseconds a step")
        axes.set_title("One SVGD step in two dimensions, median bandwidth")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * 6)  # room for the names at the right
    return figure


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            text.split(":", 1)[1].strip() for text in lines if text.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _peer_versions() -> dict[str, str]:
    import importlib.metadata

    found = {}
    for name in ("blackjax", "numpyro", "pyro-ppl", "torch", "scipy", "gymnasium"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
