"""A real browser for tests: Debian's Chromium by Playwright, one for each module of tests.

A browser is slow to start and to draw. The suite does with it what a broken page would not survive;
tests that are `thorough` run in `make docs-test`, which sets SPOS_BROWSER.
"""

import os
import time
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

thorough = pytest.mark.skipif(
    "SPOS_BROWSER" not in os.environ, reason="make docs-test does, or SPOS_BROWSER=all"
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


def wait(page, condition, seconds=PATIENCE):
    """Until the condition holds; the page's policy forbids the browser's own way of waiting."""
    until = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < until, f"never came true: {condition}"
        page.wait_for_timeout(30)
