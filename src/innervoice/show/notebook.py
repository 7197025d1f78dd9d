"""Values that are no answers -> self-contained HTML for notebooks: conversations, plans, problems, requests, token counts, costs.

Like the HTML of answers (`forms.py`): no scripts, no links, no style sheets; all text is escaped, and each has an isolated direction.
Names and reasons are shown as on any screen, without what looks like a key or a seal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from innervoice.canon.messages import system
from innervoice.canon.request import Request
from innervoice.canon.usage import Cost, Usage
from innervoice.planning.lint import Problem
from innervoice.planning.plan import Plan
from innervoice.privacy.redactor import Redactor
from innervoice.show.forms import render_html
from innervoice.show.visible import visible

if TYPE_CHECKING:
    from innervoice.client.conversation import ConversationBase

__all__ = [
    "conversation_html",
    "cost_html",
    "plan_html",
    "problems_html",
    "request_html",
    "usage_html",
]

_SCREEN = Redactor("screen")
_FRAME = "font-family:system-ui,sans-serif;line-height:1.45;max-width:60em"
_CELL = "text-align:left;vertical-align:top;padding:.15em 1em .15em 0;unicode-bidi:isolate;white-space:pre-wrap"
_QUIET = "opacity:.75"
_SETTINGS = (
    "reasoning", "max_tokens", "temperature", "top_p", "stop", "tool_choice", "parallel_tool_calls", "response_format", "stream", "store",
    "dialect", "mode", "foreign", "scope",
)  # fmt: skip
"""The fields of a request that are shown if they are not as usual, by their `repr`."""


def conversation_html(chat: ConversationBase) -> str:
    """The model, the tokens so far, and every turn."""
    tokens = _counts(chat.usage)
    facts = [chat.model, _plural(len(chat.history), "message"), *([tokens] if tokens else [])]
    turns = [*([system(chat.system)] if chat.system else []), *chat.history]
    return _frame(_line(" · ".join(facts)), render_html(turns) if turns else "")


def request_html(request: Request) -> str:
    """The target, the settings that are not as usual, the names of tools, and every message."""
    usual = Request(request.model, ())
    rows = [
        (name, repr(getattr(request, name)))
        for name in _SETTINGS
        if getattr(request, name) != getattr(usual, name)
    ]
    if request.tools:
        rows.append(("tools", ", ".join(tool.name or "a provider's own" for tool in request.tools)))
    if request.base_url:
        rows.append(("base_url", _SCREEN.address(request.base_url)))
    if request.extra:
        rows.append(("extra", _plural(len(request.extra), "member")))
    turns = [*([system(request.system)] if request.system else []), *request.messages]
    body = render_html(turns) if turns else ""
    return _frame(_line(f"to {request.model}"), _table((), rows), body)


def plan_html(plan: Plan) -> str:
    """What happens to each part, by which rule, and why."""
    rows = [
        (_place(item.message, item.part), item.kind, item.action, item.rule, item.why)
        for item in plan.decisions
    ]
    head = ("place", "part", "action", "rule", "why")
    body = _table(head, rows) if rows else _line("Everything is sent as it is.", _QUIET)
    cache = _line(f"Prompt cache: {plan.cache}", _QUIET) if plan.cache else ""
    return _frame(_line(f"to {plan.target}"), body, cache)


def problems_html(problems: Sequence[Problem]) -> str:
    """Each problem with its place, what is wrong, and what to do."""
    rows = [
        (_place(item.message, item.part), item.severity, item.why, item.fix, item.code)
        for item in problems
    ]
    if not rows:
        return _frame(_line("No problems.", _QUIET))
    return _frame(_table(("place", "severity", "what is wrong", "how to fix it", "code"), rows))


def usage_html(usage: Usage) -> str:
    """The counts, each beside its bar; what was not reported has none."""
    return _bars(
        ("input", usage.input_tokens, _number(usage.input_tokens)),
        ("from the cache", usage.cached_input_tokens, _number(usage.cached_input_tokens)),
        ("output", usage.output_tokens, _number(usage.output_tokens)),
        ("reasoning in it", usage.reasoning_tokens, _number(usage.reasoning_tokens)),
    )


def cost_html(cost: Cost) -> str:
    """Dollars, each beside its bar, and the model whose prices they are."""
    rows = [("input", cost.input), ("output", cost.output), ("reasoning in it", cost.reasoning)]
    bars = _bars(
        *(
            (name, None if value is None else float(value), _dollars(value))
            for name, value in [*rows, ("total", cost.total)]
        )
    )
    return _frame(bars, _line(f"At the list prices of {cost.model}.", _QUIET))


def _bars(*rows: tuple[str, float | None, str]) -> str:
    """Names, numbers and bars in columns: the legend is beside the bars."""
    longest = max((size for _, size, _ in rows if size), default=0)
    lines = []
    for name, size, words in rows:
        share = 100 * size / longest if size and longest else 0
        bar = f'<div style="width:{share:.1f}%;height:.8em;background:currentColor;opacity:.45"></div>'
        number = f'<td style="{_CELL};text-align:right">{_text(words)}</td>'
        lines.append(
            f'<tr><th style="{_CELL};font-weight:normal">{_text(name)}</th>{number}'
            f'<td style="width:16em;vertical-align:middle;padding:0">{bar}</td></tr>'
        )
    return _frame(f'<table style="border-collapse:collapse">{"".join(lines)}</table>')


def _table(head: Iterable[str], rows: Sequence[Iterable[str]]) -> str:
    if not rows:
        return ""
    titles = "".join(f'<th style="{_CELL}">{_text(name)}</th>' for name in head)
    lines = [f"<tr>{titles}</tr>"] if titles else []
    for row in rows:
        cells = "".join(f'<td dir="auto" style="{_CELL}">{_text(cell)}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f'<table style="border-collapse:collapse">{"".join(lines)}</table>'


def _frame(*pieces: str) -> str:
    body = "\n".join(filter(None, pieces))
    return f'<div class="innervoice" style="{_FRAME}">\n{body}\n</div>'


def _line(text: str, style: str = "font-weight:600") -> str:
    return f'<div dir="auto" style="{style};unicode-bidi:isolate">{_text(text)}</div>'


def _text(text: str) -> str:
    return escape(visible(_SCREEN.name(text)))


def _place(message: int, part: int | None) -> str:
    return f"{message}" if part is None else f"{message}.{part}"


def _counts(usage: Usage) -> str:
    named = (("in", usage.input_tokens), ("out", usage.output_tokens))
    return ", ".join(f"{count:,} tokens {word}" for word, count in named if count is not None)


def _number(count: int | None) -> str:
    return "not reported" if count is None else f"{count:,}"


def _dollars(value: object) -> str:
    return "not reported" if value is None else f"${value:.6f}"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
