"""The last reports, for `/v1/explain`, and one line for each request: for people or for programs.

A report has no field for keys and seals. A caller may still send one as the name of a model, and a provider may repeat one in an error that
a note quotes: so every text is searched for anything that looks like one before it is shown, shortened, and stripped of control characters.

With several workers, each also writes its explanations to files of its own in one folder, of a bounded size, so that any of them
can explain the requests of all.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.notes import SENTENCES, Note
from innervoice.canon.response import Response
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.canon.usage import Usage
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.report import Report
from innervoice.planning.decisions import Decision
from innervoice.privacy.secrets import redacted
from innervoice.thinking_metrics import thinking_cost

__all__ = ["Journal", "explain", "forget", "json_line", "terminal_line"]

_NEWER, _OLDER = ".lines", ".older"
_LOOKED_AT = 4000
"""How many characters of a text are examined; the rest could not be shown."""


class Journal:
    """Keeps the last reports, and passes each to the listeners."""

    def __init__(
        self, *, most: int = LIMITS.explained_requests, line: Callable[[Report], None] | None = None
    ) -> None:
        self._listeners = [line] if line else []
        self._reports: Bounded[tuple[str, str], Report] = Bounded(most)
        self._shared: _SharedLines | None = None

    def share(self, directory: Path) -> None:
        """From now on the other workers can explain this one's requests, and this one theirs."""
        self._shared = _SharedLines(directory)

    @property
    def is_shared(self) -> bool:
        """Whether other workers write as well."""
        return self._shared is not None

    def listen(self, listener: Callable[[Report], None]) -> None:
        """Calls the listener with every report that is added from now on."""
        self._listeners.append(listener)

    def add(self, report: Report) -> None:
        """Adds the report of a request that is over."""
        for listener in self._listeners:
            listener(report)
        # Only what can be shown is kept.
        if len(report.notes) > LIMITS.explained_notes:
            report.notes = report.notes[: LIMITS.explained_notes]
        if report.usage.raw is not None:
            report.usage = report.usage.replace(raw=None)
        key = report.tenant, report.id
        self._reports[key] = report
        if self._shared:
            self._shared.write(json_line(report))

    def get(self, id: str, tenant: str) -> Report | None:  # noqa: A002 - the plain word
        """The report of a request, if it belongs to this tenant and is still kept."""
        return self._reports.get((tenant, id))

    def explained(self, id: str, tenant: str) -> dict[str, Any] | None:  # noqa: A002 - the plain word
        """Everything that is known about a request of this tenant, whichever worker answered it."""
        if report := self.get(id, tenant):
            return _with_cost(explain(report))
        explained = self._shared.find(id, tenant) if self._shared else None
        return _with_cost(explained) if explained else None


class _SharedLines:
    """The last lines of this worker in two files, the newer and the older, and those of the others."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._name = directory / f"{os.getpid()}{_NEWER}"
        self._file: int | None = None
        self._size = 0

    def write(self, line: str) -> None:
        """Adds a line. If the disk is full, the explanation is lost, not the request."""
        with contextlib.suppress(OSError):
            if self._file is None:
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._file, self._size = os.open(self._name, flags, 0o600), 0
            # The file is opened once, and a line is written completely or not at all.
            self._size += os.write(self._file, line.encode("utf-8", "replace") + b"\n")
            if self._size > LIMITS.journal_bytes:
                os.close(self._file)
                self._file = None
                self._name.replace(self._name.with_suffix(_OLDER))

    def find(self, id: str, tenant: str) -> dict[str, Any] | None:  # noqa: A002 - the plain word
        """The line of a request, among those of all workers."""
        start = b'{"id":' + dump_json(id) + b',"tenant":' + dump_json(tenant) + b","
        for suffix in (_NEWER, _OLDER):
            for file in self._directory.glob(f"*{suffix}"):
                with contextlib.suppress(OSError):
                    data = file.read_bytes()
                    position = data.rfind(start)  # no text contains it: quotes in texts are escaped
                    end = data.find(b"\n", position)
                    if position >= 0 and end >= 0:  # otherwise it is still being written
                        explained: dict[str, Any] = load_json(data[position:end])
                        return explained
        return None


def forget(directory: Path, process: int) -> None:
    """Removes the lines of a process that has ended: otherwise many ended processes would fill the disk."""
    for suffix in (_NEWER, _OLDER):
        (directory / f"{process}{suffix}").unlink(missing_ok=True)


def explain(report: Report) -> dict[str, Any]:
    """Everything that is known about a request, as JSON."""
    usage = report.usage
    return {
        "id": _plain(report.id),
        "tenant": _plain(report.tenant),
        "caller": _plain(report.caller),
        "begun": report.begun,
        "trace": report.trace or None,
        "dialect": _redacted(report.dialect),
        "asked": _redacted(report.asked),
        "provider": _redacted(report.provider),
        "model": _redacted(report.model),
        "account": _redacted(report.account),
        "way": report.way,
        "stream": report.stream,
        "status": report.status,
        "error": None if report.error is None else _redacted(report.error),
        "attempts": report.attempts,
        "reasoning": {
            "kept": report.kept,
            "carried": report.carried,
            "restored": report.restored,
            "omitted": report.omitted,
            "received": report.received,
            "rules": [_redacted(rule) for rule in report.rules[: LIMITS.explained_rules]],
            "store": _redacted(report.store),
        },
        "policy": None if report.policy is None else dict(report.policy),
        "plan": [_planned(item) for item in report.plan],
        "notes": [_explained(note) for note in report.notes[: LIMITS.explained_notes]],
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "reasoning_tokens": usage.reasoning_tokens,
            "cached_input_tokens": usage.cached_input_tokens,
            "cost": report.cost,
        },
        "thinking": _thinking(report),
        "seconds": {"first": report.first_byte, "total": report.total},
    }


def _thinking(report: Report) -> dict[str, Any]:
    """How long was thought, and what share of the tokens that was."""
    usage = report.usage
    counts = ThinkingMetrics(
        thinking_tokens=usage.reasoning_tokens, output_tokens=usage.output_tokens
    )
    return (report.thinking or counts).replace(total_seconds=report.total).members()


def _with_cost(explained: dict[str, Any]) -> dict[str, Any]:
    """The explanation with the cost of the reasoning, which is looked up only if somebody asks."""
    counts, thinking = explained["usage"], explained["thinking"]
    usage = Usage(input_tokens=counts["input_tokens"], output_tokens=counts["output_tokens"])
    answer = Response(provider=explained["provider"], model=explained["model"], usage=usage)
    cost = thinking_cost(answer, thinking["thinking_tokens"])
    return {**explained, "thinking": {**thinking, "cost": None if cost is None else float(cost)}}


def _planned(item: Decision) -> dict[str, Any]:
    """What happened to a part that was not sent unchanged."""
    return {
        "message": item.message,
        "part": item.part,
        "kind": item.kind,
        "action": item.action,
        "rule": item.rule,
        "why": _redacted(item.why),
    }


def _explained(note: Note) -> dict[str, Any]:
    return {
        "code": _redacted(note.code),
        "text": SENTENCES.get(note.code, ""),
        "detail": None if note.detail is None else _redacted(note.detail),
        "count": note.count,
    }


def json_line(report: Report) -> str:
    """A report as one line of JSON."""
    return dump_json(explain(report)).decode("utf-8", "replace")


def terminal_line(report: Report) -> str:
    """A report as one line for people."""
    model = "/".join(filter(None, (report.provider, report.model))) or report.asked or "?"
    client = report.asked if report.way == "other" else report.dialect
    pieces = [f"{_redacted(client)} -> {_redacted(model)}"]
    if report.error or not 200 <= report.status < 300:
        pieces.append(f"{report.status} {_redacted(report.error or '')}".rstrip())
    pieces += filter(None, (_reasoning(report), _tokens(report), _times(report)))
    return "  ".join(pieces)


def _reasoning(report: Report) -> str:
    counts = ("kept", report.kept), ("restored", report.restored), ("omitted", report.omitted)
    words = [f"{word} {count:,}" for word, count in counts if count]
    if report.rules:
        words.append(f"({', '.join(map(_redacted, report.rules[: LIMITS.explained_rules]))})")
    if report.store == "degraded":
        words.append("store degraded")
    return " ".join(words)


def _tokens(report: Report) -> str:
    usage = report.usage
    counts = (usage.input_tokens, "in"), (usage.output_tokens, "out")
    words = [f"{count:,} {word}" for count, word in counts if count is not None]
    if usage.reasoning_tokens:
        words.append(f"({usage.reasoning_tokens:,} thought)")
    elif report.thinking is not None and report.thinking.estimated:
        words.append(f"(~{report.thinking.thinking_tokens:,} thought)")
    return " ".join(words)


def _times(report: Report) -> str:
    first = None if report.first_byte is None else f"{_seconds(report.first_byte)} first"
    seconds = report.thinking.thinking_seconds if report.thinking is not None else None
    thinking = f"{_seconds(seconds)} thinking" if seconds else None
    total = None if report.total is None else _seconds(report.total)
    return ", ".join(filter(None, (first, thinking, total)))


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"


# ---- texts of others -----------------------------------------------------------------------------

_CUT_RUN = re.compile(r"(?<![A-Za-z0-9+/=_.~-])[A-Za-z0-9+/=_.~-]*\Z")


def _redacted(text: str) -> str:
    """A text from somebody else: without anything that looks like a key or a seal, without control characters, and short."""
    # The same few names come with every request.
    return _shown_name(text) if len(text) <= LIMITS.explained_characters else _made_showable(text)


def _made_showable(text: str) -> str:
    # Scrubbed before it is shortened: half a key is not recognized any more.
    if len(text) > _LOOKED_AT:
        text = _CUT_RUN.sub("…", text[:_LOOKED_AT])
    text = _plain(redacted(text, wary=True))
    return (
        text
        if len(text) <= LIMITS.explained_characters
        else f"{text[: LIMITS.explained_characters - 1]}…"
    )


_shown_name = lru_cache(maxsize=1024)(_made_showable)


def _plain(text: str) -> str:
    """A text without characters that move the cursor, end a line, or change the order of others."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
