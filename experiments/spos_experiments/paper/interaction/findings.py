"""What the errors of `spos paper interaction` say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from spos_experiments.frame.experiment import CLEAR, Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.interaction.measure import METHODS, NOISES, tried
from spos_experiments.paper.interaction.settings import HILL, MODES, Settings


def compared(settings: Settings, case: Any, found: Mapping[str, np.ndarray]) -> list[Any]:
    """The cells of a target, dimension and number of particles."""
    cells = []
    for n, noise in enumerate(NOISES):
        for b, budget in enumerate(settings.budgets):
            chosen, best = {}, {}
            for method in METHODS:
                here = found[method][:, n, :, b]
                place = int(np.argmin(here[: settings.pilots].mean(0)))
                chosen[method] = tried(settings, method)[place]
                best[method] = here[settings.pilots :, place]
            ratio = Estimate.of(np.log(best["SPOS"] / best["SGLD"]))
            cells.append(
                {
                    **dict(zip(("target", "dimension", "particles"), case, strict=True)),
                    "noise": noise,
                    "budget": budget,
                    "log_ratio": ratio.mean,
                    "se": ratio.se,
                    "chosen": chosen,
                    "errors": {method: float(best[method].mean()) for method in METHODS},
                }
            )
    return cells


CLASSES: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "everywhere": lambda cell: True,
    "few scores": lambda cell: cell["budget"] <= 30,
    "many scores": lambda cell: cell["budget"] >= 100,
    "few dimensions": lambda cell: cell["dimension"] <= 2,
    "many dimensions": lambda cell: cell["dimension"] >= 10,
    "few particles": lambda cell: cell["particles"] <= 10,
    "many particles": lambda cell: cell["particles"] >= 50,
    "one mode": lambda cell: cell["target"] == HILL,
    "two modes": lambda cell: cell["target"] == MODES,
    "exact scores": lambda cell: cell["noise"] == "exact scores",
    "own noise": lambda cell: cell["noise"] == "own noise",
    "shared noise": lambda cell: cell["noise"] == "shared noise",
}


def inside(cells: Sequence[Any], keep: Callable[[Mapping[str, Any]], bool]) -> list[Any]:
    return [cell for cell in cells if keep(cell)]


def pays(cell: Mapping[str, Any]) -> bool:
    return bool(cell["log_ratio"] < -CLEAR * cell["se"])


def costs(cell: Mapping[str, Any]) -> bool:
    return bool(cell["log_ratio"] > CLEAR * cell["se"])


def line(word: str, cells: Sequence[Any]) -> tuple[str, ...]:
    if not cells:
        return (word, "0", "", "", "")
    median = np.exp(np.median([cell["log_ratio"] for cell in cells]))
    counts = (sum(map(pays, cells)), sum(map(costs, cells)))
    return (word, str(len(cells)), *map(str, counts), f"{median:.2f}")


def claims(cells: Sequence[Any]) -> list[Claim]:
    """By a rule that was fixed before the run."""
    present = {word: own for word, keep in CLASSES.items() if (own := inside(cells, keep))}
    shares = {word: np.mean([pays(cell) for cell in own]) for word, own in present.items()}
    return [
        Claim(
            claim="With equally many scores, interacting particles are more accurate than "
            "independent chains.",
            measured="Share of the cells in which they are: "
            + "; ".join(f"{word} {share:.0%}" for word, share in shares.items())
            + ".",
            verdict=verdict({w: bool(share > 0.5) for w, share in shares.items()}, "run with "),
            rule="In more than half of the cells the error is smaller by more than two standard "
            "errors, paired by repeats.",
        )
    ]
