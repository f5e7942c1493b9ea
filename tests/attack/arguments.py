"""Attacks on the arguments of everything that is public.

Every function is called with good arguments (`given.py`), one or two of which are replaced by
something else. The call must end in a result, or in a `ValueError` or `TypeError` that names an
argument; also in what its documentation promises (a run that leaves the finite numbers, a file that
is not there).

    PYTHONPATH=tests python -m attack.arguments 200
"""

import inspect
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Container, Iterator
from typing import Any, NamedTuple

import jax
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spos
from attack.given import (
    ABOUT,
    CLOUD,
    GOOD,
    OUTCOMES,
    POSTERIOR,
    RUN,
    SGLD,
    STRANGE,
    TRIALS,
    numpyro_model,
)
from attack.table import Job, Score, report
from public_names import public_names
from spos.adapters.model import ModelError

OWN: dict[str, dict[str, Any]] = {  # of functions whose good arguments are others
    "spos.advance": {"state": SGLD.init(CLOUD)},
    "spos.diagnostics.bias": {"start": CLOUD},
    "spos.diagnostics.mixing": {"result": None},
    "spos.diagnostics.wasserstein_1d": {"a": OUTCOMES, "b": OUTCOMES},
    "spos.fit": {"start": CLOUD, "data": None, "num_particles": None},
    "spos.from_numpyro": {"model": numpyro_model},
    "spos.noisy_svgd": {"kernel": spos.rbf(1.0)},
    "spos.rl.gymnasium": {"name": "CartPole-v1"},
    "spos.schedules.cosine": {"num_steps": 10},
    "spos.schedules.cyclic": {"num_steps": 10},
    "spos.targets.bnn": {"likelihood": spos.targets.likelihoods.gaussian()},
    "spos.theory.particle_constants": {"beta": 0.1},
    "spos.targets.score_particles": {"log_prob": lambda theta, batch: -(theta @ theta)},
    "spos.theory.cost": {"size": 2, "num_devices": 2, "bytes_per_second": 1e9, "flops": 1e9},
    "spos.theory.constants": {"bandwidth": 4.0},
    "spos.theory.pilot": {"start": lambda key, num_particles: jax.random.normal(key, (4, 2))},
}
# flows move by an optimizer or by a step size, and both is refused
for _flow in ("svgd", "blob", "gfsd", "gfsf"):
    OWN[f"spos.{_flow}"] = {"optimizer": None}
OFTEN_NONE = ("step_size",)  # a default that is refused
CLASSES = ("spos.theory.Constants", "spos.theory.Run", "spos.theory.Trial", "spos.theory.Pilot")
LEFT_OUT = {
    "spos.value": "a decorator of classes",
    "spos.static": "a field of dataclasses",
    "spos.pymc.sample": "spos.fit with a model of PyMC, which strangers to PyMC do not have",
    "spos.schedules.as_schedule": "its name is only for complaints",
    "spos.targets.likelihoods.log_gamma": "a formula, applied to whatever it is given",
}
COSTLY = (  # where a call that succeeds compiles a program
    "spos.sample",
    "spos.run",
    "spos.fit",
    "spos.compare",
    "spos.check_sampler",
    "spos.find_mode",
    "spos.advance",
    "spos.rl.train",
    "spos.rl.train_stack",
    "spos.theory.pilot",
    "spos.theory.constants",
    "spos.diagnostics.bias",
    "spos.diagnostics.collapse",
    "spos.diagnostics.ksd",
    "spos.diagnostics.ksd_test",
    "spos.diagnostics.mmd",
    "spos.diagnostics.mmd_test",
    "spos.diagnostics.spread",
    "spos.diagnostics.sliced_wasserstein",
    "spos.from_numpyro",
    "spos.from_pymc",
)
MEANT: dict[str, tuple[type[Exception], ...]] = {  # beside ValueError and TypeError, as documented
    "spos.sample": (spos.NonFiniteError,),
    "spos.fit": (ModelError, FloatingPointError),
    "spos.from_numpyro": (ModelError,),
    "spos.from_pymc": (ModelError,),
    "spos.load": (OSError,),
    "spos.rl.load": (OSError,),
    "spos.rl.deployed.load": (OSError,),
    "spos.rl.train": (spos.NonFiniteError,),
}
WORDS = (
    "log_prob",
    "scores",
    "theta",
    "arguments?",
)  # by which complaints may speak of an argument
COUNTS = st.integers(-3, 5)  # a larger count would only take longer
PATHS = ("path", "checkpoint")  # where no text is made up, for it could name any place


class Victim(NamedTuple):
    """A function, its good arguments, and the names of those that can be spoilt."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    parameters: tuple[str, ...]


def victims() -> Iterator[Victim]:
    """Every public function, and the classes that check what they are made of."""
    for name, one in public_names().items():
        plain = inspect.isfunction(one) and "." not in one.__qualname__
        if (plain or name in CLASSES) and name not in LEFT_OUT:
            victim = _victim(name, one)
            if victim.parameters:
                yield victim
    for call in (POSTERIOR.with_data, SGLD.init):
        yield _victim(f"spos.{call.__self__.__class__.__name__}.{call.__name__}", call)


def _victim(name: str, call: Callable[..., Any]) -> Victim:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    own, good, names = OWN.get(name, {}), {}, []
    for each in inspect.signature(call).parameters.values():
        if each.kind in variable:
            continue
        names.append(each.name)
        needed = each.default is inspect.Parameter.empty
        if each.name in own:
            good[each.name] = own[each.name]
        elif needed or each.name in OFTEN_NONE or each.name.startswith("num_"):
            good[each.name] = GOOD.get(each.name, None if needed else each.default)
    if name == "spos.diagnostics.bias":
        good.pop("num_particles", None)
    if name == "spos.rl.train_stack":
        one = spos.rl.learner("cartpole", num_iterations=1, num_particles=2, num_episodes=1)
        good = {"learners": [one], "seeds": [0]}
    if name == "spos.rl.train":
        good |= {"num_iterations": 1, "num_particles": 2, "num_episodes": 1, "hidden": [3]}
    if inspect.isclass(call) and name != "spos.theory.Pilot":
        example = {"Constants": ABOUT, "Run": RUN, "Trial": TRIALS[0]}[call.__name__]
        good = {each: getattr(example, each) for each in names}
    if name == "spos.theory.Pilot":
        good = {"trials": TRIALS}
    return Victim(name, call, good, tuple(names))


def _values(parameter: str) -> st.SearchStrategy[Any]:
    some = st.sampled_from(range(len(STRANGE))).map(lambda n: STRANGE[n]) | COUNTS | st.floats()
    return some if parameter in PATHS else some | st.text(max_size=4)


def attack(victim: Victim, cases: int) -> Score:
    """So many calls of a function, and what became of them."""
    results = [0, 0]  # refused, given
    broken: list[str] = []

    @settings(
        max_examples=cases,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def calls(data: Any) -> None:
        few = st.lists(st.sampled_from(victim.parameters), min_size=1, max_size=2, unique=True)
        spoilt = {name: data.draw(_values(name)) for name in data.draw(few)}
        fault, given_result = call(victim, spoilt)
        results[given_result] += 1
        if fault is not None:
            broken.append(fault)

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = os.getcwd()
        os.chdir(folder)
        try:
            calls()
        finally:
            os.chdir(here)
    return Score(victim.name, "arguments", sum(results), results[0], results[1], broken)


def call(victim: Victim, spoilt: dict[str, Any]) -> tuple[str | None, bool]:
    """One call: what is wrong with how it ended, if anything is, and whether it gave a result."""
    arguments = {**victim.good, **spoilt}
    signature = inspect.signature(victim.call)
    alone = [
        name
        for name, each in signature.parameters.items()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY
    ]
    first = [arguments.pop(name) for name in alone]
    try:
        jax.block_until_ready(victim.call(*first, **arguments))
    except (Exception, SystemExit) as error:
        if isinstance(error, MEANT.get(victim.name, ())):
            return None, False
        names = (*victim.parameters, *victim.good, *WORDS)
        named = any(re.search(rf"\b{name}\b", str(error)) for name in names)
        if isinstance(error, ValueError | TypeError) and named:
            return None, False
        shown = ", ".join(f"{name}={_short(value)}" for name, value in spoilt.items())
        told = str(error).strip().splitlines() or [""]
        return f"{victim.name}({shown}): {type(error).__name__}: {told[0][:150]}", False
    return None, True


def _short(value: Any) -> str:
    text = f"array{value.shape} of {value.dtype}" if hasattr(value, "dtype") else repr(value)
    return text if len(text) < 60 else f"{text[:57]}…"


def jobs(cases: int, names: Container[str] = ()) -> Iterator[Job]:
    """All functions, so many calls each, and a tenth where a call compiles a program."""
    for victim in victims():
        if not names or victim.name in names:
            some = max(2, cases // 10) if victim.name in COSTLY else cases
            yield Job(victim.name, lambda victim=victim, some=some: [attack(victim, some)])


if __name__ == "__main__":
    sys.exit(report(jobs(int(sys.argv[1]), sys.argv[2:])))
