"""Why a block is empty: a table of situations, and the word for each."""

from typing import get_args, get_type_hints

import pytest

import innervoice as iv
from innervoice.canon.reasoning import ReasoningReport
from innervoice.view.row_types import Empty
from innervoice.view.rows import rows_of
from view.samples import answered, conversation, thinker

SEALED = thinker(seal="S" * 436)
REDACTED = thinker(block={"type": "redacted_thinking", "data": "D" * 60}, seals=("data",))
EMPTY_CHAT = thinker(
    provider="deepseek", model="deepseek-v4", dialect="openai-chat", block={"reasoning_content": ""}
)
HOST = iv.Origin(
    provider="bedrock", model="m", dialect="bedrock-converse", block={"reasoningContent": {}}
)
TEXT = iv.Text("x")
GEMINI = {"provider": "gemini", "model": "gemini-3-pro-preview", "dialect": "gemini"}
CALL = iv.ToolCall(
    "a", "f", "{}", origin=iv.Origin(**GEMINI, block={"functionCall": {"name": "f"}})
)


def counted(tokens):
    return iv.Usage(output_tokens=1000, reasoning_tokens=tokens)


def asked(**setting):
    return ReasoningReport(requested=iv.Reasoning(**setting), effective=iv.Reasoning(**setting))


BLOCKS = {
    "a seal and no text, not asked for": ("sealed only", SEALED, {}),
    "a seal and no text, asked to hide": ("sealed only", SEALED, {"reasoning_report": asked(show="hidden")}),
    "a seal and no text, though a summary was asked for": ("summarised", SEALED, {"reasoning_report": asked(show="summary")}),
    "an empty summary": ("summarised", iv.Thinking("", "summary"), {}),
    "a sealed empty summary": ("summarised", thinker(seal="S" * 40, form="summary"), {}),
    "redacted for safety": ("redacted", REDACTED, {}),
    "redacted for safety, in Bedrock's words": ("redacted", thinker(block={"redactedContent": "D" * 60}, seals=("redactedContent",)), {}),
    "redacted, in a kind that is not known": ("redacted", iv.Opaque({"type": "redacted_thinking_v2", "x": 1}), {}),
    "a kind of reasoning that is not known": ("sealed only", iv.Opaque({"type": "deep_thought", "x": 1}), {}),
    "tokens counted, and neither text nor seal": ("stripped by a gateway", EMPTY_CHAT, {"usage": counted(512)}),
    "no signature on a block of Claude": ("stripped by a gateway", thinker(), {}),
    "switched off, and an empty block": ("never asked", EMPTY_CHAT, {"reasoning_report": asked(effort="none")}),
    "interrupted before the first word": ("truncated", thinker(complete=False), {"ended": False}),
    "cut off by the limit, after an answer": ("truncated", thinker(complete=False), {"finish_reason": "length", "more": TEXT}),
    "the limit reached while thinking": ("budget_exhausted", thinker(complete=False), {"finish_reason": "length"}),
    "a block with nothing in it": ("none", EMPTY_CHAT, {}),
    "blanks alone": ("none", iv.Thinking(" \n"), {"usage": counted(0)}),
}  # fmt: skip

TURNS = {
    "tokens counted, at a host that shows reasoning": ("stripped by a gateway", (TEXT,), {"provider": "deepseek", "model": "deepseek-v4", "usage": counted(512)}),
    "tokens counted, by an API that shows nothing": ("summarised", (TEXT,), {"provider": "openai", "model": "gpt-5-nano", "usage": counted(512), "request": "openai-chat"}),
    "tokens counted, and not asked to show them": ("never asked", (TEXT,), {"provider": "gemini", "model": "gemini-3-pro-preview", "usage": counted(512), "reasoning_report": asked(effort="low")}),
    "tokens counted, and asked to hide them": ("never asked", (TEXT,), {"provider": "deepseek", "model": "deepseek-v4", "usage": counted(512), "reasoning_report": asked(show="hidden")}),
    "tokens counted, at a host that nobody knows": ("stripped by a gateway", (TEXT,), {"provider": "my-gateway", "model": "m", "usage": counted(512)}),
    "tokens counted, and shown on request, of which nothing is known": ("summarised", (TEXT,), {"provider": "gemini", "model": "gemini-3-pro-preview", "usage": counted(512)}),
    "a call of Gemini 3 without its signature": ("stripped by a gateway", (CALL,), GEMINI | {"usage": counted(None)}),
    "the limit reached, and nothing came": ("budget_exhausted", (), {"finish_reason": "length", "usage": counted(900)}),
    "switched off": ("never asked", (TEXT,), {"reasoning_report": asked(effort="none")}),
    "off unless asked for": ("never asked", (TEXT,), {"model": "claude-sonnet-4-5", "reasoning_report": ReasoningReport()}),
    "asked, and the model did not think": ("none", (TEXT,), {"reasoning_report": asked(effort="low"), "usage": counted(0)}),
    "a model that does not reason": (None, (TEXT,), {"provider": "mistral", "model": "open-mistral-7b", "usage": counted(0)}),
    "nothing is known": (None, (TEXT,), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_an_empty_block_has_one_of_eight_words_and_a_sentence(name):
    word, part, about = BLOCKS[name]
    more = about.pop("more", None) if "more" in (about := dict(about)) else None
    made = answered(*([part, more] if more else [part]), **about)
    empty = rows_of(conversation(made))[1]["empty"]

    assert word == empty["word"]
    assert empty["why"].endswith(".")
    assert len(empty["why"]) > 40


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_without_a_block_says_why_where_it_is_known(name):
    word, parts, about = TURNS[name]
    about = dict(about)
    about.pop("dialect", None)
    if dialect := about.pop("request", None):
        parts = tuple(part.replace(origin=iv.Origin(dialect=dialect)) for part in parts)
    head = rows_of(conversation(answered(*parts, **about)))[0]

    assert word == head.get("empty", {}).get("word")


def test_the_table_has_every_word():
    words = {row[0] for row in (*BLOCKS.values(), *TURNS.values())} - {None}

    assert set(get_args(get_type_hints(Empty)["word"])) == words


@pytest.mark.parametrize(
    "part", [thinker("words", seal="S" * 40), thinker("words"), iv.Text(""), iv.ToolCall("a", "f")]
)
def test_a_part_with_words_or_without_reasoning_has_no_such_word(part):
    assert "empty" not in rows_of(conversation(answered(part)))[1]


def test_a_turn_of_the_user_is_not_asked_for_reasoning():
    assert all("empty" not in row for row in rows_of(conversation(iv.user("x"), iv.system("y"))))


def test_without_an_answer_the_settings_of_the_conversation_count():
    request = iv.Request("anthropic/claude-opus-4-6", (), reasoning=iv.Reasoning(show="summary"))
    message = iv.Message("assistant", (SEALED,))

    assert "summarised" == rows_of(conversation(message, request=request))[1]["empty"]["word"]
    assert "sealed only" == rows_of(conversation(message))[1]["empty"]["word"]
