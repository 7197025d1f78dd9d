"""Logs of litellm -> a conversation for each request: spend logs of its proxy, and `StandardLoggingPayload`s of its callbacks.

A file is one record, a list of them (also under `data`), or one on each line. Both kinds have the request under `messages`, the answer under
`response`, and times (https://docs.litellm.ai/docs/proxy/logging_spec, read 2026-11-16).
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.notes import Note
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_of
from innervoice.decoding import read_answer
from innervoice.errors import DecodeError
from innervoice.sources.conversation import Conversation, answer_turn, seconds_of, with_title
from innervoice.sources.reader import (
    Data,
    Entry,
    LineLog,
    Opened,
    Reader,
    Trouble,
    first_values,
    is_json_lines,
    json_lines,
)
from innervoice.sources.stored import load_whole, request_turns
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text, parsed

__all__ = ["READER", "is_record"]

_INNER = "standard_logging_object"
_TIMES = {"startTime", "endTime"}
_SIGNS = {"call_type", "model_group", "response_cost", "spend", "request_id", "custom_llm_provider"}
"""Members of a record; every version writes some of them."""
_FAILURE = ("status", "error_str", "error_information")


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(is_record(record) for value in first_values(beginning)[:1] for record in _records(value)[:1])  # fmt: skip


def _records(value: Any) -> list[Any]:
    """The records of a file that is one value."""
    if isinstance(value, dict) and isinstance(value.get("data"), list) and not is_record(value):
        return as_list(value["data"])
    return value if isinstance(value, list) else [value]


def is_record(value: Any) -> bool:
    """Whether a value is a record of litellm."""
    record = _unwrapped(value)
    return bool(_TIMES & record.keys()) and len(_SIGNS & record.keys()) >= 2


def _unwrapped(value: Any) -> dict[str, Any]:
    record = as_dict(value)
    return as_dict(record.get(_INNER)) or record


def _open(data: Data) -> Opened:
    log = LineLog(data)
    if not is_json_lines(data):
        return _opened_whole(data)
    for line in json_lines(data, log.troubles):
        if is_record(line.value):
            entry = _entry(_unwrapped(line.value), line.number)
            log.add(line, entry.id, model=entry.model, at=entry.at)
        else:
            log.skip(line, "not a record of litellm")
    return log.opened(lambda entry, value: _conversation(entry, _unwrapped(value)))


def _opened_whole(data: Data) -> Opened:
    records: dict[str, dict[str, Any]] = {}
    entries: list[Entry] = []
    troubles: list[Trouble] = []
    for number, value in enumerate(_records(load_whole(data)), 1):
        if not is_record(value):
            troubles.append(Trouble(None, f"item {number} is not a record of litellm"))
            continue
        entry = _entry(_unwrapped(value), number)
        if entry.id in records:
            entry = entry._replace(id=f"{entry.id}~{number}")
        records[entry.id] = _unwrapped(value)
        entries.append(entry)
    if not entries:
        raise DecodeError("expected records of litellm, but found none")
    return Opened(entries, lambda entry: _conversation(entry, records[entry.id]), troubles)


def _entry(record: dict[str, Any], number: int) -> Entry:
    record_id = as_text(record.get("request_id")) or as_text(record.get("id")) or str(number)
    at = seconds_of(record.get("startTime"))
    return Entry(record_id, model=as_text(record.get("model")), at=at)


# ---- reading --------------------------------------------------------------------------------------------


def _conversation(entry: Entry, record: dict[str, Any]) -> Conversation:
    turns, request = request_turns(_request_body(record))
    start, end = seconds_of(record.get("startTime")), seconds_of(record.get("endTime"))
    took = round(end - start, 3) if start is not None and end is not None and end >= start else None
    line = entry.line if entry.end is not None else None
    turns = [turn.replace(at=start, line=line) for turn in turns]
    costs = (as_number(record.get(name)) for name in ("response_cost", "spend"))
    cost = next((cost for cost in costs if cost is not None), None)
    turns.append(answer_turn(_answer(record), at=end, seconds=took, line=line, cost=cost))
    return with_title(Conversation(id=entry.id, turns=tuple(turns), request=request))


def _request_body(record: dict[str, Any]) -> Any:
    """The body of the request: as the proxy got it, or built from the messages and the parameters."""
    body = _parsed(record.get("proxy_server_request"))
    if isinstance(body, dict) and (body.get("messages") or body.get("input") or body.get("prompt")):
        return body
    messages = _parsed(record.get("messages"))
    if not messages:
        return None
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        return messages
    settings = as_dict(record.get("model_parameters"))
    return {**settings, "model": record.get("model_group") or record.get("model"), "messages": messages}  # fmt: skip


def _parsed(value: Any) -> Any:
    """The value, or the JSON in a text: a database stores texts."""
    return parsed(value) if isinstance(value, str) else value


def _answer(record: dict[str, Any]) -> Response:
    body = _parsed(record.get("response"))
    host = host_of(as_text(record.get("custom_llm_provider")) or "")
    model = as_text(record.get("model"))
    provider = host.id if host else None
    failed = record.get("status") == "failure" or bool(record.get("error_str"))
    if isinstance(body, str) and body:
        body = {"choices": [{"message": {"content": body}, "finish_reason": "stop"}]}
    if failed:
        failure = {name: record[name] for name in _FAILURE if name in record}
        answer = read_answer({**failure, "response": {}, "call_type": ""}, provider, model)
    elif body:
        answer = read_answer(body, provider, model)
    else:
        note = Note("content_not_logged")
        answer = Response(provider=provider, model=model, ended=True, notes=(note,))
    if answer.usage.output_tokens is None:
        answer = answer.replace(usage=_usage(record))
    requested = as_text(record.get("model_group"))
    if _fell_back(record):
        detail = f"{requested or 'unknown'} was asked for, {model or 'unknown'} answered"
        answer = answer.replace(notes=(*answer.notes, Note("model_replaced", detail)))
    return answer


def _usage(record: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(record.get("prompt_tokens")),
        output_tokens=as_count(record.get("completion_tokens")),
    )


def _fell_back(record: dict[str, Any]) -> bool:
    """Whether the router switched to another model: it counts its attempts in the hidden parameters or the metadata."""
    places = (record.get("hidden_params"), record.get("metadata"))
    for holder in map(as_dict, map(_parsed, places)):
        headers = as_dict(holder.get("additional_headers"))
        counts = (holder.get("attempted_fallbacks"), headers.get("x-litellm-attempted-fallbacks"), headers.get("x_litellm_attempted_fallbacks"))  # fmt: skip
        if any(as_count(count) for count in counts):
            return True
    return False


READER = Reader(
    kind="litellm",
    name="a log of litellm",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The requests and the answers, where `store_prompts_in_spend_logs` was off.",
        "Seals that litellm does not pass on.",
    ),
)
