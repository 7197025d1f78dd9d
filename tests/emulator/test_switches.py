"""Conversations that move between providers and back: nothing is refused, nothing of home is lost."""

import itertools
import json

import pytest

import innervoice as iv
from emulator.talk import TOOL, Refused, converse, send, weather
from innervoice.emulator import Emulator
from innervoice.emulator.naive import naive_wire

HOMES = [
    "anthropic/claude-opus-5-5",
    "gemini/gemini-3.5-flash",
    "openai/gpt-5.6",
    "deepseek/deepseek-v4-pro",
]
QUESTIONS = [
    "What is the weather in Paris and Rome, then the weather in Oslo?",
    "And the weather in Lima? Also 15 * 23",
    "Once more, the weather in 'New York'?",
]
ROUTES = list(itertools.product(HOMES, repeat=3))


def blocks(raw: bytes) -> list[str]:
    """The sealed blocks of a whole answer, each as text."""
    body = json.loads(raw)
    if "content" in body:
        found = [block for block in body["content"] if "thinking" in block["type"]]
    elif "candidates" in body:
        parts = body["candidates"][0]["content"]["parts"]
        found = [part for part in parts if "thoughtSignature" in part or part.get("thought")]
    elif "output" in body:
        found = [
            {key: value for key, value in item.items() if key != "id"}  # nothing is stored
            for item in body["output"]
            if item["type"] == "reasoning"
        ]
    else:
        message = body["choices"][0]["message"]
        found = [message["reasoning_content"]]
    return [json.dumps(block, sort_keys=True) for block in found]


def sent(body) -> str:
    """A body as text in which blocks can be found."""
    items = body.get("messages") or body.get("contents") or body.get("input")
    leaves: list[str] = []

    def walk(value):
        leaves.append(json.dumps(value, sort_keys=True))
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, (dict, list)):
                walk(inner)
            elif isinstance(inner, str):
                leaves.append(json.dumps(inner))

    walk(items)
    return "\n".join(leaves)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "route", ROUTES, ids=lambda route: ">".join(x.split("/")[0] for x in route)
)
def test_switches(route, stream):
    """64 ways through four providers in three turns with tools, and back to the first."""
    emulator = Emulator()
    history: list[iv.Message] = []
    ours: list[str] = []
    for model, question in zip(route, QUESTIONS, strict=True):
        turns = converse(emulator, model, history, question, reasoning="high", stream=stream)
        if model == route[0] and not stream:
            ours += [block for turn in turns for block in blocks(turn.raw)]

    history = iv.from_json(iv.to_json(history))
    back = converse(emulator, route[0], history, "And 2 + 2?", reasoning="high", stream=False)[0]
    assert "2 + 2 = 4." == back.response.text
    for block in ours:
        assert block in sent(back.wire.body)

    planned = iv.plan(history[:-1], route[0], tools=[TOOL])
    thoughts = sum(isinstance(part, iv.Thinking) for item in history[:-1] for part in item.parts)
    told = [
        item for item in planned.decisions if item.kind == "thinking" and item.action != "filled"
    ]
    assert thoughts == len(told)


@pytest.mark.parametrize("there", HOMES)
@pytest.mark.parametrize("here", HOMES)
def test_a_switch_inside_a_tool_loop(here, there):
    """The call is made here, its result goes there, and the next turn comes home."""
    emulator = Emulator()
    history: list[iv.Message] = [iv.user(QUESTIONS[0])]
    settings = {"tools": [TOOL], "reasoning": "high"}
    first = send(emulator, here, iv.encode(iv.Request(here, history, **settings))).response
    history += [first.message, *map(weather, first.tool_calls)]
    second = send(emulator, there, iv.encode(iv.Request(there, history, **settings))).response
    history += [second.message, *map(weather, second.tool_calls)]
    third = send(emulator, here, iv.encode(iv.Request(here, history, **settings))).response

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == third.text


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("gemini/gemini-3.5-flash", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"),
        ("anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash"),
        ("anthropic/claude-sonnet-4-5", "openai/gpt-5.6"),
    ],
)
def test_without_a_plan_it_is_refused(here, there):
    """The same history as it stands is refused, and lint says so before."""
    emulator = Emulator()
    history: list[iv.Message] = []
    converse(emulator, here, history, QUESTIONS[0], reasoning="high")
    history.pop()  # the loop is open again
    request = iv.Request(there, history, tools=[TOOL], reasoning="high")

    with pytest.raises(Refused):
        send(emulator, there, naive_wire(request))
    problems = iv.lint(history, there, tools=[TOOL], reasoning="high")
    assert "refused" in {problem.severity for problem in problems}
    send(emulator, there, iv.encode(request))


def test_another_account():
    """What one account sealed is not sent by another (H1, P21)."""
    emulator = Emulator()
    history = [iv.user("What is 6 * 7?")]
    request = iv.Request("openai/gpt-5.6", history, scope="a")
    turn = send(emulator, "openai/gpt-5.6", iv.encode(request), key="key of a")
    history += [turn.response.message, iv.user("And 7 * 7?")]

    naive = iv.encode(iv.Request("openai/gpt-5.6", history))
    with pytest.raises(Refused, match="organization_id did not match"):
        send(emulator, "openai/gpt-5.6", naive, key="key of b")
    wire = iv.encode(iv.Request("openai/gpt-5.6", history, scope="b"))
    assert "7 * 7 = 49." == send(emulator, "openai/gpt-5.6", wire, key="key of b").response.text
    planned = iv.plan(history, "openai/gpt-5.6", scope="b")
    assert "it belongs to the account a" in {item.why for item in planned.decisions}


CLAUDES = ["vertex/claude-opus-5-5", "anthropic/claude-opus-5-5"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("here", "there"), [CLAUDES, CLAUDES[::-1]])
def test_one_model_at_two_hosts(here, there, stream):
    """Nobody says that Vertex and Anthropic read each other's seals: each gets its own back, and is not sent the other's."""
    emulator = Emulator()
    history: list[iv.Message] = []
    options = {"reasoning": "high", "stream": stream}
    for model, question in zip((here, there, here), QUESTIONS, strict=True):
        turns = converse(emulator, model, history, question, **options)

    seals: dict[str, str] = {}
    for part in (part for message in history for part in message.parts):
        if isinstance(part, iv.Thinking):
            seals.setdefault(part.origin.provider, part.origin.block["signature"])
    body = json.dumps(turns[-1].wire.body)
    assert seals[here.split("/")[0]] in body
    assert seals[there.split("/")[0]] not in body
