"""Recorded requests, and when two bodies say the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import innervoice as iv
from innervoice.wire.gemini.spelling import camel_case

__all__ = ["accepted", "differences", "in_our_spelling", "refused"]

_SAID_BY_DEFAULT = {
    "stream": False,
    "store": True,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "is_error": False,
    "status": "success",
}

_BENIGN = {"stream_options"}
"""Members that change nothing about the answer."""


def accepted(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every recorded request that its API answered, by the name of its file."""
    return _with_status(folder, lambda status: status == 200)


def refused(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every recorded request that its API refused."""
    return _with_status(folder, lambda status: status >= 400)


def _with_status(folder: Path, fits: Callable[[int], bool]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        exchange = json.loads(path.read_text("utf-8"))
        request = exchange.get("request") or {}
        body = request.get("json") or request.get("body")
        if fits(exchange["status"]) and exchange["dialect"] != "other" and isinstance(body, dict):
            yield path.stem, {**exchange, "request_body": body}


def differences(sent: Any, written: Any, path: str = "") -> Iterator[str]:
    """Where two bodies differ in what they say."""
    sent, written = _plain(sent), _plain(written)
    if isinstance(sent, dict) and isinstance(written, dict):
        for key in sorted({*sent, *written}):
            if key not in sent or key not in written:
                yield f"{path}.{key} {'added' if key not in sent else 'lost'}"
            else:
                yield from differences(sent[key], written[key], f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(written, list) and len(sent) == len(written):
        for number, (one, other) in enumerate(zip(sent, written, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif sent != written:
        yield f"{path}: {str(sent)[:60]!r} became {str(written)[:60]!r}"


def _plain(value: Any) -> Any:
    """A value in the one of its spellings that we write."""
    if isinstance(value, dict):
        value = {
            key: item
            for key, item in value.items()
            if item not in (None, {}, [])
            and _SAID_BY_DEFAULT.get(key, ...) != item
            and key not in _BENIGN
        }
        content = value.get("content")
        if isinstance(content, list) and content and all(_is_text(block) for block in content):
            value = {**value, "content": "".join(block["text"] for block in content)}
        if "role" in value and value.get("type") == "message":
            value = {
                key: item for key, item in value.items() if key not in ("type", "id", "status")
            }
        if isinstance(value.get("arguments"), str):
            value = {**value, "arguments": _parsed(value["arguments"])}
    return value


def _is_text(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.keys() <= {"type", "text", "annotations", "logprobs"}
        and isinstance(block.get("text"), str)
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def in_our_spelling(body: dict[str, Any], dialect: str) -> dict[str, Any]:
    """A body with the names that we write, where Google has two for one thing.

    Members may be in camel case or have underscores, and recorded SDKs mix the two. The schema of a function may be `parameters`, with
    types in capitals, or `parametersJsonSchema`. The role of a system prompt means nothing.
    """
    if dialect != "gemini":
        return body
    body = camel_case(body)
    if isinstance(body.get("systemInstruction"), dict):
        body["systemInstruction"].pop("role", None)
    for tool in body.get("tools", ()):
        for function in tool.get("functionDeclarations", ()):
            if "parameters" in function:
                function["parametersJsonSchema"] = iv.Tool.of(function).parameters
                del function["parameters"]
    return body
