"""`spos playground`: watch the methods move particles in the plane, in a browser.

The page is a single file, put together from `parts/` (`assembly.py`). It needs no server and no
network: it can be opened from disk, sent by mail or put on a web site.
"""

import tempfile
import webbrowser
from pathlib import Path

from spos.io.files import write_whole
from spos.playground.assembly import page
from spos.types import PathLike

NAME = "playground.html"


def write(path: PathLike) -> Path:
    """Write the page.

    Args:
        path: The file; its folder is made if needed.

    Returns:
        Where it is, as an absolute path.

    Example:
        >>> spos.playground.write(folder / "playground.html").name
        'playground.html'
    """
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page().encode("utf-8"))
    return path


def open_page(path: PathLike | None = None, *, browser: bool = True) -> Path:
    """Write the playground and show it in the browser, or print where it is.

    Args:
        path: The file; by default one in a new temporary folder.
        browser: Whether to try a browser. Without one, or with a `path`, the path is printed.

    Returns:
        The path of the page.

    Example:
        >>> spos.playground.open_page(browser=False)  # doctest: +SKIP
    """
    there = write(Path(tempfile.mkdtemp(prefix="spos-")) / NAME if path is None else path)
    shown = browser and webbrowser.open(there.as_uri())
    if path is not None or not shown:
        print(there)
    return there
