"""`spos paper grades`: what would it take to predict the grades of wine as well as the paper says?

Grades are whole numbers from 3 to 8, and a quarter of the test rows has a twin among the training
rows. Each line of the table changes one thing in the network of `spos paper regression`: its size,
the prior of its first weights (wide ones have short length scales, which memory needs), or what its
output means. With f the output, scaled as y is, and w the distance of two grades,

    rounded    P(y) = Φ((y + w/2 - f)/σ) - Φ((y - w/2 - f)/σ)      a Gaussian, rounded to a grade
    ordinal    P(grade ≤ g) = 1 / (1 + exp(f - c_g))               cuts c_g, which are learnt

A density of y, in the units of y, and a probability of a grade can be compared: with grades at a
distance of 1, P is the mean density between y - 1/2 and y + 1/2. Here that is P/w, scaled.

Step and β are those that the validation rows of `spos paper regression` liked best. The line that
its own validation rows like best is marked; test rows choose nothing.

    spos paper grades --data DIR
    spos paper grades --datasets wine_red --splits 5
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr

from spos.io.html import Table as Page
from spos.targets import BayesianNetwork, bnn, likelihoods, priors, relu_network
from spos.types import PyTree
from spos.values import value
from spos_experiments.data import Table, load
from spos_experiments.data.catalogue import TABLES
from spos_experiments.frame import draw as drawing
from spos_experiments.frame import resume
from spos_experiments.frame.experiment import CLEAR, Drawing, Estimate, Findings, Tick, in_parallel
from spos_experiments.frame.options import option
from spos_experiments.frame.record import Claim, Record, numbers, verdict
from spos_experiments.paper.regression import protocol, published

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Grades of wine"
ABOUT = (
    "The one data set on which SPOS misses the paper's numbers, with larger networks, other priors "
    "and likelihoods that know that a grade is a whole number."
)
TRIAL = protocol.Trial(3e-2, 30.0, *protocol.TIGHT)


@value
class Rounded(likelihoods.Gaussian):
    """A Gaussian y that was rounded; `log_prob` is the mean log-density over its interval."""

    spacing: Any  # of the values that y can have

    def log_prob(self, own: jax.Array, outputs: jax.Array, y: jax.Array) -> jax.Array:
        scale, away = jnp.exp(0.5 * own), -jnp.abs(y - outputs[:, 0])
        high, low = ((away + half * self.spacing) * scale for half in (0.5, -0.5))
        above, below = log_ndtr(high), log_ndtr(low)
        return (
            above + jnp.log(-jnp.expm1(jnp.minimum(below - above, -1e-6))) - jnp.log(self.spacing)
        )

    def moments(self, own: jax.Array, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, variance = super().moments(own, outputs)
        return mean, variance + self.spacing**2 / 12.0


@value
class Ordinal(likelihoods.Likelihood):
    """Grades in their order, with cuts between them."""

    grades: Any  # scaled as y is

    def init(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.log(jnp.expm1(jnp.full(len(self.grades) - 1, 1.0))).at[0].set(-2.0)

    def log_prob(self, own: jax.Array, outputs: jax.Array, y: jax.Array) -> jax.Array:
        place = jnp.argmin(jnp.abs(y[:, None] - self.grades), axis=1)[:, None]
        chances = jnp.take_along_axis(self._chances(own, outputs), place, axis=1)[:, 0]
        return jnp.log(chances + 1e-9) - jnp.log(self.grades[1] - self.grades[0])

    def log_prior(self, own: jax.Array) -> Any:
        return -0.5 * jnp.sum((own / 3.0) ** 2)

    def moments(self, own: jax.Array, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        chances = self._chances(own, outputs)
        mean = chances @ self.grades
        return mean, chances @ self.grades**2 - mean**2

    def _chances(self, own: jax.Array, outputs: jax.Array) -> jax.Array:
        cuts = jnp.cumsum(jnp.concatenate([own[:1], jax.nn.softplus(own[1:])]))
        up_to = jax.nn.sigmoid(cuts - 3.0 * outputs[:, :1])
        ends = jnp.zeros_like(up_to[:, :1]), jnp.ones_like(up_to[:, :1])
        return jnp.diff(jnp.concatenate([ends[0], up_to, ends[1]], axis=1), axis=1)


@value
class WideFirst(priors.Normal):
    """Standard normal weights; those of the first layer have a width of their own."""

    first: Any = 1.0

    def log_prob(self, own: PyTree, weights: PyTree) -> Any:
        rest = {name: leaf for name, leaf in weights.items() if name != "w0"}
        return super().log_prob(own, rest) - 0.5 * jnp.sum((weights["w0"] / self.first) ** 2)


class Kind(NamedTuple):
    """A network: what it is, and how it begins to differ from the one of the paper's table."""

    hidden: tuple[int, ...] = (50,)
    likelihood: str = "gaussian"
    first: float = 1.0  # the width of the prior of the first weights


KINDS: dict[str, Kind] = {
    "as in the table above": Kind(),
    "100 units": Kind((100,)),
    "two layers": Kind((50, 50)),
    "Student t": Kind(likelihood="t"),
    "rounded": Kind(likelihood="rounded"),
    "ordinal": Kind(likelihood="ordinal"),
    "first weights 3 times as wide": Kind(first=3.0),
}


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(("wine_red",), "the table", choices=TABLES, one=True)
    splits: int = option(5, "at most so many splits", at_least=2)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    kinds: tuple[str, ...] = tuple(KINDS)
    steps: int = 5000
    particles: int = 20
    batch: int = 100

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self, datasets=("diabetes",), splits=2, steps=60, particles=3, kinds=tuple(KINDS)[:2]
        )


class Outcome(NamedTuple):
    """Errors of each split on validation rows, and on test rows after training with all others."""

    validation_rmse: np.ndarray
    validation_ll: np.ndarray
    rmse: np.ndarray
    ll: np.ndarray


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    """The findings when all kinds of networks have been judged."""
    (name,) = settings.datasets
    table = load(name, settings.data)
    store = resume.store(folder)
    found = {}
    for done, kind in enumerate(settings.kinds):
        tick(done, len(settings.kinds))
        shape = (settings.splits, settings.steps, settings.particles, settings.batch, TRIAL)
        place = store / f"{name}-{resume.mark(KINDS[kind], shape)}-seed{seed}.npz"
        make = functools.partial(_outcome, settings, table, KINDS[kind], seed)
        found[kind] = resume.outcome(place, Outcome, make)
    tick(len(settings.kinds), len(settings.kinds))
    yield findings(name, found)


def network(kind: Kind, part: protocol.Part, y: np.ndarray) -> BayesianNetwork:
    """The network of a kind for the rows of a split; `y` are all grades there are, not scaled."""
    outputs = 2 if kind.likelihood == "t" else 1
    spacing = np.float32(1.0 / part.unit)
    grades = np.unique(y)
    lowest = part.training.y.min()
    build: dict[str, Callable[[], likelihoods.Likelihood]] = {
        "gaussian": likelihoods.gaussian,
        "t": lambda: likelihoods.location_scale(varying=False),
        "rounded": lambda: Rounded(1.0, 0.1, spacing),
        "ordinal": lambda: Ordinal((lowest + spacing * (grades - grades[0])).astype(np.float32)),
    }
    return bnn(
        relu_network(part.training.x.shape[1], outputs, kind.hidden),
        likelihood=build[kind.likelihood](),
        prior=WideFirst(1.0, first=np.float32(kind.first)),
    )


def _outcome(settings: Settings, table: Table, kind: Kind, seed: int) -> Outcome:
    def one(split: int, validate: bool) -> protocol.Errors:
        part = protocol.rows(table, split, validate)
        model = network(kind, part, table.y)
        shape = protocol.Shape(
            "spos", 0, settings.particles, settings.batch, settings.steps, hasty=False
        )
        trained = protocol.networks(model, "spos", shape, TRIAL, part, seed, split)
        return protocol.judge(model, trained, settings.particles, part)[1]

    splits = range(min(settings.splits, len(table.splits)))
    jobs = [functools.partial(one, k, validate) for validate in (True, False) for k in splits]
    done = [jobs[0](), *in_parallel(jobs[1:], lambda n, total: None)]
    tried, judged = done[: len(splits)], done[len(splits) :]
    return Outcome(
        *(
            np.array([getattr(one, name) for one in some])
            for some in (tried, judged)
            for name in ("rmse", "ll")
        )
    )


def findings(name: str, found: dict[str, Outcome]) -> Findings:
    first = next(iter(found.values()))
    rows: list[dict[str, Any]] = [
        {"kind": kind}
        | {each: Estimate.of(values) for each, values in one._asdict().items()}
        | {
            "rmse_gain": Estimate.of(first.rmse - one.rmse),
            "ll_gain": Estimate.of(one.ll - first.ll),
        }
        for kind, one in found.items()
    ]
    best = max(rows, key=lambda row: row["validation_ll"].mean)
    paper = {"rmse": published.RMSE.get((name, "spos")), "ll": published.LL.get((name, "spos"))}
    return Findings(
        numbers=numbers({"rows": rows, "chosen": best["kind"], "paper": paper}),
        claims=[claim(best, paper)],
        table=Page(
            ("network", "validation RMSE", "validation LL", "test RMSE", "test LL", "LL gained"),
            [
                (
                    f"**{row['kind']}**" if row is best else row["kind"],
                    *(f"{row[each].mean:.3f}" for each in Outcome._fields),
                    "" if row is rows[0] else str(row["ll_gain"]),
                )
                for row in rows
            ],
            f"{name}: means over splits. Bold is what validation rows choose. What is gained on "
            "test rows over the first line is a mean of differences, split by split.",
        ),
    )


def claim(best: dict[str, Any], paper: dict[str, float | None]) -> Claim:
    gains = {"measured by error": best["rmse_gain"], "measured by log-likelihood": best["ll_gain"]}
    return Claim(
        "The network that validation rows choose is better than the one of the paper's table.",
        f"It gains {best['rmse_gain']} in error and {best['ll_gain']} in log-likelihood. The paper "
        f"prints {paper['rmse']} and {paper['ll']}; here it is {best['rmse']} and {best['ll']}.",
        verdict({how: gain.mean > CLEAR * gain.se for how, gain in gains.items()}),
        "The mean of the differences over splits exceeds two of its standard errors.",
    )


def draw(record: Record) -> list[Drawing]:
    rows, paper = record.numbers["rows"], record.numbers["paper"]
    figure, panels = drawing.titled(
        1.8 + 0.3 * len(rows),
        "Grades of wine",
        "test rows: mean and two standard errors over splits\ngrey dashes: what the paper printed",
        columns=2,
        squeeze=False,
        sharey=True,
    )
    for axes, each, words in zip(
        panels[0], ("rmse", "ll"), ("error", "log-likelihood"), strict=True
    ):
        mean, se = np.array([row[each] for row in rows]).T
        axes.errorbar(mean, np.arange(len(rows)), xerr=2 * se, fmt="o", ms=4)
        if paper[each] is not None:
            axes.axvline(paper[each], color="#8a8a8a", ls="--")
        axes.set_xlabel(words)
    panels[0, 0].set_yticks(range(len(rows)), [row["kind"] for row in rows])
    panels[0, 0].invert_yaxis()
    return [
        Drawing(
            "grades.png",
            figure,
            f"Errors and log-likelihoods of {len(rows)} kinds of networks on grades.",
            f"Validation rows choose: {record.numbers['chosen']}.",
        )
    ]
