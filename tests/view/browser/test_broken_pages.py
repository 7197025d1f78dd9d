"""Pages that are broken on purpose: the tests of this folder would see it."""

import pytest

from view.browser.driving import as_read, expect
from view.browser.hostile import ATTACKS
from view.browser.stand_in import ASSETS
from view.browser.test_hostile import HARMED, served
from view.browser.test_timeline import shown_texts

BROKEN = {
    "markup": ("rows.js", "  return isShown && row.blocks", "  text.innerHTML = row.text;\n  return isShown && row.blocks"),
    "joined blocks": ("timeline.js", "export function putRow(row) {", "export function putRow(row) {\n  if (row.kind === 'thinking' && entries.get(row.n - 1)?.row.kind === 'turn') return entries.get(row.n - 1).element.append(row.text);"),
    "hidden empty blocks": ("timeline.js", "export function putRow(row) {", "export function putRow(row) {\n  if (row.empty && row.kind === 'thinking') return;"),
    "thoughts last": ("timeline.js", "    else insertPart(section, element, row);", "    else if (row.kind === 'thinking') section.lastElementChild.append(element); else section.lastElementChild.prepend(element);"),
    "a policy over clicks": ("timeline.js", "clicked.get(keyOf(n)) ??", ""),
}  # fmt: skip


def break_page(server, name):
    file, old, new = BROKEN[name]
    text = (ASSETS / file).read_text("utf-8")
    assert text.count(old) == 1
    server.assets[file] = text.replace(old, new).encode()


@pytest.mark.parametrize("name", ["joined blocks", "hidden empty blocks", "thoughts last"])
def test_rows_that_are_missing_or_moved(context, server, name):
    break_page(server, name)
    page = context.new_page()
    page.goto(server.url)
    page.locator("#n22").wait_for()

    rows = as_read(server.conversations["s1.main"]["rows"])
    assert shown_texts(page) != [(row["n"], row["text"]) for row in rows]


def test_markup(context):
    """The browser refuses it, so nothing runs; and the page is empty, which every test sees."""
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text))
    with served(ATTACKS["image"]) as server:
        break_page(server, "markup")
        page.goto(server.url)
        expect(page.locator("#head")).to_contain_text("TrustedHTML")

        assert page.evaluate(HARMED)[0] is None
        assert any("TrustedHTML" in error for error in errors)


def test_a_policy_over_clicks(context, server):
    break_page(server, "a policy over clicks")
    page = context.new_page()
    page.goto(server.url)
    page.locator("#n3 > summary").click()
    page.locator("input[value=length]").check()

    assert not page.locator("#n3").evaluate("row => row.open")
