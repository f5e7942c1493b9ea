"""The numbers of `bench.json` as Markdown, so that no page repeats one by hand."""

from collections.abc import Callable, Sequence
from typing import Any

from spos.io.html import Table
from spos_experiments.bench.measure import Row


def peer_table(rows: Sequence[Row]) -> str:
    """How many times as long a step takes elsewhere."""
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    body = []
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = {row["peer"]: row for row in rows if row["case"] == case}
        first = mine[peers[0]]
        cells = [_times(mine[peer]["ratio"]) for peer in peers]
        size = f"{first['M']} × {first['d']}"
        best = min(row["ours_ms"] for row in mine.values())
        body.append([size, f"{best:.3g}", *cells])
    return Table(["particles × dimensions", "spos, ms a step", *peers], body).markdown()


def page(content: dict[str, Any]) -> str:
    """All lists of the file, for `benchmarks/README.md`."""
    parts = [
        "# Benchmarks",
        "Written by `spos bench` from `bench.json`. Every figure is a ratio of times taken in turn "
        "in one run: warm, the best of several, float32. Under each table stands what it was "
        "measured on.",
    ]
    for name, (heading, about, table) in SECTIONS.items():
        if content.get(name):
            parts += [f"## {heading}", about, table(content[name])]
            parts += [_told(content["machines"][name])]
    if content.get("scaling"):
        parts += ["![Cost of a step against the number of particles](scaling.png)"]
    return "\n\n".join(parts) + "\n"


def _told(machine: Row) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"<small>{machine['processor']}, {machine['cores']} cores, {machine['system']}; "
        f"{versions}.</small>"
    )


def _plain(*columns: str) -> Callable[[Sequence[Row]], str]:
    """A table of these fields, in this order."""

    def table(rows: Sequence[Row]) -> str:
        cells = [[_cell(row.get(column)) for column in columns] for row in rows]
        return Table([column.replace("_", " ") for column in columns], cells).markdown()

    return table


def _limits(rows: Sequence[Row]) -> str:
    parts = list(rows[0]["parts_ms"])
    cells = [
        [row["case"], *map(_cell, (row["step_ms"], *row["parts_ms"].values(), row["ratio"]))]
        for row in rows
    ]
    return Table(["case", "step, ms", *parts, "step / sum of parts"], cells).markdown()


SECTIONS: dict[str, tuple[str, str, Callable[[Sequence[Row]], str]]] = {
    "rows": (
        "Against other libraries",
        "One SVGD step on a standard normal, the median bandwidth recomputed in every step. The "
        "other columns say how many times as long the same step takes there; each library is "
        "timed in turn with spos in a process of their own. (BlackJAX gains much at 100 × 1000 "
        "where another library has used much memory before in the same process: its large "
        "temporary arrays then no longer come fresh from the system.)",
        peer_table,
    ),
    "noise": (
        "What the noise costs",
        "One SPOS step over one SVGD step, with all that `spos.sample` reports. The networks are "
        "20 of 784-400-400-10 on a batch of 100.",
        _plain("case", "svgd_ms", "spos_ms", "ratio"),
    ),
    "limits": (
        "How near to the machine",
        "One SPOS step over its unavoidable parts, timed alone: two matrix products, M² "
        "exponentials and M·d normals. For the smallest clouds the two products alone are more "
        "than half of a step of SVGD, which bounds what any library can gain there. At 20 × 753 "
        "the kernel matrix has 400 entries and is nothing; the cloud has 15,060 numbers, too few "
        "for two cores to share a product of them. The parts timed here are the roof: fusing more "
        "passes into one cannot bring a step below their sum.",
        _limits,
    ),
    "memory": (
        "Very many particles",
        "One exact step, tiled: growth of the peak memory and time for one pair of particles. In "
        "two dimensions a pair is a distance, an exponential and three products, and memory must "
        "not be in their way: a tile has at most 2²¹ entries of the kernel matrix, which stay in "
        "the cache, and the exponential is the library's own.",
        _plain("case", "step_s", "peak_growth_mb", "ns_per_pair"),
    ),
    "groups": (
        "Random groups",
        "One exact step over one in which particles interact within random groups.",
        _plain("case", "group_size", "exact_ms", "groups_ms", "ratio"),
    ),
    "network": (
        "Gradients of networks",
        "Of 20 networks 784-400-400-10 on one shared minibatch of 100, against a product of 2048 × "
        "2048 matrices in the same run. On one device both cores share each product; on two host "
        "devices each has networks of its own. PyTorch takes the networks as one batched product. "
        "`products` are those of the gradient alone, without anything between them: what is lost "
        "there is lost to their shapes, 100 rows against 400 columns, which two cores share badly, "
        "and to 38 MB of weights and as many of gradients, which no cache holds. "
        "A whole step of SPOS (`step ratio`: over its gradient) cannot do without a normal for "
        "each of 9.6 million weights; it must read all weights for the distances, and read, move "
        "and write them, which takes twice as long as `copy`. With the gradient that is its roof. "
        "The kernel's sums (`apart` has none) pass over weights and scores several times more: for "
        "the mean, the centred weights, the Gram product, what is summed, and the sum. `cpu` is "
        "processor time of all cores, in which the work of others does not count. On two devices "
        "weights travel once, for distances, and scores once, for the sum: on two devices of one "
        "processor that costs a little more than it brings.",
        _plain(
            *("who", "devices", "gradient_ms", "gradient_gflops", "gemm_gflops", "ratio"),
            *("step_ms", "apart_ms", "roof_ms", "normals_ms", "copy_ms", "step_ratio"),
            *("gradient_cpu_ms", "step_cpu_ms", "sent_mb"),
        ),
    ),
    "control": (
        "Training policies",
        "Steps of the environment in a second, gradient and update included: 16 policies, 20 "
        "episodes of each, 500 steps of the swing-up. Gymnasium runs the same mechanics, with the "
        "functions of NumPy and with those of `math`, in a `SyncVectorEnv` under the same compiled "
        "policy and gradient. All steps count on both sides, also those after an episode's end, "
        "which are played and masked; `counted` is the share before the end, for the untrained "
        "policies that are timed.",
        _plain(
            *("case", "counted", "steps_per_s", "gymnasium_numpy_steps_per_s", "numpy_ratio"),
            *("gymnasium_math_steps_per_s", "math_ratio"),
        ),
    ),
    "sources": (
        "Data larger than memory",
        "Rows that are read while `spos.sample` runs, each case in a process of its own. The file "
        "of networks is in the page cache, so that this is the cost of reading, not of the disk; "
        "`ratio` is against the same rows in memory, in turn. The hundred million rows of a "
        "logistic regression are in files of 8.4 GB, written before (`making s`); `seconds` has "
        "the pass over all of them that the control variate takes, and `error sd` is the furthest "
        "posterior mean from the mode that exact passes find, in standard deviations (`truth error "
        "sd` is the last move of that search, `centre error sd` where the control variate was). "
        "The times of the second and of the third row were taken on a machine with much other "
        "work.",
        _plain(
            *("case", "steps_per_s", "ratio", "same_bits", "seconds", "pass_s", "resident_mb"),
            *("error_sd", "centre_error_sd", "truth_error_sd", "sd_ratio", "making_s"),
        ),
    ),
    "scale": (
        "Particles over devices and processes",
        "Steps of SPOS with all pairs, particles sharded (`docs/scale.md`). Strong scaling keeps "
        "the particles, weak scaling the pairs of a device; `efficiency` is against one device. "
        "The devices of a CPU share its cores, and one device alone uses them all: `of the "
        "machine` is the speed of a device while all work and none talks, against one alone, "
        "which no way of sending could exceed. Bytes are those that one device sends in a step: by "
        "the compiled program, by the kernel's count of the process's sockets, and by the model "
        "`spos.theory.cost`. The model's time has the last three columns for its machine, "
        "measured by other programs: steps of devices that do not talk, and a ring alone.",
        _plain(
            *("kind", "devices", "processes", "M", "step_ms", "efficiency", "of_the_machine"),
            *("program_mb", "socket_mb", "model_mb", "model_ms", "model_ratio"),
            *("gflops", "gb_per_s", "latency_us"),
        ),
    ),
    "devices": (
        "A fit on two devices",
        "The second `spos.fit` of a model with 100 particles, on one device and on two of the same "
        "processor (`mesh=spos.mesh.particle_mesh()`). Rounding differs, and with it how long a "
        "run is: `ratio` is that of the time of an evaluation, `cores` how many were busy. Where "
        "arrays are large, as with the many rows of a logistic regression, one device uses both "
        "cores already. Where they are small, much of the time is not divided: what each of many "
        "operations takes to begin, and the checks between rounds, which NumPy makes. Two devices, "
        "which meet once in 25 moves, keep more of the second core busy there, and gain little or "
        "lose. They gain where arrays are large.",
        _plain(
            *("case", "one_device_s", "two_devices_s"),
            *("one_device_us_per_evaluation", "two_devices_us_per_evaluation", "ratio"),
            *("one_device_cores", "two_devices_cores"),
        ),
    ),
    "against": (
        "Before and now",
        "Milliseconds a step of an earlier checkout (`spos bench --against old/src`) and of this "
        "one, asked in turn, the best of several: `spos.run` as one program, and `spos.sample` "
        "with all that it reports and checks.",
        _plain("case", "before_ms", "now_ms", "ratio"),
    ),
    "startup": (
        "Getting started",
        "Seconds to import, and for the first `spos.sample` (1000 steps, compilation included).",
        _plain("import_jax_s", "import_spos_adds_s", "first_sample_s"),
    ),
}


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
