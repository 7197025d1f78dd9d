"""What the timeline shows, and how folds, policies and keys move it."""

import re

import pytest

from view.browser.driving import as_read, expect, rows_of

TEXTS = "rows => rows.map(row => [Number(row.id.slice(1)), row.querySelector(':scope > .text')?.textContent ?? ''])"


def shown_texts(page):
    return [tuple(pair) for pair in page.locator(".row").evaluate_all(TEXTS)]


def opened(page, n):
    return page.locator(f"#n{n}").evaluate("row => row.open")


def choose(page, policy):
    page.locator(f"input[value={policy}]").check()


@pytest.mark.parametrize("id_", ["s1.main", "s1.agent", "s2.main"])
def test_every_row_is_there_in_order_with_its_text(page, server, id_):
    """Part by part: nothing is joined, nothing is hidden, also a block without text."""
    page.goto(f"{server.url}#c={id_}")
    expect(page.locator(".row")).to_have_count(len(rows_of(server, id_)))

    assert shown_texts(page) == [(row["n"], row["text"]) for row in as_read(rows_of(server, id_))]
    headings = page.locator("#timeline h2").all_text_contents()
    assert headings == [row["title"] for row in rows_of(server, id_) if row["kind"] == "turn"]


def test_head_and_lanes(page, server):
    page.goto(server.url)

    expect(page.locator("h1")).to_have_text("Find out why the build is slow")
    expect(page).to_have_title("Find out why the build is slow – innervoice")
    expect(page.locator("#head .sums > summary")).to_contain_text("1,932 of them reasoning, 23 %")
    page.get_by_text("What this source cannot know").click()
    expect(page.locator(".cannot li").first).to_be_visible()
    page.locator(".lanes a", has_text="Find the commit").click()
    expect(page.locator("h1")).to_have_text("Find the commit")
    expect(page.locator(".lanes li", has=page.locator("[aria-current]"))).to_contain_text(
        "sub-agent"
    )
    assert "c=s1.agent" in page.url
    page.go_back()
    expect(page.locator("h1")).to_have_text("Find out why the build is slow")


def test_seals_say_whose_they_are_and_why(page, server):
    page.goto(server.url)

    expect(page.locator("#n3 .badge.fits")).to_have_text("sealed by anthropic, fits")
    dead = page.locator(".row", has=page.locator(".badge.dead"))
    dead.locator("summary").first.click()
    expect(dead.locator(".whys")).to_contain_text(
        "The host would refuse it: the system prompt changed."
    )
    expect(dead.locator(".whys")).to_contain_text("436 bytes, 9f2c41d7")


def test_an_empty_block_says_why(page, server):
    for policy in ("full", "summary", "length"):
        page.goto(server.url)
        choose(page, policy)
        empty = page.locator(".row", has=page.locator(".badge.empty"))
        expect(empty.locator(".badge.empty")).to_have_text("empty: sealed only")
        expect(empty.locator(".reason")).to_be_visible()


def test_notes_and_remarks(page, server):
    page.goto(server.url)

    expect(page.locator(".notes")).to_have_text(
        re.compile("^prefix_changed The system prompt before")
    )
    expect(page.locator(".remark .text")).to_have_text(
        "no answer: the token limit was reached while thinking"
    )


def test_a_policy_opens_folds_and_hides_thoughts(page, server):
    page.goto(server.url)
    thought = page.locator("#n3")

    expect(thought.locator(".first")).to_be_visible()
    assert not opened(page, 3)
    choose(page, "full")
    assert opened(page, 3)
    expect(thought.locator(".text")).to_be_visible()
    choose(page, "length")
    assert not opened(page, 3)
    expect(thought.locator(".first")).to_be_hidden()
    expect(thought.locator(".facts")).to_contain_text("612 tokens")
    choose(page, "none")
    expect(thought).to_be_hidden()


def test_a_click_counts_more_than_a_policy(page, server):
    page.goto(server.url)
    page.locator("#n3 > summary").click()
    for policy in ("length", "summary", "none"):
        choose(page, policy)
        assert opened(page, 3), policy
        expect(page.locator("#n3")).to_be_visible()
    page.locator("#n3 > summary").click()
    choose(page, "full")
    assert not opened(page, 3)
    assert opened(page, 15)
    page.locator(".lanes a", has_text="Find the commit").click()
    expect(page.locator("#n3 .badge")).to_have_text("sealed by anthropic, refused")
    assert opened(page, 3)  # another conversation's row of the same number
    page.go_back()
    expect(page.locator("#n3 .badge")).to_have_text("sealed by anthropic, fits")
    assert not opened(page, 3)


def test_a_policy_that_is_chosen_while_the_page_loads_counts(page, server):
    """Seen failing: the page showed what it had remembered, over the choice."""
    waiting = []

    def wait(route):
        waiting.append(route)

    page.route("**/api/about?*", wait)
    with page.expect_request("**/api/about?*"):
        page.goto(server.url)
    choose(page, "none")
    waiting[0].continue_()
    expect(page.locator(".absent").first).to_be_visible()
    expect(page.locator("input[value=none]")).to_be_checked()
    expect(page.locator("#n3")).to_be_hidden()


def test_thoughts_that_are_not_shown_are_counted_and_can_be_shown(page, server):
    page.goto(server.url)
    choose(page, "none")

    thoughts = [row for row in rows_of(server) if row["kind"] == "thinking"]
    lines = page.locator(".absent")
    expect(lines).to_have_count(len({row["turn"] for row in thoughts}))
    assert lines.first.inner_text() == "1 thought is not shown"
    lines.first.click()
    expect(page.locator("#n3")).to_be_visible()
    expect(lines).to_have_count(len({row["turn"] for row in thoughts}) - 1)
    assert page.evaluate("document.activeElement.closest('.row').id") == "n3"


def test_the_policy_is_remembered(page, server):
    page.goto(server.url)
    choose(page, "length")
    page.reload()

    expect(page.locator("input[value=length]")).to_be_checked()
    assert page.locator("html").get_attribute("data-policy") == "length"


def test_long_results_are_folded_and_short_ones_open(page, server):
    page.goto(server.url)
    rows = {row["n"]: row for row in rows_of(server) if row["kind"] == "result"}

    assert {n: opened(page, n) for n in rows} == {
        n: len(row["text"]) < 600 for n, row in rows.items()
    }
    assert len(set({n: opened(page, n) for n in rows}.values())) == 2


def test_keys(page, server):
    page.goto(server.url)
    expect(page.locator(".row")).to_have_count(len(rows_of(server)))
    at = "document.activeElement.closest('.row')?.id ?? document.activeElement.id"
    seen = []
    for _ in range(4):
        page.keyboard.press("j")
        seen.append(page.evaluate(at))
    assert seen == ["n0", "n1", "n2", "n3"]
    page.keyboard.press("Enter")
    assert opened(page, 3)
    page.keyboard.press("k")
    assert page.evaluate(at) == "n2"
    page.keyboard.press("/")
    assert page.evaluate(at) == "search"
    page.keyboard.type("j?")
    expect(page.locator("#search")).to_have_value("j?")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_the_place_is_in_the_address(page, server):
    page.goto(server.url)
    expect(page.locator("#n7 > summary")).to_be_visible()
    page.locator("#n7 > summary").focus()
    expect(page).to_have_url(re.compile(r"#.*\bn=7\b"))
    page.reload()
    expect(page.locator("#n7 > summary")).to_be_focused()


def test_an_image_is_shown_after_a_click(page, server):
    page.goto(server.url)

    expect(page.locator("img")).to_have_count(0)
    page.get_by_role("button", name="Show the image").click()
    expect(page.get_by_alt_text("times.png")).to_be_visible()
    assert (
        page.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
    )


def test_the_rest_of_a_long_text_is_loaded_when_asked_for(page, server):
    row = rows_of(server)[1]
    server.whole[1] = whole = "all of it\n" * 5_000
    row["text"], row["cut"] = whole[:20_000], len(whole)
    page.goto(server.url)

    page.get_by_role("button", name="Load all 50,000 characters").click()
    expect(page.locator("#n1 .load")).to_have_count(0)
    assert page.locator("#n1 > .text").evaluate("text => text.textContent") == whole


def test_text_and_link_can_be_copied(page, server):
    page.goto(server.url)
    page.locator("#n3").hover()
    page.get_by_role("button", name="Copy text").click()
    expect(page.locator("#status")).to_have_text("Text copied.")
    assert page.evaluate("navigator.clipboard.readText()") == rows_of(server)[3]["text"]
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#status")).to_have_text("Link copied.")
    assert page.evaluate("navigator.clipboard.readText()") == f"{server.url}#c=s1.main&n=3"


def test_directions_of_text(page, server):
    """Each line has the direction of its own letters."""
    page.goto(server.url)
    style = page.locator("#n1 > .text").evaluate("text => getComputedStyle(text).unicodeBidi")

    assert style == "plaintext"
    assert page.locator("#n1 > .text").get_attribute("dir") == "auto"


def test_print_shows_what_is_folded(page, server):
    page.goto(server.url)
    expect(page.locator("#n3 > .text")).to_be_hidden()
    page.emulate_media(media="print")

    height = page.locator("#n3 > .text").evaluate("text => text.getBoundingClientRect().height")
    assert height > 40
    expect(page.locator(".bar")).to_be_hidden()


def test_an_error_of_the_server_is_said(context, server):
    page = context.new_page()
    page.goto(f"{server.url}#c=s9.gone")

    expect(page.locator("#head .bad")).to_have_text("There is nothing at this URL.")
