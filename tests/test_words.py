"""One vocabulary: the same thing has the same name in every public signature.

The words are in the table of the section "Words" of `docs/architecture.md`. A parameter has a name
from there, or one that belongs to a single function.
"""

import collections
import inspect
import pathlib
import re

import pytest

from public_names import parameters, public_names, room
from spos.loop.run import Seed

TABLE = pathlib.Path(__file__).parent.parent / "docs" / "architecture.md"
PUBLIC = public_names()

# a number of things is num_*; a step is a step, and a step size a step size
REFUSED = {
    "count": "num_…",
    "iterations": "num_steps",
    "learning_rate": "step_size",
    "n": "num_…",
    "num_samples": "num_…, of what there are",
    "random_state": "seed",
    "replicas": "num_replicas",
    "rng": "key or seed",
    "samples": "num_… or draws",
    "steps": "num_steps",
}
SKLEARN = re.compile(
    r"X|n_\w+|classes|random_state|return_std|sample_weight|warm_start"
)  # its conventions, in estimators alone

# words that belong to one function, whose docstring explains them
LOCAL = {
    "alpha",
    "apply",
    "budget",
    "bytes_per_second",
    "c2",
    "c6",
    "callback_every",
    "centre",
    "class_weight",
    "clip",
    "cls",
    "columns",
    "critic",
    "damping",
    "devices",
    "diffusion",
    "dissipativity",
    "drawn",
    "drift",
    "entropy",
    "error",
    "examples",
    "feature",
    "flops",
    "friction",
    "full_width",
    "gamma",
    "heavy",
    "history_every",
    "horizon",
    "init",
    "initial_gap",
    "initial_spread",
    "ksd_kernel",
    "lam",
    "latency",
    "learners",
    "levels",
    "likelihood",
    "linear",
    "log_likelihood",
    "logarithm",
    "make_sampler",
    "max_bytes",
    "max_evaluations",
    "max_seconds",
    "measure",
    "mode",
    "momentum",
    "move",
    "noise",
    "normalize_observations",
    "normalize_returns",
    "num_bins",
    "num_bootstrap",
    "num_data_shards",
    "num_devices",
    "num_directions",
    "num_episodes",
    "num_epochs",
    "num_iterations",
    "num_minibatches",
    "num_permutations",
    "num_points",
    "num_repeats",
    "num_replicas",
    "num_seeds",
    "observation",
    "observe",
    "particle_counts",
    "pilot",
    "power",
    "prior",
    "quantiles",
    "radius",
    "reference",
    "region",
    "replace",
    "result",
    "ridge",
    "samplers",
    "scale",
    "score_flops",
    "scores",
    "seeds",
    "shift",
    "sigma",
    "size",
    "standardize",
    "step_counts",
    "step_sizes",
    "target_error",
    "target_transform",
    "test_lipschitz",
    "varying",
    "warm_start",
    "why",
}


def allowed_words() -> dict[str, str]:
    """The table of words and their meanings."""
    section = TABLE.read_text().split("## Words")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    return dict(rows)


def given() -> dict[str, list[str]]:
    """The parameters of functions and methods, and who has them; `of` takes fields."""
    found = collections.defaultdict(list)
    for name, one in PUBLIC.items():
        if inspect.isclass(one) and room(one) != "estimators":
            continue  # the fields of a report or a value are its own
        for parameter in parameters(one):
            word, kind = parameter.name, parameter.kind
            if room(one) == "estimators" and SKLEARN.fullmatch(word):
                continue
            if kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                found[word].append(name)
    return found


def faults(name: str, one: object) -> set[str]:
    """Parameters, fields of classes included, that have another name than they should."""
    found = set()
    for parameter in parameters(one):
        word = parameter.name
        if room(one) == "estimators" and SKLEARN.fullmatch(word):
            continue
        if word in REFUSED or word.startswith("n_"):
            found.add(f"{name}: {word} should be {REFUSED.get(word, 'num_…')}")
        if word == "particles" and parameter.annotation in (int, "int", int | None):
            found.add(f"{name}: particles is a pytree, a number of them is num_particles")
        is_number = parameter.annotation in (int, int | None, Seed)
        if word == "seed" and not is_number:
            found.add(f"{name}: seed must be a whole number, not {parameter.annotation}")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_things_have_their_names(name):
    found = faults(name, PUBLIC[name])
    assert not found


def test_every_parameter_is_a_word_of_the_table_or_belongs_to_one_function():
    words, names = allowed_words(), given()
    assert len(words) > 20
    known = LOCAL | set(words)
    unknown = {word: names[word] for word in names if word not in known}
    assert not unknown


def test_a_local_word_belongs_to_one_function_and_is_in_use():
    names = given()
    assert not {word: names[word] for word in LOCAL if len(names[word]) != 1}
    assert not LOCAL & set(allowed_words())


def test_the_table_has_no_word_that_nobody_uses():
    assert not set(allowed_words()) - set(given())


def test_faults_are_found():
    def bad(particles: int, n_steps: int, learning_rate: float, seed: float) -> None: ...

    bad.__module__ = "spos.loop.run"
    assert len(faults("bad", bad)) == 4
