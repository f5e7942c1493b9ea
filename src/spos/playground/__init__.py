"""`spos playground`: watch the methods move particles in the plane, in a browser.

The page is the single file `playground.html` beside this one. It needs no server and no network: it
can be opened from disk, sent by mail or put on a web site. `parts/` is what it is made from and
`build.py` puts them together.
"""

import webbrowser
from pathlib import Path

PAGE = Path(__file__).parent / "playground.html"


def open_page(*, browser: bool = True) -> Path:
    """Show the playground in the browser, or print where it is.

    Args:
        browser: Whether to try a browser; without one the path is printed.

    Returns:
        The path of the page.

    Example:
        >>> spos.playground.open_page(browser=False)  # doctest: +SKIP
    """
    if not (browser and webbrowser.open(PAGE.as_uri())):
        print(PAGE)
    return PAGE
