"""Renders responses, messages, histories and live streams for people.

Everywhere, `show` says how much of the reasoning is shown: see `policy`. A model's output is always
escaped: it cannot close an element, a quote or a spoiler, and cannot control a terminal.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, overload

from innervoice.errors import UsageError
from innervoice.show.discord import render_discord
from innervoice.show.export import export, export_json
from innervoice.show.forms import render_html, render_markdown, render_plain
from innervoice.show.live import Live
from innervoice.show.policy import Policy, Showable, view_of

__all__ = [
    "Form",
    "Live",
    "Policy",
    "Showable",
    "export",
    "export_json",
    "render",
    "render_discord",
    "render_html",
    "render_markdown",
    "render_plain",
    "view_of",
]

Form: TypeAlias = Literal["plain", "markdown", "html", "discord"]

_RENDERERS: dict[str, Any] = {
    "plain": render_plain,
    "markdown": render_markdown,
    "html": render_html,
    "discord": render_discord,
}


@overload
def render(
    value: Showable, form: Literal["discord"], show: Policy = "full", **options: Any
) -> list[str]: ...


@overload
def render(
    value: Showable,
    form: Literal["plain", "markdown", "html"] = "plain",
    show: Policy = "full",
    **options: Any,
) -> str: ...


def render(
    value: Showable, form: Form = "plain", show: Policy = "full", **options: Any
) -> str | list[str]:
    """Renders a value in one of four forms; `discord` returns a list of messages.

    :param value: A response, a message, or a list of them.
    :param form: "plain", "markdown", "html" or "discord".
    :param show: How much of the reasoning: "full", "summary", "length" or "none".
    :param options: Further arguments of the function for that form.
    """
    if form not in _RENDERERS:
        raise UsageError(f"form must be one of {', '.join(_RENDERERS)}, not {form!r}")
    rendered: str | list[str] = _RENDERERS[form](value, show, **options)
    return rendered
