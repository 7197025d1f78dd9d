"""A recorded stream, read and written in its own dialect, says the same, piece by piece (`stream_pieces.py` says what a piece is).

What an API repeats, times, counts, names or pads is not compared: each grammar lists it (`incidental`). What cannot be the same for another
reason is one of the `CAUSES`; streams that have it are compared in all the rest.
"""

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

import innervoice as iv
from conformance.stream_pieces import DONE, below, messages_of, pieces_of, without
from conformance.test_stream_grammars import recorded_streams
from conformance.test_written_answers import body_of
from innervoice.wire.dialects import DIALECTS, dialect_named
from shared import needs_shared

IDS = frozenset({"id", "item_id", "item.id", "response.id", "response.output.id"})


class Stream(NamedTuple):
    """A recorded stream, and the same as we write it: with inline reasoning as reasoning, and as the text that it came in."""

    name: str
    recorded: list[Any]
    written: list[Any]
    unsplit: list[Any]


class Cause(NamedTuple):
    """Why two streams cannot be the same: how a recorded one shows it, and what is not compared then."""

    shows: Callable[[list[Any]], bool]
    left_out: frozenset[str] = frozenset()
    alike: Callable[[list[Any]], list[Any]] = list


# ---- causes ------------------------------------------------------------------------------------


def has_many_ids(messages: list[Any]) -> bool:
    """Groq's compound systems and GitHub Copilot change the id in mid-stream; Snowflake sends none."""
    ids = {message.get("id", message.get("response", {}).get("id")) for message in messages}
    return ids != {None} and len(ids - {None, ""}) != 1


def has_error(messages: list[Any]) -> bool:
    """An answer that failed ends with the error: the reason that was given for its end before is not said, and [DONE] always comes."""
    return any("error" in message for message in messages)


def has_no_reason(messages: list[Any]) -> bool:
    """Snowflake gives no reason for the end, and clients need one."""
    choices = [choice for message in messages for choice in message.get("choices", [])]
    given = [choice.get("finish_reason") for choice in choices]
    return bool(given) and not any(given) and not has_error(messages)


def without_end(pieces: list[Any]) -> list[Any]:
    return [piece for piece in pieces if piece != DONE and "finish_reason" not in piece]


def has_raw_reasoning(messages: list[Any]) -> bool:
    """Servers of open models say only behind the start of an item that its reasoning is no summary, number its entries in their own way,
    and some end it behind the text. Ours is written as a summary, and each item is ended before the next begins."""
    return any(message.get("type") == "response.reasoning_text.delta" for message in messages)


def as_summaries(pieces: list[Any]) -> list[Any]:
    ends = {"response.created": -2, "response.in_progress": -1, "response.completed": len(pieces)}
    ordered = sorted(pieces, key=lambda piece: piece.get("output_index", ends.get(piece["type"])))
    return [_as_summary(piece) for piece in ordered]


def _as_summary(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_summary(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: _as_summary(item) for name, item in value.items()}
    kind = str(value.get("type"))
    if kind == "reasoning":
        said = [*value.pop("content", []), *value.get("summary", [])]
        return {**value, "summary": said}
    if kind == "reasoning_text":
        return {**value, "type": "summary_text"}
    is_entry = value.get("part", {}).get("type") == "summary_text"
    renamed = kind.replace("reasoning_text", "reasoning_summary_text")
    if is_entry:
        renamed = f"response.reasoning_summary_part.{kind.rpartition('.')[2]}"
    return {**value, "type": renamed} if kind.startswith("response.") else value


def has_calls_by_path(messages: list[Any]) -> bool:
    """Vertex can send the arguments of a call value by value, with a path for each. Ours come whole."""
    return "partialArgs" in json.dumps(messages)


def with_whole_calls(pieces: list[Any]) -> list[Any]:
    found: list[Any] = []
    for piece in pieces:
        call = piece.get("part", {}).get("functionCall")
        if call is not None and "name" in call:
            named = {"args": {}, **without(call, "willContinue")}
            found.append({**piece, "part": {**piece["part"], "functionCall": named}})
        elif call is not None:
            arguments = found[-1]["part"]["functionCall"]["args"]
            for value in call.get("partialArgs", []):
                name = value["jsonPath"].removeprefix("$.")
                arguments[name] = arguments.get(name, "") + value["stringValue"]
        else:
            found.append(piece)
    return found


def has_payloads_alone(messages: list[Any]) -> bool:
    """Interactions were recorded without the frame that ends a stream."""
    return any(message.get("event_type") == "interaction.created" for message in messages)


def without_done(pieces: list[Any]) -> list[Any]:
    return [piece for piece in pieces if piece != DONE]


def has_empty_id(messages: list[Any]) -> bool:
    """What Google does not store has no id. Ours always has one."""
    return any(message.get("interaction", {}).get("id") == "" for message in messages)


CAUSES = (
    Cause(has_many_ids, left_out=IDS),
    Cause(has_error, alike=without_end),
    Cause(has_no_reason, alike=without_end),
    Cause(has_raw_reasoning, IDS | {"content_index", "summary_index"}, as_summaries),
    Cause(has_calls_by_path, alike=with_whole_calls),
    Cause(has_payloads_alone, alike=without_done),
    Cause(has_empty_id, left_out=frozenset({"interaction.id"})),
)


# ---- streams -----------------------------------------------------------------------------------


@cache
def streams(dialect: str) -> list[Stream]:
    """The recorded streams of a dialect."""
    return [
        Stream(
            name,
            messages_of(body_of(exchange)),
            *(messages_of(written(exchange, inline)) for inline in (None, "off")),
        )
        for name, exchange in recorded_streams()
        if exchange["dialect"] == dialect
    ]


def written(exchange: dict[str, Any], inline: str | None) -> bytes:
    """A stream as it is read and written in its own dialect."""
    dialect, provider = exchange["dialect"], exchange["provider"].split("/")[-1]
    hints = {"dialect": dialect, "provider": provider, "model": exchange["model"]}
    response = iv.fold(iv.decode_stream([body_of(exchange)], inline=inline, **hints))
    encoder = iv.StreamEncoder(dialect, response.model, id=response.id)
    events = iv.decode_stream([body_of(exchange)], inline=inline, **hints)
    return b"".join(encoder.feed(event, events.settled) for event in events)


def incidental(dialect: str) -> set[str]:
    return set(dialect_named(dialect).grammar.incidental)


def difference(dialect: str, stream: Stream, left_out: set[str]) -> tuple[Any, list[str]]:
    """The first pieces that are not the same, or None; and the causes for which something was not compared."""
    if pair_of(dialect, stream.recorded, stream.written, left_out) is None:
        return None, []
    messages = [message for _, message in stream.recorded if message != DONE]
    causes = [cause for cause in CAUSES if cause.shows(messages)]
    more = left_out.union(*(cause.left_out for cause in causes))
    names = [cause.shows.__name__ for cause in causes]
    found = pair_of(dialect, stream.recorded, stream.written, more, causes)
    if found and pair_of(dialect, stream.recorded, stream.unsplit, more, causes) is None:
        # Reasoning that was found in the text went out as reasoning; without the search it is the text that came.
        return None, [*names, "inline"]
    return found, names


def pair_of(
    dialect: str, recorded: list[Any], ours: list[Any], left_out: set[str], causes: Any = ()
) -> tuple[Any, Any] | None:
    pieces = [pieces_of(dialect, messages, left_out) for messages in (recorded, ours)]
    for cause in causes:
        pieces = [cause.alike(one) for one in pieces]
    one, other = pieces
    pairs = zip([*one, None], [*other, None], strict=False)
    return None if one == other else next(pair for pair in pairs if pair[0] != pair[1])


# ---- tests -------------------------------------------------------------------------------------


@needs_shared
def test_written_streams_are_the_recorded_ones(capsys):
    counts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    wrong = []
    for dialect in DIALECTS:
        for stream in streams(dialect):
            found, why = difference(dialect, stream, incidental(dialect))
            counts[dialect] += 1
            causes.update(why)
            wrong += [(stream.name, *found)] if found else []
    with capsys.disabled():
        print(f"\n{sum(counts.values())} streams written in their own dialect: {dict(counts)}")
        print(f"not compared in all: {dict(causes)}")
    assert [] == wrong[:3], len(wrong)
    assert sum(counts.values()) > 120
    assert {"inline", *(cause.shows.__name__ for cause in CAUSES)} == causes.keys()
    assert sum(causes.values()) < 18


@pytest.mark.parametrize("dialect", DIALECTS)
@needs_shared
def test_incidental_members_are_needed(dialect):
    """A member is listed only if recorded streams and ours differ in it, and in no more."""
    listed = incidental(dialect)
    needed = {
        path
        for path in listed
        if any(difference(dialect, stream, listed - {path})[0] for stream in streams(dialect))
    }

    assert set() == listed - needed


@pytest.mark.parametrize("dialect", DIALECTS)
@needs_shared
def test_every_other_member_is_compared(dialect):
    """A member that we write, and that is not listed, is missed where it is left out."""
    listed = incidental(dialect)
    places: dict[str, list[Stream]] = {}
    for stream in streams(dialect):
        if difference(dialect, stream, listed) == (None, []):
            for path in set().union(*(paths_of(message) for _, message in stream.written)):
                places.setdefault(path, []).append(stream)
    unseen = [
        path
        for path, found in sorted(places.items())
        if not any(path == name or path.startswith(f"{name}.") for name in listed)
        and not any(pair_of(dialect, *without_path(stream, path), listed) for stream in found)
    ]

    assert [] == unseen


def paths_of(value: Any, path: str = "") -> set[str]:
    """The paths of the members that say something."""
    if isinstance(value, list):
        return {found for item in value for found in paths_of(item, path)}
    if not isinstance(value, dict):
        return {path} if path and value not in (None, "") else set()
    return {found for name, item in value.items() for found in paths_of(item, below(path, name))}


def without_path(stream: Stream, path: str) -> tuple[list[Any], list[Any]]:
    return stream.recorded, [(name, _cut(message, path)) for name, message in stream.written]


def _cut(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [_cut(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    name, _, rest = path.partition(".")
    return {
        key: _cut(item, rest) if key == name and rest else item
        for key, item in value.items()
        if key != name or rest
    }
