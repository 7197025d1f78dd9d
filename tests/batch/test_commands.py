"""`innervoice batch`: from a file of requests to rows, at each provider, whatever interrupts it."""

import json
import signal

import pytest

from batch.commands import MODELS, WatchedEmulator, batch, rows_in, write_requests
from innervoice.emulator.app import EmulatorServer


@pytest.fixture
def emulator():
    return WatchedEmulator()


@pytest.fixture
def server(emulator):
    with EmulatorServer(emulator) as running:
        yield running


def submit(file, provider, server, *options, switches="", **keywords):
    model = MODELS[provider] + switches
    place = ["--base-url", server.base_url(provider)]
    return batch("submit", file, "-m", model, "-e", "high", *place, "-y", *options, **keywords)


def fetch(file, output, **keywords):
    return batch("fetch", file, "-o", output, "--every", "0.02", **keywords)


@pytest.mark.parametrize("provider", MODELS)
def test_rows_have_prompt_reasoning_seal_and_usage(provider, server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl", 5, system="Be brief.")

    submitted = submit(file, provider, server, "--at-most", "2")
    state = batch("status", file)
    fetched = fetch(file, tmp_path / "rows.jsonl")

    assert submitted.returncode == 0, submitted.stderr
    assert "5 requests" in submitted.stderr
    assert "in 3 batches" in submitted.stderr
    assert "0 of 5 answered" in state.stderr
    assert fetched.returncode == 0, fetched.stderr
    rows = rows_in(tmp_path / "rows.jsonl")
    assert [row["id"] for row in rows] == [f"q/{n}" for n in range(5)]
    for number, row in enumerate(rows):
        assert row["answer"] == f"{number} * 23 = {number * 23}."
        assert f"{number} * 23" in row["reasoning"]
        assert row["status"] == "answered"
        roles = [(one["role"], one["content"]) for one in row["prompt"]]
        assert roles == [("system", "Be brief."), ("user", f"What is {number} * 23?")]
        assert row["usage"]["output"] > row["usage"]["reasoning"] > 0
        assert row["prompt_problem"] is None
    assert len(emulator.created) == 3
    seals = {"anthropic": "signature", "openai": "encrypted_content"}
    if provider in seals:
        assert all(seals[provider] in json.dumps(row["parts"]) for row in rows)


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("switches", ["+expire=2", "+flaky=2"])
def test_what_expired_or_failed_is_sent_again_and_nothing_else(
    provider, switches, server, emulator, tmp_path
):
    file = write_requests(tmp_path / "prompts.jsonl", 5)

    submit(file, provider, server, switches=switches)
    fetched = fetch(file, tmp_path / "rows.jsonl")

    assert fetched.returncode == 0, fetched.stderr
    assert [row["status"] for row in rows_in(tmp_path / "rows.jsonl")] == ["answered"] * 5
    again = 5 if (provider, switches) == ("gemini", "+expire=2") else 2  # all of it expires
    assert f"{again} sent again" in fetched.stderr
    assert len(emulator.created) == 2
    if provider != "openai":
        assert len(emulator.created[1]) == again


@pytest.mark.parametrize("provider", MODELS)
def test_a_request_that_is_refused_is_a_row_that_says_why(provider, server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl", 2)
    with file.open("a") as stream:
        stream.write('{"id": "bad", "prompt": "Hm?", "extra": {"no_such_member": 1}}\n')

    submit(file, provider, server)
    fetched = fetch(file, tmp_path / "rows.jsonl")

    assert fetched.returncode == 1
    assert "no_such_member" in fetched.stderr
    rows = {row["id"]: row for row in rows_in(tmp_path / "rows.jsonl")}
    assert [rows[name]["status"] for name in ("q/0", "q/1", "bad")] == ["answered", "answered", "interrupted"]  # fmt: skip
    assert rows["bad"]["prompt"][0]["content"] == "Hm?"
    assert len(emulator.created) == 1  # such a request is not sent again


@pytest.mark.parametrize("provider", MODELS)
def test_killed_at_every_call_nothing_is_submitted_twice(provider, server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl", 4)
    done = set()

    def kill_once(call):
        for when in ("before", "after"):
            if (call, when) not in done:
                done.add((call, when))
                return when
        return None

    emulator.kill = kill_once
    kills = 0
    for command in (
        lambda: submit(file, provider, server, "--at-most", "2", switches="+flaky=2", emulator=emulator),
        lambda: fetch(file, tmp_path / "rows.jsonl", emulator=emulator),
    ):  # fmt: skip
        for _ in range(40):
            result = command()
            if result.returncode != -signal.SIGKILL:
                break
            kills += 1
        assert result.returncode == 0, result.stderr

    assert kills == len(done) >= 6
    rows = rows_in(tmp_path / "rows.jsonl")
    assert [row["id"] for row in rows] == [f"q/{n}" for n in range(4)]
    assert [row["status"] for row in rows] == ["answered"] * 4
    # Two batches, and one for each of the requests that failed in them.
    assert len(emulator.created) == 4
    assert len({tuple(ids) for ids in emulator.created}) == 4


def test_a_batch_of_somebody_else_is_not_taken_for_ours(server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl", 2)
    emulator.kill = lambda call: "before" if call.startswith("POST") else None
    assert submit(file, "anthropic", server, emulator=emulator).returncode == -signal.SIGKILL
    emulator.kill = None
    params = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}  # fmt: skip
    theirs = {"requests": [{"custom_id": f"theirs-{n}", "params": params} for n in range(2)]}
    headers = {"x-api-key": "sk-ant-0123456789", "anthropic-version": "2023-06-01"}
    emulator.reply("POST", "/anthropic/v1/messages/batches", headers, json.dumps(theirs).encode())

    again = submit(file, "anthropic", server)
    fetched = fetch(file, tmp_path / "rows.jsonl")

    assert (again.returncode, fetched.returncode) == (0, 0), fetched.stderr
    assert [row["status"] for row in rows_in(tmp_path / "rows.jsonl")] == ["answered"] * 2
    assert len(emulator.created) == 2  # theirs and ours


def test_submitting_again_creates_nothing(server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl")

    first, second = submit(file, "openai", server), submit(file, "openai", server)

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.split()[0] == second.stdout.split()[0]
    assert len(emulator.created) == 1


@pytest.mark.parametrize(
    "change", [{"prompt": "Other?"}, {"effort": "low"}], ids=["content", "setting"]
)
def test_another_content_or_setting_is_refused_while_results_wait(
    change, server, emulator, tmp_path
):
    file = write_requests(tmp_path / "prompts.jsonl")
    submit(file, "anthropic", server)
    write_requests(file, **change)

    result = submit(file, "anthropic", server)

    assert result.returncode == 2
    assert "belongs to another content of prompts.jsonl" in result.stderr
    assert len(emulator.created) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"prompt": "Why?", "effrot": "high"}', "unknown members effrot"),
        ('{"id": "q/0", "prompt": "Why?"}', "the id 'q/0' is that of an earlier line"),
        ('{"id": "x"}', "expected either prompt (a text) or messages (a list)"),
        ("[1]", "expected a JSON object, not list"),
        ("{", "expected a JSON object, but"),
        ('{"prompt": "Why?", "model": "openai/gpt-5.6"}', "of another provider than anthropic"),
    ],
)
def test_a_line_that_is_no_request_is_named_and_nothing_is_sent(
    line, message, server, emulator, tmp_path
):
    file = write_requests(tmp_path / "prompts.jsonl", 1)
    with file.open("a") as stream:
        stream.write(f"{line}\n")

    model = ["-m", MODELS["anthropic"]]
    result = batch("submit", file, *model, "-y", environ={"ANTHROPIC_BASE_URL": server.base_url("anthropic")})  # fmt: skip

    assert result.returncode == 2
    assert "prompts.jsonl:2" in result.stderr
    assert message in " ".join(result.stderr.split())
    assert emulator.calls == []
    assert list(tmp_path.iterdir()) == [file]


def test_without_anybody_to_ask_nothing_is_sent(server, emulator, tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl")

    result = batch("submit", file, "-m", MODELS["openai"], "--base-url", server.base_url("openai"))

    assert result.returncode == 2
    assert "about" in result.stderr
    assert "--yes submits without asking" in result.stderr
    assert emulator.calls == []


def test_a_provider_without_batches_is_refused(tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl")

    result = batch("submit", file, "-m", "mistral/mistral-large-latest", "-y", environ={"MISTRAL_API_KEY": "x"})  # fmt: skip

    assert result.returncode == 2
    assert "mistral has no batch API that innervoice knows" in result.stderr


def test_the_cost_is_estimated_before_and_written_after_at_half_price(server, tmp_path):
    (tmp_path / "genai_prices.py").write_text(
        "class Usage:\n"
        "    def __init__(self, **counts): self.counts = counts\n"
        "def calc_price(usage, model_ref, provider_id):\n"
        "    from decimal import Decimal\n"
        "    from types import SimpleNamespace\n"
        "    read, wrote = usage.counts['input_tokens'], usage.counts['output_tokens']\n"
        "    return SimpleNamespace(total_price=Decimal(read + wrote), input_price=Decimal(read), output_price=Decimal(wrote),\n"
        "        model=SimpleNamespace(id=model_ref))\n"
    )
    environ = {"PYTHONPATH": str(tmp_path)}
    file = write_requests(tmp_path / "prompts.jsonl", 2)

    submitted = submit(file, "anthropic", server, "--max-tokens", "1000", environ=environ)
    fetched = fetch(file, tmp_path / "rows.jsonl", environ=environ)

    assert "at half price" in submitted.stderr
    assert "for 2,000 tokens of output" in submitted.stderr
    assert fetched.returncode == 0, fetched.stderr
    for row in rows_in(tmp_path / "rows.jsonl"):
        assert row["cost"] == (row["usage"]["input"] + row["usage"]["output"]) / 2


def test_nothing_was_submitted(tmp_path):
    file = write_requests(tmp_path / "prompts.jsonl")

    results = [batch("status", file), fetch(file, tmp_path / "rows.jsonl")]

    assert [result.returncode for result in results] == [2, 2]
    assert all("nothing was submitted" in result.stderr for result in results)
