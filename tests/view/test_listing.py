"""The list: by project and day, by the time of the session, filtered by model, cost and lost thoughts."""

import json

import pytest

from innervoice.view.library import Library
from view.calling import app_of, get
from view.session_files import session, session_lines
from view.test_library import write


def project(name, question, day, rounds=1, model="claude-opus-5-5"):
    text = session(question, rounds).decode().replace("/work", f"/home/u/{name}")
    return text.replace("2026-11-16", day).replace("claude-opus-5-5", model).encode()


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "1.jsonl", project("shop", "Old", "2026-11-10"), 9_000)
    write(tmp_path, "2.jsonl", project("blog", "Other", "2026-11-12"), 8_000)
    write(tmp_path, "3.jsonl", project("shop", "New", "2026-11-14", model="claude-haiku-5"), 1_000)
    return tmp_path


def listed(folder, query=""):
    return get(app_of(Library([folder])), "/api/sources", query).json


def test_projects_and_days(folder):
    """The project with the newest session first, whatever the times of the files are."""
    sources = listed(folder)["sources"]
    assert [("shop", "New"), ("shop", "Old"), ("blog", "Other")] == [(source["project"], source["title"]) for source in sources]  # fmt: skip
    assert ["14", "10", "12"] == [source["day"].split()[1] for source in sources]
    assert all(len(source["time"]) == 5 for source in sources)
    assert {"claude-code"} == {source["kind"] for source in sources}


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("model=haiku", ["New"]),
        ("model=HAIKU", ["New"]),
        ("model=gpt", []),
        ("cost=1000000", []),
        ("cost=0", ["New", "Old", "Other"]),
        ("q=shop", ["New", "Old"]),
        ("q=shop&model=opus", ["Old"]),
        ("lost=1", []),
    ],
    ids=range(8),  # words of a query would be in the paths
)
def test_filters(folder, query, titles):
    assert titles == [source["title"] for source in listed(folder, query)["sources"]]


def test_sessions_in_which_thoughts_were_lost(folder):
    """A signature that something on the way removed."""
    lines = session_lines("Stripped")
    for line in lines:
        for block in line["message"]["content"] if isinstance(line["message"]["content"], list) else ():  # fmt: skip
            if block["type"] == "thinking":
                block |= {"thinking": "", "signature": ""}
    write(folder, "4.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode(), 1_000)
    [source] = listed(folder, "lost=1")["sources"]
    assert "Stripped" == source["title"]
    assert {"label": "1 lost", "tone": "bad"} in source["facts"]


@pytest.mark.parametrize("cost", ["x", "-1", "1e9", "9" * 20])
def test_an_amount_that_is_none(folder, cost):
    answer = get(app_of(Library([folder])), "/api/sources", f"cost={cost}")
    assert 400 == answer.status
    assert "Expected an amount of dollars" in answer.json["error"]


def test_a_long_line_at_the_beginning_hides_nothing(tmp_path):
    """The title is behind more than the first look takes in."""
    head = {"type": "summary", "summary": "x" * 20_000, "leafUuid": "elsewhere"}
    write(tmp_path, "1.jsonl", json.dumps(head).encode() + b"\n" + session("The question", rounds=100), 1_000)  # fmt: skip
    [source] = listed(tmp_path)["sources"]
    assert "The question" == source["title"]
