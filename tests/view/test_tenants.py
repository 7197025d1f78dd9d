"""A viewer of one tenant: its answers are the same, byte for byte, whatever other tenants have in the log."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.errors import DecodeError
from innervoice.sources.opening import open_tenant_log
from innervoice.view.library import Library
from view.calling import app_of, get
from view.session_files import session
from view.usage_logs import ended, lines, log

NOON = 1_794_916_800
PERIOD = "from=2026-11-01&to=2026-11-18"
ROUTES = {
    "about": ("/api/about", ""),
    "sources": ("/api/sources", ""),
    "sources with words": ("/api/sources", "q=question"),
    "search": ("/api/search", "q=question"),
    "search of notes": ("/api/search", "q=model:secret"),
    "usage": ("/api/usage", PERIOD),
    "usage of another": ("/api/usage", f"{PERIOD}&key=ben/b1"),
    "csv": ("/api/usage.csv", f"{PERIOD}&step=hour"),
}
OF_CONVERSATIONS = {
    "rows": lambda id_: (f"/api/c/{id_}", ""),
    "part": lambda id_: (f"/api/part/{id_}/0", ""),
    "plan": lambda id_: (f"/api/plan/{id_}", "for=openai/gpt-5.6"),
    "diff": lambda id_: ("/api/diff", f"a={id_}:0&b={id_}:0"),
    "diff of requests": lambda id_: ("/api/diff", f"a={id_}:0&b={id_}:0&what=request"),
    "search": lambda id_: ("/api/search", f"q=question&in={id_}"),
    "live": lambda id_: ("/api/live", f"c={id_}"),
    "html": lambda id_: (f"/api/export/{id_}", ""),
    "markdown": lambda id_: (f"/api/export/{id_}", "form=markdown"),
    "json": lambda id_: (f"/api/export/{id_}", "form=json"),
}


def mine(folder, tenant="alice"):
    return app_of(Library([folder], tenant=tenant))


def ids_in(app):
    """The ids of all conversations that an application shows."""
    sources = get(app, "/api/sources").json["sources"]
    firsts = [source["first"] for source in sources if source["first"]]
    lanes = [get(app, f"/api/c/{first}").json["head"]["lanes"] for first in firsts]
    return [lane["id"] for group in lanes for lane in group]


def everything(app):
    """What each route answers, without what is random."""
    answers = {name: get(app, *route) for name, route in ROUTES.items()}
    for id_ in ids_in(app):
        for name, route in OF_CONVERSATIONS.items():
            if name != "live":  # it does not end
                answers[f"{name} {id_}"] = get(app, *route(id_))
    told = {name: (answer.status, answer.headers, answer.body) for name, answer in answers.items()}
    for name, (status, headers, body) in told.items():
        if name.startswith("rows"):
            rows = json.loads(body)
            rows.pop("event")
            told[name] = status, {**headers, "content-length": ""}, rows
    return told


requests = st.fixed_dictionaries(
    {
        "begun": st.integers(NOON - 86_400, NOON - 1), "output": st.integers(0, 1000), "status": st.sampled_from([200, 529]),
        "model": st.sampled_from(["claude-opus-5-5", "secret-model"]), "text": st.sampled_from(["question of mine", "question, another"]),
    }
)  # fmt: skip
tenants = st.sampled_from(["alice", "ben", "", "alic", "alice2", 'a"lice', "álice", "alice\\"])


@settings(max_examples=25, deadline=None)
@given(entries=st.lists(st.tuples(tenants, requests), max_size=8), is_cut=st.booleans())
def test_the_others_change_nothing(tmp_path_factory, entries, is_cut):
    file = tmp_path_factory.mktemp("logs") / "requests-1.jsonl"
    made = [
        (tenant, ended(number, tenant=tenant, caller=f"{tenant[:1]}1", **facts))
        for number, (tenant, facts) in enumerate(entries)
    ]
    others = b'{"record":"lost","count":7}\nnot a record\n' if is_cut else b""
    # The requests of all begin before any of them ends.
    mixed = [records[0] for _, records in made] + [records[1] for _, records in made]
    file.write_bytes(log(mixed) + others)
    os.utime(file, (NOON, NOON))
    unknown = file.with_name("unknown.bin")
    unknown.write_bytes(b"of no known format")
    seen = everything(mine(file.parent))
    unknown.unlink()
    own = [records for tenant, records in made if tenant == "alice"]
    file.write_bytes(log([records[0] for records in own] + [records[1] for records in own]))

    assert seen == everything(mine(file.parent))
    assert len(ids_in(mine(file.parent))) == len(own)


@pytest.fixture
def folder(tmp_path):
    """A file of both, one of ben alone, and one that is no request log."""
    both = ended(1, NOON), ended(2, NOON, tenant="ben", caller="b1", model="secret-model")
    (tmp_path / "requests-1.jsonl").write_bytes(log(*both))
    (tmp_path / "requests-of-ben.jsonl").write_bytes(log(ended(3, NOON, tenant="ben", caller="b1")))
    (tmp_path / "session.jsonl").write_bytes(session())
    return tmp_path


@pytest.mark.parametrize("name", OF_CONVERSATIONS)
def test_an_id_of_another_is_the_id_of_nothing(folder, name):
    """Every conversation of the others, by its own id and by that of a file that both are in, and the sources themselves."""
    app, theirs = mine(folder), ids_in(app_of(Library([folder])))
    own = ids_in(app)
    others = [id_ for id_ in theirs if id_ not in own]
    unknown = get(app, *OF_CONVERSATIONS[name]("0123456789.nothing"))

    assert len(own) == 1
    assert len(others) == 3
    for id_ in others:
        answer = get(app, *OF_CONVERSATIONS[name](id_))
        assert answer.status == unknown.status == 404
        assert b"secret-model" not in answer.body
    of_ben = others[1].partition(".")[0]
    assert get(app, *OF_CONVERSATIONS[name](f"{of_ben}.")).status == 404


def test_no_name_of_a_file_is_shown(folder):
    seen = json.dumps([str(one) for one in everything(mine(folder)).values()])

    assert "question 1 of alice" in seen.lower()
    for name in ("requests-1", "requests-of-ben", "session.jsonl", "ben", "secret-model", str(folder)):  # fmt: skip
        assert name not in seen.replace("/api/usage", "")


def test_what_others_ask_is_no_event(folder):
    library = Library([folder], tenant="alice")
    live = app_of(library).state.live
    (id_,) = ids_in(app_of(library))
    event = live.rows(id_).event

    with (folder / "requests-1.jsonl").open("ab") as file:
        file.write(lines(ended(5, NOON + 5, tenant="ben")))
    (folder / "requests-3.jsonl").write_bytes(log(ended(6, NOON + 6, tenant="ben")))
    assert not library.scan()
    assert live.since(id_, event) == []

    with (folder / "requests-1.jsonl").open("ab") as file:
        file.write(lines(ended(7, NOON + 7)))
    assert live.since(id_, event) != []


def test_only_request_logs_know_tenants(folder):
    with pytest.raises(DecodeError, match="expected a request log"):
        open_tenant_log(folder / "session.jsonl", "alice")


def test_a_request_that_ends_in_another_file_is_in_that_one(tmp_path):
    request, end = ended(1, NOON)
    moved = {"record": "moved", "id": request["id"]}
    (tmp_path / "requests-1.jsonl").write_bytes(log([request, moved]))
    (tmp_path / "requests-2.jsonl").write_bytes(log([request, end]))

    assert get(mine(tmp_path), "/api/usage", PERIOD).json["total"]["requests"] == 1
    assert len(ids_in(mine(tmp_path))) == 1
