"""What happens on an open page while a source grows: nothing is lost, nothing moves, and what is taken back is said."""

import json

import pytest

from view.browser.driving import expect, rows_of
from view.browser.sample_rows import Rows, conversations, fact
from view.browser.stand_in import StandIn, wait_until

TEXT = "The first word comes alone, then the others follow: مرحبا, 你好, 🙂 and the end.\n"


@pytest.fixture
def live():
    with StandIn({"s1.main": conversations()["s1.main"]}, is_live=True) as server:
        yield server


def listening(page, server):
    """Opens the page, and waits until it listens."""
    page.goto(server.url)
    expect(page.locator("#status")).to_have_text("Live.")


def new_thought(server, text=""):
    rows = rows_of(server)
    made = Rows()
    made.turn("assistant")
    turn = rows[-1]["turn"] + 1
    row = made.thought(text)
    head = made.rows[0] | {"n": len(rows), "turn": turn}
    row |= {"n": len(rows) + 1, "turn": turn, "is_open": True}
    return head, row


def growth(row, at, text):
    size = at + len(text.encode("utf-16-le")) // 2
    return {"n": row["n"], "at": at, "text": text, "facts": [fact(f"{size:,} characters")]}


def grow(server, row, text):
    """Sends a text letter by letter."""
    told = row["text"]
    for letter in text:
        server.tell("grow", growth(row, len(told.encode("utf-16-le")) // 2, letter))
        told += letter


def text_of(page, n):
    return page.locator(f"#n{n} > .text").evaluate("text => text.textContent")


def test_a_thought_grows_while_it_is_folded(page, live):
    listening(page, live)
    head, row = new_thought(live, "Hm. ")
    live.tell("row", head)
    live.tell("row", row)
    expect(page.locator(f"#n{row['n']} .badge.writing")).to_have_text("writing")
    node = page.locator(f"#n{row['n']} > .text").evaluate_handle("text => text.firstChild")
    grow(live, row, TEXT)

    expect(page.locator(f"#n{row['n']} .facts")).to_have_text(
        f"{len((row['text'] + TEXT).encode('utf-16-le')) // 2} characters"
    )
    assert text_of(page, row["n"]) == row["text"] + TEXT
    assert node.evaluate(
        "(node, text) => node.isConnected && node.data === text", row["text"] + TEXT
    )
    assert not page.locator(f"#n{row['n']}").evaluate("row => row.open")
    live.tell("row", {**row, "text": row["text"] + TEXT, "is_open": False})
    expect(page.locator(f"#n{row['n']} .badge.writing")).to_have_count(0)


def test_an_empty_thought_begins_to_grow(page, live):
    listening(page, live)
    head, row = new_thought(live)
    live.tell("row", head)
    live.tell("row", row)
    live.tell("grow", growth(row, 0, "Now"))

    expect(page.locator(f"#n{row['n']} .facts")).to_have_text("3 characters")
    assert text_of(page, row["n"]) == "Now"


def test_cut_at_every_byte(page, live):
    """A connection that breaks anywhere in an event goes on behind the last whole one."""
    head, row = new_thought(live)
    live.cuts = iter(range(1, 1000))
    page.goto(live.url)
    wait_until(lambda: live.listeners)
    live.tell("row", head)
    live.tell("row", row)
    grow(live, row, TEXT)
    longest = max(map(len, live.events))
    for _ in range(longest):
        live.tell("grow", growth(row, 0, TEXT))
    wait_until(lambda: len(live.listeners) > longest, 60)
    live.cuts = iter(())
    live.tell("grow", growth(row, 0, TEXT + "The end."))

    expect(page.locator(f"#n{row['n']} > .text")).to_have_text(
        TEXT + "The end.", use_inner_text=False, timeout=20_000
    )
    assert text_of(page, row["n"]) == TEXT + "The end."
    expect(page.locator(".row")).to_have_count(len(rows_of(live)) + 2)
    seen = [int(after.rpartition("-")[2]) for after in live.listeners]
    assert seen == sorted(seen)


def test_reload_in_the_middle_of_a_stream(page, live):
    """The rows of a reload hold a part of the stream, and the events behind them the rest."""
    listening(page, live)
    head, row = new_thought(live)
    rows = rows_of(live)
    for cut in range(0, len(TEXT), 9):
        text = TEXT[:cut]
        size = len(text.encode("utf-16-le")) // 2
        live.conversations["s1.main"]["rows"] = [*rows, head, {**row, "text": text}]
        page.reload()
        expect(page.locator("#status")).to_have_text("Live.")
        live.tell("grow", growth({**row, "text": text}, size, TEXT[cut:]))
        expect(page.locator(f"#n{row['n']} .facts")).to_have_text(
            f"{len(TEXT.encode('utf-16-le')) // 2} characters"
        )
        assert text_of(page, row["n"]) == TEXT
        live.events.clear()


def test_an_event_that_the_rows_contain_already_does_no_harm(page, live):
    listening(page, live)
    head, row = new_thought(live, "Hm. ")
    for name, data in [
        ("row", head),
        ("row", row),
        *[("grow", growth(row, 4, "One.")) for _ in range(3)],
        ("grow", growth(row, 8, " Two.")),
    ]:
        live.tell(name, data)

    expect(page.locator(f"#n{row['n']} > .text")).to_have_text(
        "Hm. One. Two.", use_inner_text=False
    )


def test_what_is_taken_back_is_said(page, live):
    """A thought that turns out to be text: the page says that it was shown as a thought."""
    listening(page, live)
    head, row = new_thought(live, "Is this a thought?")
    live.tell("row", head)
    live.tell("row", row)
    live.tell("gone", {"n": row["n"]})
    expect(page.locator(f"#n{row['n']} .facts")).to_contain_text("taken back")
    assert text_of(page, row["n"]) == "Is this a thought?"
    live.tell(
        "row",
        {**row, "kind": "text", "title": "Text", "text": "Is this a thought? No.", "facts": []},
    )

    expect(page.locator(f"#n{row['n']} .foot")).to_contain_text("read again")
    page.locator(f"#n{row['n']} .foot summary").click()
    expect(page.locator(f"#n{row['n']} .whys")).to_contain_text(
        "At first this was: Thinking. Is this a thought?"
    )
    assert text_of(page, row["n"]) == "Is this a thought? No."


def test_focus_fold_and_place_stay(page, live):
    listening(page, live)
    page.locator("#n3 > summary").click()
    page.evaluate("scrollTo(0, 300)")
    before = page.evaluate("[scrollY, document.activeElement.closest('.row').id]")
    head, row = new_thought(live, TEXT)
    live.tell("row", {**rows_of(live)[3], "title": "Thinking, again"})
    live.tell("row", head)
    live.tell("row", row)
    expect(page.locator(f"#n{row['n']}")).to_be_attached()
    expect(page.locator("#n3 > summary")).to_contain_text("Thinking, again")

    assert page.evaluate("[scrollY, document.activeElement.closest('.row').id]") == before
    assert page.locator("#n3").evaluate("row => row.open")


def test_follow(page, live):
    listening(page, live)
    page.get_by_label("follow").check()
    head, row = new_thought(live, TEXT)
    live.tell("row", head)
    live.tell("row", row)
    expect(page.locator(f"#n{row['n']}")).to_be_in_viewport()
    page.mouse.wheel(0, -2000)
    expect(page.get_by_label("follow")).not_to_be_checked()


def test_a_source_that_was_written_anew_is_read_anew(page, live):
    listening(page, live)
    live.conversations["s1.main"] = {**live.conversations["s1.main"], "rows": rows_of(live)[:5]}
    live.tell("reset", {})

    expect(page.locator(".row")).to_have_count(5)


def test_the_status_line_does_not_read_token_by_token(page, live):
    listening(page, live)
    page.evaluate(
        "globalThis.said = []; new MutationObserver(() => said.push(document.getElementById('status').textContent)).observe(document.getElementById('status'), {childList: true})"
    )
    head, row = new_thought(live)
    live.tell("row", head)
    live.tell("row", row)
    grow(live, row, TEXT)
    expect(page.locator(f"#n{row['n']} > .text")).to_have_text(TEXT.strip(), use_inner_text=False)

    assert len(page.evaluate("said")) <= 2
    assert TEXT[:10] not in json.dumps(page.evaluate("said"))


def test_a_plan_is_made_again_when_the_conversation_went_on(page, live):
    from view.browser.sample_rows import plan

    live.plans["openai/gpt-5.6"] = plan(rows_of(live))
    page.goto(f"{live.url}#for=openai/gpt-5.6")
    expect(page.locator(".mark.stays").first).to_be_visible()
    head, row = new_thought(live, TEXT)
    live.plans["openai/gpt-5.6"] = plan([*rows_of(live), head, row])
    live.tell("row", head)
    live.tell("row", row)

    expect(page.locator(f"#n{row['n']} + .marks .mark")).to_be_visible()
