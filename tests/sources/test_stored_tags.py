"""Reasoning between tags in stored turns: message lists, request bodies and session files are split as `decode` splits an answer, and written back byte for byte."""

import json

import pytest
from click.testing import CliRunner

import innervoice as iv
from innervoice.cli.commands import innervoice as main
from innervoice.sources.opening import open_source
from innervoice.sources.stored import history_from
from innervoice.wire.dialects import DIALECTS

TEXTS = [
    "<think>I count.</think>Four.",
    "<think>\nI count.\n</think>\n\nFour.",
    "Well. <think>I count.</think> Four. <thinking>Really?</thinking> Yes.",
    "I count, slowly and carefully.</think>Four.",
    "<think>a<think>b</think>c</think>d",
    "`<think>` opens a block, and `</think>` ends it.",
    "```\n<think>code</think>\n```",
    "<think>never closed",
    '{"a": "<think>x</think>"}',
    "Four.",
    "",
]
ASKED = {"role": "user", "content": "2 + 2?"}
MORE = {"role": "user", "content": "And 3 + 3?"}


def decoded(text, dialect):
    """The parts that `decode` makes of an answer with this text."""
    answer = iv.Response(parts=(iv.Text(text),), finish_reason="stop", ended=True)
    return iv.decode(iv.encode_response(answer, dialect), dialect=dialect)


def stored(text, dialect):
    """A history of a dialect, as its API would be sent it."""
    turn = iv.Message("assistant", (iv.Text(text),))
    messages = [iv.user("2 + 2?"), turn, iv.user("And 3 + 3?")]
    wire = iv.encode(iv.Request("somewhere/m", messages, dialect=dialect))
    return wire.body


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_a_stored_turn_is_split_as_an_answer_is(text, dialect):
    """By the dialect that its list looks like: messages with a role and a text alone are those of chat."""
    history = history_from(stored(text, dialect))
    (turn,) = [one for one in history.messages if one.role == "assistant"]
    answer = decoded(text, history.kind)

    assert (answer.text, answer.thinking) == (turn.text, turn.thinking)
    assert [part.type for part in answer.parts] == [part.type for part in turn.parts]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_a_stored_turn_is_written_back_as_it_was(text, dialect):
    body = stored(text, dialect)
    history = history_from(body)
    again = iv.from_json(iv.to_json(history.messages))
    wire = iv.encode(iv.Request("somewhere/m", again, dialect=history.kind))

    unsplit = history_from(body, inline="off").messages
    assert iv.encode(iv.Request("somewhere/m", unsplit, dialect=history.kind)).body == wire.body
    if dialect == history.kind:
        member = next(name for name in ("messages", "contents", "input") if name in body)
        assert body[member] == wire.body[member]


def test_decode_request_reads_texts_as_they_are():
    """A server passes on what its clients send."""
    body = {"model": "m", "messages": [ASKED, {"role": "assistant", "content": TEXTS[0]}, MORE]}
    request = iv.decode_request(body, dialect="openai-chat")

    assert TEXTS[0] == request.messages[1].text
    assert request.messages[1].thinking is None


@pytest.mark.parametrize(
    ("model", "text", "thinking"),
    [
        ("deepseek-ai/DeepSeek-R1", "I count.</think>Four.", "I count."),
        ("magistral-small-2506", "[THINK]I count.[/THINK]Four.", "I count."),
        ("m", "[THINK]I count.[/THINK]Four.", None),
        ("openai/gpt-5.6", "Well. <think>I count.</think> Four.", None),
        ("openai/gpt-5.6", "<think>I count.</think>Four.", "I count."),
    ],
)
def test_the_model_of_a_body_says_which_markup_it_writes(model, text, thinking):
    body = {"model": model, "messages": [ASKED, {"role": "assistant", "content": text}, MORE]}

    assert thinking == history_from(body).messages[1].thinking
    assert thinking == open_source(json.dumps(body).encode()).conversation().messages[1].thinking


def test_lint_says_so():
    messages = [ASKED, {"role": "assistant", "content": TEXTS[0]}, MORE]

    (abroad,) = iv.lint(messages, "anthropic/claude-opus-5-5")
    assert ("thinking_omitted", 1, 0) == (abroad.code, abroad.message, abroad.part)
    (home,) = iv.lint(messages, "vllm/qwen3-8b")
    assert ("inline_thinking", "degraded", 1) == (home.code, home.severity, home.message)
    assert [] == iv.lint([ASKED, {"role": "assistant", "content": "Four."}, MORE], "vllm/qwen3-8b")


def test_lint_is_silent_about_a_text_that_goes_back_to_its_model():
    answer = iv.decode(
        {"choices": [{"message": {"content": TEXTS[0]}, "finish_reason": "stop"}]},
        provider="vllm",
        model="qwen3-8b",
    )
    history = [iv.user("2 + 2?"), answer.message, iv.user("And 3 + 3?")]

    assert [] == iv.lint(history, "vllm/qwen3-8b")


@pytest.mark.parametrize("target", ["anthropic/claude-opus-5-5", "vllm/qwen3-8b"])
def test_repair(target):
    messages = [ASKED, {"role": "assistant", "content": TEXTS[0]}, MORE]
    _, turn, _ = iv.repair(messages, target)

    assert "Four." == turn.text
    assert ("I count." if target.startswith("vllm") else None) == turn.thinking


def test_the_commands(tmp_path):
    """`inspect`, `lint` and `repair` of a file; a repaired list has no tags left for a model that cannot read them."""
    path = tmp_path / "history.json"
    path.write_text(json.dumps([ASKED, {"role": "assistant", "content": TEXTS[0]}, MORE]))
    run = CliRunner().invoke

    assert "I count." in run(main, ["inspect", str(path)]).output
    found = run(main, ["lint", str(path), "--for", "anthropic/claude-opus-5-5"])
    assert (1, True) == (found.exit_code, "thinking_omitted" in found.output)
    fixed = tmp_path / "fixed.json"
    run(main, ["repair", str(path), "-o", str(fixed), "--for", "anthropic/claude-opus-5-5"])
    assert {"role": "assistant", "content": "Four."} == json.loads(fixed.read_text())[1]
    same = tmp_path / "same.json"
    run(main, ["repair", str(path), "-o", str(same), "--for", "vllm/qwen3-8b"])
    assert path.read_bytes() == same.read_bytes()


def claude_code(text):
    lines = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "message": ASKED},
        {
            "type": "assistant",
            "uuid": "u2",
            "parentUuid": "u1",
            "sessionId": "s",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
            },
        },
    ]
    return "\n".join(map(json.dumps, lines)) + "\n"


def test_a_session_file(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text(claude_code("<thinking>I count.</thinking>Four."))
    turn = open_source(path).conversation().messages[-1]

    assert ("Four.", "I count.") == (turn.text, turn.thinking)
    found = CliRunner().invoke(main, ["lint", str(path), "--for", "openai/gpt-5.6"])
    assert "line 2" in found.output
    assert "thinking_omitted" in found.output
