"""The wheel does what the README says where only the three core dependencies are installed.

It is built, and installed into a fresh environment. What jax, numpy and optax need is linked into
that from the environment of the tests, package by package, so that nothing is downloaded.
"""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import spos

ROOT = Path(__file__).parents[1]
CORE = {"jax", "numpy", "optax"}
EXTRAS = ("matplotlib", "sklearn", "arviz_base", "numpyro", "pymc", "gymnasium", "spos_experiments")
NEEDS = {"result.plot()": "spos[plot]", "result.to_arviz()": "spos[arviz]"}  # lines of the README

# runs statements one by one, and goes on after those that lack a library
SCRIPT = """
import ast, json, sys
code = sys.stdin.read()
names, lacking = {}, {}
for statement in ast.parse(code).body:
    try:
        exec(compile(ast.Module([statement], []), "README.md", "exec"), names)
    except ImportError as error:
        lacking[ast.unparse(statement)] = str(error)
print(json.dumps({"lacking": lacking, "where": names["spos"].__file__}))
"""


def run(*words, **options):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=clean, **options
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory", out)
    done = run(sys.executable, *build, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory):
    """The folder of the programs of an environment with the wheel and its core dependencies."""
    place = tmp_path_factory.mktemp("clean")
    venv.create(place / "venv", with_pip=False)
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = ("install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    done = run(sys.executable, "-m", "pip", "--python", programs / "python", *install)
    assert done.returncode == 0, done.stderr
    linked = place / "linked"
    linked.mkdir()
    for found in needed(CORE).values():
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            if not (linked / top).exists():
                (linked / top).symlink_to(found.locate_file(top))
    asked = run(programs / "python", "-I", "-c", "import site; print(*site.getsitepackages())")
    (Path(asked.stdout.split()[0]) / "core.pth").write_text(f"{linked}\n")
    return programs


def needed(names):
    """The installed distributions of these names and of all that they require, by name."""
    found, todo = {}, [canonicalize_name(name) for name in names]
    while todo:
        if (name := todo.pop()) in found:
            continue
        found[name] = metadata.distribution(name)
        for line in found[name].requires or ():
            asked = Requirement(line)
            if asked.marker is None or asked.marker.evaluate({"extra": ""}):
                todo.append(canonicalize_name(asked.name))
    return found


def test_the_wheel_holds_the_library_alone(wheel):
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        about = Parser().parsestr(
            content.read(f"spos-{spos.__version__}.dist-info/METADATA").decode()
        )
    assert {name.split("/")[0] for name in names} == {"spos", f"spos-{spos.__version__}.dist-info"}
    assert {"spos/__init__.py", "spos/py.typed", "spos/rl/envs/cart_pole.py"} <= set(names)
    assert not [name for name in names if "experiments" in name or "test" in name]
    asked = [Requirement(line) for line in about.get_all("Requires-Dist")]
    assert {each.name for each in asked if each.marker is None} == CORE


def test_everything_that_comes_with_it_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().split()
    pinned = {canonicalize_name(line.split("==")[0]) for line in lines}
    assert set(needed(CORE)) <= pinned


def test_the_ten_lines_of_the_readme_run(clean, tmp_path):
    (code, *_) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    done = run(clean / "python", "-I", "-c", SCRIPT, input=code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    found = json.loads(last)
    assert Path(found["where"]).is_relative_to(clean.parent)
    assert printed  # the summary
    assert set(found["lacking"]) == set(NEEDS)
    for line, extra in NEEDS.items():
        assert found["lacking"][line].endswith(f"pip install '{extra}'")
    assert spos.load(tmp_path / "run.npz").num_steps == 1000


def test_no_extra_is_there_and_none_is_imported_where_it_is(clean):
    code = "import sys; from importlib.util import find_spec; print(*map(find_spec, sys.argv[1:]))"
    found = run(clean / "python", "-I", "-c", code, *EXTRAS)
    assert found.stdout.split() == ["None"] * len(EXTRAS)
    # and in the environment of the tests, which has them all
    code = "import spos, sys; print(*set(sys.argv[1:]) & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code, *EXTRAS], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["demo"], "spos demo: "),
        (["paper", "all", "--quick"], "spos paper: "),
    ],
)
def test_a_command_that_needs_more_says_how_to_get_it(words, told, clean, tmp_path):
    done = run(clean / "spos", *words, cwd=tmp_path)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(told)
    assert "pip install" in line
    assert list(tmp_path.iterdir()) == []
