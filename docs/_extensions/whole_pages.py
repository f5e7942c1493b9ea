"""Two pages that are single files of their own: the playground, and the report on the paper.

The playground is put together from the library's parts, the report is made from the records.
"""

from pathlib import Path

from spos import playground
from spos_experiments.frame import page

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def put_beside(app):
    folder = Path(app.outdir)
    playground.write(folder / playground.NAME)
    page.build(RESULTS, folder / "report.html")


def setup(app):
    app.connect("builder-inited", put_beside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
