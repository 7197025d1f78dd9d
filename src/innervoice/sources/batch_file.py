"""Batch files of providers -> a conversation for each line.

Lines of answers (OpenAI, Azure, vLLM, Groq, Mistral, Together, Fireworks, Anthropic, Gemini, Vertex, Bedrock) are read as described in `wire/envelopes.py`;
a line whose request failed, expired or was canceled is a turn with the failure. Lines of requests, the input of such a batch, are read as requests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.decoding import read_answer
from innervoice.sources.conversation import Conversation, answer_turn, with_title
from innervoice.sources.reader import Data, Entry, LineLog, Opened, Reader, first_dicts, json_lines
from innervoice.sources.stored import is_history, request_turns
from innervoice.wire.json_access import as_dict, as_text

__all__ = ["READER", "batch_form_of"]


class BatchForm(NamedTuple):
    """One form of lines."""

    id: str | None
    """The member with the id of a line; None: the number of the line is the id."""
    answers: frozenset[str]
    """A line with one of these members is an answer."""
    requests: tuple[str, ...]
    """Where the body of the request may be."""


_FORMS = (
    BatchForm(
        "custom_id", frozenset({"response", "error", "result"}), ("body", "params", "request")
    ),
    BatchForm("recordId", frozenset({"modelOutput", "error"}), ("modelInput",)),
    BatchForm("key", frozenset({"response", "error"}), ("request",)),
    BatchForm(None, frozenset({"response", "status", "error"}), ("request",)),
)


def batch_form_of(value: Any) -> BatchForm | None:
    """The form of a line; None if it is not a line of a batch."""
    line = as_dict(value)
    for form in _FORMS:
        if form.id is None:
            if is_history(as_dict(line.get("request"))):
                return form
        elif isinstance(line.get(form.id), str) and not line.keys().isdisjoint(
            {*form.answers, *form.requests}
        ):
            return form
    return None


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(batch_form_of(value) for value in first_dicts(beginning)[:1])


def _open(data: Data) -> Opened:
    log = LineLog(data)
    for line in json_lines(data, log.troubles):
        form = batch_form_of(line.value)
        if form is None:
            log.skip(line, "not a line of a batch")
            continue
        line_id = as_text(line.value.get(form.id)) if form.id else None
        log.add(line, line_id or str(line.number))
    return log.opened(lambda entry, value: _conversation(data, entry, value))


def _conversation(data: Data, entry: Entry, line: Any) -> Conversation:
    form = batch_form_of(line) or _FORMS[0]
    body = next((line[name] for name in form.requests if line.get(name)), None)
    turns, request = request_turns(body)
    if not form.answers.isdisjoint(as_dict(line)):
        # A line without an answer is one that failed: it has its failure, and no text.
        answer = read_answer(line, **data.hints._asdict())
        turns.append(answer_turn(answer))
    numbered = tuple(turn.replace(line=entry.line) for turn in turns)
    return with_title(Conversation(id=entry.id, turns=numbered, request=request))


READER = Reader(
    kind="batch",
    name="a batch file",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The requests, where the file has only answers.",
        "When an answer was written, and how long it took.",
    ),
)
