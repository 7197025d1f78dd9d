"""Coverage-guided fuzzing of every public function with recorded bodies in which values have other types than expected.

    scripts/setup fuzz && .venv-fuzz/bin/python fuzz/fuzz_bodies.py -max_total_time=600

One input chooses a recorded body, the dialect and model that it is written for, and the changes to it. Every exception must be an
`InnervoiceError`, and the emulator must answer everything. `check` is also run by the tests, on bytes of their own.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import innervoice as iv
from innervoice import show
from innervoice.emulator.core import Emulator

RECORDINGS = Path(os.environ.get("INNERVOICE_SHARED") or Path(__file__).parents[2] / "shared", "corpus")  # fmt: skip
# A model of each dialect.
TARGETS = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "deepseek/deepseek-v4-pro",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3-pro-preview",
    "gemini-interactions": "gemini/gemini-3-pro-preview",
    "bedrock-converse": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral": "mistral/magistral-medium-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3:8b",
}
DIALECTS = tuple(TARGETS)


def _deep(depth: int) -> Any:
    value: Any = {}
    for number in range(depth):
        value = [value] if number % 2 else {"type": "object", "content": value}
    return value


# What a value is replaced by; a text that stands for itself is among them for members that are read as words.
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**70, 10**400, 1e308, -0.5, float("inf"), "", " ", "x", "text", "auto", "a" * 300, "\ud800", "\x00\u2028",
    "{", '{"a": 1e400}', "[" * 20_000, '{"a":' * 400 + "1" + "}" * 400, [], [None], [[]], ["x"], [{}], [{"type": "text"}], {}, {"type": []}, {"type": {}}, {"type": "text"},
    {"": None}, {"content": {"content": []}}, _deep(12), _deep(150),
)  # fmt: skip


class Seed(NamedTuple):
    """A body as it was recorded or written."""

    kind: str
    """An answer, the messages of a stream, or a request."""
    dialect: str
    provider: str | None
    value: Any
    path: str = ""


class Choices:
    """The bytes of one input, taken two at a time; after the last one, numbers that are drawn with the input as their seed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._drawn = Random(data)  # noqa: S311 - repeatable, not secret

    def below(self, count: int) -> int:
        chunk = self._data[self._at : self._at + 2]
        self._at += 2
        return (int.from_bytes(chunk, "big") if chunk else self._drawn.randrange(count)) % count

    def of(self, values: Any) -> Any:
        return values[self.below(len(values))]


@cache
def seeds() -> tuple[Seed, ...]:
    """Every recording, and the same in dialects of which there are few."""
    found: list[Seed] = []
    for path in sorted(RECORDINGS.glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        dialect = exchange.get("api", "") if exchange["dialect"] == "other" else exchange["dialect"]
        if dialect in DIALECTS:
            found += _recorded(exchange, dialect)
    return (*found, *_written(found))


def _recorded(exchange: dict[str, Any], dialect: str) -> Iterator[Seed]:
    provider, response = exchange["provider"], exchange["response"] or {}
    if isinstance(response.get("json"), (dict, list)):
        yield Seed("answer", dialect, provider, response["json"])
    elif "sse" in response:
        lines = response["sse"].split("\n")
        values = [line[5:].strip() for line in lines if line.startswith("data:")]
        yield Seed("stream", dialect, provider, [json.loads(value) for value in values if value[:1] == "{"])  # fmt: skip
    elif "eventstream_b64" in response:
        yield Seed("bytes", dialect, provider, base64.b64decode(response["eventstream_b64"]))
    request = exchange["request"] or {}
    body = request.get("json") or request.get("body")
    if isinstance(body, dict):
        yield Seed("request", dialect, provider, body, f"/{provider}{request.get('path', '')}")


def _written(recorded: list[Seed]) -> Iterator[Seed]:
    """Answers and requests in every dialect, as we write them, with every setting."""
    some = [seed for seed in recorded if seed.kind == "answer"][::40]
    for seed in some:
        with suppress(iv.InnervoiceError):
            response = iv.decode(seed.value, provider=seed.provider)
            for dialect, model in TARGETS.items():
                yield Seed("answer", dialect, model.split("/")[0], iv.encode_response(response, dialect))  # fmt: skip
    for dialect, model in TARGETS.items():
        for reasoning in ("high", "none", iv.Reasoning(budget=2000, show="full"), None):
            with suppress(iv.InnervoiceError):
                wire = iv.encode(_request(dialect, model, reasoning))
                path = urlsplit(wire.url).path
                yield Seed("request", dialect, model.split("/")[0], wire.body, f"/{model.split('/')[0]}{path}")  # fmt: skip


def _request(dialect: str, model: str, reasoning: Any) -> iv.Request:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    call = iv.ToolCall("call_1", "f", '{"a": "b"}')
    return iv.Request(
        model,
        [
            iv.user(["x", iv.file(b"\x89PNG\r\n\x1a\n", mime="image/png")]),
            iv.Message("assistant", (iv.Thinking("R"), iv.Text("A"), call)),
            iv.tool_result("call_1", "1"),
            iv.user("y"),
        ],
        system="S",
        tools=[iv.Tool("f", "d", schema)],
        tool_choice="auto",
        reasoning=reasoning,
        max_tokens=4000,
        temperature=1,
        stop=["Z"],
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        dialect=dialect,
    )


def changed(value: Any, choices: Choices) -> Any:
    """A copy of a value with one to three members replaced, removed or added."""
    value = copy.deepcopy(value)
    for _ in range(choices.below(3) + 1):
        value = _changed_once(value, choices)
    return value


def _changed_once(value: Any, choices: Choices) -> Any:
    parent, key, place = None, None, value
    for _ in range(24):
        keys = list(place) if isinstance(place, dict) else range(len(place)) if isinstance(place, list) else ()  # fmt: skip
        if not keys or (parent is not None and choices.below(6) == 0):
            break
        parent, key = place, choices.of(list(keys))
        place = parent[key]
    if parent is None:
        return choices.of(HOSTILE)
    way = choices.below(8)
    if way == 0:
        del parent[key]
    elif way == 1 and isinstance(parent, list):
        parent.insert(choices.below(len(parent) + 1), copy.deepcopy(place))
    elif way == 2:
        parent[key] = [place]
    elif way == 3:
        parent[key] = {"type": place, "text": place}
    elif way == 4 and isinstance(parent, dict):
        parent[choices.of(("type", "role", "content", "id", "name", "text", "thinking", "tools", "status"))] = place  # fmt: skip
    else:
        parent[key] = copy.deepcopy(choices.of(HOSTILE))
    return value


def check(data: bytes) -> None:
    """No exception but ours, and an answer of the emulator to every request."""
    choices = Choices(data)
    seed = choices.of(seeds())
    target = choices.of(DIALECTS)
    if seed.kind == "bytes":
        events = list(iv.decode_stream([seed.value], provider=seed.provider))
        _check_response(iv.fold(events), target)
        return
    value = changed(seed.value, choices)
    try:
        if seed.kind == "request":
            _check_request(seed, value, target)
        else:
            _check_answer(seed, value, target)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} for {seed.kind} of {seed.dialect}, written for {target}: {_shown(value)}") from error  # fmt: skip


def _shown(value: Any) -> str:
    return repr(value)[:2000]


def _check_answer(seed: Seed, value: Any, target: str) -> None:
    stream = value if isinstance(value, list) and seed.kind == "stream" else [value]
    events = list(iv.decode_stream(stream, provider=seed.provider))
    response = iv.fold(events)
    list(iv.decode_stream(stream, dialect=seed.dialect, inline="all"))
    _check_response(response, target)
    list(iv.encode_stream(events, target))
    for function in (iv.decode, lambda body: iv.decode(json.dumps(body)), lambda body: iv.convert(body, to=target)):  # fmt: skip
        with suppress(iv.InnervoiceError):
            function(value)


def _check_response(response: iv.Response, target: str) -> None:
    iv.encode_response(response, target)
    with suppress(iv.InnervoiceError):
        iv.encode_response(response.message, target)
    with suppress(iv.InnervoiceError):
        iv.convert(response.message, to=target)
    if iv.from_json(iv.to_json(response)) != response and response == response:  # noqa: PLR0124 - not a number is unequal to itself
        raise AssertionError("a response does not survive storage")
    for form in ("plain", "markdown", "html", "discord"):
        show.render(response, form)
    _check_history([iv.user("x"), response.message, iv.user("y")], target)
    results = [iv.tool_result(call.id, "1") for call in response.tool_calls]
    _check_history([iv.user("x"), response.message, *results], target)


def _check_history(messages: list[iv.Message], target: str) -> None:
    model = TARGETS[target]
    steps: tuple[Callable[[], Any], ...] = (
        lambda: iv.plan(messages, model),
        lambda: iv.lint(messages, model),
        lambda: iv.repair(messages, model),
        lambda: iv.trim(messages, keep=1),
        lambda: iv.from_json(iv.to_json(messages)),
        lambda: iv.convert(messages, to=target),
        lambda: json.dumps(iv.encode(iv.Request(model, messages, dialect=target)).body),
        lambda: iv.encode(iv.Request(model, messages, dialect=target, foreign="text", reasoning="high")),
        lambda: show.render(messages, "markdown"),
    )  # fmt: skip
    for step in steps:
        with suppress(iv.InnervoiceError):
            step()


def _check_request(seed: Seed, value: Any, target: str) -> None:
    with suppress(iv.InnervoiceError):
        iv.convert(value, to=target)
    text = json.dumps(value).encode()
    reply = Emulator().reply("POST", seed.path, {}, text)
    if reply.status >= 500 or reply.body is None:
        raise AssertionError(f"status {reply.status} of the emulator for {_shown(value)}")
    try:
        request = iv.decode_request(value, dialect=seed.dialect)
    except iv.InnervoiceError:
        return
    with suppress(iv.InnervoiceError):
        iv.encode(request.replace(model=TARGETS[target], dialect=target))
    with suppress(iv.InnervoiceError):
        iv.encode(request.replace(model=TARGETS[seed.dialect], dialect=seed.dialect))
    _check_history(list(request.messages), target)


if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(include=["innervoice"]):
        import innervoice.planning.encode
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
