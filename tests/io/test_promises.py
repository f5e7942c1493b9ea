"""What SECURITY.md promises about the code as a whole."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    path
    for folder in ("src/spos", "experiments/spos_experiments")
    for path in (ROOT / folder).rglob("*.py")
)
RUNS_CODE = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "runpy"}
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "requests", "httpx", "aiohttp"}
EVALUATE = ("eval", "exec", "compile")
FETCHES = "experiments/spos_experiments/data/fetch.py"
# processes of this machine that talk to each other, and a count of what they said
AT_HOME = {
    f"experiments/spos_experiments/bench/{name}.py": {"socket"} for name in ("scale", "scale_part")
}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def called(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "id", getattr(node.func, "attr", "")), node


@pytest.mark.parametrize("folder", ["src/spos", "experiments/spos_experiments"])
def test_no_module_runs_what_it_reads_or_reaches_the_network(folder):
    for path in (path for path in MODULES if path.is_relative_to(ROOT / folder)):
        tree, fetches = ast.parse(path.read_text(encoding="utf-8")), path == ROOT / FETCHES
        assert not RUNS_CODE & set(imported(tree)), path
        allowed = AT_HOME.get(path.relative_to(ROOT).as_posix(), set())
        assert fetches or not NETWORK & set(imported(tree)) - allowed, path
        for name, node in called(tree):
            place = f"{path}:{node.lineno}"
            assert not (isinstance(node.func, ast.Name) and name in EVALUATE), place
            assert fetches or not name.startswith("fetch_"), place
            told = {keyword.arg: keyword.value for keyword in node.keywords}
            pickles = told.get("allow_pickle", ast.Constant(True))
            of_numpy = getattr(getattr(node.func, "value", None), "id", "") == "np"
            if "allow_pickle" in told or (of_numpy and name == "load"):
                assert isinstance(pickles, ast.Constant), place
                assert pickles.value is False, place


def test_all_modules_are_seen():
    assert len(MODULES) > 100
    assert (ROOT / FETCHES) in MODULES
    assert "http" in set(imported(ast.parse((ROOT / FETCHES).read_text(encoding="utf-8"))))
