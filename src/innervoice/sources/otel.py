"""OpenTelemetry traces with requests to models, as OTLP JSON -> conversations.

Files: one object with `resourceSpans`, or one on each line (`sources/otel_calls.py`). Vocabularies: the GenAI conventions in three revisions and OpenInference
(`sources/otel_calls.py`). The spans that `bridges/otel` writes can be read back, without seals, which are never written.

Requests belong to one conversation if they, or spans above them, have the same `gen_ai.conversation.id`; without one, the same `session.id` or trace and
the same first message. A request inside an agent (`invoke_agent`, or the kind AGENT) that runs deeper than the outermost requests is in the thread of
this agent. Of two nested spans for one request, the outer one counts if it has content.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import takewhile
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import ToolResult
from innervoice.canon.request import Request
from innervoice.canon.response import Failure
from innervoice.canon.tools import Tool
from innervoice.conversation.turns import is_same_message
from innervoice.errors import DecodeError, UsageError
from innervoice.sources.conversation import Conversation, Turn, title_of
from innervoice.sources.native_turns import answer_from, as_effort
from innervoice.sources.otel_calls import (
    Call,
    Chunk,
    Span,
    author_in,
    call_of,
    chunks,
    plain_value,
    spans_in,
    usage_in,
)
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble, first_values
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text

__all__ = ["READER", "Thread", "tool_results"]

_OTHERS = frozenset({
    "create_agent", "embeddings", "execute_tool", "invoke_agent", "invoke_workflow", "plan", "retrieval", "search_memory", "update_memory",
})  # fmt: skip
"""Operations that are not requests to a model."""
_MODELS = (
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.output.messages",
    "gen_ai.choice",
)
_FLAT = ("gen_ai.prompt.", "gen_ai.completion.")
"""What only a request has: attributes and events, and prefixes of attributes."""
_KIND = "openinference.span.kind"
_CONVERSATION = "gen_ai.conversation.id"
_SESSION = "session.id"


class _Fact(NamedTuple):
    """What is kept of a span until its conversation is read."""

    id: str
    trace: str
    parent: str | None
    chunk: Chunk
    start: float
    is_agent: bool
    is_request: bool
    is_tool: bool
    has_content: bool
    conversation: str | None
    session: str | None
    first: str
    """A digest of the first message of a request."""
    title: str
    model: str | None
    name: str


class _ThreadFacts(NamedTuple):
    """A conversation that was found."""

    key: tuple[str, ...]
    is_stored: bool
    parent: tuple[str, ...] | None
    facts: list[_Fact]


def _recognizes(_: Data, beginning: bytes) -> bool:
    if b'"resourceSpans"' not in beginning:
        return False
    first = next(iter(first_values(beginning)), None)
    first = first[0] if isinstance(first, list) and first else first
    return isinstance(first, dict) and "resourceSpans" in first


def _open(data: Data) -> Opened:
    troubles: list[Trouble] = []
    facts = {
        (span.trace, span.id): _fact(span, chunk)
        for chunk in chunks(data)
        for span in spans_in(data, chunk, troubles)
    }
    threads = _threads(facts)
    if not threads:
        if not facts and troubles:
            raise DecodeError(f"expected spans of OpenTelemetry; {troubles[0].why}")
        troubles.append(Trouble(None, f"none of the {len(facts)} spans is a request to a model"))
    names = _names(list(threads))
    entries = [_entry(thread_facts, names) for thread_facts in threads.values()]
    by_name = {names[key]: thread_facts for key, thread_facts in threads.items()}

    def read(entry: Entry) -> Conversation:
        return _conversation(data, entry, by_name[entry.id], facts, troubles)

    silent = sum(
        not fact.has_content for thread_facts in threads.values() for fact in thread_facts.facts
    )
    lost = f"The content of {silent} requests: it was not recorded."
    return Opened(_ordered(entries), read, troubles, (lost,) if silent else ())


# ---- which spans are requests, and of which conversation -------------------------------------------


def _fact(span: Span, chunk: Chunk) -> _Fact:
    attributes = span.attributes
    operation, kind = as_text(attributes.get("gen_ai.operation.name")), attributes.get(_KIND)
    is_agent = operation == "invoke_agent" or kind == "AGENT"
    is_request = _is_request(span, operation, kind)
    call = call_of(span) if is_request or is_agent else Call(None, [], [])
    first = next((message for message in call.asked if message.role == "user"), None)
    text = first.text if first else ""
    return _Fact(
        id=span.id,
        trace=span.trace,
        parent=span.parent,
        chunk=chunk,
        start=span.start or 0.0,
        is_agent=is_agent,
        is_request=is_request,
        is_tool="gen_ai.tool.call.id" in attributes,
        has_content=not call.is_empty,
        conversation=as_text(attributes.get(_CONVERSATION)),
        session=as_text(attributes.get(_SESSION)),
        first=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        title=title_of([first]) if first else "",
        model=author_in(attributes).model if is_request else None,
        name=as_text(attributes.get("gen_ai.agent.name")) or span.name,
    )


def _is_request(span: Span, operation: str | None, kind: Any) -> bool:
    if kind is not None and operation is None:
        return bool(kind == "LLM")
    if operation in _OTHERS:
        return False
    names = (*span.attributes, *(name for name, _ in span.events))
    return any(name in _MODELS or name.startswith(_FLAT) for name in names)


def _threads(facts: dict[tuple[str, str], _Fact]) -> dict[tuple[str, ...], _ThreadFacts]:
    above = {key: _above(fact, facts) for key, fact in facts.items()}
    requests = _counted(facts, above)
    depths: dict[str, int] = {}
    for key in requests:
        depth = sum(fact.is_agent for fact in above[key])
        depths[key[0]] = min(depth, depths.get(key[0], depth))
    threads: dict[tuple[str, ...], _ThreadFacts] = {}
    latest: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key in sorted(requests, key=lambda key: (facts[key].start, key)):
        fact = facts[key]
        conversations = [one.conversation for one in (fact, *above[key]) if one.conversation]
        session = [one.session for one in (fact, *above[key]) if one.session]
        agents = [one for one in above[key] if one.is_agent]
        agents = agents[: len(agents) - depths[fact.trace]]
        base = (conversations[0],) if conversations else (session[0] if session else fact.trace,)
        path = [base, *((*base, agent.id) for agent in reversed(agents))]
        threaded = path[-1] if conversations else (*path[-1], fact.first)
        if threaded not in threads:
            # A thread was started by the last conversation above it that began earlier.
            parent = next((latest[step] for step in reversed(path[:-1]) if step in latest), None)
            threads[threaded] = _ThreadFacts(threaded, bool(conversations), parent, [])
        threads[threaded].facts.append(fact)
        latest[path[-1]] = threaded
    return threads


def _above(fact: _Fact, facts: dict[tuple[str, str], _Fact]) -> list[_Fact]:
    """The spans around a span, the nearest first."""
    spans: list[_Fact] = []
    seen = {fact.id}
    while fact.parent and fact.parent not in seen and (fact.trace, fact.parent) in facts:
        fact = facts[fact.trace, fact.parent]
        seen.add(fact.id)
        spans.append(fact)
    return spans


def _counted(
    facts: dict[tuple[str, str], _Fact], above: dict[tuple[str, str], list[_Fact]]
) -> list[tuple[str, str]]:
    """The requests, each once; an agent counts as one if none of its requests is recorded."""
    dropped: set[tuple[str, str]] = set()
    agents = {key for key, fact in facts.items() if fact.is_agent and fact.has_content}
    for key, fact in facts.items():
        if not fact.is_request:
            continue
        agents -= {(one.trace, one.id) for one in above[key]}
        outer = next((one for one in above[key] if one.is_request), None)
        if outer is not None:
            dropped.add(
                key if outer.has_content or not fact.has_content else (outer.trace, outer.id)
            )
    agents -= {(one.trace, one.id) for key in agents for one in above[key]}
    return [
        key
        for key, fact in facts.items()
        if (fact.is_request and key not in dropped) or key in agents
    ]


# ---- entries and conversations ---------------------------------------------------------------------


def _names(keys: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Stable names of conversations; with the digest of the first message only where it is needed."""
    short: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key in keys:
        short.setdefault(key[:-1] if len(key) > 1 else key, []).append(key)
    names, taken = {}, set(keys)
    for start, spans in short.items():
        is_only = len(spans) == 1 and start not in taken
        for key in spans:
            names[key] = "/".join(start if is_only else key)
    if len(set(names.values())) < len(names):  # an id with a slash in it
        return {key: f"{number}/{name}" for number, (key, name) in enumerate(names.items())}
    return names


def _entry(thread_facts: _ThreadFacts, names: dict[tuple[str, ...], str]) -> Entry:
    first = thread_facts.facts[0]
    title = next((fact.title for fact in thread_facts.facts if fact.title), first.name)
    parent = (
        names[thread_facts.parent]
        if thread_facts.parent in names and thread_facts.parent is not None
        else None
    )
    models = (fact.model for fact in thread_facts.facts if fact.model)
    return Entry(
        names[thread_facts.key],
        title,
        parent=parent,
        at=first.start or None,
        model=next(models, None),
    )


def _ordered(entries: list[Entry]) -> list[Entry]:
    """Main conversations first, each followed by its threads."""
    threads: dict[str | None, list[Entry]] = {}
    for entry in reversed(entries):
        threads.setdefault(entry.parent, []).append(entry)
    ordered: list[Entry] = []
    pending = threads.get(None, [])
    while pending:
        entry = pending.pop()
        ordered.append(entry)
        pending += threads.get(entry.id, [])
    return ordered


def _conversation(
    data: Data,
    entry: Entry,
    thread_facts: _ThreadFacts,
    facts: dict[tuple[str, str], _Fact],
    troubles: list[Trouble],
) -> Conversation:
    wanted = {(fact.trace, fact.id) for fact in thread_facts.facts}
    traces = {trace for trace, _ in wanted}
    tools = {key for key, fact in facts.items() if fact.is_tool and fact.trace in traces}
    places = sorted({facts[key].chunk for key in wanted | tools}, key=lambda chunk: chunk.start)
    spans = {
        (span.trace, span.id): span
        for chunk in places
        for span in spans_in(data, chunk, troubles)
        if (span.trace, span.id) in wanted | tools
    }
    thread = Thread(is_stored=thread_facts.is_stored)
    for fact in thread_facts.facts:
        if span := spans.get((fact.trace, fact.id)):
            thread.add(span)
    results = tool_results([spans[key] for key in tools if key in spans])
    return Conversation(
        id=entry.id,
        title=entry.title,
        turns=thread.turns(results),
        parent=entry.parent,
        request=thread.request,
    )


READER = Reader(
    kind="otel",
    name="spans of OpenTelemetry",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "When users and tools wrote: only answers have a time.",
        "Signatures and encrypted reasoning, unless the program recorded them, which most do not.",
        "Which model wrote answers that appear only in a later request.",
    ),
)


# ---- Requests of one conversation, each with the whole history it was sent with -> turns, each once.
#
# A request repeats the earlier messages, and its answer comes back in the next one, often without its reasoning. Messages are compared by their
# text, calls and results; the answer in its own span is the one that is kept. Turns that a later request no longer has are marked as abandoned: someone went
# back, asked twice, or compressed the history. If the provider stores a conversation (by `gen_ai.conversation.id`), its requests have new messages only.


class Thread:
    """The turns of a conversation, built up from its requests."""

    def __init__(self, *, is_stored: bool) -> None:
        self._is_stored = is_stored
        self._turns: list[Turn] = []
        self._active: list[int] = []
        """The turns that the last request had, and its answer."""
        self.request: Request | None = None

    def add(self, span: Span) -> None:
        """Adds the next request."""
        call = call_of(span)
        self.request = _request(span, call) or self.request
        self.add_call(call.asked, _answer(span, call))

    def add_call(self, messages: list[Message], answer: Turn) -> None:
        """Adds the messages of the next request, and its answer."""
        before = [self._turns[number].message for number in self._active]
        same = sum(1 for _ in takewhile(bool, map(is_same_message, before, messages)))
        if messages and (same or not self._is_stored):
            for number in self._active[same:]:
                turn = self._turns[number]
                self._turns[number] = turn.replace(marks=(*turn.marks, "abandoned"))
            del self._active[same:]
        for message in messages[same:]:
            self._put(Turn(message=message, line=answer.line))
        self._put(answer)

    def turns(self, results: dict[str, ToolResult]) -> tuple[Turn, ...]:
        """All turns; calls at the end whose results no request repeats get those of the tool spans."""
        answered = {
            part.call_id
            for turn in self._turns
            for part in turn.message.parts
            if isinstance(part, ToolResult)
        }
        last = self._turns[-1].message.tool_calls if self._turns else ()
        open_ids = [call.id for call in last if call.id not in answered and call.id in results]
        if open_ids:
            open_results = tuple(results[name] for name in open_ids)
            return (*self._turns, Turn(message=Message("tool", open_results)))
        return tuple(self._turns)

    def _put(self, turn: Turn) -> None:
        self._active.append(len(self._turns))
        self._turns.append(turn)


def _answer(span: Span, call: Call) -> Turn:
    attributes = span.attributes
    author = author_in(attributes)
    reasons = [as_text(word) for word in as_list(attributes.get("gen_ai.response.finish_reasons"))]
    status = as_text(attributes.get("gen_ai.response.status"))
    kind = as_text(attributes.get("error.type"))
    failed = span.error is not None or kind is not None
    answers = [
        answer_from(
            author,
            message.parts,
            id=as_text(attributes.get("gen_ai.response.id")) if number == 0 else None,
            ended=not failed and status != "cancelled",
            reason=reason or (reasons[number] if number < len(reasons) else None),
            usage=usage_in(attributes) if number == 0 else None,
            error=Failure(type=kind, message=span.error or None) if failed else None,
        )
        for number, (message, reason) in enumerate(call.answers or [(Message("assistant"), None)])
    ]
    answer = answers[0].replace(alternatives=tuple(answers[1:]))
    took = span.end - span.start if span.start and span.end else None
    return Turn(
        message=answer.message,
        answer=answer,
        at=span.end,
        seconds=took if took is not None and took >= 0 else None,
        line=span.line,
    )


def tool_results(spans: list[Span]) -> dict[str, ToolResult]:
    """The results of tools, by the id of the call."""
    results = {}
    for span in spans:
        name = as_text(span.attributes.get("gen_ai.tool.call.id"))
        result = span.attributes.get("gen_ai.tool.call.result")
        if name and isinstance(result, str):
            results[name] = ToolResult(name, result, span.error is not None)
    return results


def _request(span: Span, call: Call) -> Request | None:
    """The settings of a request."""
    attributes = span.attributes
    author = author_in(attributes)
    requested = as_text(attributes.get("gen_ai.request.model")) or author.model
    if not requested:
        return None
    parameters = as_dict(plain_value(attributes.get("llm.invocation_parameters")))

    def setting(name: str) -> Any:
        return attributes.get(f"gen_ai.request.{name}", parameters.get(name))

    level = attributes.get("gen_ai.request.reasoning.level", parameters.get("reasoning_effort"))
    stops = plain_value(attributes.get("gen_ai.request.stop_sequences"))
    return Request(
        f"{author.provider}/{requested}" if author.provider else requested,
        (),
        system=call.system,
        tools=tuple(_tools(attributes)),
        reasoning=as_effort(level),
        max_tokens=as_count(setting("max_tokens")) or None,
        temperature=_number(setting("temperature")),
        top_p=_number(setting("top_p")),
        stop=tuple(stop for stop in as_list(stops) if isinstance(stop, str)) or None,
        stream=attributes.get("gen_ai.request.stream") is True,
    )


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e6 else None


def _tools(attributes: dict[str, Any]) -> list[Tool]:
    listed = as_list(plain_value(attributes.get("gen_ai.tool.definitions")))
    flat = (
        plain_value(value)
        for name, value in attributes.items()
        if name.startswith("llm.tools.") and name.endswith(".tool.json_schema")
    )
    tools = []
    for definition in listed or flat:
        try:
            tools.append(Tool.of(definition))
        except UsageError:
            continue
    return tools
