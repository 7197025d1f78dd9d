"""What a request log keeps of canonical values: their plain form without seals, media and keys, and in `shape` without any text.

    text          the text, redacted                     its number of characters
    seal          {"innervoice.seal": {"size", "hash"}}  the same
    media         a name with its size                   its size
    note          code, count, detail                    code, count
    tool          name, description, parameters          name

Members that are not named here are left out: a member that a newer version adds is not written until somebody decided about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from innervoice.canon.blobs import seal_placeholder
from innervoice.canon.messages import Message
from innervoice.canon.notes import Note
from innervoice.canon.parts import Part
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.storage import plain_form
from innervoice.privacy.redactor import Redactor, identifier, plain_word, short_hash
from innervoice.privacy.secrets import redacted_name

__all__ = ["MOST_FILLED", "Keeper", "Level", "filler", "with_fillers"]

Level: TypeAlias = Literal["shape", "full"]

_WORD = 40
_NAME = 200
_NOT_KEPT = "[not kept] "
MOST_FILLED = 1_000_000
_TEXTS = frozenset({"text", "arguments", "content", "system", "description"})
"""Members in which a number of characters may stand for a text."""


def filler(count: int) -> str:
    """A placeholder of the same length for a text that was not kept."""
    count = min(max(count, 0), MOST_FILLED)
    start = _NOT_KEPT if count >= len(_NOT_KEPT) + 1 else ""
    return start + "·" * (count - len(start))


def with_fillers(value: Any) -> Any:
    """A plain form with placeholders where only the lengths of texts were kept."""
    if isinstance(value, list):
        return [with_fillers(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: filler(item)
        if name in _TEXTS and type(item) is int
        else item
        if name in ("value", "block", "parameters")
        else with_fillers(item)
        for name, item in value.items()
    }


class Keeper:
    """Makes plain forms at one level."""

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self._redactor = Redactor("log")
        self._is_full = level == "full"

    # ---- messages and answers ------------------------------------------------------------------

    def messages(self, messages: tuple[Message, ...] | list[Message]) -> list[dict[str, Any]]:
        """What is kept of messages."""
        return [self._message(plain_form(message)) for message in messages]

    def response(self, response: Response) -> dict[str, Any]:
        """What is kept of an answer."""
        return self._response(plain_form(response))

    def _message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        parts = [self._part(part) for part in message.get("parts", ())]
        return {"type": "message", "role": message["role"], "parts": parts}

    def _response(self, given: Mapping[str, Any]) -> dict[str, Any]:
        record: dict[str, Any] = {"type": "response"}
        record |= _selected(given, "ended", "finish_reason")
        for name in ("provider", "model", "wire_finish_reason"):
            if isinstance(given.get(name), str):
                record[name] = self._redactor.name(given[name], _NAME)
        if isinstance(given.get("id"), str):
            record["id"] = identifier(given["id"])
        if parts := given.get("parts"):
            record["parts"] = [self._part(part) for part in parts]
        if usage := given.get("usage"):
            record["usage"] = _numbers(usage)
        if notes := given.get("notes"):
            record["notes"] = [self._note(note) for note in notes]
        if report := given.get("reasoning"):
            record["reasoning"] = self._reasoning(report)
        if error := given.get("error"):
            record["error"] = self._failure(error)
        if others := given.get("alternatives"):
            record["alternatives"] = [self._response(other) for other in others]
        return record

    def _failure(self, error: Mapping[str, Any]) -> dict[str, Any]:
        record = {name: self._word(error[name]) for name in ("type", "code") if error.get(name)}
        if self._is_full and isinstance(error.get("message"), str):
            record["message"] = self._redactor.name(error["message"])
        return record

    def _reasoning(self, report: Mapping[str, Any]) -> dict[str, Any]:
        record = _selected(report, "requested", "effective")
        if notes := report.get("notes"):
            record["notes"] = [self._note(note) for note in notes]
        return record

    def notes(self, notes: tuple[Note, ...] | list[Note]) -> list[dict[str, Any]]:
        """What is kept of notes."""
        return [self._note(plain_form(note)) for note in notes]

    def _note(self, note: Mapping[str, Any]) -> dict[str, Any]:
        record = _selected(note, "code", "count")
        if self._is_full and isinstance(note.get("detail"), str):
            record["detail"] = self._redactor.name(note["detail"])
        return record

    # ---- parts ---------------------------------------------------------------------------------

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any]:
        kind = part["type"]
        record: dict[str, Any] = {"type": kind, **_selected(part, "complete", "form", "error")}
        match kind:
            case "text" | "thinking":
                record["text"] = self.text(part.get("text", ""))
            case "tool_call":
                record["id"] = identifier(part["id"])
                record["name"] = self._redactor.name(part["name"], _NAME)
                record["arguments"] = self.text(part.get("arguments", ""))
            case "tool_result":
                record["call_id"] = identifier(part["call_id"])
                record["content"] = self._content(part.get("content", ""))
            case "media":
                record |= self._media(part)
            case _:
                record["value"] = self._foreign(part.get("value"))
        if origin := part.get("origin"):
            record["origin"] = self._origin(origin)
        return record

    def text(self, text: str) -> str | int:
        """What is kept of a text of people, models or tools."""
        return self._redactor.text(text) if self._is_full else len(text)

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self.text(content)
        return [self._part(part) for part in content]

    def _media(self, part: Mapping[str, Any]) -> dict[str, Any]:
        data, url, name = part.get("data"), part.get("url"), part.get("name")
        record = {"mime": self._word(part["mime"])} if part.get("mime") else {}
        words = []
        if self._is_full and isinstance(name, str):
            words.append(self._redactor.name(name))
        if isinstance(data, str):
            words.append(f"{len(data) * 3 // 4:,} bytes")
        if isinstance(url, str):
            is_shown = self._is_full and not url.startswith("data:")
            words.append(self._redactor.address(url) if is_shown else "by its URL")
        return {**record, "name": ", ".join(words)} if words else record

    def _origin(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """The origin of a part, and the places of its seals. The prefix is left out: the messages before are not kept as they were."""
        record: dict[str, Any] = {}
        seals = None
        for name, value in origin.items():
            match name:
                case "provider" | "model" | "dialect" | "scope" if isinstance(value, str):
                    record[name] = self._redactor.name(value, _NAME)
                case "item" | "led_by" if isinstance(value, str):
                    record[name] = f"#{short_hash(value)}"
                case "invented":
                    record[name] = value
                case "markup" if value is not None:
                    markup = value if self._is_full else ()
                    record[name] = [[place, self._redactor.text(text)] for place, text in markup]
                case "seals":
                    seals = _placeholders(origin.get("block"), value)
        if seals:
            record["block"], record["seals"] = seals
        return record

    def _foreign(self, value: Any, name: str = "") -> Any:
        """Another program's JSON: without anything that looks sealed; in shape, only its type."""
        if self._is_full:
            return self._redactor.foreign(value, name)
        kind = plain_word(value.get("type")) if isinstance(value, dict) else None
        return {"type": kind} if kind else {}

    # ---- requests ------------------------------------------------------------------------------

    def settings(self, request: Request) -> dict[str, Any]:
        """What is kept of a request besides its messages."""
        names = ("parallel_tool_calls", "max_tokens", "temperature", "top_p", "stream", "dialect")
        plain = plain_form(request.replace(messages=()))
        record = _selected(plain, *names)
        record["model"] = self._redactor.name(request.model, _NAME)
        if request.reasoning is not None:
            record["reasoning"] = plain["reasoning"]
        if request.system is not None:
            record["system"] = self.text(request.system)
        if isinstance(request.tool_choice, str):
            record["tool_choice"] = self._word(request.tool_choice)
        if self._is_full:
            record |= {
                name: self._foreign(plain[name], name)
                for name in ("stop", "response_format")
                if plain.get(name) is not None
            }
        if request.tools:
            record["tools"] = [self._tool(tool) for tool in plain["tools"]]
        return record

    def _tool(self, tool: Mapping[str, Any]) -> dict[str, Any]:
        record: dict[str, Any] = {"name": self._redactor.name(str(tool.get("name", "")), _NAME)}
        if self._is_full:
            if isinstance(tool.get("description"), str):
                record["description"] = self._redactor.text(tool["description"])
            if tool.get("parameters") is not None:
                record["parameters"] = self._foreign(tool["parameters"])
        return record

    def name(self, name: str) -> str:
        """A model name that a caller wrote."""
        return self._redactor.name(name, _NAME)

    def _word(self, value: Any) -> Any:
        return self._redactor.name(value, _WORD) if isinstance(value, str) else value

    def report(self, report: dict[str, Any]) -> dict[str, Any]:
        """What is kept of a report, which holds no text anyway: in shape, notes have no details."""
        record = _without_null(report)
        if not self._is_full and isinstance(report.get("notes"), list):
            record["notes"] = [
                {"code": note["code"], "count": note["count"]} for note in report["notes"]
            ]
        return record

    def part(self, part: Part) -> dict[str, Any]:
        """What is kept of a part."""
        return self._part(plain_form(part))


def _selected(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: item for name in names if (item := value.get(name)) is not None}


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    """The known members of this object and of those in it."""
    return {
        name: _without_null(item) if isinstance(item, dict) else item
        for name, item in value.items()
        if item is not None
    }


def _numbers(value: Any) -> Any:
    """Counts, and their names."""
    if not isinstance(value, dict):
        return value if isinstance(value, (int, float)) else None
    counts = {}
    for name, item in value.items():
        if (number := _numbers(item)) is not None:
            counts[redacted_name(str(name))[:_WORD]] = number
    return counts


def _placeholders(block: Any, paths: Any) -> tuple[dict[str, Any], list[str]] | None:
    """A block that has only placeholders for its seals."""
    placeholders: dict[str, Any] = {}
    paths_here = []
    for path in paths:
        value, place = block, placeholders
        names = path.split(".")
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            continue
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = seal_placeholder(value)
        paths_here.append(path)
    return (placeholders, paths_here) if paths_here else None
