"""A view -> Markdown: reasoning in a collapsed `<details>`, the answer as the model wrote it.

Reasoning is quoted and literal: every line begins with `> `, and everything that has a meaning in Markdown
or HTML is escaped, so that no line can end the quote or the element, open a fence, load an image or mention
a user. Blank lines separate the elements from the text, as CommonMark requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from innervoice.show.policy import (
    Answer,
    Item,
    Policy,
    Showable,
    ShownTurn,
    Thought,
    line_of,
    view_of,
)
from innervoice.show.visible import visible

__all__ = ["QUOTE", "literal", "render_html", "render_markdown", "render_plain", "sanitize"]

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SPECIAL = re.compile(r"[&<>]|[\\`*_\[\]~|$]|@(?=\w)")
_MARKER = re.compile(r"""[!"#%'()+,\-./:;=?^{}]|\d{1,9}(?=[.)])""")


def render_markdown(value: Showable, show: Policy = "full", *, html: bool = False) -> str:
    """The value as Markdown.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    :param html: Whether the answer's HTML is kept; it is escaped otherwise.
    """
    blocks = [block for turn in view_of(value, show) for block in _blocks(turn, html=html)]
    return "\n\n".join(blocks)


def literal(text: str) -> str:
    """One line of clean text, escaped so that Markdown shows exactly this line."""
    body = text.lstrip(" \t")
    indent = len(text[: len(text) - len(body)].expandtabs(4)) if body else 0
    marker = _MARKER.match(body)
    head = ""
    if marker:
        number = marker[0] if marker[0].isdigit() else ""
        head = f"{number}\\{body[len(number)]}"
        body = body[len(number) + 1 :]
    return "&nbsp;" * indent + head + _SPECIAL.sub(_escaped, body)


def _blocks(turn: ShownTurn, *, html: bool) -> Iterator[str]:
    if turn.role is not None:
        yield f"**{turn.role}**"
    for item in turn.items:
        match item:
            case Thought(text=""):
                yield f"*{item.title}*"
            case Thought():
                yield _details(item)
            case Answer():
                answer = visible(item.text).strip("\n")
                yield answer if html else sanitize(answer)
            case _:
                yield _code(line_of(item))


def _details(thought: Thought) -> str:
    lines = [literal(line.rstrip()) for line in visible(thought.text).strip("\n").split("\n")]
    # Two trailing spaces are a line break.
    broken = [
        f"> {line}  " if line and following else f"> {line}".rstrip()
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
    ]
    quote = "\n".join(broken)
    return f"<details>\n<summary>{escape(thought.title)}</summary>\n\n{quote}\n\n</details>"


def _code(line: str) -> str:
    """The line in a code span that its own backticks cannot end."""
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def _escaped(special: re.Match[str]) -> str:
    character = special[0]
    if character == "@":
        # A backslash would not stop GitHub and others from notifying the user with this name.
        return "@\N{ZERO WIDTH SPACE}"
    return _ENTITIES.get(character) or f"\\{character}"


# ---- A model's Markdown -> the same Markdown without active HTML and without open code fences.
#
# HTML in an answer could hide the text after it (a comment, a `<script>`, a `<details>` that is never
# closed), so outside of code `<` becomes `&lt;` wherever a tag could begin. `<br>` within a line, as models
# write it in tables, is kept. Text that might not be code is treated as ordinary text: a listing may then
# show `&lt;`, but no tag gets through.
#
# In CommonMark a fence in one of the first four columns is always a fence, and so is the closing fence of
# one that begins in the first column. If the end of a fence depends on the list around it, a closing fence
# is written. A fence further right, or after a list or quote marker, may not be one; after it nothing is
# certain until the next line that begins in the first column. If another fence may have begun in between,
# a comment is inserted that closes the fence if it is open and is an ordinary comment if it is not.
#
# A backtick opens a code span only if nothing before it takes it: the address or title of a link does, and for
# most parsers so does an address that is not marked as a link (`https://...`). After a link that does not end
# plainly, a `~~`, and directly after such an address or a backslash, no span of the paragraph is certain.


_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_MAYBE_FENCE = re.compile(r"[ \t>*+\-0-9.)]*(?:```|~~~)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_TEXT = re.compile(r"[^\W\d_]|\|")
_INLINE = re.compile(r"\\.|(`+)", re.DOTALL)
_PLAIN_INFO = re.compile(r" ?[\w+#.]*")
_PLAIN_LINK = re.compile(r"""\]\([^\s`()<>"'\\]*(?: +"[^`()<>"\\]*")?\)""")
_OPEN_LINK = re.compile(r"\]\(|\\$")
_TAKES_BACKTICK = re.compile(r"\]\(|\\$|~~|(?:[\w+.-]:|www\.)\S*$")


def sanitize(markdown: str) -> str:
    """The Markdown, safe to put before and after any other Markdown."""
    sanitizer = _Sanitizer()
    for line in markdown.split("\n"):
        sanitizer.read(line)
    return sanitizer.end()


class _Sanitizer:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = ""
        self._marker = ""
        """The marker of the open fence; empty if none is open."""
        self._certain = True
        self._doubt = 0
        """The length of a fence that may be open, outside of any list or quote."""
        self._plain = True
        """Whether every parser takes the open fence for one."""
        self._paired = True
        """Whether every code span and link of this paragraph so far certainly ended on its line."""
        self._defines = False
        """Whether this paragraph may have the definition of a link."""

    def read(self, line: str) -> None:
        if self._marker and self._stays_in_fence(line):
            return
        if not line.strip(" \t"):
            self._paired, self._defines = True, False
        elif line[0] not in " \t>":
            self._end_doubt()
            self._certain = True
        fence = _FENCE.match(line)
        if fence and self._certain:
            self._indent, self._marker = fence.groups()
            # Some parsers take it for the address or the title of `[name]:`, which may begin on an earlier line.
            self._plain = not self._defines and bool(_PLAIN_INFO.fullmatch(line, fence.end()))
            self._paired = True
            # Some parsers read a line with a bar as the head of a table.
            self._lines.append(_TAG.sub("&lt;", line).replace("|", "&#124;"))
            return
        if fence:
            self._doubt = max(self._doubt, len(fence[2]))
        elif _MAYBE_FENCE.match(line):
            self._certain = False
        self._defines = self._defines or "]:" in line
        self._lines.append(self._text(line))

    def end(self) -> str:
        if self._marker:
            self._close()
        self._end_doubt()
        return "\n".join(self._lines)

    def _end_doubt(self) -> None:
        for mark in "`~" if self._doubt else "":
            self._lines += ["<!--", mark * self._doubt, "-->", ""]
        self._doubt = 0

    def _close(self) -> None:
        self._lines.append(self._indent + self._marker)
        self._marker = ""

    def _stays_in_fence(self, line: str) -> bool:
        """Adds a line of the open fence, including the closing one; False for a line after it."""
        body = line.strip(" \t")
        column = len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))
        ends = len(body) >= len(self._marker) and not body.strip(self._marker[0])
        inside = not body or column >= len(self._indent)
        if inside and ends and column > 3 and self._indent:
            inside = False
        if not inside:
            self._close()
            return False
        if not ends and body.startswith(self._marker):
            self._plain = False  # some parsers end the fence here
        self._lines.append(line if self._plain else _TAG.sub("&lt;", line))
        if body and ends and column <= 3:
            self._marker = ""
        return True

    def _text(self, line: str) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in self._spans(line):
            pieces += _without_tags(line, position, start), line[start:end]
            position = end
        pieces.append(_without_tags(line, position, len(line)))
        return "".join(pieces)

    def _spans(self, line: str) -> list[tuple[int, int]]:
        """The spans of the line that are certainly code."""
        spans: list[tuple[int, int]] = []
        position = start = 0
        trusted = self._certain and self._paired
        while match := _INLINE.search(line, position):
            position = match.end()
            run = match[1]
            if not run:
                continue
            if _TAKES_BACKTICK.search(_PLAIN_LINK.sub("", line[start : match.start()])):
                self._paired = trusted = False
            closer = re.compile(rf"(?<!`)`{{{len(run)}}}(?!`)").search(line, position)
            if closer is None:
                self._paired = trusted = False
                continue
            # Parsers split table cells before they look for code spans.
            if trusted and "|" not in line[position : closer.start()]:
                spans.append((match.start(), closer.end()))
            position = start = closer.end()
        if _OPEN_LINK.search(_PLAIN_LINK.sub("", line[start:])):
            self._paired = False
        return spans if trusted else []


def _without_tags(line: str, start: int, end: int) -> str:
    """A section of the line, with its tags escaped."""
    pieces: list[str] = []
    for tag in _TAG.finditer(line, start, end):
        # An HTML block cannot begin after a letter or a bar, which are never part of a list or quote marker.
        harmless = _BREAK.match(line, tag.start()) and _TEXT.search(line, 0, tag.start())
        pieces += line[start : tag.start()], "<" if harmless else "&lt;"
        start = tag.end()
    return "".join([*pieces, line[start:end]])


# ---- A view -> plain text.
#
# Every line of reasoning begins with `> `, so that reasoning cannot be mistaken for the answer.


QUOTE = "> "


def render_plain(value: Showable, show: Policy = "full") -> str:
    """The value as plain text, without a trailing line feed.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    """
    return "\n\n".join(filter(None, map(_plain_turn, view_of(value, show))))


def _plain_turn(turn: ShownTurn) -> str:
    blocks = list(_plain_blocks(turn))
    if turn.role is not None:
        blocks.insert(0, f"{turn.role}:")
        return "\n".join(blocks[:2]) + "".join(f"\n\n{block}" for block in blocks[2:])
    return "\n\n".join(blocks)


def _plain_blocks(turn: ShownTurn) -> Iterator[str]:
    lines: list[str] = []
    for item in turn.items:
        if not isinstance(item, (Thought, Answer)):
            lines.append(line_of(item))
            continue
        if lines:
            yield "\n".join(lines)
            lines = []
        yield _plain_thought(item) if isinstance(item, Thought) else visible(item.text).strip("\n")
    if lines:
        yield "\n".join(lines)


def _plain_thought(thought: Thought) -> str:
    if not thought.text:
        return thought.title
    lines = visible(thought.text).strip("\n").split("\n")
    return "\n".join([f"{thought.title}:", *(f"{QUOTE}{line}".rstrip() for line in lines)])


# ---- A view -> a self-contained HTML fragment: no scripts, no links, no style sheets.
#
# All text is escaped, white space is preserved by CSS, and each text has an isolated direction, so that
# right-to-left text cannot reorder its neighbors. The answer is text, not rendered Markdown.


_HTML_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate"
_HTML_FRAME = "font-family:system-ui,sans-serif;line-height:1.45;max-width:50em"
_HTML_THOUGHT = (
    f"{_HTML_TEXT};opacity:.75;border-left:3px solid currentColor;"
    "margin:.3em 0 .3em .4em;padding-left:.8em"
)
_HTML_QUIET = "opacity:.75;margin:.5em 0;unicode-bidi:isolate;overflow-wrap:anywhere"


def render_html(value: Showable, show: Policy = "full", *, unfolded: bool = False) -> str:
    """The value as one `div`.

    :param value: A response, a message, or a list of them.
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    :param unfolded: Whether the reasoning is shown without a click.
    """
    turns = "\n".join(_html_turn(turn, unfolded=unfolded) for turn in view_of(value, show))
    return f'<div class="innervoice" style="{_HTML_FRAME}">\n{turns}\n</div>'


def _html_turn(turn: ShownTurn, *, unfolded: bool) -> str:
    items = [_html_item(item, unfolded=unfolded) for item in turn.items]
    if turn.role is not None:
        items.insert(0, f'<div style="font-weight:600;margin-top:.8em">{escape(turn.role)}</div>')
    return "\n".join(items)


def _html_item(item: Item, *, unfolded: bool) -> str:
    match item:
        case Answer():
            return _html_text(item.text, f"{_HTML_TEXT};margin:.5em 0")
        case Thought(text=""):
            return f'<div style="{_HTML_QUIET}">{escape(item.title)}</div>'
        case Thought():
            summary = f'<summary style="cursor:pointer;opacity:.75">{escape(item.title)}</summary>'
            attribute = " open" if unfolded else ""
            return (
                f'<details style="margin:.5em 0"{attribute}>{summary}'
                f"{_html_text(item.text, _HTML_THOUGHT)}</details>"
            )
        case _:
            return f'<div style="{_HTML_QUIET}"><code>{escape(line_of(item))}</code></div>'


def _html_text(text: str, style: str) -> str:
    return f'<div dir="auto" style="{style}">{escape(visible(text)).strip(chr(10))}</div>'
