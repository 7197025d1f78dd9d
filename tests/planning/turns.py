"""Turns of many models, as their providers sent them, and histories around them."""

import innervoice as iv
from wire.fixtures import ANSWERS
from wire.test_answers import body, hints

TARGETS = [
    "anthropic/claude-opus-4-6",
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "gemini/gemini-3-flash-preview",
    "deepseek/deepseek-v4-pro",
    "mistral/mistral-small-latest",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "groq/openai/gpt-oss-120b",
]


def turn(name):
    answer = next(answer for answer in ANSWERS if answer.name == name)
    return iv.decode(body(answer), **hints(answer)).message


def loop(message):
    return [
        iv.user("Weather?"),
        message,
        *(iv.tool_result(call.id, "rain") for call in message.tool_calls),
    ]


def thought(provider, model, dialect, block, text="R", **more):
    """A piece of reasoning with its origin; what is not a field of an origin is one of the part."""
    fields = {
        name: more.pop(name) for name in ("prefix", "scope", "item", "markup") if name in more
    }
    origin = iv.Origin(dialect=dialect, provider=provider, model=model, block=block, **fields)
    return iv.Thinking(text, origin=origin, **more)


def claude(text="R", model="claude-opus-4-6", signature="s", **more):
    """A thinking block of Claude."""
    block = {"type": "thinking", "thinking": text, "signature": signature}
    return thought("anthropic", model, "anthropic", block, text, **more)


def item(model="gpt-5.6", **members):
    """A reasoning item of OpenAI's Responses."""
    block = {"type": "reasoning", "id": "rs_1", "summary": [], **members}
    return thought("openai", model, "openai-responses", block, item="rs_1")


def field(provider, model, text="R", name="reasoning_content"):
    """Reasoning in a field of a chat host."""
    return thought(provider, model, "openai-chat", {name: text}, text)


def talk(*parts):
    """A turn of the model between two of the user."""
    return [iv.user("x"), iv.Message("assistant", parts), iv.user("y")]


def calling(*parts, call_id="a"):
    """An open tool loop whose turn begins with the parts."""
    call = iv.ToolCall(call_id, "f", "{}")
    return [iv.user("x"), iv.Message("assistant", (*parts, call)), iv.tool_result(call_id, "1")]


def decided(history, target, **settings):
    """What is decided, without the sentences: message, part, kind, action, rule and note."""
    return [
        (item.message, item.part, item.kind, item.action, item.rule, item.note)
        for item in iv.plan(history, target, **settings).decisions
    ]


def codes(history, target, **settings):
    """What lint finds: code, severity, message and part."""
    return [
        (item.code, item.severity, item.message, item.part)
        for item in iv.lint(history, target, **settings)
    ]
