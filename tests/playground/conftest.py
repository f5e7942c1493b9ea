"""The playground in a real browser, one for each module of tests.

A page is a fresh tab on the file itself, so that its content policy holds. Whatever it says on the
console, every error and every request beyond the file fails the test that caused it.
"""

import time
from pathlib import Path

import pytest

from spos.playground import PAGE

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

PATIENCE = 120  # seconds: a busy machine is slow, and no test is about speed


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium to run this test")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """A function that opens the playground at an address, in a window of its own."""
    contexts, complaints = [], []

    def visit(address="#at=0", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _only_the_file(request, complaints))
        page.goto(PAGE.as_uri() + address)
        wait(page, "window.spos && !spos.replaying()")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def still(browser):
    """One page for all tests of a module that only call its functions."""
    page = browser.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(PAGE.as_uri() + "#at=0")
    yield page
    page.close()
    assert complaints == []


def _only_the_file(request, complaints):
    if request.url.split("#")[0] != PAGE.as_uri():
        complaints.append(f"asked for {request.url}")


def wait(page, condition, seconds=PATIENCE):
    """Until the condition holds; the page's policy forbids the browser's own way of waiting."""
    until = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < until, f"never came true: {condition}"
        page.wait_for_timeout(30)
