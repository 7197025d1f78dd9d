"""Recordings of a browser or a proxy (HAR 1.2) -> the conversations with model APIs in them.

A request whose history begins with that of an earlier one and its answer continues the same conversation. Of an exchange only the bodies, the
times and the path of the URL are read: headers, cookies and query strings contain keys (http://www.softwareishard.com/blog/har-12-spec/, read 2026-11-16).
"""

from __future__ import annotations

import re
from base64 import b64decode
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.catalog.lookup import all_hosts
from innervoice.conversation.turns import is_same_message
from innervoice.decoding import read_answer
from innervoice.errors import DecodeError
from innervoice.sources.conversation import (
    Conversation,
    Turn,
    answer_turn,
    seconds_of,
    title_of,
    with_title,
)
from innervoice.sources.reader import Data, Entry, Opened, Reader, Trouble, first_dicts
from innervoice.sources.stored import is_history, load_whole, request_turns
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.json_access import as_count, as_dict, as_list, as_number, as_text

__all__ = ["READER"]

_MODEL = re.compile(r"/models?/([^/:]+)")
"""The model in a path, for the APIs that have it there."""


def _recognizes(_: Data, beginning: bytes) -> bool:
    for value in first_dicts(beginning)[:1]:
        log = as_dict(value.get("log"))
        return not {"entries", "creator", "pages"}.isdisjoint(log)
    return False


class _Exchange(NamedTuple):
    """A request to a model API, and its response."""

    number: int
    turns: list[Turn]
    request: Request | None
    answer: Turn


class _Chain:
    """A conversation that grows with each request that continues it."""

    def __init__(self, exchange: _Exchange) -> None:
        self.id = str(exchange.number)
        self.turns: list[Turn] = []
        self.request: Request | None = None
        self.add(exchange, 0)

    def add(self, exchange: _Exchange, start: int) -> None:
        """Adds what is new after the first `start` messages."""
        self.turns += [*exchange.turns[start:], exchange.answer]
        self.request = exchange.request
        sent = [turn.message for turn in self.turns if turn.marks != ("api_error",)]
        self._messages = [message for message in sent if message.role != "system"]

    def length_in(self, messages: list[Message]) -> int | None:
        """How many messages of a later request are these; None if it does not begin with them.

        Programs change their system prompt from request to request; it is not compared.
        """
        remaining = iter(self._messages)
        expected = next(remaining, None)
        for number, message in enumerate(messages):
            if expected is None:
                return number
            if message.role == "system":
                continue
            if not is_same_message(message, expected):
                return None
            expected = next(remaining, None)
        return len(messages) if expected is None else None


def _open(data: Data) -> Opened:
    log = as_dict(as_dict(load_whole(data)).get("log"))
    troubles: list[Trouble] = []
    chains: list[_Chain] = []
    others = 0
    for number, entry in enumerate(as_list(log.get("entries")), 1):
        exchange = _exchange(number, as_dict(entry))
        if exchange is None:
            others += 1
            continue
        messages = [turn.message for turn in exchange.turns]
        for chain in reversed(chains):
            if (length := chain.length_in(messages)) is not None:
                chain.add(exchange, length)
                break
        else:
            chains.append(_Chain(exchange))
    if not chains:
        raise DecodeError(f"the HAR has no request to a model API; it has {others} other requests")
    conversations = {chain.id: _conversation(chain) for chain in chains}
    entries = [_entry(conversation) for conversation in conversations.values()]
    left_out = (f"What {others} other requests of the file were: they are not to a model API.",) if others else ()  # fmt: skip
    return Opened(entries, lambda entry: conversations[entry.id], troubles, left_out)


def _conversation(chain: _Chain) -> Conversation:
    conversation = Conversation(id=chain.id, turns=tuple(chain.turns), request=chain.request)
    return with_title(conversation)


def _entry(conversation: Conversation) -> Entry:
    answers = [turn.answer for turn in conversation.turns if turn.answer]
    return Entry(
        conversation.id,
        title=conversation.title or title_of(conversation.messages),
        at=next((turn.at for turn in conversation.turns if turn.at is not None), None),
        model=next((answer.model for answer in answers if answer.model), None),
    )


# ---- exchanges ------------------------------------------------------------------------------------------


def _exchange(number: int, entry: dict[str, Any]) -> _Exchange | None:
    """The exchange of an entry; None if it is not with a model API."""
    sent, got = as_dict(entry.get("request")), as_dict(entry.get("response"))
    url = as_text(sent.get("url")) or ""
    body = _json(_content(as_dict(sent.get("postData"))))
    if sent.get("method") != "POST" or not _is_request(body):
        return None
    path, provider = _place(url)
    match = _MODEL.search(path)
    model = unquote(match[1]) if match else None
    answer = _answer(got, provider, model or as_text(body.get("model")))
    if answer is None and not _is_model_path(path):
        return None
    start, took = seconds_of(entry.get("startedDateTime")), as_number(entry.get("time")) or 0
    seconds = took / 1000 if took > 0 else None
    turns, request = request_turns(body)
    if request and model and not body.get("model"):
        request = request.replace(model=model)
    answer = answer or Response(provider=provider, model=model, error=_absent(got))
    failed = answer.error is not None and not answer.parts
    turn = answer_turn(
        answer,
        at=start + seconds if start is not None and seconds else start,
        seconds=seconds,
        marks=("api_error",) if failed else (),
    )
    return _Exchange(number, [turn.replace(at=start) for turn in turns], request, turn)


def _is_request(body: Any) -> bool:
    return isinstance(body, dict) and (is_history(body) or isinstance(body.get("input"), str))


def _answer(got: dict[str, Any], provider: str | None, model: str | None) -> Response | None:
    """The answer; None if there is none."""
    content = _content(as_dict(got.get("content")))
    if not content.strip():
        return None
    status = as_count(got.get("status")) or 0
    answer = read_answer(content, provider, model)
    if answer.parts or answer.ended:
        return answer
    if answer.error and answer.error.type not in ("DecodeError", "FrameError"):
        return answer
    if status >= 400:
        failure = Failure(code=status, message=f"status {status}")
        return Response(provider=provider, model=model, error=failure)
    return None


def _absent(got: dict[str, Any]) -> Failure:
    status = as_count(got.get("status"))
    if not status:
        return Failure(message="the request was not answered")
    return Failure(code=status, message="the recording does not have the body of this response")


def _content(holder: dict[str, Any]) -> bytes:
    text = as_text(holder.get("text")) or ""
    if holder.get("encoding") == "base64":
        try:
            return b64decode(text, validate=False)
        except ValueError:
            return b""
    return text.encode("utf-8", "surrogatepass")


def _json(content: bytes) -> Any:
    try:
        return load_json(content)
    except ValueError:
        return None


# ---- URLs -----------------------------------------------------------------------------------------------


def _place(url: str) -> tuple[str, str | None]:
    """The path of a URL, and the provider whose host it is."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", None
    names = (row.id for row in all_hosts() if host and urlsplit(row.base_url).hostname == host)
    return parts.path, next(names, None)


def _is_model_path(path: str) -> bool:
    return any(pattern.search(path) for pattern in _path_patterns())


@cache
def _path_patterns() -> list[re.Pattern[str]]:
    """How the paths of model APIs end."""
    patterns: list[re.Pattern[str]] = []
    for name in DIALECTS:
        dialect = dialect_named(name)
        verbs = "|".join(map(re.escape, filter(None, dialect.verbs)))
        ending = re.escape(dialect.path).replace(r"\{model\}", "[^/]+").replace(r"\{verb\}", f"(?:{verbs})")  # fmt: skip
        patterns.append(re.compile(ending + r"\Z"))
    return patterns


READER = Reader(
    kind="har",
    name="a HAR recording",
    recognizes=_recognizes,
    open=_open,
    cannot_know=("What programs did between their requests.",),
)
