"""What the runs of `spos paper learning` say, finished or not."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spos.io.html import Table
from spos_experiments.frame.bootstrap import Interval, interquartile_mean, interval, median
from spos_experiments.frame.experiment import Findings
from spos_experiments.frame.record import Claim, numbers, verdict
from spos_experiments.paper.learning.protocol import Cases, Part, ended
from spos_experiments.paper.learning.settings import Lesson, Settings

LABELS = {"spos": "SPOS-PG", "svpg": "SVPG", "independent": "alone"}
GOALS = {
    "swing_up_sines": 350.0,
    "swing_up": 350.0,
    "double_pendulum": -300.0,
    "cartpole": 4750.0,
}
NAMES = {
    "swing_up_sines": "the swing-up",
    "swing_up": "the swing-up with its angle as it is",
    "double_pendulum": "the double pendulum",
    "cartpole": "the cart-pole",
}
POINTS = 50  # of a curve in the record
COLUMNS = (
    *("task, method", "seeds", "mean", "median", "interquartile mean"),
    *("best particle", "sd over particles", "mean over all iterations"),
)
GRADIENTS = {
    "ppo": "PPO's gradient",
    "a2c": "the actor-critic's gradient",
    "reinforce": "the gradient of REINFORCE",
}
FEWEST = 5  # runs with the same seeds that a comparison takes

Found = dict[tuple[str, str], dict[str, np.ndarray]]


def findings(settings: Settings, missing: Sequence[Part], cases: Cases) -> Findings:
    judged = {case: np.stack(one.returns) for case, one in cases.items() if one.returns}
    found = {case: measures(returns) for case, returns in judged.items()}
    rows = [
        {
            "task": task,
            "method": method,
            "seeds": cases[task, method].seeds,
            "settings": cases[task, method].chosen,
            **each,
            "mean": interval(each["return"]),
            "median": interval(each["return"], median),
            "interquartile_mean": interval(each["return"], interquartile_mean),
        }
        for (task, method), each in found.items()
    ]
    pilots = [
        {
            "task": task,
            "method": method,
            "tries": one.rows,
            "returns": one.earned,
            "chosen": one.chosen,
        }
        for (task, method), one in cases.items()
    ]
    return Findings(
        numbers=numbers(
            {
                "rows": rows,
                "curves": [curve(*case, returns) for case, returns in judged.items()],
                "pilots": pilots,
                "missing": ["-".join(map(str, part)) for part in missing],
            }
        ),
        claims=claims(found, settings.gradient),
        table=table(settings, rows, missing),
    )


def measures(returns: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of each run, from returns (seeds, iterations, M)."""
    last = ended(returns)
    return {
        "return": last.mean(axis=1),
        "best": last.max(axis=1),
        "worst": last.min(axis=1),
        "spread": last.std(axis=1, ddof=1),
        "area": returns.mean(axis=(1, 2)),
    }


def curve(task: str, method: str, returns: np.ndarray) -> dict[str, Any]:
    means = returns.mean(axis=2)  # (seeds, iterations)
    count = min(POINTS, means.shape[1])
    some = np.stack([part.mean(axis=1) for part in np.array_split(means, count, axis=1)], axis=1)
    places = [part.mean() + 1 for part in np.array_split(np.arange(means.shape[1]), count)]
    low, middle, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0)
    return {
        "task": task,
        "method": method,
        "iteration": np.asarray(places),
        "mean": some.mean(axis=0),
        "median": middle,
        "low": low,
        "high": high,
    }


def table(settings: Settings, rows: list[dict[str, Any]], missing: Sequence[Part]) -> Table:
    return Table(
        COLUMNS,
        [
            (
                f"{row['task']}, {LABELS[row['method']]}",
                str(len(row["seeds"])),
                *(shown(row[name]) for name in ("mean", "median", "interquartile_mean")),
                *(shown(interval(row[name])) for name in ("best", "spread", "area")),
            )
            for row in rows
        ],
        f"{settings.num_particles} particles; "
        + ", ".join(f"on {task} {_length(settings.lesson(task))}" for task in settings.tasks)
        + "; returns over the last tenth of the iterations. In brackets: "
        "95 % intervals by bootstrap over seeds."
        + (f" {len(missing)} parts are not done yet." if missing else ""),
    )


def _length(lesson: Lesson) -> str:
    return f"{lesson.num_iterations} iterations of {lesson.num_episodes} episodes"


def shown(one: Interval) -> str:
    """One seed has no interval."""
    return f"{one.value:.0f}" if np.isnan(one.low) else str(one)


def claims(found: Found, gradient: str) -> list[Claim]:
    """Their rules were fixed before a judged seed was run."""
    if not found:
        return []
    reached = {
        f"{LABELS[method]} on {task}": (interval(each["return"]), GOALS[task])
        for (task, method), each in found.items()
        if len(each["return"]) >= FEWEST
    }
    tasks = dict.fromkeys(task for task, _ in found)
    made = []
    if reached:
        made.append(
            Claim(
                f"With {GRADIENTS[gradient]} the mean policy solves its task: "
                + ", ".join(f"{GOALS[task]:.0f} on {NAMES[task]}" for task in tasks)
                + ".",
                "Mean over particles: "
                + "; ".join(f"{n}: {v}" for n, (v, _) in reached.items())
                + ".",
                verdict({n: v.low > goal for n, (v, goal) in reached.items()}, "run as "),
                "Seen when the 95 % interval of the mean over seeds lies above the goal.",
            )
        )
    comparisons = [
        ("svpg", "return", "SPOS-PG ends with a larger average return than SVPG.", 1),
        ("svpg", "spread", "The returns of its particles vary less than those of SVPG.", -1),
        ("svpg", "area", "SPOS-PG learns faster than SVPG.", 1),
        ("independent", "return", "SPOS-PG ends higher than policies that learn alone.", 1),
    ]
    for other, name, words, sign in comparisons:
        made += _compared(found, other, name, words, sign)
    return made


def _compared(found: Found, other: str, name: str, words: str, sign: int) -> list[Claim]:
    pairs = {}
    for task, method in found:
        if method != "spos" or (task, other) not in found:
            continue
        ours, theirs = found[task, "spos"][name], found[task, other][name]
        count = min(len(ours), len(theirs))
        if count >= FEWEST:
            pairs[task] = interval(sign * (ours[:count] - theirs[:count]))
    if not pairs:
        return []
    told = "; ".join(f"{task}: {v}" for task, v in pairs.items())
    against = [task for task, v in pairs.items() if v.high < 0]
    return [
        Claim(
            words,
            f"Mean difference to {LABELS[other]} over runs with the same seed, positive where the "
            f"claim is right: {told}. "
            f"Clearly the other way round on {', '.join(against) or 'none'}.",
            verdict({task: v.low > 0 for task, v in pairs.items()}, "on "),
            "Seen on a task when the 95 % interval of the mean difference lies beyond 0.",
        )
    ]
