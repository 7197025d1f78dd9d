"""Conversations for the tests of the viewer: built by hand, and answered by the emulator."""

from __future__ import annotations

import json

import innervoice as iv
from emulator.talk import TOOL, converse
from innervoice.emulator import Emulator
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.rows import rows_of

__all__ = [
    "answered",
    "brief",
    "conversation",
    "emulated",
    "hand_made",
    "seals_of",
    "thinker",
    "turn",
]


def turn(message, **about):
    """A turn of a message, a response, or the parts of an answer."""
    if isinstance(message, iv.Response):
        return Turn(message=message.message, answer=message, **about)
    return Turn(message=message, **about)


def conversation(*turns, **about):
    """A conversation of turns, messages or responses."""
    made = tuple(item if isinstance(item, Turn) else turn(item) for item in turns)
    return Conversation(**{"id": "c", "turns": made, **about})


def answered(*parts, **about):
    """A whole answer with these parts."""
    about = {"ended": True, "finish_reason": "stop", "provider": "anthropic", "model": "claude-opus-4-6", **about}  # fmt: skip
    return iv.Response(parts=parts, **about)


def thinker(
    text="", *, seal="", model="claude-opus-4-6", provider="anthropic", dialect="anthropic", **about
):
    """A block of reasoning with its origin; sealed if there is a seal."""
    fields = {
        name: about.pop(name) for name in ("scope", "prefix", "block", "seals") if name in about
    }
    block = {"type": "thinking", "thinking": text, **({"signature": seal} if seal else {})}
    origin = {"block": block, "seals": ("signature",) if seal else (), **fields}
    about.setdefault("form", "full" if text else "hidden")
    return iv.Thinking(
        text, origin=iv.Origin(provider=provider, model=model, dialect=dialect, **origin), **about
    )


def emulated(model, *questions, behave="", **settings):
    """A conversation with the emulator, with tools, as a source would give it."""
    emulator, history, answers = Emulator(), [], []
    for question in questions or ("How is the weather in Paris?",):
        answers += [
            one.response
            for one in converse(emulator, model, history, question, behave=behave, **settings)
        ]
    given = iter(answers)
    turns = [
        turn(next(given)) if message.role == "assistant" else turn(message) for message in history
    ]
    return conversation(*turns, request=iv.Request(model, (), tools=[TOOL], **settings))


def hand_made():
    """Think, call, think, result, think, answer; with blocks that are empty."""
    first = answered(
        thinker("First I look.", seal="S" * 40),
        thinker("Then I look again.", seal="T" * 40),
        iv.Text("Let me see."),
        iv.ToolCall("call_1", "read_file", '{"path":"a.py","lines":[1,2]}'),
        thinker("And a second file.", seal="U" * 40),
        iv.ToolCall("call_2", "read_file", '{"path":"b.py"}'),
        finish_reason="tool_calls",
        usage=iv.Usage(
            input_tokens=1200, output_tokens=300, reasoning_tokens=200, cached_input_tokens=1000
        ),
    )
    results = iv.Message(
        "user",
        (iv.ToolResult("call_2", "no such file", error=True), iv.ToolResult("call_1", "x = 1")),
    )
    second = answered(
        thinker(seal="V" * 436), iv.Text("It sets x."), usage=iv.Usage(reasoning_tokens=50)
    )
    return conversation(
        iv.user("What does it do?"), first, results, second, title="What does it do?"
    )


def brief(made):
    """The rows in a few words: kind, title and text."""
    return [(row["kind"], row["title"], row["text"]) for row in rows_of(made)]


def seals_of(made):
    """Every seal of a conversation."""
    found = set()
    for item in made.turns:
        for part in item.message.parts:
            for path in part.origin.seals if part.origin else ():
                value = part.origin.block
                for name in path.split("."):
                    value = value.get(name)
                found.add(value if isinstance(value, str) else json.dumps(value))
    return found
