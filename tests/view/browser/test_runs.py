"""The page with two runs: aligned, reached from the comparison, safe, readable for all, and the same as a file."""

import pytest

from innervoice.view.library import Library
from innervoice.view.server import ViewServer
from view.browser.driving import MISSING, expect, watched
from view.browser.hostile import ATTACKS
from view.browser.test_accessibility import AXE
from view.browser.test_hostile import HARMED
from view.session_files import session


@pytest.fixture
def runs(tmp_path):
    attack = "\n".join(ATTACKS[name] for name in ("image", "script", "svg", "link", "markdown", "style"))  # fmt: skip
    (tmp_path / "one.jsonl").write_bytes(session(f"List the files {attack}", rounds=1))
    (tmp_path / "two.jsonl").write_bytes(session(f"List the files {attack}", rounds=3))
    with ViewServer(Library([tmp_path])) as server:
        yield server


def opened(page, server):
    page.goto(server.first_address)
    page.locator("#source-list a").nth(1).wait_for()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("#runs-link").click()
    for side in ("left", "right"):
        page.locator(f"#{side}").wait_for()
    expect(page.locator("#left option")).to_have_count(3)
    page.locator("#left").select_option(index=1)
    page.locator("#right").select_option(index=2)
    expect(page.locator(".pair")).to_have_count(5)


def test_turn_by_turn(page, runs):
    opened(page, runs)

    expect(page.locator(".pair h2")).to_have_text(["prompt 1", "step 1", "step 2", "step 3", "step 4"])  # fmt: skip
    expect(page.locator(".pair .same")).to_have_text("the same prompt")
    expect(page.locator(".pair .none")).to_have_count(2)
    expect(page.locator("#sums tr", has_text="thoughts")).to_contain_text("3")
    expect(page.locator(".thought").first).to_contain_text("Round 0")
    expect(page.locator(".call").first).to_contain_text("Bash")
    assert page.evaluate(HARMED) == [None, None, 0]
    page.reload()
    expect(page.locator(".pair")).to_have_count(5)


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_and_width(page, runs, scheme, width):
    if not AXE.is_file():
        pytest.skip(MISSING)
    page.emulate_media(color_scheme=scheme)
    opened(page, runs)
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    assert [(one["id"], [node["html"][:90] for node in one["nodes"][:2]]) for one in found["violations"]] == []  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_file(context, page, runs, tmp_path):
    opened(page, runs)
    with page.expect_download() as downloading:
        page.get_by_text("Export", exact=True).click()
    file = tmp_path / "runs.html"
    downloading.value.save_as(file)
    offline = context.browser.new_context(offline=True)
    taken = watched(offline)
    taken.goto(file.as_uri())

    expect(taken.locator(".pair")).to_have_count(5)
    expect(taken.locator("#choice")).to_be_hidden()
    assert taken.evaluate(HARMED) == [None, None, 0]
    assert taken.troubles == []
    offline.close()
