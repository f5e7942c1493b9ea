"""The pictures of the gallery of tutorials: one that each tutorial has drawn itself, in this build.

Which one is said by `picture` on top of a tutorial, counted from 0; the gallery shows
`_images/tutorial_NAME.png`.
"""

import re
import shutil
from pathlib import Path

from sphinx.util import logging

PICTURE = re.compile(r'src="\.\./_images/([\w.-]+\.png)"')
FOLDER = "tutorials"

logger = logging.getLogger(__name__)


def take_pictures(app, exception):
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for name in sorted(app.env.found_docs):
        about = app.env.metadata[name]
        if not name.startswith(f"{FOLDER}/") or "picture" not in about:
            continue
        drawn = PICTURE.findall((out / f"{name}.html").read_text(encoding="utf-8"))
        if not drawn:  # tutorials were not executed
            logger.info("%s has drawn nothing, and has no picture in the gallery", name)
            continue
        shutil.copyfile(
            out / "_images" / drawn[int(about["picture"])],
            out / "_images" / f"tutorial_{Path(name).name}.png",
        )


def setup(app):
    app.connect("build-finished", take_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
