"""A view -> a self-contained HTML fragment: no scripts, no links, no style sheets.

All text is escaped, white space is preserved by CSS, and each text has an isolated direction, so that
right-to-left text cannot reorder its neighbors. The answer is text, not rendered Markdown.
"""

from __future__ import annotations

from html import escape

from innervoice.show.lines import line_of
from innervoice.show.policy import Answer, Item, Policy, Showable, ShownTurn, Thought, view_of
from innervoice.show.visible import visible

__all__ = ["render_html"]

_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate"
_FRAME = "font-family:system-ui,sans-serif;line-height:1.45;max-width:50em"
_THOUGHT = (
    f"{_TEXT};opacity:.75;border-left:3px solid currentColor;"
    "margin:.3em 0 .3em .4em;padding-left:.8em"
)
_QUIET = "opacity:.75;margin:.5em 0;unicode-bidi:isolate;overflow-wrap:anywhere"


def render_html(value: Showable, show: Policy = "full", *, unfolded: bool = False) -> str:
    """The value as one `div`; `unfolded=True` shows the reasoning without a click."""
    turns = "\n".join(_turn(turn, unfolded=unfolded) for turn in view_of(value, show))
    return f'<div class="innervoice" style="{_FRAME}">\n{turns}\n</div>'


def _turn(turn: ShownTurn, *, unfolded: bool) -> str:
    items = [_item(item, unfolded=unfolded) for item in turn.items]
    if turn.role is not None:
        items.insert(0, f'<div style="font-weight:600;margin-top:.8em">{escape(turn.role)}</div>')
    return "\n".join(items)


def _item(item: Item, *, unfolded: bool) -> str:
    match item:
        case Answer():
            return _text(item.text, f"{_TEXT};margin:.5em 0")
        case Thought(text=""):
            return f'<div style="{_QUIET}">{escape(item.title)}</div>'
        case Thought():
            summary = f'<summary style="cursor:pointer;opacity:.75">{escape(item.title)}</summary>'
            attribute = " open" if unfolded else ""
            return (
                f'<details style="margin:.5em 0"{attribute}>{summary}'
                f"{_text(item.text, _THOUGHT)}</details>"
            )
        case _:
            return f'<div style="{_QUIET}"><code>{escape(line_of(item))}</code></div>'


def _text(text: str, style: str) -> str:
    return f'<div dir="auto" style="{style}">{escape(visible(text)).strip(chr(10))}</div>'
