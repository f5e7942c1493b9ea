"""Tutorials run, cell by cell, without building the site.

    SPOS_TUTORIALS=pictures pytest tests/docs/test_tutorials.py -k 04 -s

runs one and puts its figures into the folder `pictures`. The suite leaves them out: `make docs`
executes them all.
"""

import os
from pathlib import Path

import matplotlib as mpl
import pytest
from reference import TUTORIALS, cells

FOLDER = os.environ.get("SPOS_TUTORIALS")

mpl.use("Agg")


@pytest.mark.skipif(not FOLDER, reason="make docs executes them; SPOS_TUTORIALS=folder does here")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(page, tmp_path, monkeypatch):
    from matplotlib import pyplot

    out = Path(FOLDER).resolve()
    out.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, code in enumerate(cells(page.read_text(encoding="utf-8"))):
        exec(compile(code, f"{page.stem}, cell {number}", "exec"), names)
        for figure in pyplot.get_fignums():
            pyplot.figure(figure).savefig(out / f"{page.stem}-{number}-{figure}.png", dpi=70)
        pyplot.close("all")
