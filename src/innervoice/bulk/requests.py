"""The requests of a batch, joined to its answers: a file of answers has no prompts, and is in any order.

Lines are matched by their id (`custom_id`, `key`, `recordId`); only their positions are kept in memory.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from innervoice.bulk.prompts import prompt_of_request, request_in
from innervoice.bulk.schema import Batch, Column, Step, column
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.errors import UsageError

__all__ = ["requests"]

_IDS = ("custom_id", "key", "recordId", "id")


def requests(path: str) -> Step:
    """The step; `path` is the file of lines that was sent to the provider. Fills `prompt` where it is null, and adds the tools of the request."""
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path} with requests")
    adds = {
        "tools": Column("string", "The tools that the request offered, as JSON; null if none."),
        "prompt_problem": Column("string", "Why the prompt is missing or incomplete; null if it is complete."),
    }  # fmt: skip
    return Step("requests", partial(_run, path=path), adds)


def _run(batch: Batch, *, path: str) -> Batch:
    ids = column(batch, "id", "requests")
    bodies = [_request(path, str(row_id)) for row_id in ids]
    asked: list[tuple[Any, str | None]] = [
        _prompt(prompt, body, row_id, path)
        for prompt, body, row_id in zip(
            column(batch, "prompt", "requests"), bodies, ids, strict=True
        )
    ]
    tools_before = batch.get("tools") or [None] * len(ids)
    tools = [
        _tools(body) if tool is None else tool
        for tool, body in zip(tools_before, bodies, strict=True)
    ]
    return {
        **batch,
        "prompt": [prompt for prompt, _ in asked],
        "tools": tools,
        "prompt_problem": [problem for _, problem in asked],
    }


def _prompt(
    prompt: list[dict[str, Any]] | None, body: dict[str, Any] | None, row_id: Any, path: str
) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The prompt of an answer, and why it is missing or incomplete."""
    if body is not None:
        asked, problem = prompt_of_request(body)
        return prompt or asked, problem
    return prompt, None if prompt else f"no request in {path} has the id {row_id!r}"


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
                request_id = _id_of(value)
                if request_id is not None:
                    places.setdefault(str(request_id), position)
            position += len(line)
    if not places:
        raise UsageError(f"{path} has no requests: expected lines with {', '.join(_IDS[:3])}")
    return places


def _id_of(line: dict[str, Any]) -> Any:
    """The id of a request; a batch of Gemini without a file has it in `metadata`."""
    metadata = line.get("metadata")
    ids = [line.get(name) for name in _IDS]
    ids.insert(len(_IDS) - 1, metadata.get("key") if isinstance(metadata, dict) else None)
    return next((one for one in ids if one is not None), None)


def _request(path: str, request_id: str) -> dict[str, Any] | None:
    """The body of the request with this id."""
    place = _places(path).get(request_id)
    if place is None:
        return None
    with Path(path).open("rb") as stream:
        stream.seek(place)
        line = load_json(stream.readline())
    return request_in(line) or line


def _tools(body: dict[str, Any] | None) -> str | None:
    tools = body.get("tools") if body else None
    return dump_json(tools).decode() if isinstance(tools, list) and tools else None
