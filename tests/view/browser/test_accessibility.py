"""axe-core finds nothing, in every state, light and dark; and what it cannot see: landmarks, headings, focus."""

from pathlib import Path

import pytest

from view.browser.driving import MISSING, expect
from view.browser.states import STATES, reach

AXE = Path(__file__).parents[3] / ".npm-view" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe(page, server, state, scheme):
    if not AXE.is_file():
        pytest.skip(MISSING)
    page.emulate_media(color_scheme=scheme)
    reach(page, server.url, state)
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    told = [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found["violations"]
    ]
    assert told == []


def test_axe_would_find_something(page, server):
    """A control without a name is found: the check above can fail."""
    if not AXE.is_file():
        pytest.skip(MISSING)
    reach(page, server.url, "timeline")
    page.evaluate(
        "document.getElementById('search').removeAttribute('aria-label'); document.getElementById('search').placeholder = ''"
    )
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    assert [one["id"] for one in found["violations"]] == ["label"]


def test_landmarks_and_headings(page, server):
    reach(page, server.url, "plan")

    for role in ("banner", "main", "complementary", "search"):
        expect(page.get_by_role(role)).to_have_count(1)
    expect(page.get_by_role("navigation", name="Sources")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.locator("#timeline h2").count() == page.locator("section.turn").count()
    expect(page.get_by_role("status")).to_have_count(1)


def test_tab_reaches_folds_and_shows_where_it_is(page, server):
    reach(page, server.url, "timeline")
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.row > summary')"):
            break
    assert page.evaluate("document.activeElement.closest('.row').id") == "n3"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_narrow_screens(page, server):
    """Nothing is wider than a telephone."""
    page.set_viewport_size({"width": 360, "height": 740})
    for state in STATES:
        reach(page, server.url, state)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, state
