"""Takes the pictures of docs/report.md and docs/playground.md: models of the census data, in Debian's Chromium.

    python tests/screenshots.py

The noise is drawn anew each time, so the pictures differ a little.
"""

import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

from browser import FLAGS
from privet import PrivateForestClassifier, PrivateTreeClassifier
from privet.algorithms.explained import subject_of
from privet.datasets import load_adult
from privet.report.draws import Draws
from privet.report.page import report_page
from privet.report.playground import Playground

DOCS = Path(__file__).parents[1] / "docs"
DESK = {"width": 1120, "height": 760}


def main() -> None:
    X, y, schema = load_adult()
    tree = PrivateTreeClassifier(schema, epsilon=0.5, max_depth=4, leaves="counts").fit(X, y, holdout=0.2)
    boosted = PrivateForestClassifier(schema, epsilon=1, delta=1e-6).fit(X, y, holdout=0.2)
    room = Playground(Draws(X, y, schema, "US census data of 1994, which are public."))
    threading.Thread(target=room.run, daemon=True).start()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)

        def opened(url, **settings):
            page = chromium.new_context(**{"viewport": DESK, **settings}).new_page()
            page.goto(url)
            return page

        def report(name, model, **settings):
            path = Path(folder) / f"{name}.html"
            path.write_text(report_page(subject_of(model)), encoding="utf-8")
            return opened(path.as_uri(), **settings)

        report("tree", tree, viewport={**DESK, "height": 1560}).screenshot(path=DOCS / "report-summary.png")
        page = report("tree", tree)
        page.get_by_text("Draw one at random").click()
        page.locator("#model").screenshot(path=DOCS / "report-tree.png")
        report("boosted", boosted).locator("#model").screenshot(path=DOCS / "report-terms.png")
        page = opened(room.address)
        page.locator("#score[data-epsilon]").wait_for()
        page.wait_for_timeout(6000)  # until the curve is sketched
        page.screenshot(path=DOCS / "playground.png")
    room.stop()
    for path in [*sorted(DOCS.glob("report-*.png")), DOCS / "playground.png"]:
        _shrink(path)


def _shrink(path: Path) -> None:
    """Few colours are enough for a page, and a third of the size."""
    from PIL import Image

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    main()
