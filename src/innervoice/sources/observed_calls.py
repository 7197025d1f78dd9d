"""Calls of models that an observability service recorded -> conversations. What Langfuse and LangSmith export differs in names only: here is what they have in common.

Each call has all messages of its request and its answer. Calls of one trace whose histories grow out of each other are one conversation.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Text
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.decoding import read_answer
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.sources.conversation import Conversation, Turn, title_of
from innervoice.sources.langchain import is_langchain
from innervoice.sources.native_turns import Author, answer_from, author_of
from innervoice.sources.otel import Thread
from innervoice.sources.reader import (
    Data,
    Entry,
    JsonLine,
    Opened,
    Trouble,
    is_json_lines,
    json_lines,
)
from innervoice.sources.stored import history_from, load_whole, request_turns
from innervoice.wire.json_access import as_dict, as_list, as_text, parsed

__all__ = ["ObservedCall", "opened_calls", "records_of"]

_WHOLE = {"choices", "candidates", "output", "stop_reason"}
"""Members of an answer as a provider sent it."""


class ObservedCall(NamedTuple):
    """A call of a model, as a service recorded it."""

    id: str
    trace: str
    name: str
    request: Any
    """Messages, a body that has them, or a text."""
    answer: Any
    model: str | None = None
    provider: str | None = None
    start: float | None = None
    end: float | None = None
    usage: Usage | None = None
    cost: float | None = None
    error: str | None = None
    line: int | None = None


def records_of(data: Data, troubles: list[Trouble]) -> list[JsonLine]:
    """The records of an export: one on each line, a list, or a list under `data` or `runs`; numbers are those of lines."""
    if is_json_lines(data):
        return [line for line in json_lines(data, troubles) if isinstance(line.value, dict)]
    value = load_whole(data)
    if isinstance(value, dict):
        lists = (value[name] for name in ("data", "runs") if isinstance(value.get(name), list))
        value = next(lists, [value])
    return [JsonLine(1, 0, 0, item) for item in as_list(value) if isinstance(item, dict)]


def opened_calls(calls: Iterable[ObservedCall], troubles: list[Trouble]) -> Opened:
    """The conversations of calls, those of a trace after each other; raises `DecodeError` without calls."""
    threads: dict[str, list[tuple[ObservedCall, list[Message]]]] = {}
    for call in sorted(calls, key=lambda call: (call.start or 0.0, call.id)):
        messages = _messages(call.request)
        first = next((message.text for message in messages if message.role == "user"), "")
        digest = blake2b(first.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        threads.setdefault(f"{call.trace}/{digest}", []).append((call, messages))
    if not threads:
        raise DecodeError("expected calls of models, but found none in the export")
    entries = [_entry(name, thread) for name, thread in threads.items()]

    def read(entry: Entry) -> Conversation:
        thread = Thread(is_stored=False)
        for call, messages in threads[entry.id]:
            thread.add_call(messages, _answer(call))
        _, request = request_turns(_body(threads[entry.id][-1][0].request))
        return Conversation(id=entry.id, title=entry.title, turns=thread.turns({}), request=request)

    return Opened(entries, read, troubles)


def _entry(name: str, thread: list[tuple[ObservedCall, list[Message]]]) -> Entry:
    call, messages = thread[0]
    return Entry(name, title_of(messages) or call.name, at=call.start, model=call.model)


def _body(request: Any) -> Any:
    value = parsed(request) if isinstance(request, str) else request
    if isinstance(value, str):
        return {"messages": [{"role": "user", "content": value}]}
    if isinstance(value, dict) and (inner := as_list(value.get("messages"))):
        # LangSmith has a list of prompts, each a list of messages.
        nested = inner[0] if isinstance(inner[0], list) else inner
        return {**value, "messages": nested}
    return value


def _messages(request: Any) -> list[Message]:
    turns, settings = request_turns(_body(request))
    system = settings.system if settings else None
    messages = [turn.message for turn in turns]
    return [Message("system", (Text(system),)), *messages] if system else messages


def _answer(call: ObservedCall) -> Turn:
    author = author_of(call.provider, call.model)
    answer = _read(call.answer, author)
    usage = call.usage if call.usage and answer.usage == Usage() else answer.usage
    failure = Failure(message=call.error) if call.error and answer.error is None else answer.error
    answer = answer.replace(usage=usage, error=failure, ended=not failure)
    took = call.end - call.start if call.end is not None and call.start is not None else None
    return Turn(
        message=answer.message,
        answer=answer,
        at=call.end or call.start,
        seconds=round(took, 3) if took is not None and took >= 0 else None,
        cost=call.cost,
        line=call.line,
        marks=("api_error",) if failure and not answer.parts else (),
    )


def _read(value: Any, author: Author) -> Response:
    """An answer in any of the forms in which integrations record it."""
    value = parsed(value) if isinstance(value, str) else value
    if isinstance(value, dict) and _WHOLE & value.keys():
        try:
            return read_answer(value, author.provider, author.model)
        except InnervoiceError:
            pass  # it only looks like one
    parts = tuple(_parts(value))
    return answer_from(author, parts)


def _parts(value: Any) -> list[Part]:  # noqa: PLR0911 - one form each
    if not value:
        return []
    match value:
        case str():
            return [Text(value)]
        case {"generations": [[generation, *_], *_]} | {"generations": [dict() as generation, *_]}:
            inner = as_dict(generation)
            return _parts(inner.get("message") or inner.get("text"))
        case {"messages": [*_, last]}:
            return _parts(last)
        case [*_, dict() as last] if "role" in last or is_langchain([last]):
            return _parts(last)
        case dict() if "role" in value or is_langchain([value]):
            role = {} if is_langchain([value]) else {"role": "assistant"}
            try:
                return list(history_from([{**value, **role}]).messages[0].parts)
            except (DecodeError, IndexError):
                return [Text(as_text(value.get("content")) or str(value))]
        case {"content": content}:
            return _parts({"role": "assistant", "content": content})
        case {"text": str(text)} | {"output": str(text)}:
            return [Text(text)]
        case _:
            return [Text(str(value))]
