"""A view -> Discord messages: reasoning behind a spoiler, then the answer.

Discord's limit is 2,000 code points in its API (github.com/discord/discord-api-docs/issues/1315, answered
by its staff) and 2,000 UTF-16 units in its clients and in JavaScript libraries. A text never has fewer
UTF-16 units than code points, so UTF-16 units are counted here.

Discord's parser, according to its open-source reimplementations: a spoiler ends at the first `||`, even
inside code or after a backslash, so every bar is escaped and no two are adjacent. Code begins at backticks
anywhere. A backslash hides a mention visually, but the server still notifies; a zero-width space after
the `@` prevents it.

Reasoning is literal. The answer keeps its markup except spoilers, masked links and mentions. A spoiler
never shares a message with an answer before it, because Discord might parse the code in that answer
differently than we do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from innervoice.errors import UsageError
from innervoice.show.backticks import code_in
from innervoice.show.lines import line_of
from innervoice.show.packer import LEAST, Packer, Wrapper
from innervoice.show.policy import Answer, Item, Policy, Showable, Thought, view_of
from innervoice.show.visible import visible

__all__ = ["LIMIT", "render_discord"]

LIMIT = 2000

_BARE = Wrapper()
_SPOILER = Wrapper("||", "||", must_not_precede="|")
_LONG_SPAN = 80

_MENTION = re.compile(r"@(?=everyone|here|[!&]?\d+>)", re.IGNORECASE)
_SILENT = "@\N{ZERO WIDTH SPACE}"
_MARKUP = re.compile(r"[\\*_~`|<>\[\]]|:(?=//)|(?<![^\n])[ \t]*[#+\-]")
_MASK = re.compile(r"\\[^0-9A-Za-z\s]|[|\[\]`]")


def render_discord(value: Showable, show: Policy = "full", *, limit: int = LIMIT) -> list[str]:
    """The value as messages, none of them blank, each at most `limit` UTF-16 units long."""
    if limit < LEAST:
        raise UsageError(f"limit must be {LEAST} or more, not {limit!r}")
    packer = Packer(limit)
    answered = False
    for turn in view_of(value, show):
        items = list(turn.items)
        if answered and items and _is_spoiler(items[0]):
            packer.end_message()
            answered = False
        if turn.role is not None:
            packer.add(f"**{turn.role}**\n", _BARE)
        for item in items:
            if answered and _is_spoiler(item):
                packer.end_message()
                answered = False
            answered = answered or isinstance(item, Answer)
            for text, wrapper in _stretches(item):
                packer.add(text, wrapper)
            packer.end_line()
    return packer.end()


def _is_spoiler(item: Item) -> bool:
    return isinstance(item, Thought) and bool(item.text)


def _stretches(item: Item) -> Iterator[tuple[str, Wrapper]]:
    match item:
        case Thought():
            yield f"-# {item.title}\n", _BARE
            yield _literal(visible(item.text).strip()), _SPOILER
        case Answer():
            yield from _answer(_MENTION.sub(_SILENT, visible(item.text).strip("\n")))
        case _:
            yield f"-# {_literal(line_of(item))}", _BARE


def _literal(text: str) -> str:
    """Clean text, escaped so that Discord shows exactly this text."""
    silent = _MENTION.sub(_SILENT, text)
    return _MARKUP.sub(lambda special: f"{special[0][:-1]}\\{special[0][-1]}", silent)


def _answer(text: str) -> Iterator[tuple[str, Wrapper]]:
    plain: list[str] = []
    position = 0
    for code in code_in(text):
        plain.append(_unmasked(text[position : code.start]))
        position = code.end
        if len(code.opening) < 3 and len(code.body) <= _LONG_SPAN and "\n" not in code.body:
            plain.append(text[code.start : code.end])
            continue
        yield "".join(plain), _BARE
        plain.clear()
        yield code.body, Wrapper(code.opening, code.closing)
    plain.append(_unmasked(text[position:]))
    yield "".join(plain), _BARE


def _unmasked(text: str) -> str:
    return _MASK.sub(lambda mask: mask[0] if len(mask[0]) > 1 else f"\\{mask[0]}", text)
