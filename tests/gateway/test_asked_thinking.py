"""A client that asks for thinking gets its words, also from models that hide them unless a summary is asked for."""

import pytest

import innervoice as iv
from gateway.harness import PATHS, Served
from innervoice.wire.dialects import dialect_named

TEXT = "What is 15 * 23?"
MESSAGES = {"messages": [{"role": "user", "content": TEXT}]}
CLAUDE = {**MESSAGES, "max_tokens": 4000}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": TEXT}]}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]}
ENABLED = {"type": "enabled", "budget_tokens": 2000}
HIDING = ("openai/gpt-5.6", "anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash", "bedrock/us.anthropic.claude-opus-5-5-v1:0")  # fmt: skip
# How clients ask for thinking, by their API.
ASKED = {
    "messages, enabled": ("anthropic", {**CLAUDE, "thinking": ENABLED}),
    "messages, adaptive": ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive"}}),
    "messages, effort": ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
    "messages, summarized": ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive", "display": "summarized"}}),
    "converse, thinking": ("bedrock-converse", {**CONVERSE, "additionalModelRequestFields": {"thinking": ENABLED}}),
    "converse, adaptive": ("bedrock-converse", {**CONVERSE, "additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}),
    "converse, reasoning_config": ("bedrock-converse", {**CONVERSE, "additionalModelRequestFields": {"reasoning_config": ENABLED}}),
    "cohere, enabled": ("cohere", {**MESSAGES, "thinking": {"type": "enabled"}}),
    "cohere, budget": ("cohere", {**MESSAGES, "thinking": {"type": "enabled", "token_budget": 2000}}),
    "chat": ("openai-chat", {**MESSAGES, "reasoning_effort": "high"}),
    "mistral": ("mistral", {**MESSAGES, "reasoning_effort": "high"}),
    "ollama": ("ollama", {**MESSAGES, "think": True}),
    "gemini": ("gemini", {**GEMINI, "generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
    "responses": ("openai-responses", {"input": TEXT, "reasoning": {"effort": "high", "summary": "auto"}}),
}  # fmt: skip
# And how they do not: they say so, or their API has a setting for it that they leave alone.
NOT_ASKED = {
    "messages, omitted": ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive", "display": "omitted"}}),
    "messages, omitted with effort": ("anthropic", {**CLAUDE, "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"}}),
    "messages": ("anthropic", CLAUDE),
    "converse, omitted": ("bedrock-converse", {**CONVERSE, "additionalModelRequestFields": {"thinking": {"type": "adaptive", "display": "omitted"}}}),
    "cohere, disabled": ("cohere", {**MESSAGES, "thinking": {"type": "disabled"}}),
    "gemini": ("gemini", {**GEMINI, "generationConfig": {"thinkingConfig": {"thinkingLevel": "high"}}}),
    "responses": ("openai-responses", {"input": TEXT, "reasoning": {"effort": "high"}}),
}  # fmt: skip
# At home an API's own default holds: thinking that is adaptive, and whose display is not named, is omitted there.
AT_HOME = {
    ("messages, adaptive", "anthropic/claude-opus-5-5"),
    ("messages, effort", "anthropic/claude-opus-5-5"),
    ("converse, adaptive", "bedrock/us.anthropic.claude-opus-5-5-v1:0"),
}


def thinking(dialect, body, model, *, stream):
    served, path = Served(), PATHS[dialect][stream]
    name = {} if "{}" in path else {"model": model}
    streams = {} if "{}" in path else {"stream": stream}
    reply = served.ask("POST", path.format(model), {**body, **name, **streams})

    assert (200, [200]) == (reply.status, served.upstream.statuses), reply.body
    return iv.decode(reply.body, dialect=dialect).thinking or ""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", HIDING)
@pytest.mark.parametrize("how", ASKED)
def test_words_that_are_asked_for_come(how, model, stream):
    dialect, body = ASKED[how]
    assert ((how, model) not in AT_HOME) == bool(thinking(dialect, body, model, stream=stream))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", HIDING)
@pytest.mark.parametrize("how", NOT_ASKED)
def test_words_that_are_not_asked_for_do_not(how, model, stream):
    dialect, body = NOT_ASKED[how]
    assert "" == thinking(dialect, body, model, stream=stream)


def test_every_api_that_shows_thinking_is_here():
    shown = {dialect for dialect, _ in ASKED.values()} - {"gemini", "openai-responses"}
    rows = [dialect_named(name) for name in PATHS]
    assert shown == {row.name for row in rows if row.thinks_visibly or row.shows_asked}
