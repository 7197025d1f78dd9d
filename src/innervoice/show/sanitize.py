"""A model's Markdown -> the same Markdown without active HTML and without open code fences.

HTML in an answer could hide the text after it (a comment, a `<script>`, a `<details>` that is never
closed), so outside of code `<` becomes `&lt;` wherever a tag could begin. `<br>` within a line, as models
write it in tables, is kept. Text that might not be code is treated as ordinary text: a listing may then
show `&lt;`, but no tag gets through.

In CommonMark a fence in one of the first four columns is always a fence, and so is the closing fence of
one that begins in the first column. If the end of a fence depends on the list around it, a closing fence
is written. A fence further right, or after a list or quote marker, may not be one; after it nothing is
certain until the next line that begins in the first column. If another fence may have begun in between,
a comment is inserted that closes the fence if it is open and is an ordinary comment if it is not.

A backtick opens a code span only if nothing before it takes it: the address or title of a link does, and for
most parsers so does an address that is not marked as a link (`https://...`). After a link that does not end
plainly, a `~~`, and directly after such an address or a backslash, no span of the paragraph is certain.
"""

from __future__ import annotations

import re

__all__ = ["sanitize"]

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
