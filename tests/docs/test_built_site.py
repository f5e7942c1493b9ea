"""The site as `make docs` built it: nothing comes from outside, and it works without a network.

Skipped where it is not built, or where there is no browser; `make docs-test` builds it first.
"""

import functools
import http.server
import re
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chromium import PATIENCE, wait

SITE = Path(__file__).parents[2] / "build" / "site"
FETCHING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
FETCHING |= {"video": "src", "audio": "src", "embed": "src", "object": "data", "use": "href"}
FOREIGN = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)

built = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the site is not built: make docs"
)


class Fetched(HTMLParser):
    """The addresses that a browser would ask for when it shows a page."""

    def __init__(self):
        super().__init__()
        self.addresses, self._style = [], False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[FETCHING[tag]] for _ in [0] if given.get(FETCHING.get(tag))]
        self.addresses += re.findall(r"(\S+)(?: [\d.]+[wx])?(?:,|$)", given.get("srcset") or "")
        self.addresses += in_style(given.get("style") or "")
        self._style = tag == "style"

    def handle_data(self, data):
        if self._style:
            self.addresses += in_style(data)


def in_style(text):
    """Fonts, pictures and other sheets of a style."""
    found = re.findall(r"""url\(\s*["']?([^"')]+)""", text)
    return found + re.findall(r"""@import\s+["']([^"']+)""", text)


def fetched(text):
    page = Fetched()
    page.feed(text)
    return page.addresses


def foreign(addresses):
    return [address for address in addresses if FOREIGN.match(address)]


def test_foreign_addresses_are_found():
    page = """<link href="https://a.b/c.css"><style>@import "//x.y/z.css";</style>
      <a href="https://may.be/read">read</a><img src="_images/here.png">
      <div style="background: url(http://q.r/s.png)"></div>"""
    assert foreign(fetched(page)) == ["https://a.b/c.css", "//x.y/z.css", "http://q.r/s.png"]


@built
def test_each_tutorial_took_less_than_a_minute():
    text = (SITE / "tutorials" / "index.html").read_text(encoding="utf-8")
    rows = re.findall(r"tutorials/(\d\d_\w+)</span>.*?<td><p>([\d.]+)</p></td>", text, re.S)
    assert len(rows) == 12
    assert {name: float(seconds) for name, seconds in rows if float(seconds) > 60} == {}


@built
def test_no_page_and_no_style_fetches_anything_from_outside():
    pages, styles = sorted(SITE.rglob("*.html")), sorted(SITE.rglob("*.css"))
    assert len(pages) > 30
    assert styles
    found = {page: foreign(fetched(page.read_text(encoding="utf-8"))) for page in pages}
    found |= {sheet: foreign(in_style(sheet.read_text(encoding="utf-8"))) for sheet in styles}
    assert {path: addresses for path, addresses in found.items() if addresses} == {}


@pytest.fixture(scope="module")
def address():
    """Where the site is served, on this machine alone."""
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def page(browser, address):
    """A tab without a network: what it asks for beyond the site it does not get, and fails."""
    context = browser.new_context(base_url=address)
    complaints = []

    def gate(route):
        if route.request.url.startswith(address):
            route.continue_()
        else:
            complaints.append(route.request.url)
            route.abort()

    context.route("**/*", gate)
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE * 1000)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    assert complaints == []


@built
@pytest.mark.parametrize("place", ["index", "how/spos", "how/interaction", "how/automatic"])
def test_formulas_are_drawn_without_a_network(page, place):
    page.goto(f"{place}.html")
    page.wait_for_selector("mjx-container mjx-math")
    written = page.locator(".math").count()
    wait(page, f"document.querySelectorAll('mjx-container').length === {written}")
    assert page.locator("mjx-merror").count() == 0  # a command that MathJax does not know


@built
def test_the_search_finds_a_page_without_a_network(page):
    page.goto("search.html?q=birth_death")
    page.wait_for_selector("#search-results a")
    assert any(
        "api/" in one.get_attribute("href") for one in page.locator("#search-results a").all()
    )


@built
def test_the_playground_and_the_report_are_in_the_site(page):
    for place, inside in (("play.html", "canvas"), ("paper.html", "h1")):
        page.goto(place)
        page.frame_locator("iframe.embedded").locator(inside).first.wait_for()
