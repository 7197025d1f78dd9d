"""What is kept and told of a request, and what never is."""

import base64
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.notes import SENTENCES, Note
from innervoice.canon.usage import Usage
from innervoice.gateway.operations.journal import Journal, explain, forget, json_line, terminal_line
from innervoice.gateway.report import Report

USAGE = Usage(input_tokens=1204, output_tokens=310, reasoning_tokens=96, cached_input_tokens=1000)


THINKING = iv.ThinkingMetrics(first_thought_seconds=0.4, first_answer_seconds=2.2, thinking_seconds=1.8, thinking_tokens=96, output_tokens=310)  # fmt: skip


def report(**fields):
    return Report(
        **{
            "id": "1", "tenant": "somebody", "dialect": "anthropic", "asked": "flash",
            "provider": "gemini", "model": "gemini-3.5-flash", "account": "env:GEMINI_API_KEY",
            "stream": True, "status": 200, "attempts": 1, "kept": 3, "restored": 2, "omitted": 1,
            "rules": ("H2",), "usage": USAGE, "begun": 1795000000.0, "first_byte": 0.42, "total": 3.14,
            **fields,
        }
    )  # fmt: skip


class TestJournal:
    def test_a_report_is_its_tenants_alone(self):
        journal = Journal()
        journal.add(report(id="1", tenant="one", kept=1))
        journal.add(report(id="1", tenant="other", kept=2))
        assert [1, 2] == [journal.get("1", tenant).kept for tenant in ("one", "other")]
        assert journal.get("1", "third") is None
        assert journal.get("2", "one") is None

    def test_the_oldest_go_first(self):
        journal = Journal(most=3)
        for number in range(5):
            journal.add(report(id=str(number)))
        found = [journal.get(str(number), "somebody") is not None for number in range(5)]
        assert [False, False, True, True, True] == found

    def test_every_listener_gets_every_report(self):
        lines, spans = [], []
        journal = Journal(line=lines.append)
        first, second = report(id="1"), report(id="2")
        journal.add(first)
        journal.listen(spans.append)
        journal.add(second)
        assert ([first, second], [second]) == (lines, spans)

    def test_what_is_kept_of_a_report_is_bounded(self):
        journal = Journal()
        notes = [Note("extra_dropped", str(number)) for number in range(100_000)]
        usage = USAGE.replace(raw={"huge": "x" * 1_000_000})
        given = report(notes=notes, usage=usage)
        journal.add(given)
        kept = journal.get("1", "somebody")
        assert (100, None, 1204) == (len(kept.notes), kept.usage.raw, kept.usage.input_tokens)


class TestSeveralWorkers:
    """Each journal here stands for a worker: a process has one."""

    @pytest.fixture
    def workers(self, tmp_path, monkeypatch):
        journals = []
        for process in (71, 72):
            monkeypatch.setattr("os.getpid", lambda process=process: process)
            journals.append(Journal(most=2))
            journals[-1].share(tmp_path)
        return journals

    def test_each_explains_the_requests_of_all(self, workers):
        one, other = workers
        one.add(report(id="1", tenant="somebody", kept=5))
        other.add(report(id="2", tenant="somebody", kept=6))
        for journal in workers:
            assert [5, 6] == [
                journal.explained(name, "somebody")["reasoning"]["kept"] for name in ("1", "2")
            ]
            assert journal.explained("1", "somebody else") is None
            assert journal.explained("3", "somebody") is None
        assert explain(report(id="1", kept=5)) == other.explained("1", "somebody")

    def test_no_name_finds_the_line_of_another(self, workers):
        one, other = workers
        one.add(report(id="1", tenant="somebody", asked='","tenant":"thief","x":"'))
        one.add(report(id="2", tenant='somebody","tenant":"thief'))
        for name in ("1", "2", '1","tenant":"somebody', "", "\n", "*"):
            for tenant in ("thief", "", 'somebody","tenant":"thief'):
                found = other.explained(name, tenant)
                assert found is None or (name, tenant) == (found["id"], found["tenant"])

    def test_what_is_written_is_bounded_and_the_newest_is_there(self, workers, tmp_path):
        one, other = workers
        for number in range(8000):
            one.add(report(id=str(number)))
        assert 2_200_000 > sum(file.stat().st_size for file in tmp_path.iterdir()) > 1_000_000
        assert "7999" == other.explained("7999", "somebody")["id"]
        assert "7000" == other.explained("7000", "somebody")["id"]
        assert other.explained("0", "somebody") is None

    def test_a_worker_that_has_ended_leaves_nothing(self, workers, tmp_path):
        one, other = workers
        for number in range(3000):
            one.add(report(id=str(number)))
        other.add(report(id="x"))
        forget(tmp_path, 71)
        assert ["72.lines"] == [file.name for file in tmp_path.iterdir()]

    def test_a_folder_that_is_gone_costs_no_request(self, workers, tmp_path):
        one, other = workers
        tmp_path.rmdir()
        tmp_path.touch()  # no folder can be made there
        one.add(report(id="1"))
        assert "1" == one.explained("1", "somebody")["id"]
        assert other.explained("1", "somebody") is None


def test_explained():
    notes = [Note("effort_clamped", "sent high"), Note("cache_mark_dropped", None, 4)]
    expected = {
        "id": "1",
        "tenant": "somebody",
        "caller": "a1b2",
        "begun": 1795000000.0, "trace": None,
        "dialect": "anthropic",
        "asked": "flash",
        "provider": "gemini",
        "model": "gemini-3.5-flash",
        "account": "env:GEMINI_API_KEY",
        "way": "canon",
        "stream": True,
        "status": 200,
        "error": None,
        "attempts": 1,
        "reasoning": {"kept": 3, "carried": 0, "restored": 2, "omitted": 1, "received": 0, "rules": ["H2"], "store": "ok"},
        "policy": None,
        "plan": [],
        "notes": [
            {"code": "effort_clamped", "text": SENTENCES["effort_clamped"], "detail": "sent high", "count": 1},
            {"code": "cache_mark_dropped", "text": SENTENCES["cache_mark_dropped"], "detail": None, "count": 4},
        ],
        "usage": {"input_tokens": 1204, "output_tokens": 310, "reasoning_tokens": 96, "cached_input_tokens": 1000, "cost": 0.0125},
        "thinking": {
            "first_thought_seconds": 0.4, "first_answer_seconds": 2.2, "thinking_seconds": 1.8, "total_seconds": 3.14,
            "thinking_tokens": 96, "output_tokens": 310, "share": 0.3097, "cost": None, "estimated": False,
        },
        "seconds": {"first": 0.42, "total": 3.14},
    }  # fmt: skip
    assert expected == explain(report(notes=notes, caller="a1b2", cost=0.0125, thinking=THINKING))
    assert expected == json.loads(
        json_line(report(notes=notes, caller="a1b2", cost=0.0125, thinking=THINKING))
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "anthropic -> gemini/gemini-3.5-flash  kept 3 restored 2 omitted 1 (H2)  1,204 in 310 out (96 thought)  0.42 s first, 3.1 s"),
        ({"kept": 0, "restored": 0, "omitted": 0, "rules": ()}, "anthropic -> gemini/gemini-3.5-flash  1,204 in 310 out (96 thought)  0.42 s first, 3.1 s"),
        ({"restored": 0, "omitted": 0, "rules": (), "store": "degraded", "first_byte": None, "usage": Usage()}, "anthropic -> gemini/gemini-3.5-flash  kept 3 store degraded  3.1 s"),
        ({"kept": 0, "restored": 0, "omitted": 0, "rules": (), "status": 429, "error": "rate_limit", "usage": Usage(), "first_byte": None, "total": 12.0}, "anthropic -> gemini/gemini-3.5-flash  429 rate_limit  12.0 s"),
        ({"kept": 0, "restored": 0, "omitted": 0, "rules": (), "provider": "", "model": "", "asked": "gpt-9", "status": 404, "error": "unknown_model", "usage": Usage(), "first_byte": None, "total": 0.001}, "anthropic -> gpt-9  404 unknown_model  0.00 s"),
    ],
)  # fmt: skip
def test_a_line_for_people(fields, expected):
    assert expected == terminal_line(report(**fields))


def test_the_page_has_a_line():
    page = Path(__file__).parents[2] / "docs" / "gateway-operations.md"

    assert f"```\n{terminal_line(report(thinking=THINKING))}\n```" in page.read_text("utf-8")


# ---- texts of others -------------------------------------------------------------------------------

TEXT_FIELDS = ("dialect", "asked", "provider", "model", "account", "error", "store")


@given(st.text(st.characters(codec=None), max_size=50))
def test_no_text_breaks_a_line(text):
    written = report(
        **dict.fromkeys(TEXT_FIELDS, text), rules=(text,), id=text, tenant=text,
        notes=[Note("effort_clamped", text)], status=500,
    )  # fmt: skip
    for line in (terminal_line(written), json_line(written)):
        line.encode("utf-8")
        assert 1 == len(line.splitlines())
        assert not {"Cc", "Cf", "Zl", "Zp", "Cs"} & set(map(unicodedata.category, line))
    json.loads(json_line(written))


letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def random_text(alphabet, least, most):
    return st.text(st.sampled_from(alphabet), min_size=least, max_size=most)


KEYS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["sk-", "sk-ant-api03-", "sk-proj-", "AIzaSy", "nvapi-", "fw_", "iv-"]), random_text(letters + "-_", 24, 120)),
    st.builds("{}{}".format, st.sampled_from(["gsk_", "xai-", "hf_", "pplx-", ""]), random_text(letters, 32, 80)),
    random_text("0123456789abcdef", 32, 64),
)  # fmt: skip
SEALS = st.one_of(
    st.binary(min_size=100, max_size=400).map(lambda data: base64.b64encode(data).decode()),
    st.binary(min_size=100, max_size=400).map(lambda data: base64.urlsafe_b64encode(data).decode()),
).filter(lambda seal: any(map(str.isdigit, seal)) and any(map(str.isupper, seal)) and any(map(str.islower, seal)))  # fmt: skip
AROUND = st.text(st.sampled_from("abc :,'\"()\n"), max_size=300)


@given(secret=st.one_of(KEYS, SEALS), before=AROUND, after=AROUND)
def test_no_key_and_no_seal_is_told(secret, before, after):
    """Wherever a caller or a provider has put one, also across the place where a text is cut."""
    assume(not before or not before[-1].isalnum())
    text = f"{before}{secret}{after}"
    written = report(
        **dict.fromkeys(TEXT_FIELDS, text), rules=(text,), notes=[Note("retried", text)], status=500
    )  # fmt: skip
    for line in (terminal_line(written), json_line(written)):
        pieces = {secret[start : start + 12] for start in range(len(secret) - 11)}
        assert not [piece for piece in pieces if piece in line]


@pytest.mark.parametrize(
    "name",
    [
        "anthropic.claude-sonnet-5-5-20260101-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefgh1234",
        "accounts/fireworks/models/llama-v3p1-405b-instruct",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "env:OPENAI_KEY_PRODUCTION_ACCOUNT_NUMBER_2",
        "file:/run/secrets/openai_key_production_account",
        "task-force-one-model-with-a-name",
        "模型-4.6",
    ],
)
def test_names_stay_as_they_are(name):
    assert name == explain(report(model=name))["model"]


def test_a_long_text_is_cut():
    assert 200 == len(explain(report(asked="a b " * 1_000_000))["asked"])


def test_a_key_at_the_end_of_what_is_looked_at():
    """All before it shrinks, so that its place could be shown."""
    key = "0123456789abcdef" * 2
    for blanks in range(3950, 4001):
        text = (
            f"{'a1B2' * 200} {'a1B2' * (blanks // 4 - 201)}{' ' * (blanks % 4)} {key} {'a ' * 5000}"
        )
        assert "0123456" not in explain(report(asked=text))["asked"]
