"""The playground in a real browser, one for each module of tests.

A page is a fresh tab on the file itself, so that its content policy holds. Whatever it says on the
console, every error and every request beyond the file fails the test that caused it.
"""

import pytest

from chromium import PATIENCE, wait
from spos import playground


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """Where the page is."""
    return playground.write(tmp_path_factory.mktemp("page") / playground.NAME).as_uri()


@pytest.fixture
def visit(browser, page_file):
    """A function that opens the playground at an address, in a window of its own."""
    contexts, complaints = [], []

    def asked(url):
        if url.split("#")[0] != page_file:
            complaints.append(f"asked for {url}")

    def visit(state="#at=0", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked(request.url))
        page.goto(page_file + state)
        wait(page, "window.spos && !spos.replaying()")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def still(browser, page_file):
    """One page for all tests of a module that only call its functions."""
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(page_file + "#at=0")
    yield page
    page.close()
    assert complaints == []
