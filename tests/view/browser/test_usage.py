"""The page about usage with the real server: what it says, draws and filters; and that it can be used without seeing or pointing."""

import time
from pathlib import Path
from urllib.parse import unquote

import pytest

from innervoice.view.library import Library
from innervoice.view.server import ViewServer
from view.browser.driving import MISSING, expect
from view.browser.hostile import ATTACKS
from view.usage_logs import ended, log, month

AXE = Path(__file__).parents[3] / ".npm-view" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "requests-1.jsonl").write_bytes(month(time.time()))
    return tmp_path


@pytest.fixture
def show(page):
    """Opens the page about the usage in a folder."""
    started = []

    def open_usage(folder, place="#days=30"):
        server = ViewServer(Library([folder])).__enter__()
        started.append(server)
        page.goto(server.first_address)
        page.goto(f"{server.url}/usage{place}")
        return server

    yield open_usage
    page.close()
    for server in started:
        server.__exit__(None, None, None)


def asked(page, server, query):
    return page.request.get(f"{server.url}/api/usage?{query}").json()


def test_the_first_screen_says_what_thinking_was(page, show, folder):
    server = show(folder)
    expect(page.locator("h1")).to_contain_text("Thinking was")
    start = int(time.time()) // 86_400 * 86_400 - 29 * 86_400
    view = asked(page, server, f"from={start}&to={start + 30 * 86_400}&step=day")

    assert page.locator("h1").inner_text().replace("\u00a0", " ") == view["words"][0]
    assert page.locator("#words li").all_inner_texts() == view["words"][1:]
    assert page.locator("h1").bounding_box()["y"] < 200
    expect(page.locator("figure")).to_have_count(5)


def test_bars_are_as_tall_as_their_numbers(page, show, folder):
    """The parts of a step of the first chart have the ratio of its tokens, and its table has the same numbers."""
    show(folder)
    figure = page.locator("figure").first
    figure.locator("summary").click()
    rows = figure.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(cell => Number(cell.textContent.replaceAll(',', ''))))"
    )
    tall = {
        kind: figure.locator(f"svg.chart .{kind}").evaluate_all(
            "bars => bars.reduce((sum, bar) => sum + Number(bar.getAttribute('height')), 0)"
        )
        for kind in ("part-a", "part-b", "part-c")
    }
    sums = [sum(row[place] for row in rows) for place in range(3)]

    assert len(rows) == 30
    assert all(sums)
    for kind, number in zip(tall, sums, strict=True):
        assert tall[kind] / tall["part-a"] == pytest.approx(number / sums[0], rel=1e-6)


def test_filters_are_in_the_address(page, show, folder):
    server = show(folder)
    page.locator("#provider").select_option("gemini")
    expect(page.locator(".names").nth(1).locator("tbody tr")).to_have_count(1)
    assert "provider=gemini" in page.url
    assert "provider=gemini" in page.locator("#csv").get_attribute("href")

    page.locator(".names a", has_text="alice").click()
    expect(page.locator("#key")).to_have_value("alice/5a9476428571")
    assert "key=alice/5a9476428571" in unquote(page.url)
    before = page.locator("#words").inner_text()
    page.reload()
    expect(page.locator("#words")).to_have_text(before, use_inner_text=True)

    page.get_by_label("24 hours").check()
    expect(page.locator("#provider")).to_have_value("gemini")
    assert "days=1" in page.url
    page.go_back()
    expect(page.get_by_label("30 days")).to_be_checked()
    table = page.request.get(page.locator("#csv").evaluate("link => link.href")).text()
    assert table.startswith("time,key,provider,model,requests")
    assert server.url in page.url


def test_links_in_both_directions(page, show, folder):
    show(folder)
    page.get_by_role("link", name="Requests").click()
    expect(page.locator("#n1")).to_be_visible()
    page.get_by_role("link", name="Usage").click()
    expect(page.locator("figure").first).to_be_visible()


def test_an_empty_log_says_how_to_get_data(page, show, tmp_path):
    (tmp_path / "requests-1.jsonl").write_bytes(log())
    show(tmp_path)

    expect(page.locator(".empty")).to_contain_text("innervoice serve --log shape")
    expect(page.locator("figure")).to_have_count(0)


def test_counts_of_a_gateway_without_a_log(page, show, tmp_path):
    (tmp_path / "requests-1.jsonl").write_bytes(log())
    counts = {"provider": "gemini", "requests": 1204, "output": 26, "reasoning": 22, "restored": 3}
    metrics = {"since": 1_794_916_800, "providers": [counts]}

    def answer(route):
        route.fulfill(json={**route.fetch().json(), "metrics": metrics})

    page.route("**/api/usage?*", answer)
    show(tmp_path)

    expect(page.get_by_role("heading", name="Counted since Nov 17, 2026, 12:00")).to_be_visible()
    row = page.locator("tbody tr").inner_text().split()
    assert row == ["gemini", "1,204", "0", "0", "26", "22", "0", "3", "0"]
    expect(page.locator(".empty")).to_have_count(0)


def test_names_are_text(page, show, tmp_path):
    """Whatever a caller calls a model, a provider or a key."""
    made = [
        ended(number, time.time(), model=text, provider=text, tenant=text)
        for number, text in enumerate(ATTACKS.values())
    ]
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    show(tmp_path)
    expect(page.locator("figure").first).to_be_visible()
    names = page.locator(".names a").evaluate_all("links => links.map(link => link.textContent)")

    assert len(names) == 3 * len(ATTACKS)
    assert set(names) >= {text for name, text in ATTACKS.items() if name not in ("ansi", "surrogate")}  # fmt: skip
    assert page.evaluate("globalThis.harmed") is None
    assert page.locator("main img, main script, main iframe, main form, main style").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", ["closed", "tables", "empty"])
def test_axe(page, show, folder, scheme, state):
    if not AXE.is_file():
        pytest.skip(MISSING)
    page.emulate_media(color_scheme=scheme)
    show(folder, "#days=30" if state != "empty" else "#provider=nobody")
    expect(page.locator("figure, .empty").first).to_be_visible()
    if state == "tables":
        for summary in page.locator("figure summary").all():
            summary.click()
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")

    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]] == []  # fmt: skip


def test_the_keyboard_reaches_filters_tables_and_names(page, show, folder):
    show(folder)
    expect(page.locator("figure").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("figure").first.locator("table")).to_be_visible()
    page.locator("#days input:checked").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("7 days")).to_be_checked()
    assert "days=7" in page.url


@pytest.mark.parametrize("width", [360, 400, 1600])
def test_nothing_is_wider_than_the_screen(page, show, folder, width):
    page.set_viewport_size({"width": width, "height": 740})
    show(folder)
    expect(page.locator("figure").first).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= width
