"""Whatever is written in a conversation is shown as text: nothing runs, nothing is asked of another server, nothing is refused at all."""

import json
import re

import pytest

from innervoice.view.export import page_with
from view.browser.driving import expect, watched
from view.browser.hostile import ATTACKS, LINKS
from view.browser.sample_rows import Rows, fact, head, seal, source
from view.browser.stand_in import StandIn

HARMED = "[globalThis.harmed, {}.harmed, document.querySelectorAll('img, iframe, object, embed, svg, base, script:not([type])').length]"


def hostile(attack):
    """A conversation that has an attack wherever a text may be."""
    made = Rows()
    facts = [fact(attack, attack, "warn")]
    made.turn("assistant", *facts, title=attack, notes=facts, empty={"word": attack, "why": attack})
    for kind in ("thinking", "text", "call", "result", "media", "opaque", "remark"):
        more = {"first": attack, "opening": attack, "seals": [seal("dead", attack, attack)]}
        made.part(kind, attack, attack, *facts, **more)
    made.part("thinking", attack, "", *facts, empty={"word": attack, "why": attack})
    for link in LINKS:
        made.part("media", attack, attack, image=link)
    where = source() | {
        "title": attack,
        "path": attack,
        "kind": attack,
        "facts": facts,
        "problem": attack,
    }
    lanes = [
        {"id": "s1.main", "title": attack, "parent": attack, "facts": facts},
        {"id": "s1.x", "title": attack, "parent": None, "facts": facts},
    ]
    top = head(
        "s1.main", attack, lanes, source=where, facts=facts, cannot_know=[attack], troubles=[attack]
    )
    return {"s1.main": {"head": top, "rows": made.rows}}


def served(attack):
    server = StandIn(hostile(attack), targets=[attack], is_live=True)
    rows = server.conversations["s1.main"]["rows"]
    other = server.conversations["s1.main"]["head"] | {"source": source("s2")}
    server.conversations["s2.main"] = {"head": other, "rows": rows}
    facts = [fact(attack, attack, "bad")]
    lines = [{"op": op, "text": attack} for op in ("same", "removed", "added")]
    mark = {"action": "stays", "label": attack, "rule": attack, "why": attack, "problems": facts}
    server.plans["a/b"] = {
        "sentence": attack,
        "summary": facts,
        "marks": {str(row["n"]): [mark] for row in rows},
        "request": lines,
        "compared": attack,
        "target": attack,
    }
    server.diff = {"left": attack, "right": attack, "facts": facts, "lines": lines}
    server.hits = [
        {
            "id": "s1.main",
            "n": 1,
            "title": attack,
            "where": attack,
            "before": attack,
            "hit": attack,
            "after": attack,
        }
    ]
    return server


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_runs_and_nothing_leaves(page, name):
    attack = ATTACKS[name]
    with served(attack) as server:
        page.goto(f"{server.url}#c=s1.main&for=a/b")
        expect(page.locator(".mark").first).to_be_attached()
        page.locator("input[value=full]").check()
        press = "all => all.forEach(one => one.click())"
        page.locator("details:not([open]) > summary").evaluate_all(press)
        pictures = page.get_by_role("button", name="Show the image")
        expect(pictures).to_have_count(len(LINKS))
        pictures.evaluate_all(press)
        server.tell("row", {**server.conversations["s1.main"]["rows"][1], "is_open": True})
        server.tell(
            "grow",
            {
                "n": 1,
                "at": len(attack.encode("utf-16-le", "surrogatepass")) // 2,
                "text": attack,
                "facts": [fact(attack)],
            },
        )
        expect(page.locator("#n1 .badge.writing")).to_have_count(1)
        page.goto(f"{server.url}#c=s1.main&a=s1.main:0&b=s1.main:0")
        expect(page.locator("#compare-result ins.line")).to_have_count(1)
        page.locator("#search").fill(re.search("[a-z]{3,}", attack)[0])
        page.keyboard.press("Enter")
        expect(page.locator(".hit")).to_have_count(1)
        page.locator(".hit").click()

        assert page.evaluate(HARMED) == [None, None, 0]
        expect(page.locator(".bar")).to_be_visible()
    assert page.troubles == []


def test_text_is_shown_as_it_is(page):
    for attack in ATTACKS.values():
        with served(attack) as server:
            page.goto(server.url)
            expect(page.locator("#n1")).to_be_attached()
            shown = page.locator("#n1 > .text").evaluate("text => JSON.stringify(text.textContent)")
            assert json.loads(shown) == attack


def test_an_exported_file_is_harmless_too(context, tmp_path):
    """Opened from disk, with the network denied: the page is there, and nothing runs or leaves."""
    context.set_offline(True)
    for name, attack in ATTACKS.items():
        if name == "surrogate":
            continue  # nothing that is encoded as UTF-8 has it
        page = watched(context)
        about = {
            "version": "0",
            "policy": "full",
            "targets": [],
            "target": None,
            "is_live": False,
            "is_export": True,
        }
        conversations = {
            id_: {**one, "total": 1, "next": None} for id_, one in hostile(attack).items()
        }
        file = tmp_path / f"{name}.html"
        file.write_text(page_with(about, conversations), "utf-8")
        page.goto(file.as_uri())
        expect(page.locator("#n1")).to_be_attached()

        shown = page.locator("#n1 > .text").evaluate("text => text.textContent")
        assert shown == attack
        assert page.evaluate(HARMED) == [None, None, 0]
        assert page.troubles == []
        page.close()


def test_the_policy_of_the_page_refuses_what_the_page_never_does(context):
    """If a line of the page ever made markup of text, the browser would refuse it."""
    page = context.new_page()
    with served("harmless") as server:
        page.goto(server.url)
        expect(page.locator("#n1")).to_be_attached()
        for line in (
            "document.body.innerHTML = '<b>'",
            "document.write('<b>')",
            "document.createElement('script').text = '1'",
        ):
            with pytest.raises(Exception, match=r"TrustedHTML|TrustedScript"):
                page.evaluate(f"() => {{ {line} }}")
