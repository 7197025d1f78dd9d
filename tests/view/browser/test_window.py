"""A session of 45,000 rows: few of them are in the page, and every place in it is reached at once."""

import time

import pytest

from view.browser.driving import expect
from view.browser.sample_rows import Rows, fact, head, seal
from view.browser.stand_in import StandIn, wait_until

ROWS = 45_000
DRAWN = 1_400
"""At most so many rows are in the page."""
SEEN = "[...document.querySelectorAll('.row')].filter(row => { const box = row.getBoundingClientRect(); return box.height && box.bottom > 60 && box.top < innerHeight }).map(row => Number(row.id.slice(1)))"


def long_session():
    made = Rows()
    for step in range(ROWS // 5):
        if step % 24 == 0:
            made.turn("user")
            made.text(f"Prompt before step {step}.")
        made.turn("assistant", fact("claude-opus-5-5"))
        made.thought("The build became slow. " * 5, seals=[seal("fits")])
        call = made.part("call", "Bash", '{"command": "ls"}', blocks=[["command", "ls"]])
        made.turn("user", title="tool result", is_nested=True)
        made.part("result", "result of Bash", "a line\n" * 40, first="a line", call=call["n"])
    return {"s1.main": {"head": head("s1.main", "A long session"), "rows": made.rows[:ROWS]}}


@pytest.fixture(scope="module")
def rows():
    return long_session()


@pytest.fixture
def server(rows):
    with StandIn({id_: dict(one) for id_, one in rows.items()}) as made:
        yield made


def kind_of(server, n):
    return server.conversations["s1.main"]["rows"][n]["kind"]


def focused(page):
    return page.evaluate("Number(document.activeElement.closest('.row')?.id.slice(1) ?? -1)")


def check(page, n):
    """The row is on the screen, with the focus, among few."""
    expect(page.locator(f"#n{n}")).to_be_in_viewport()
    wait_until(lambda: n in page.evaluate(SEEN))
    assert page.locator(".row").count() <= DRAWN
    assert page.evaluate("document.querySelectorAll('#timeline *').length") < 20 * DRAWN


def opened(page, server, place=""):
    page.goto(f"{server.url}#c=s1.main{place}")
    expect(page.locator("#chapters li").first).to_be_attached()


@pytest.mark.parametrize("n", [0, 59, 61, 22_222, ROWS - 1])
def test_the_address_of_a_row(page, server, n):
    opened(page, server, f"&n={n}")
    check(page, n)


def test_both_ends(page, server):
    opened(page, server)
    page.keyboard.press("End")
    check(page, ROWS - 1)
    page.keyboard.press("Home")
    check(page, 0)


def test_a_hit(page, server):
    n = next(n for n in range(30_000, ROWS) if kind_of(server, n) == "thinking")
    server.hits = [{"id": "s1.main", "n": n, "title": "Thinking", "where": "thinking", "before": "The ", "hit": "build", "after": " became"}]  # fmt: skip
    opened(page, server, "&q=build")
    page.locator(".hit").click()
    check(page, n)
    page.wait_for_function("CSS.highlights.get('hit')?.size")
    expect(page.locator("#found-words")).to_have_text("1 places")


@pytest.mark.parametrize(("key", "kind"), [("t", "thinking"), ("n", "turn")])
def test_the_next_and_the_one_before(page, server, key, kind):
    opened(page, server, "&n=22300")
    check(page, 22_301)
    letters = {"thinking": lambda row: row["kind"] == "thinking", "turn": lambda row: row["kind"] == "turn" and row["title"] == "user"}  # fmt: skip
    wanted = [row["n"] for row in server.conversations["s1.main"]["rows"] if letters[kind](row)]
    after = [n for n in wanted if n > 22_301][:3]
    before = [n for n in wanted if n < after[2]][-2:][::-1]
    for n in after:
        page.keyboard.press(key)
        wait_until(lambda n=n: focused(page) == n)
        check(page, n)
    for n in before:
        page.keyboard.press(key.upper())
        wait_until(lambda n=n: focused(page) == n)


def test_no_next_is_said(page, server):
    opened(page, server)
    page.keyboard.press("e")
    expect(page.locator("#status")).to_have_text("There is no error after this.")


def test_scrolling_down_and_back_keeps_the_order(page, server):
    """Rows come before the reader sees their place, none twice, none missing."""
    opened(page, server)
    for _ in range(60):
        page.mouse.wheel(0, 1500)
        page.wait_for_timeout(20)
    wait_until(lambda: min(page.evaluate(SEEN), default=0) > 800)
    numbers = page.locator(".row").evaluate_all("rows => rows.map(row => Number(row.id.slice(1)))")
    assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))
    assert len(numbers) <= DRAWN
    assert min(numbers) > 0
    for _ in range(70):
        page.mouse.wheel(0, -1500)
        page.wait_for_timeout(20)
    wait_until(lambda: 0 in page.evaluate(SEEN))


def test_the_scroll_bar_is_dragged_into_the_middle(page, server):
    opened(page, server)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    wait_until(lambda: page.evaluate(SEEN) and abs(page.evaluate(SEEN)[0] - ROWS / 2) < ROWS / 8)
    assert page.locator(".row").count() <= DRAWN


def test_the_outline_is_a_scroll_bar(page, server):
    opened(page, server)
    strip = page.get_by_role("scrollbar", name="Position")
    box = strip.bounding_box()
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] * 0.75)
    wait_until(lambda: abs(focused(page) - 0.75 * ROWS) < 100)
    wait_until(lambda: int(strip.get_attribute("aria-valuenow")) > 0.7 * ROWS)
    strip.focus()
    page.keyboard.press("Home")
    wait_until(lambda: 0 in page.evaluate(SEEN))
    page.locator("#chapters a").nth(100).click()
    expect(page.locator("#chapters [aria-current]")).to_have_text("Prompt before step 2400.")
    expect(page.get_by_text("Prompt before step 2400.").last).to_be_in_viewport()


def test_a_bar_says_that_something_is_fetched(page, server):
    opened(page, server)
    expect(page.locator("#busy")).to_be_hidden()
    answer = server.answer

    def slow(path, query):
        if path.startswith("/api/c/"):
            time.sleep(0.6)
        return answer(path, query)

    server.answer = slow
    page.keyboard.press("End")
    expect(page.locator("#busy")).to_be_visible()
    check(page, ROWS - 1)
    expect(page.locator("#busy")).to_be_hidden()


def test_the_rest_of_a_large_file_follows_its_beginning(page, server):
    """What is known early is shown early, without sums; then all of it."""
    answer, early = server.answer, []

    def slow(path, query):
        found = answer(path, query)
        if path.startswith("/api/c/") and query.get("early"):
            early.append(query)
            return {**found, "total": len(found["rows"]), "next": None, "is_early": True, "head": found["head"] | {"facts": []}}  # fmt: skip
        if path.startswith("/api/c/"):
            time.sleep(0.5)
        return found

    server.answer = slow
    page.goto(server.url)
    expect(page.locator("#n1")).to_be_visible()
    expect(page.locator("#end")).to_have_text("Reading the rest…")
    expect(page.locator("#head .sums summary")).to_contain_text("7 turns")
    assert len(early) == 1
    page.keyboard.press("End")
    check(page, ROWS - 1)


def test_a_row_that_is_added_does_not_move_the_reader(page, rows):
    with StandIn({id_: dict(one) for id_, one in rows.items()}, is_live=True) as server:
        opened(page, server, "&n=301")
        expect(page.locator("#status")).to_have_text("Live.")
        check(page, 301)
        before = page.evaluate("scrollY")
        made = Rows()
        made.turn("assistant")
        new = made.rows[0] | {"n": ROWS, "turn": 10**6}
        server.conversations["s1.main"]["rows"] = [*server.conversations["s1.main"]["rows"], new]
        server.tell("row", new)
        expect(page.locator("#status")).to_have_text("1 new row.")
        assert page.evaluate("scrollY") == before
        assert page.locator(f"#n{ROWS}").count() == 0
        page.keyboard.press("End")
        check(page, ROWS)
