"""The list of sources, search, plan and comparison."""

import re

from view.browser.driving import expect, rows_of
from view.browser.stand_in import StandIn


def test_sources_are_listed_and_searched(page, server):
    page.goto(server.url)
    sources = page.locator("#source-list a")

    expect(sources).to_have_count(2)
    expect(page.locator("#source-list [aria-current] .title")).to_have_text(
        "Find out why the build is slow"
    )
    page.locator("#source-search").fill("GPT")
    expect(sources).to_have_count(1)
    sources.first.click()
    expect(page.locator("h1")).to_have_text("The same question to GPT")
    expect(page.locator("#source-list [aria-current]")).to_have_count(1)
    page.locator("#source-search").fill("nothing has this")
    expect(page.locator("#source-list")).to_have_text("No source has these words.")


def test_the_list_is_grouped_and_says_what_was_deleted(page, server):
    for id_ in ("s1.main", "s1.agent"):
        first = server.conversations[id_]["head"]["source"]
        first |= {"project": "shop", "day": "Monday, 16 November 2026", "time": "10:12", "at": 2.0}
    second = server.conversations["s2.main"]["head"]["source"]
    second |= {"project": "", "first": "", "problem": "The file was deleted.", "is_deleted": True}
    page.goto(server.url)

    expect(page.locator(".project")).to_have_text(["shop", "other files"])
    expect(page.locator(".date")).to_have_text("Monday, 16 November 2026")
    expect(page.locator("#source-list a .kind")).to_have_text("claude-code")
    expect(page.locator(".deleted")).to_contain_text("The file was deleted.")
    expect(page.locator(".deleted a")).to_have_count(0)


def test_filters_are_asked_for(page, server):
    page.goto(server.url)
    page.get_by_text("Filter", exact=True).click()
    page.locator("#filter-model").fill("opus")
    page.locator("#filter-cost").fill("0.5")
    page.locator("#filter-lost").check()
    page.wait_for_timeout(500)

    assert [path for path in server.asked if path.startswith("/api/sources")][-1] == "/api/sources?q=&from=0&model=opus&cost=0.5&lost=1"  # fmt: skip


def test_one_source_needs_no_list(page, server):
    with StandIn({"s1.main": server.conversations["s1.main"]}) as one:
        page.goto(one.url)
        expect(page.locator("#n3")).to_be_visible()

        expect(page.locator("#sources")).to_be_hidden()


def test_a_hit_opens_its_fold_and_is_marked(page, server):
    page.goto(server.url)
    expect(page.locator("#n3")).to_be_visible()
    page.locator("input[value=none]").check()
    page.keyboard.press("/")
    page.keyboard.type("changed")
    hits = page.locator(".hit")
    expect(hits).to_have_count(2)
    expect(page.locator("#found-words")).to_have_text("2 places")
    expect(hits.first.locator("mark")).to_have_text("changed")
    expect(hits.nth(1)).to_contain_text("thinking, in The same question to GPT")
    hits.first.click()

    expect(page.locator("#n3 > .text")).to_be_visible()
    expect(page.locator("#n3 > .text")).to_be_in_viewport()
    marked = "[...CSS.highlights.get('hit')].map(range => range.toString())"
    page.wait_for_function("CSS.highlights.get('hit')?.size")
    assert set(page.evaluate(marked)) == {"changed"}
    expect(page).to_have_url(re.compile("q=changed"))
    hits.nth(1).click()
    expect(page.locator("h1")).to_have_text("The same question to GPT")
    expect(page.locator("#n3 > .text")).to_be_visible()
    page.wait_for_function("CSS.highlights.get('hit')?.size")
    assert set(page.evaluate(marked)) == {"changed"}
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()


def test_the_query_is_in_the_address(page, server):
    page.goto(f"{server.url}#c=s1.main&q=changed")

    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator("#search")).to_have_value("changed")


def test_search_everywhere(page, server):
    page.goto(f"{server.url}#c=s1.main&q=changed")
    expect(page.locator(".hit")).to_have_count(2)
    page.locator("#everywhere").check()
    page.wait_for_timeout(100)

    searches = [path for path in server.asked if path.startswith("/api/search")]
    assert searches == ["/api/search?q=changed&in=s1.main", "/api/search?q=changed"]


def test_a_plan_is_a_sentence_and_marks_what_does_not_go_unchanged(page, server):
    page.goto(server.url)
    page.get_by_role("button", name="Plan").click()
    page.locator("#target").fill("openai/gpt-5.6")
    page.keyboard.press("Enter")
    marks = page.locator(".mark")
    thoughts = [row for row in rows_of(server) if row["kind"] == "thinking"]
    expect(page.locator(".mark.stays")).to_have_count(len(thoughts))
    expect(marks).to_have_count(len(thoughts) + 1)
    expect(page.locator("#plan-result .sentence")).to_have_text(
        server.plans["openai/gpt-5.6"]["sentence"]
    )
    expect(page.locator(".mark.rewritten")).to_contain_text("Its id is too long for this API.")
    expect(page.locator(".mark.rewritten b").first).to_have_attribute("title", "Rule H9")
    expect(page.locator(".mark.rewritten li")).to_have_text(
        "orphan_result A result must follow its call."
    )
    expect(page.locator("#plan-result .sums summary")).to_contain_text("5 parts stay")
    expect(page.locator("#plan-result ins")).to_have_count(0)
    page.get_by_text("The next request, line by line").click()
    expect(page.locator("#plan-result ins")).to_have_text('+   "reasoning": {"effort": "high"}\n')
    expect(page).to_have_url(re.compile("for=openai%2Fgpt-5.6"))
    suggested = page.locator("#targets option").evaluate_all("all => all.map(one => one.value)")
    assert suggested == server.about["targets"]
    page.get_by_role("button", name="Plan").click()
    expect(marks).to_have_count(0)


def test_a_plan_can_be_in_the_address_and_in_the_command(page, server):
    page.goto(f"{server.url}#c=s1.main&for=openai/gpt-5.6")
    expect(page.locator(".mark.stays").first).to_be_visible()

    with StandIn(server.conversations, target="openai/gpt-5.6") as started:
        started.plans = server.plans
        page.goto(started.url)
        expect(page.locator(".mark.stays").first).to_be_visible()


def test_why_there_is_no_plan(page, server):
    server.plans["nobody/x"] = {"error": "There is no provider nobody."}
    page.goto(f"{server.url}#c=s1.main&for=nobody/x")

    expect(page.locator("#plan-result")).to_have_text("There is no provider nobody.")
    expect(page.locator(".mark")).to_have_count(0)


def test_two_turns_of_two_conversations_are_compared(page, server):
    page.goto(server.url)
    page.locator("#n2").hover()
    page.get_by_role("button", name="Compare from here").click()
    expect(page.locator("#compare")).to_be_visible()
    expect(page.locator("#left")).to_have_value("s1.main:1")
    page.locator("#source-list a", has_text="GPT").click()
    expect(page.locator("h1")).to_have_text("The same question to GPT")
    expect(page.locator("#left")).to_have_value("s1.main:1")
    page.locator("#right").select_option("s2.main:1")

    expect(page.locator("#compare-result ins.line")).to_have_count(2)
    expect(page.locator("#compare-result del.line").first).to_have_text(
        "− The build became slow last week.\n"
    )
    expect(page.locator("#compare-result")).to_contain_text("4 lines differ.")
    page.get_by_label("the requests").check()
    expect(page).to_have_url(re.compile("a=s1.main%3A1&b=s2.main%3A1&what=request"))
    asked = [path for path in server.asked if path.startswith("/api/diff")]
    assert asked == [
        f"/api/diff?a=s1.main%3A1&b=s2.main%3A1&what={what}" for what in ("turn", "request")
    ]
    page.reload()
    expect(page.locator("#compare-result ins.line")).to_have_count(2)


def test_exports_are_linked_with_the_policy(page, server):
    page.goto(server.url)
    page.locator("input[value=length]").check()
    page.get_by_text("Export", exact=True).click()
    page.locator("#n1").wait_for()  # the conversation is drawn, and named in the links
    links = page.locator("#export-forms a").evaluate_all("all => all.map(one => one.href)")

    base = f"{server.url}api/export/s1.main"
    assert links == [f"{base}?form={form}&show=length" for form in ("html", "markdown", "json")]
