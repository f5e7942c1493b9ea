"""The picture of the playground on the front page, taken in a real browser:

    python docs/playground_figure.py

SVGD and SPOS after 600 steps of .03 from the same start, with the same noise (seed 1).
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from spos import playground

CHROMIUM = "/usr/bin/chromium"
STEPS = 600
ADDRESS = f"#at={STEPS}&target=U2&left=svgd&right=spos&count=200&seed=1&theme=light"
OUT = Path(__file__).parent / "images" / "playground.png"


def main() -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 900}, reduced_motion="reduce")
        page.goto(playground.write(Path(folder) / playground.NAME).as_uri() + ADDRESS)
        while page.evaluate("!window.spos || spos.replaying()"):
            page.wait_for_timeout(50)
        assert page.evaluate("spos.number()") == STEPS
        page.wait_for_timeout(300)  # until it is painted
        page.locator("#plane .panels").screenshot(path=OUT)
        browser.close()
    print(OUT)


if __name__ == "__main__":
    main()
