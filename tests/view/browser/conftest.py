"""One browser for the tests of this folder, and pages that are watched: what they ask for, and what goes wrong in them."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import sample_rows
from stand_in import StandIn

MISSING = "the browser of the viewer's tests is not installed; scripts/browser does it"


@pytest.fixture(scope="package")
def browser():
    """Debian's Chromium; it ends with this folder, because an event loop of its own runs as long."""
    playwright = pytest.importorskip("playwright.sync_api", reason=MISSING)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip(MISSING)
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def context(browser):
    """A browser without memory; JavaScript of a test may wait 10 s."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    made.set_default_timeout(10_000)
    made.grant_permissions(["clipboard-read", "clipboard-write"])
    yield made
    made.close()


@pytest.fixture
def page(context):
    """A page that must have no error, no refused action and no foreign request when the test is over."""
    made = watched(context)
    yield made
    assert made.troubles == []


def watched(context):
    """A page whose `troubles` are errors, violations of its policy, dialogs and requests that leave its server."""
    page = context.new_page()
    page.troubles = []
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (page.troubles.append("dialog"), dialog.dismiss()))
    page.on(
        "console",
        lambda said: (
            page.troubles.append(f"console: {said.text}")
            if said.type in ("error", "warning")
            else None
        ),
    )
    page.on("request", lambda request: _judge(page, request.url))
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => console.error('refused: ' + event.violatedDirective))"
    )
    return page


def _judge(page, url):
    own = page.url.split("#")[0].rsplit("/", 1)[0]
    if not url.startswith(("http://127.0.0.1:", "data:", "about:", "file:", own)):
        page.troubles.append(f"request: {url}")


@pytest.fixture
def server():
    """The sample conversations, with a plan, a comparison and hits."""
    made = sample_rows.conversations()
    with StandIn(made) as server:
        rows = made["s1.main"]["rows"]
        server.plans["openai/gpt-5.6"] = sample_rows.plan(rows)
        server.diff = sample_rows.DIFF
        server.hits = [
            {"id": "s1.main", "n": 3, "title": "Thinking", "where": "thinking", "before": "Something ", "hit": "changed", "after": " then"},
            {"id": "s2.main", "n": 3, "title": "Thinking", "where": "thinking", "before": "may have ", "hit": "changed", "after": "."},
        ]  # fmt: skip
        yield server


def rows_of(server, id_="s1.main"):
    return server.conversations[id_]["rows"]
