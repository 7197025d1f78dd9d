"""One browser for the tests of this folder, and pages that are watched: what they ask for, and what goes wrong in them."""

import shutil

import pytest

from view.browser import sample_rows
from view.browser.stand_in import StandIn


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; it ends with the module, because an event loop runs as long, in which tests of other folders cannot run theirs."""
    from view.browser.driving import MISSING, playwright

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
    from view.browser.driving import watched

    made = watched(context)
    yield made
    assert made.troubles == []


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
