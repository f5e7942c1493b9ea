"""Two pages that are single files of their own: the playground, and the report on the paper.

The playground is copied as it lies in the library, the report is made from the records.
"""

import shutil
from pathlib import Path

from spos import playground
from spos_experiments.frame import page

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def put_beside(app):
    folder = Path(app.outdir)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(playground.PAGE, folder / "playground.html")
    page.build(RESULTS, folder / "report.html")


def setup(app):
    app.connect("builder-inited", put_beside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
