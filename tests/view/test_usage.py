"""The sums of a request log: right, whatever files it has and however they grow; by every filter, in JSON, words and CSV."""

import csv
import io
import json
from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.calling import prices
from innervoice.view.library import Library
from view.calling import app_of, get
from view.usage_logs import DAY, HOUR, ended, lines, log

NOON = 1_794_916_800
"""2026-11-17, 12:00 UTC."""
PERIOD = "from=2026-11-01&to=2026-11-18"
COUNTS = ("requests", "errors", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "unsplit_tokens", "kept", "restored", "omitted", "received")  # fmt: skip


def app_for(folder, **more):
    return app_of(Library([folder], **more))


def usage(app, query=PERIOD):
    answer = get(app, "/api/usage", query)
    assert answer.status == 200, answer.body
    return answer.json


def table(app, query=PERIOD):
    return list(csv.DictReader(io.StringIO(get(app, "/api/usage.csv", query).body.decode())))


def counts(sums):
    return {name: sums[name] for name in COUNTS}


def by_hand(requests):
    """The same sums, from what the requests were made of."""
    total = Counter(dict.fromkeys(COUNTS, 0))
    for facts in requests:
        total["requests"] += 1
        total["errors"] += facts["status"] >= 400
        for name, member in (("input", "input_tokens"), ("cached", "cached_tokens"), ("output", "output_tokens"), ("reasoning", "reasoning_tokens")):  # fmt: skip
            total[member] += facts[name] or 0
        total["unsplit_tokens"] += 0 if facts["reasoning"] is not None else facts["output"] or 0
        for name in ("kept", "restored", "omitted", "received"):
            total[name] += facts[name]
    return dict(total)


tokens = st.none() | st.integers(0, 10**6)
few = st.integers(0, 5)
requests = st.fixed_dictionaries(
    {
        "begun": st.integers(NOON - 9 * DAY, NOON - 1), "tenant": st.sampled_from(["alice", "ben"]), "caller": st.sampled_from(["", "k1", "k2"]),
        "provider": st.sampled_from(["", "openai", "gemini"]), "model": st.sampled_from(["m1", "m2", "=m3"]), "status": st.sampled_from([200, 400, 529]),
        "input": tokens, "output": tokens, "reasoning": tokens, "cached": tokens, "kept": few, "restored": few, "omitted": few, "received": few,
        "first": st.none() | st.floats(0.01, 60),
    }
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(files=st.lists(st.lists(requests, max_size=8), max_size=4), step=st.sampled_from(["hour", "day"]))  # fmt: skip
def test_every_sum_is_the_sum_by_hand(tmp_path_factory, files, step):
    """Over several files; steps, models, providers, keys and the lines of the CSV each add up to the whole."""
    folder = tmp_path_factory.mktemp("logs")
    everything = [facts for file in files for facts in file]
    for number, file in enumerate(files):
        made = [ended(100 * number + place, **facts) for place, facts in enumerate(file)]
        (folder / f"requests-{number}.jsonl").write_bytes(log(*made))
    app = app_for(folder)
    view = usage(app, f"{PERIOD}&step={step}")

    assert counts(view["total"]) == by_hand(everything)
    length = HOUR if step == "hour" else DAY
    for sums in view["steps"]:
        inside = [one for one in everything if sums["at"] <= one["begun"] < sums["at"] + length]
        assert counts(sums) == by_hand(inside)
    for list_name, name_of in (("models", lambda one: one["model"]), ("providers", lambda one: one["provider"]), ("keys", _key)):  # fmt: skip
        expected = {
            name: by_hand([one for one in everything if name_of(one) == name])
            for name in map(name_of, everything)
        }
        assert {one["name"]: counts(one) for one in view[list_name]} == expected
    rows = table(app, f"{PERIOD}&step={step}")
    assert {name: sum(int(row[name]) for row in rows) for name in COUNTS} == by_hand(everything)


def _key(facts):
    return "/".join(filter(None, (facts["tenant"], facts["caller"])))


@pytest.mark.parametrize("name", ["provider", "model", "key"])
def test_filters(tmp_path, name):
    """One value of each; the choices stay those of the period."""
    facts = [
        {"provider": "openai", "model": "gpt-5.6", "tenant": "alice", "caller": "k1"},
        {"provider": "gemini", "model": "gemini-3.5-flash", "tenant": "ben", "caller": ""},
    ]
    (tmp_path / "requests-1.jsonl").write_bytes(
        log(*(ended(place, NOON, **one) for place, one in enumerate(facts)))
    )
    app = app_for(tmp_path)
    values = {"provider": "gemini", "model": "gemini-3.5-flash", "key": "ben"}
    view = usage(app, f"{PERIOD}&{name}={values[name]}")

    assert view["total"]["requests"] == 1
    assert [one["name"] for one in view["keys"]] == ["ben"]
    assert view["choices"] == {
        "provider": ["gemini", "openai"],
        "model": ["gemini-3.5-flash", "gpt-5.6"],
        "key": ["alice/k1", "ben"],
    }
    assert [row["key"] for row in table(app, f"{PERIOD}&{name}={values[name]}")] == ["ben"]


def test_a_file_that_grows_is_read_once(tmp_path):
    """A cut line counts when it is whole; what was read is not read again; a deleted file leaves the sums."""
    file = tmp_path / "requests-1.jsonl"
    (tmp_path / "requests-2.jsonl").write_bytes(log(ended(9, NOON)))
    whole = lines(ended(2, NOON))
    file.write_bytes(log(ended(1, NOON)) + whole[:-20])
    app = app_for(tmp_path)
    assert usage(app)["total"]["requests"] == 2
    assert not usage(app)["is_partial"]

    with file.open("ab") as written:
        written.write(whole[-20:])
    assert usage(app)["total"]["requests"] == 3

    data = file.read_bytes()
    file.write_bytes(data.replace(b'"output_tokens":50', b'"output_tokens":99') + lines(ended(3, NOON)))  # fmt: skip
    grown = usage(app)["total"]
    assert (grown["requests"], grown["output_tokens"]) == (4, 200)  # by the bytes that were there

    file.unlink()
    assert usage(app)["total"]["requests"] == 1


def test_a_log_that_takes_long_is_read_in_several_answers(tmp_path, monkeypatch):
    """An answer says that it is not complete; the CSV waits for all of it."""
    made = [ended(number, NOON) for number in range(1200)]
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    app = app_for(tmp_path)
    monkeypatch.setattr("innervoice.view.app._USAGE_SECONDS", 1e-9)
    seen = usage(app)
    assert seen["is_partial"]
    assert seen["total"]["requests"] < 1200
    monkeypatch.setattr("innervoice.view.app._USAGE_SECONDS", 0.002)

    (row,) = table(app)
    assert row["requests"] == "1200"


@pytest.mark.parametrize(
    "line",
    [b"{", b'{"record":"end",', b'{"record":"end","id":"x"}', b'{"record":"end","id":"x","report":[]}', b'{"record":"end","id":"x","report":{"begun":"now","status":"?"}}',
     b'{"record":"end","id":"x","report":{"begun":1e300}}', b'{"record":"end","id":"x","report":{"begun":-1}}', b"\xff\xfe"],
)  # fmt: skip
def test_lines_that_are_no_records_count_nothing(tmp_path, line):
    file = tmp_path / "requests-1.jsonl"
    file.write_bytes(log(ended(1, NOON)) + line + b"\n" + lines(ended(2, NOON)))

    assert usage(app_for(tmp_path))["total"]["requests"] == 2


def test_odd_values_in_a_report_count_as_nothing(tmp_path):
    request, end = ended(1, NOON)
    end["report"] |= {"usage": {"input_tokens": "many", "output_tokens": -5, "reasoning_tokens": True}, "reasoning": [], "seconds": 3, "provider": 7}  # fmt: skip
    (tmp_path / "requests-1.jsonl").write_bytes(log([request, end]))
    total = usage(app_for(tmp_path))["total"]

    assert (total["requests"], total["input_tokens"], total["output_tokens"], total["first"]) == (1, 0, 0, None)  # fmt: skip


def test_times_to_the_first_piece_are_those_of_requests(tmp_path):
    """The nearest rank of all of them, over files and models."""
    times = [number / 10 for number in range(1, 101)]
    for part in range(4):
        made = [ended(place, NOON, first=time, model=f"m{place % 3}") for place, time in enumerate(times) if place % 4 == part]  # fmt: skip
        (tmp_path / f"requests-{part}.jsonl").write_bytes(log(*made))

    assert usage(app_for(tmp_path))["total"]["first"] == {"p50": 5.0, "p95": 9.5, "max": 10.0}


# ---- money and words


def test_what_costs_nothing_to_know_is_said_first(tmp_path, monkeypatch):
    prices(monkeypatch, "0.01")
    made = [ended(place, NOON, input=1000, output=500, reasoning=300, restored=602, kept=700) for place in range(2)]  # fmt: skip
    made.append(ended(3, NOON, status=529, error="overloaded", input=None, output=None, reasoning=None))  # fmt: skip
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    view = usage(app_for(tmp_path))

    assert view["words"] == [
        "Thinking was 60 % of your output tokens, about $6.00.",
        "1,204 thoughts that programs had dropped were restored.",
        "3 requests, 1 error, about $30.00 in all.",
    ]
    assert view["notes"] == ["Costs are estimates at list prices, without discounts, batches and credits."]  # fmt: skip
    assert Decimal(str(view["total"]["cost"])) == 30


def test_without_prices_the_page_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "genai_prices", None)
    (tmp_path / "requests-1.jsonl").write_bytes(log(ended(1, NOON)))
    view = usage(app_for(tmp_path))

    assert view["total"]["cost"] is None
    assert "the extra [prices]" in view["notes"][0]
    assert "$" not in " ".join(view["words"])
    assert [row["cost"] for row in table(app_for(tmp_path))] == [""]


def test_models_without_a_price_are_said_and_not_free(tmp_path, monkeypatch):
    prices(monkeypatch, "0.01", known=lambda model: model == "gpt-5.6")
    made = ended(1, NOON, model="gpt-5.6", input=10, output=10), ended(2, NOON, model="home-made")
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    view = usage(app_for(tmp_path))

    assert {one["name"]: one["cost"] for one in view["models"]} == {"gpt-5.6": 0.2, "home-made": None}  # fmt: skip
    assert "1 request to models without a public price" in view["notes"][1]


def test_answers_whose_thinking_nobody_counted_are_not_in_its_share(tmp_path):
    made = ended(1, NOON, output=100, reasoning=50), ended(2, NOON, output=100, reasoning=None)
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    view = usage(app_for(tmp_path))

    assert view["words"][0].startswith("Thinking was 50 % of your output tokens")
    assert any(note.startswith("50 % of the output tokens are from answers whose provider does not count thinking") for note in view["notes"])  # fmt: skip


# ---- the table and the query


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_is_a_formula(tmp_path, start):
    made = ended(1, NOON, model=f'{start}HYPERLINK("x")', tenant=f"{start}t", provider=f"{start}p")
    (tmp_path / "requests-1.jsonl").write_bytes(log(made))
    text = get(app_for(tmp_path), "/api/usage.csv", PERIOD).body.decode()
    (row,) = csv.DictReader(io.StringIO(text, newline=""))

    assert [row[name][:2] for name in ("key", "provider", "model")] == [f"'{start}"] * 3


@pytest.mark.parametrize(
    ("query", "words"),
    [("step=week", "step must be hour or day"), ("from=yesterday", "from must be a date such as 2026-11-01"), ("from=2026-11-02&to=2026-11-01", "a period of 1 to 2,500 steps"),
     ("from=0&step=hour", "a period of 1 to 2,500 steps"), ("to=99999999999999", "to must be")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/api/usage", "/api/usage.csv"])
def test_a_query_that_cannot_be_read_says_what_was_expected(tmp_path, path, query, words):
    answer = get(app_for(tmp_path), path, query)

    assert answer.status == 400
    assert words.lower() in answer.json["error"].lower()


def test_an_empty_log_has_every_step_and_no_words(tmp_path):
    view = usage(app_for(tmp_path), "")

    assert (len(view["steps"]), view["words"], view["models"]) == (8, [], [])
    assert get(app_for(tmp_path), "/api/about").json["has_usage"] is False


def test_other_files_are_not_counted(tmp_path):
    (tmp_path / "notes.jsonl").write_bytes(lines(ended(1, NOON)))
    (tmp_path / "requests-1.jsonl").write_bytes(log(ended(2, NOON)))

    assert usage(app_for(tmp_path))["total"]["requests"] == 1


def test_tables_that_are_cut_say_so_and_the_csv_is_whole(tmp_path):
    made = [ended(number, NOON, model=f"model-{number}") for number in range(501)]
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    app = app_for(tmp_path)
    view = usage(app)

    assert len(view["models"]) == 500
    assert view["notes"][-1] == "The tables have the first 500 names, by output tokens; the CSV has all."  # fmt: skip
    assert len(table(app)) == 501


def test_many_names_are_gathered_and_still_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("innervoice.view.usage._MOST_CELLS", 5)
    made = [ended(number, NOON, model=f"made-up-{number}") for number in range(50)]
    (tmp_path / "requests-1.jsonl").write_bytes(log(*made))
    view = usage(app_for(tmp_path))

    assert view["total"]["requests"] == 50
    assert len(view["models"]) == 6
    assert json.dumps(view).count("made-up-") <= 20
