"""OpenTelemetry traces with requests to models, as OTLP JSON -> conversations.

Files: one object with `resourceSpans`, or one on each line (`sources/otlp.py`). Vocabularies: the GenAI conventions in three revisions and OpenInference
(`sources/otel_calls.py`). The spans that `bridges/otel` writes can be read back, without seals, which are never written.

Requests belong to one conversation if they, or spans above them, have the same `gen_ai.conversation.id`; without one, the same `session.id` or trace and
the same first message. A request inside an agent (`invoke_agent`, or the kind AGENT) that runs deeper than the outermost requests is in the lane of
this agent. Of two nested spans for one request, the outer one counts if it has content.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.errors import DecodeError
from innervoice.sources.beginning import first_values
from innervoice.sources.conversation import Conversation
from innervoice.sources.otel_calls import Call, author_in, call_of
from innervoice.sources.otel_threads import Thread, tool_results
from innervoice.sources.otlp import Chunk, Span, chunks, spans_in
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble
from innervoice.sources.turns import title_of
from innervoice.wire.json_access import as_text

__all__ = ["READER"]

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


class _Lane(NamedTuple):
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
    lanes = _lanes(facts)
    if not lanes:
        if not facts and troubles:
            raise DecodeError(f"expected spans of OpenTelemetry; {troubles[0].why}")
        troubles.append(Trouble(None, f"none of the {len(facts)} spans is a request to a model"))
    names = _names(list(lanes))
    entries = [_entry(lane, names) for lane in lanes.values()]
    by_name = {names[key]: lane for key, lane in lanes.items()}

    def read(entry: Entry) -> Conversation:
        return _conversation(data, entry, by_name[entry.id], facts, troubles)

    silent = sum(not fact.has_content for lane in lanes.values() for fact in lane.facts)
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


def _lanes(facts: dict[tuple[str, str], _Fact]) -> dict[tuple[str, ...], _Lane]:
    above = {key: _above(fact, facts) for key, fact in facts.items()}
    requests = _counted(facts, above)
    depths: dict[str, int] = {}
    for key in requests:
        depth = sum(fact.is_agent for fact in above[key])
        depths[key[0]] = min(depth, depths.get(key[0], depth))
    lanes: dict[tuple[str, ...], _Lane] = {}
    latest: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key in sorted(requests, key=lambda key: (facts[key].start, key)):
        fact = facts[key]
        named = [one.conversation for one in (fact, *above[key]) if one.conversation]
        session = [one.session for one in (fact, *above[key]) if one.session]
        agents = [one for one in above[key] if one.is_agent]
        agents = agents[: len(agents) - depths[fact.trace]]
        base = (named[0],) if named else (session[0] if session else fact.trace,)
        path = [base, *((*base, agent.id) for agent in reversed(agents))]
        threaded = path[-1] if named else (*path[-1], fact.first)
        if threaded not in lanes:
            # A lane was started by the last conversation above it that began earlier.
            parent = next((latest[step] for step in reversed(path[:-1]) if step in latest), None)
            lanes[threaded] = _Lane(threaded, bool(named), parent, [])
        lanes[threaded].facts.append(fact)
        latest[path[-1]] = threaded
    return lanes


def _above(fact: _Fact, facts: dict[tuple[str, str], _Fact]) -> list[_Fact]:
    """The spans around a span, the nearest first."""
    found: list[_Fact] = []
    seen = {fact.id}
    while fact.parent and fact.parent not in seen and (fact.trace, fact.parent) in facts:
        fact = facts[fact.trace, fact.parent]
        seen.add(fact.id)
        found.append(fact)
    return found


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
    for start, found in short.items():
        is_only = len(found) == 1 and start not in taken
        for key in found:
            names[key] = "/".join(start if is_only else key)
    if len(set(names.values())) < len(names):  # an id with a slash in it
        return {key: f"{number}/{name}" for number, (key, name) in enumerate(names.items())}
    return names


def _entry(lane: _Lane, names: dict[tuple[str, ...], str]) -> Entry:
    first = lane.facts[0]
    title = next((fact.title for fact in lane.facts if fact.title), first.name)
    parent = names[lane.parent] if lane.parent in names and lane.parent is not None else None
    models = (fact.model for fact in lane.facts if fact.model)
    return Entry(
        names[lane.key], title, parent=parent, at=first.start or None, model=next(models, None)
    )


def _ordered(entries: list[Entry]) -> list[Entry]:
    """Main conversations first, each followed by its lanes."""
    lanes: dict[str | None, list[Entry]] = {}
    for entry in reversed(entries):
        lanes.setdefault(entry.parent, []).append(entry)
    found: list[Entry] = []
    pending = lanes.get(None, [])
    while pending:
        entry = pending.pop()
        found.append(entry)
        pending += lanes.get(entry.id, [])
    return found


def _conversation(
    data: Data,
    entry: Entry,
    lane: _Lane,
    facts: dict[tuple[str, str], _Fact],
    troubles: list[Trouble],
) -> Conversation:
    wanted = {(fact.trace, fact.id) for fact in lane.facts}
    traces = {trace for trace, _ in wanted}
    tools = {key for key, fact in facts.items() if fact.is_tool and fact.trace in traces}
    places = sorted({facts[key].chunk for key in wanted | tools}, key=lambda chunk: chunk.start)
    spans = {
        (span.trace, span.id): span
        for chunk in places
        for span in spans_in(data, chunk, troubles)
        if (span.trace, span.id) in wanted | tools
    }
    thread = Thread(is_stored=lane.is_stored)
    for fact in lane.facts:
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
