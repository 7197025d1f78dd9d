"""The page with its rows inside: one HTML file that loads nothing and makes no requests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from innervoice.canon.jsontext import dump_json
from innervoice.errors import UsageError
from innervoice.view.assets import PAGE, asset
from innervoice.view.bundling import bundled
from innervoice.view.row_types import About, Rows

__all__ = ["page_with"]

_CHARSET = '<meta charset="utf-8">'
_STYLE = '<link rel="stylesheet" href="assets/style.css">'
_SCRIPT = '<script type="module" src="assets/main.js"></script>'
_END = "</body>"


def page_with(about: About, conversations: Mapping[str, Rows]) -> str:
    """The file; the first conversation is the one that is shown."""
    style = _text("style.css")
    script = bundled("main", _text)
    for name, text in (("style", style), ("script", script)):
        if f"</{name}" in text.lower() or "<!--" in text:
            raise UsageError(f"the {name} of the page would end its own element")
    data = {"about": about, "first": next(iter(conversations)), "conversations": conversations}
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    page = _text(PAGE)
    for old, new in (
        (_CHARSET, f'{_CHARSET}\n<meta http-equiv="content-security-policy" content="{policy}">'),
        (_STYLE, f"<style>{style}</style>"),
        (_SCRIPT, f'<script type="module">{script}</script>'),
        (_END, f'<script type="application/json" id="data">{_embedded(data)}</script>\n{_END}'),
    ):
        if page.count(old) != 1:
            raise UsageError(f"expected {old} once in {PAGE}")
        page = page.replace(old, new)
    return page


def _embedded(data: object) -> str:
    """JSON that cannot end its element or begin another."""
    return dump_json(data).decode().replace("<", "\\u003c")


def _text(name: str) -> str:
    # A browser reads every line break as a line feed, before it computes the hash.
    return asset(name).decode().replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
