"""The page with the real server: every format opens, files grow, and an export opens from disk without a network."""

import json
import time

import pytest

from innervoice.emulator.core import Emulator
from innervoice.emulator.embedded import emulated_client
from innervoice.emulator.request_log import EmulatorLog
from innervoice.sources.opening import _readers, open_source
from innervoice.view.library import Library
from innervoice.view.rows import rows_of
from innervoice.view.server import ViewServer
from sources.made_sessions import MADE, inspect_zip, opencode_database
from sources.samples import SAMPLES
from view.browser import sample_files
from view.browser.driving import as_read, expect, watched
from view.session_files import SEAL, SECRET, session, session_lines

SHOWN = "rows => rows.map(row => [row.querySelector(':scope > h2, :scope > summary')?.firstChild.textContent ?? '', row.querySelector(':scope > .text')?.textContent ?? ''])"


@pytest.fixture
def folder(tmp_path):
    return sample_files.write(tmp_path / "conversations")


def opened(page, paths):
    """The viewer of some paths, with a page that shows it."""
    server = ViewServer(Library(paths)).__enter__()
    page.goto(server.first_address)
    return server


@pytest.fixture
def viewer(page):
    """Starts viewers that end with the test."""
    started = []

    def start(*paths):
        started.append(opened(page, paths))
        return started[-1]

    yield start
    page.close()
    for server in started:
        server.__exit__(None, None, None)


def expected(conversation):
    """Titles and texts of the rows, in order."""
    return [
        (row["title"] if row["kind"] not in ("text", "remark") or row.get("is_aside") else "", row["text"])
        for row in as_read(rows_of(conversation))
    ]  # fmt: skip


def write_every_format(folder):
    """Files of all formats: those that the tests of the readers have, and a log that a client of the emulator leaves."""
    contents = [(kind, content) for kind, files in SAMPLES.items() for content in files.values()]
    contents += [*((kind, make()) for kind, make in MADE.items()), ("inspect", inspect_zip())]
    for number, (kind, content) in enumerate(contents):
        (folder / f"{number:03}.{kind}").write_bytes(content)
    opencode_database(folder / "database.opencode").close()
    log = EmulatorLog(folder / "logs")
    emulated_client(Emulator(log=log)).ask(
        sample_files.MODEL, "What is 15 * 23?", reasoning="high", max_tokens=8000
    )
    log.close()
    return {file.name: file for file in folder.rglob("*") if file.is_file()}


def test_every_format_opens(page, viewer, tmp_path):
    """All samples in one folder: each is in the list, and shows the parts of its main conversation in their order, with their texts."""
    files = write_every_format(tmp_path)
    server = viewer(tmp_path)
    expect(page.locator("#source-list a").first).to_be_visible()
    sources = {}
    more = page.locator("#more-sources")
    while more.is_visible():
        more.click()
        page.wait_for_timeout(100)
    for link in page.locator("#source-list a").all():
        path = link.locator(".path, .title").last.inner_text()
        sources[path.rpartition("/")[2]] = link.get_attribute("href")

    assert sources.keys() == files.keys()
    kinds = set()
    for name, file in files.items():
        source = open_source(file)
        kinds.add(source.kind)
        page.goto(f"{server.url}/{sources[name]}")
        page.locator("#head .path", has_text=name).wait_for()
        rows = page.locator(".row")
        expect(rows).to_have_count(len(rows_of(source.conversation())))
        assert [tuple(pair) for pair in rows.evaluate_all(SHOWN)] == expected(
            source.conversation()
        ), name
    assert {reader.kind for reader in _readers()} - kinds == {
        "gateway-lines"
    }  # notes without texts


def test_no_seal_and_no_secret_reaches_the_page_or_a_file(page, viewer, tmp_path):
    (tmp_path / "s.jsonl").write_bytes(session(rounds=3))
    heard = []
    page.on(
        "response",
        lambda response: (
            heard.append(response)
            if "/api/" in response.url and "live" not in response.url
            else None
        ),
    )
    viewer(tmp_path / "s.jsonl")
    page.goto(page.url.split("#")[0] + "#for=openai/gpt-5.6")
    expect(page.locator(".mark.stays").first).to_be_visible()
    said = "".join(response.text() for response in heard) + page.content()

    assert len(heard) > 3
    assert SEAL not in said


def test_sub_agents_are_lanes(page, viewer, folder):
    viewer(folder)
    page.locator("#source-list a", has_text="Why does the resolver").click()
    page.locator(".lanes a", has_text="↳").click()

    expect(page.locator("#timeline .text").first).to_have_text(
        "Find the commit that changed the resolver."
    )
    expect(page.locator(".thinking .text")).to_have_text(
        "I look at the commits of last week, from new to old.", use_inner_text=False
    )


def test_seals_of_an_edited_history(page, viewer, folder):
    viewer(folder / "slow-build-edited.json")

    expect(page.locator(".thinking .badge:not(.empty)")).to_have_text(
        ["sealed by anthropic, fits", "sealed by anthropic, fits", "sealed by anthropic, dead"]
    )
    expect(page.locator(".badge.empty")).to_have_count(1)


def test_search_plan_and_comparison(page, viewer, folder):
    viewer(folder)
    page.locator("#source-list a", has_text="slow-build.json").click()
    page.locator("#search").fill("in:thinking evidence")
    expect(page.locator(".hit")).to_have_count(1)
    page.locator(".hit").click()
    expect(page.locator(".thinking[open] .text")).to_contain_text("The cheapest evidence")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Plan").click()
    page.locator("#target").fill("openai/gpt-5.6")
    page.keyboard.press("Enter")
    expect(page.locator(".mark.stays")).to_have_count(3)
    expect(page.locator("#plan-result .sentence")).to_contain_text(
        "but 3 thoughts, which are Claude's and stay here"
    )
    page.get_by_text("The next request, line by line").click()
    expect(page.locator("#plan-result ins").first).to_be_visible()
    page.get_by_role("button", name="Plan").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("#left").select_option(index=2)
    page.locator("#source-list a", has_text="gpt.json").click()
    expect(page.locator("#right option")).to_have_count(2)
    page.locator("#right").select_option(index=1)
    expect(page.locator("#compare-result ins.line").first).to_be_visible()
    expect(page.locator("#compare-result del.side")).to_contain_text("turn 2 (assistant)")
    expect(page.locator("#compare-result .sums")).to_contain_text("gpt-5.6")


def test_a_file_that_grows(page, viewer, tmp_path):
    """Written in pieces that end anywhere, the page ends as if it had been opened at the end; a reload in the middle changes nothing."""
    whole = session(rounds=4)
    file = tmp_path / "s.jsonl"
    first = len(json.dumps(session_lines(rounds=4)[0])) + 1
    file.write_bytes(whole[:first])
    viewer(file)
    expect(page.locator("#status")).to_have_text("Live.")
    with file.open("ab", buffering=0) as growing:
        step = len(whole) // 40
        for number, start in enumerate(range(first, len(whole), step)):
            growing.write(whole[start : start + step])
            time.sleep(0.02)
            if number == 20:
                page.reload()
    conversation = open_source(file).conversation()

    expect(page.locator(".row")).to_have_count(len(rows_of(conversation)), timeout=20_000)
    expect(page.locator("#timeline .text").last).to_have_text(
        "Two files: a.py </script><script>alert(1)</script>."
    )
    assert [tuple(pair) for pair in page.locator(".row").evaluate_all(SHOWN)] == expected(
        conversation
    )


def test_a_new_file_comes_into_the_list(page, viewer, folder):
    viewer(folder)
    expect(page.locator("#source-list a")).to_have_count(4)
    expect(page.locator("#status")).to_have_text("Live.")
    (folder / "new.jsonl").write_bytes(session("A question that is new"))

    expect(page.locator("#source-list a")).to_have_count(5, timeout=20_000)
    expect(page.locator("#source-list")).to_contain_text("A question that is new")


@pytest.mark.parametrize("policy", ["full", "none"])
def test_an_export_opens_from_disk_without_a_network(context, page, viewer, tmp_path, policy):
    (tmp_path / "s.jsonl").write_bytes(session(rounds=2))
    viewer(tmp_path / "s.jsonl")
    page.locator("#n1").wait_for()  # the page has begun
    page.locator(f"input[value={policy}]").check()
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as downloading:
        page.locator("#export-forms a").first.click()
    file = tmp_path / "export.html"
    downloading.value.save_as(file)
    assert SEAL not in file.read_text("utf-8")
    assert SECRET not in file.read_text("utf-8")
    offline = context.browser.new_context(offline=True)
    taken = watched(offline)
    taken.goto(file.as_uri())

    expect(taken.locator("h1")).to_contain_text("List the files")
    expect(taken.locator("#timeline .text").last).to_have_text(
        "Two files: a.py </script><script>alert(1)</script>."
    )
    assert taken.locator(".thinking").count() == (2 if policy == "full" else 0)
    expect(taken.get_by_role("button", name="Plan")).to_be_hidden()
    taken.locator("#search").fill("two files")
    taken.locator(".hit").click()
    taken.wait_for_function("CSS.highlights.get('hit')?.size")  # marked once the row is there
    assert taken.evaluate("[...CSS.highlights.get('hit')].map(String)") == ["Two files"]
    assert taken.troubles == []
    offline.close()
