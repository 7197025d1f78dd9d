"""Files to hand on: only what the policy shows, no seal, no secret, and nothing from elsewhere."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

import innervoice as iv
from innervoice.show.policy import Policy
from innervoice.view.export import export_file, form_of
from innervoice.view.library import Library
from view.calling import app_of, get
from view.session_files import SEAL, SECRET, session

FORMS = ("html", "markdown", "json")
POLICIES = Policy.__args__
OPENING = "I run ls now and look."
REST = "Then I say it"


@pytest.fixture
def shelf(tmp_path):
    (tmp_path / "session.jsonl").write_bytes(session(f"Use {SECRET}", rounds=2))
    return Library([tmp_path])


def first(shelf):
    return shelf.sources()["sources"][0]["first"]


def exported(shelf, form, show="full"):
    return export_file(shelf, first(shelf), form, show).data.decode()


def data_of(page):
    """The rows inside the HTML file, as its script reads them."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def content(shelf, form, show):
    """What of a file is about the conversation."""
    text = exported(shelf, form, show)
    return json.dumps(data_of(text), ensure_ascii=False) if form == "html" else text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("show", POLICIES)
def test_no_seal_and_no_secret_leaves(shelf, form, show):
    text = exported(shelf, form, show)
    assert SECRET not in text
    assert SEAL not in text
    assert SEAL[8:24] not in text
    assert "a.py" in text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("show", POLICIES)
def test_only_what_the_policy_shows_of_a_thought_leaves(shelf, form, show):
    text = content(shelf, form, show)
    assert (show in ("full", "summary")) == (OPENING in text)
    assert (show == "full") == (REST in text)


@pytest.mark.parametrize("form", FORMS)
def test_with_none_not_even_that_there_was_a_thought(shelf, form):
    text = exported(shelf, form, "none")
    if form == "html":
        told = data_of(text)["conversations"][first(shelf)]
        facts = [told["head"]["facts"], told["head"]["lanes"]]
        text = json.dumps([told["rows"], facts]).replace('"seals": []', "")
    assert re.search("think|thought|reason|seal", text, re.IGNORECASE) is None


def test_the_page_has_the_rows_that_the_server_tells(shelf):
    app = app_of(shelf)
    id_ = first(shelf)
    told = get(app, f"/api/c/{id_}").json
    inside = data_of(exported(shelf, "html"))
    assert id_ == inside["first"]
    rows = inside["conversations"][id_]["rows"]
    assert len(told["rows"]) == len(rows)
    for expected, row in zip(told["rows"], rows, strict=True):
        if SECRET not in json.dumps(expected):
            assert expected == row
    assert inside["about"]["is_export"]
    assert not inside["about"]["is_live"]


def test_rows_that_are_left_out_leave_no_gap(shelf):
    rows = data_of(exported(shelf, "html", "none"))["conversations"][first(shelf)]["rows"]
    assert [*range(len(rows))] == [row["n"] for row in rows]
    for row in rows:
        if "call" in row:
            assert "call" == rows[row["call"]]["kind"]
    assert any("call" in row for row in rows)


def test_long_texts_are_whole(tmp_path):
    (tmp_path / "long.jsonl").write_bytes(session("word " * 10_000 + "the end"))
    shelf = Library([tmp_path])
    row = data_of(exported(shelf, "html"))["conversations"][first(shelf)]["rows"][1]
    assert row["text"].endswith("the end")
    assert "cut" not in row


def test_the_page_loads_nothing_and_runs_only_its_own_script(shelf):
    page = exported(shelf, "html")
    policy = re.search(r'<meta http-equiv="content-security-policy" content="([^"]*)">', page)[1]
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" == rules["script-src"]
    assert f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" == rules["style-src"]
    assert ("'none'", "data:", "'script'", "'none'") == (
        rules["default-src"], rules["img-src"], rules["require-trusted-types-for"], rules["trusted-types"],
    )  # fmt: skip
    assert "connect-src" not in rules
    assert 2 == page.count("<script")
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*"', page) == []
    assert page.index("content-security-policy") < page.index("<script") < page.index("alert(1)")


def test_what_a_model_wrote_cannot_end_the_data(shelf):
    page = exported(shelf, "html")
    data = page[page.index('id="data">') + 10 :]
    assert "</script>\n</body>\n</html>" == data[data.index("<") :].strip()
    text = json.dumps(data_of(page))
    assert "</script><script>alert(1)</script>" in text


@pytest.mark.parametrize("show", POLICIES)
def test_json_is_read_back(shelf, show):
    messages = iv.from_json(exported(shelf, "json", show))
    original = shelf.conversation(first(shelf)).messages
    assert [message.role for message in original] == [message.role for message in messages]
    assert original[-1].text == messages[-1].text
    kinds = [part.type for message in messages for part in message.parts]
    assert (2 if show != "none" else 0) == kinds.count("thinking")
    assert 2 == kinds.count("tool_call") == kinds.count("tool_result")
    if show == "full":
        assert [message.thinking for message in original] == [message.thinking for message in messages]  # fmt: skip


def test_an_exported_file_opens_again(shelf, tmp_path_factory):
    file = tmp_path_factory.mktemp("handed") / "conversation.json"
    file.write_text(exported(shelf, "json"))
    again = Library([file])
    texts = [row["text"] for row in again.rows(first(again)) if row["kind"] == "thinking"]
    assert 2 == len(texts)
    assert REST in texts[0]


def test_markdown_has_every_turn(shelf):
    text = exported(shelf, "markdown")
    assert 3 == text.count("**assistant**")
    assert 2 == text.count("<details>")
    assert "<script>alert" not in re.sub(r"`[^`]*`", "", text)


@pytest.mark.parametrize("form", FORMS)
def test_the_route_gives_a_file(shelf, form):
    answer = get(app_of(shelf), f"/api/export/{first(shelf)}", f"form={form}&show=length")
    assert 200 == answer.status
    ending = {"html": "html", "markdown": "md", "json": "json"}[form]
    assert re.fullmatch(rf'attachment; filename="[a-z0-9-]+\.{ending}"', answer.headers["content-disposition"])  # fmt: skip
    assert export_file(shelf, first(shelf), form, "length").data == answer.body


@pytest.mark.parametrize(
    ("file", "form"),
    [("a.html", "html"), ("a.HTM", "html"), ("b.md", "markdown"), ("c.d.json", "json")],
)
def test_the_ending_chooses_the_form(file, form):
    assert form == form_of(file)


@pytest.mark.parametrize("file", ["a", "a.pdf", "html", ".json5"])
def test_another_ending_is_an_error(file):
    with pytest.raises(iv.UsageError, match=r"\.html"):
        form_of(file)


@pytest.mark.parametrize(
    ("show", "words"),
    [("full", {"First", "second", "third"}), ("summary", {"First", "second"}), ("length", set()), ("none", set())],
)  # fmt: skip
def test_blocks_of_a_thought_have_no_more_than_its_text(tmp_path, show, words):
    """What the policy hides is not in the file in another form either, and a key is in none."""
    thought = f"**First** things. Then *second*.\n\n- third {SECRET}"
    history = [
        iv.user("x"),
        iv.Message("assistant", (iv.Thinking(thought), iv.Text(f"**Done** {SECRET}."))),
    ]
    (tmp_path / "h.json").write_bytes(iv.to_json(history))
    text = exported(Library([tmp_path]), "html", show)
    rows = json.dumps(data_of(text)["conversations"])

    assert words == {word for word in ("First", "second", "third") if word in rows}
    assert SECRET not in text
    assert '["b", ["Done"]]' in rows
