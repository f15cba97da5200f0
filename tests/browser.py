"""A real browser for tests of pages: Debian's Chromium, driven by Playwright. One for each module that asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import needs

SWITCHES = """
    headless no-sandbox disable-gpu disable-quic no-first-run disable-sync disable-background-networking
    disable-component-update
"""
FLAGS = [f"--{switch}" for switch in SWITCHES.split()]
PATIENCE = 180_000  # milliseconds: no test fails because the machine is busy
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        needs.missing("playwright is not installed")
    path = needs.program("chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE)
        yield opened
        opened.close()


@contextmanager
def page_of(opened: Any, url: str, **settings: Any) -> Iterator[Any]:
    """A page that must neither complain nor ask for anything from elsewhere than its own address."""
    context = opened.new_context(**{"viewport": DESK, **settings})
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    yield page
    assert not complaints, complaints
    home = url.split("?")[0].rsplit("/", 1)[0]
    assert all(own.startswith((home, "data:", "blob:")) for own in asked), asked
    context.close()


def serious_issues(page: Any) -> list[str]:
    """What axe-core finds that hinders people: critical and serious issues, with where they are."""
    try:
        from axe_core_python.base import AxeBase
        from axe_core_python.sync_playwright import Axe
    except ImportError:
        needs.missing("axe-core-python is not installed")
    assert issubclass(Axe, AxeBase)
    found = Axe().run(page)["violations"]
    return [
        f"{issue['id']}: {issue['nodes'][0]['html'][:200]} ({issue['nodes'][0]['failureSummary'][:300]})"
        for issue in found
        if issue["impact"] in ("critical", "serious")
    ]
