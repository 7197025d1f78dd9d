"""What each route tells, and what it says if it cannot."""

import json

import pytest

from innervoice.show.policy import Policy
from innervoice.view.app import create_app
from innervoice.view.guard import Settings
from innervoice.view.library import Library
from view.calling import app_of, get
from view.session_files import SEAL, session


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    (folder / "one.jsonl").write_bytes(session("Find the falcon", rounds=20))
    (folder / "two.jsonl").write_bytes(session("Count the herons"))
    return folder


@pytest.fixture(scope="module")
def app(folder):
    return app_of(Library([folder]))


@pytest.fixture(scope="module")
def one(app):
    return get(app, "/api/sources", "q=falcon").json["sources"][0]["first"]


@pytest.fixture(scope="module")
def two(app):
    return get(app, "/api/sources", "q=heron").json["sources"][0]["first"]


def test_about(folder):
    app = app_of(Library([folder]), policy="length", target="openai/gpt-5.6")
    about = get(app, "/api/about").json
    assert ("length", "openai/gpt-5.6", True, False) == tuple(about[name] for name in ("policy", "target", "is_live", "is_export"))  # fmt: skip
    assert "openai/gpt-5.6" in about["targets"]


def test_rows_in_pieces_are_all_rows(app, one):
    whole = get(app, f"/api/c/{one}").json
    rows, start = [], 0
    while start is not None:
        piece = get(app, f"/api/c/{one}", f"from={start}&to={start + 7}").json
        assert len(piece["rows"]) <= 7
        rows += piece["rows"]
        start = piece["next"]
    assert whole["rows"] == rows
    assert whole["total"] == len(rows) == 104
    assert whole["next"] is None
    assert whole["event"] == piece["event"]


@pytest.mark.parametrize("query", ["from=104", "from=1000000", "from=5&to=5", "from=9&to=3"])
def test_an_empty_stretch(app, one, query):
    piece = get(app, f"/api/c/{one}", query).json
    assert ([], None) == (piece["rows"], piece["next"])


def test_a_page_of_rows_is_bounded_by_its_text(app, one, monkeypatch):
    monkeypatch.setattr("innervoice.view.app._MOST_TEXT", 100)
    piece = get(app, f"/api/c/{one}").json
    assert 0 < piece["next"] == len(piece["rows"]) < 20


def test_the_head(app, one):
    head = get(app, f"/api/c/{one}").json["head"]
    assert one == head["id"] == head["source"]["first"]
    assert "falcon" in head["title"]
    assert [one] == [lane["id"] for lane in head["lanes"]]
    assert head["facts"]
    assert head["cannot_know"]


def test_the_main_conversation_needs_no_name(app, one):
    source = one.partition(".")[0]
    assert get(app, f"/api/c/{one}").json == get(app, f"/api/c/{source}.").json


def test_a_part_without_a_cut(tmp_path):
    (tmp_path / "long.jsonl").write_bytes(session("x" * 30_000 + "the end"))
    app = app_of(Library([tmp_path]))
    id_ = get(app, "/api/sources").json["sources"][0]["first"]
    row = get(app, f"/api/c/{id_}").json["rows"][1]
    assert 30_007 == row["cut"]
    assert len(row["text"]) < 30_000
    whole = get(app, f"/api/part/{id_}/1").json["text"]
    assert whole.endswith("the end")
    assert 30_007 == len(whole)


def test_plan(app, one):
    plan = get(app, f"/api/plan/{one}", "for=anthropic/claude-opus-5-5").json
    assert "anthropic/claude-opus-5-5" == plan["target"]
    assert plan["summary"]


def test_the_plan_of_the_target_that_was_named_at_the_start(folder, one):
    app = app_of(Library([folder]), target="openai/gpt-5.6")
    assert "openai/gpt-5.6" == get(app, f"/api/plan/{one}").json["target"]


@pytest.mark.parametrize(("what", "turn"), [("turn", 0), ("request", 1)])
def test_diff(app, one, two, what, turn):
    diff = get(app, "/api/diff", f"a={one}:{turn}&b={two}:{turn}&what={what}").json
    assert {"same", "removed", "added"} >= {line["op"] for line in diff["lines"]}
    assert "falcon" in json.dumps([line for line in diff["lines"] if line["op"] == "removed"])
    assert "heron" in json.dumps([line for line in diff["lines"] if line["op"] == "added"])


def test_search_everywhere_and_in_one_conversation(app, one, two):
    found = get(app, "/api/search", "q=Round 0").json
    assert {one, two} == {hit["id"] for hit in found["hits"]}
    assert not found["is_cut"]
    within = get(app, "/api/search", f"q=Round 0&in={two}").json
    assert {two} == {hit["id"] for hit in within["hits"]}
    assert "1 conversation" in within["words"]


def test_a_hit_leads_to_its_row(app, one):
    for hit in get(app, "/api/search", f"q=Round 1&in={one}").json["hits"]:
        row = get(app, f"/api/c/{one}", f"from={hit['n']}&to={hit['n'] + 1}").json["rows"][0]
        assert "Round 1" in row["text"]


def test_a_search_with_very_many_hits_is_cut(app, monkeypatch):
    monkeypatch.setattr("innervoice.view.app._MOST_HITS", 5)
    found = get(app, "/api/search", "q=Round").json
    assert (5, True) == (len(found["hits"]), found["is_cut"])
    assert "more" in found["words"]


def test_a_search_for_nothing(app):
    assert [] == get(app, "/api/search", "q=").json["hits"]


REFUSED = {
    "/api/c/0000000000.main": 404,
    "/api/c/stdin.main": 404,
    "/api/c/x": 404,
    "/api/c/ONE?from=-1": 400,
    "/api/c/ONE?from=x": 400,
    "/api/c/ONE?to=1e9": 400,
    "/api/c/ONE?from=99999999999999999999": 400,
    "/api/c/ONEx": 404,
    "/api/part/ONE/99999": 404,
    "/api/part/ONE/x": 404,
    "/api/plan/ONE": 400,
    "/api/plan/x?for=openai/gpt-5.6": 404,
    "/api/diff": 400,
    "/api/diff?a=ONE:0": 400,
    "/api/diff?a=ONE:0&b=ONE:x": 400,
    "/api/diff?a=ONE:0&b=ONE:9999": 404,
    "/api/diff?a=ONE:0&b=ONE:0&what=odd": 400,
    "/api/search?q=x&in=nowhere": 404,
    "/api/search?q=x&in=nowhere.main": 404,
    "/api/live?c=nowhere": 404,
    "/api/export/nowhere": 404,
    "/api/export/ONE?form=pdf": 400,
    "/api/export/ONE?show=all": 400,
    "/api": 404,
    "/api/": 404,
    "/odd": 404,
}


@pytest.mark.parametrize("address", REFUSED)
def test_what_cannot_be_answered_is_a_sentence(app, one, address):
    path, _, query = address.replace("ONE", one).partition("?")
    answer = get(app, path, query)
    assert REFUSED[address] == answer.status
    assert "application/json" == answer.headers["content-type"]
    assert answer.json["error"][-1:] in ".)'\""
    assert answer.json["error"][:1].isupper() or answer.json["error"][:1].isascii()


def test_a_file_that_cannot_be_read_any_more(tmp_path):
    file = tmp_path / "gone.jsonl"
    file.write_bytes(session())
    app = app_of(Library([tmp_path]))
    id_ = get(app, "/api/sources").json["sources"][0]["first"]
    file.unlink()
    answer = get(app, f"/api/c/{id_}")
    assert 404 == answer.status
    assert "cannot be read" in answer.json["error"]


def test_no_route_tells_a_seal(app, one):
    paths = ["/api/sources", f"/api/c/{one}", f"/api/plan/{one}?for=anthropic/claude-opus-5-5", f"/api/plan/{one}?for=openai/gpt-5.6",
             f"/api/part/{one}/3", f"/api/diff?a={one}:1&b={one}:3&what=request", f"/api/search?q={SEAL[:12]}"]  # fmt: skip
    for address in paths:
        path, _, query = address.partition("?")
        answer = get(app, path, query)
        assert 200 == answer.status
        assert SEAL.encode() not in answer.body
        assert SEAL[8:24].encode() not in answer.body


@pytest.mark.parametrize("policy", Policy.__args__)
def test_every_policy_may_be_the_first(folder, policy):
    app = create_app(Library([folder]), Settings(policy=policy))
    assert policy == get(app, "/api/about").json["policy"]
