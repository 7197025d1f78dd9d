"""A file of requests in our vocabulary -> bodies of the provider's API, a line each, and their division into batches."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import RequestFields
from innervoice.client.api_calls import ProviderApi
from innervoice.errors import InnervoiceError, UsageError
from innervoice.wire.batches import BatchApi

__all__ = [
    "ReadFile",
    "RequestDefaults",
    "StoredRequest",
    "divided",
    "read_file",
    "stored_requests",
]

_OWN = {"id", "custom_id", "model", "prompt", "messages", "effort"}
_NOT_IN_A_BATCH = {"stream", "dialect", "base_url", "scope"}
_FIELDS = frozenset(RequestFields.__annotations__) - _NOT_IN_A_BATCH
_ENVELOPE = 2_000
"""Bytes of a batch besides its requests."""


class RequestDefaults(NamedTuple):
    """What a line does not say."""

    model: str | None = None
    fields: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Fields of a request, such as `system`, `reasoning` and `max_tokens`."""


class StoredRequest(NamedTuple):
    """A request as it is sent."""

    number: int
    id: str
    model: str
    body: dict[str, Any]


class ReadFile(NamedTuple):
    """What was read."""

    requests: int
    digest: str
    notes: dict[str, int]
    """Codes of the notes about settings that had to be changed, with the number of requests."""


def read_file(path: Path, into: Path, api: ProviderApi, defaults: RequestDefaults) -> ReadFile:
    """Writes the requests of a file as their API takes them; raises `UsageError` for the first line that is no request."""
    ids: set[str] = set()
    notes: Counter[str] = Counter()
    digest = hashlib.blake2b(digest_size=16)
    number = 0
    with path.open("rb") as lines, into.open("wb") as stream:
        for line_number, line in enumerate(lines, 1):
            digest.update(line)
            if not line.strip():
                continue
            place = f"{path}:{line_number}"
            value = _object(line, place)
            request_id = _id(value, number, place)
            if request_id in ids:
                raise UsageError(f"{place}: the id {request_id!r} is that of an earlier line")
            ids.add(request_id)
            name, body, codes = _encoded(value, api, defaults, place)
            notes.update(codes)
            stream.write(dump_json({"custom_id": request_id, "model": name, "body": body}) + b"\n")
            number += 1
    if not number:
        raise UsageError(f"{path} has no requests: expected JSON lines with prompt or messages")
    return ReadFile(number, digest.hexdigest(), dict(notes))


def _object(line: bytes, place: str) -> dict[str, Any]:
    try:
        value = load_json(line)
    except ValueError as error:
        raise UsageError(f"{place}: expected a JSON object, but {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected a JSON object, not {type(value).__name__}")
    if unknown := sorted(value.keys() - _OWN - _FIELDS):
        names = ", ".join(sorted(_OWN | _FIELDS))
        raise UsageError(f"{place}: unknown members {', '.join(unknown)}; a request has {names}")
    return value


def _id(value: dict[str, Any], number: int, place: str) -> str:
    given = value.get("id", value.get("custom_id"))
    if given is None:
        return f"request-{number + 1}"
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        raise UsageError(f"{place}: id must be a text or a number, not {given!r}")
    return str(given)


def _encoded(
    value: dict[str, Any], api: ProviderApi, defaults: RequestDefaults, place: str
) -> tuple[str, dict[str, Any], set[str]]:
    model = value.get("model") or defaults.model
    if not isinstance(model, str):
        raise UsageError(f"{place}: no model; pass one for all requests, or write it in each line")
    messages = value.get("messages", value.get("prompt"))
    if not messages or ("messages" in value and "prompt" in value):
        raise UsageError(f"{place}: expected either prompt (a text) or messages (a list)")
    fields = {**defaults.fields, **{name: value[name] for name in value.keys() & _FIELDS}}
    if "effort" in value:
        fields["reasoning"] = value["effort"]
    try:
        encoded = api.encoded(model, messages, fields)
    except InnervoiceError as error:
        raise UsageError(f"{place}: {error}") from None
    destination = api.destination_of(model)
    if destination.provider != api.destination.provider:
        raise UsageError(
            f"{place}: {model} is of another provider than {api.destination.provider}; a file has requests for one"
        )
    if destination.dialect != api.destination.dialect:
        raise UsageError(f"{place}: {model} needs another API than the other models of the file")
    return destination.target.model, encoded.body, {note.code for note in encoded.notes}


def stored_requests(path: Path, wanted: Container[int] | None = None) -> Iterator[StoredRequest]:
    """The requests that `read_file` has written, or those with these numbers."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream):
            if wanted is None or number in wanted:
                value = load_json(line)
                yield StoredRequest(number, value["custom_id"], value["model"], value["body"])


def divided(
    path: Path, api: BatchApi, at_most: int | None, numbers: Container[int] | None = None
) -> list[tuple[str, list[int]]]:
    """The batches that the requests fit into: a model and the numbers of its requests each."""
    most = min(at_most or api.most_requests, api.most_requests)
    room = api.most_bytes - _ENVELOPE
    batches: list[tuple[str, list[int]]] = []
    last: dict[str, int] = {}
    sizes: dict[int, int] = {}
    for request in stored_requests(path, numbers):
        size = len(api.request("x" * 40, request.body)) + 1
        if size > room:
            raise UsageError(
                f"the request {request.id!r} has {size:,} bytes, and a batch takes at most {room:,}"
            )
        index = last.get(request.model)
        if index is None or len(batches[index][1]) >= most or sizes[index] + size > room:
            index = last[request.model] = len(batches)
            batches.append((request.model, []))
            sizes[index] = 0
        batches[index][1].append(request.number)
        sizes[index] += size
    return batches
