"""The requests of a batch, joined to its answers: a file of answers has no prompts, and is in any order.

Lines are matched by their id (`custom_id`, `key`, `recordId`); only their positions are kept in memory.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from innervoice.bulk.answers import prompt_of_message
from innervoice.bulk.schema import Batch, Column, Step, column
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.errors import DecodeError, UsageError
from innervoice.sources.stored import history_from

__all__ = ["requests"]

_IDS = ("custom_id", "key", "recordId", "id")
_BODIES = ("body", "params", "request", "modelInput")
_MESSAGES = ("messages", "contents", "input")
_SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction")


def requests(path: str) -> Step:
    """The step; `path` is the file of lines that was sent to the provider. Fills `prompt` where it is null, and adds the tools of the request."""
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path} with requests")
    adds = {"tools": Column("string", "The tools that the request offered, as JSON; null if none.")}
    return Step("requests", partial(_run, path=path), adds)


def _run(batch: Batch, *, path: str) -> Batch:
    ids = column(batch, "id", "requests")
    requests = [_request(path, str(row_id)) for row_id in ids]
    prompts = [
        prompt if prompt is not None or body is None else _prompt(body)
        for prompt, body in zip(column(batch, "prompt", "requests"), requests, strict=True)
    ]
    tools_before = batch.get("tools") or [None] * len(ids)
    tools = [
        _tools(body) if tool is None else tool
        for tool, body in zip(tools_before, requests, strict=True)
    ]
    return {**batch, "prompt": prompts, "tools": tools}


@lru_cache(maxsize=4)
def _places(path: str) -> dict[str, int]:
    """The position of the line of each id."""
    places: dict[str, int] = {}
    position = 0
    with Path(path).open("rb") as stream:
        for line in stream:
            try:
                value = load_json(line)
            except ValueError:
                value = None
            if isinstance(value, dict):
                request_id = next(
                    (value[name] for name in _IDS if value.get(name) is not None), None
                )
                if request_id is not None:
                    places.setdefault(str(request_id), position)
            position += len(line)
    if not places:
        raise UsageError(f"{path} has no requests: expected lines with {', '.join(_IDS[:3])}")
    return places


def _request(path: str, request_id: str) -> dict[str, Any] | None:
    """The body of the request with this id."""
    place = _places(path).get(request_id)
    if place is None:
        return None
    with Path(path).open("rb") as stream:
        stream.seek(place)
        line = load_json(stream.readline())
    body = next((line[name] for name in _BODIES if isinstance(line.get(name), dict)), line)
    return body if isinstance(body, dict) else None


def _prompt(body: dict[str, Any]) -> list[dict[str, Any]] | None:
    content = next((body[name] for name in _MESSAGES if body.get(name) is not None), None)
    listed = [{"role": "user", "content": content}] if isinstance(content, str) else content
    try:
        messages = history_from(listed, inline="off").messages if isinstance(listed, list) else ()
    except DecodeError:
        return None
    system = next((body[name] for name in _SYSTEMS if body.get(name) is not None), None)
    prompt = [prompt_of_message(message) for message in messages]
    if text := _text(system):
        prompt.insert(0, {"role": "system", "content": text})
    return prompt or None


def _text(value: Any) -> str | None:
    """The text of a system prompt, which may be in blocks or parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(value.get("parts") or value.get("text"))
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_text, value))) or None
    return None


def _tools(body: dict[str, Any] | None) -> str | None:
    tools = body.get("tools") if body else None
    return dump_json(tools).decode() if isinstance(tools, list) and tools else None
