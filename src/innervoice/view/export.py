"""Conversations -> a file to share: the page itself, Markdown or our JSON.

The policy and the redaction of secrets are applied here, before anything is exported; seals never are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from innervoice.canon.storage import to_json
from innervoice.errors import UsageError
from innervoice.show import render_markdown
from innervoice.show.markdown import literal
from innervoice.show.policy import Policy, check_policy
from innervoice.show.secrets import redacted
from innervoice.view.export_html import page_with
from innervoice.view.export_rows import head_for_file, rows_for_file
from innervoice.view.export_values import messages_for_file, turn_for_file
from innervoice.view.row_types import About, Row, Rows
from innervoice.view.rows import whole_text
from innervoice.view.shelf import Shelf

__all__ = [
    "ExportedFile",
    "Form",
    "export_file",
    "export_html",
    "export_json",
    "export_markdown",
    "export_of",
    "form_of",
]

Form: TypeAlias = Literal["html", "markdown", "json"]

_ENDINGS: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
_TYPES: dict[Form, str] = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
}
_ODD = re.compile(r"[^A-Za-z0-9]+")


class ExportedFile(NamedTuple):
    """A file, and its name."""

    name: str
    media_type: str
    data: bytes
    said: tuple[str, ...] = ()
    """What is left out, in sentences."""


def form_of(file: str) -> Form:
    """The form for the suffix of a file."""
    for ending, form in _ENDINGS.items():
        if file.lower().endswith(ending):
            return form
    raise UsageError(f"expected a file that ends with {', '.join(_ENDINGS)}, not {file!r}")


def export_of(shelf: Shelf, id: str, form: Form, show: Policy) -> ExportedFile:  # noqa: A002 - the plain word
    """All conversations of a source as a file, as far as the form supports them."""
    ids, said = _of_source(shelf, id)
    match form:
        case "html":
            data = export_html(shelf, ids, show)
        case "markdown":
            data = export_markdown(shelf, ids, show)
        case "json":
            data = export_json(shelf, ids[0], show)
            said = (
                "Seals are left out: from_json can read the file, but no provider accepts its reasoning as its own.",
            )
            if len(ids) > 1:
                said += (f"Only the first of {len(ids):,} conversations is in it.",)
    return ExportedFile("", _TYPES[form], data, said)


def export_file(shelf: Shelf, id: str, form: str, show: str) -> ExportedFile:  # noqa: A002
    """A conversation as a file with a name; the HTML file also has its subagents."""
    policy = _policy(show)
    title = shelf.head(id)["title"]
    match form:
        case "html":
            data = export_html(shelf, with_subagents(shelf, id), policy)
        case "markdown":
            data = export_markdown(shelf, [id], policy)
        case "json":
            data = export_json(shelf, id, policy)
        case _:
            raise UsageError(f"form must be one of {', '.join(get_args(Form))}, not {form!r}")
    ending = next(ending for ending, made in _ENDINGS.items() if made == form)
    name = _ODD.sub("-", redacted(title)).strip("-").lower()[:60].strip("-") or "conversation"
    return ExportedFile(name + ending, _TYPES[form], data)


def export_html(shelf: Shelf, ids: Sequence[str], show: Policy) -> bytes:
    """The page with these conversations; the first one is shown."""
    conversations: dict[str, Rows] = {}
    for id_ in ids:
        head = shelf.head(id_)
        head["lanes"] = [lane for lane in head["lanes"] if lane["id"] in ids]
        head.pop("lanes_total", None)
        rows = rows_for_file(_whole_rows(shelf, id_), show)
        conversations[head["id"]] = Rows(
            head=head_for_file(head, show), rows=rows, total=len(rows), next=None
        )
    about = About(
        version=version("innervoice"),
        policy=show,
        targets=[],
        target=None,
        is_live=False,
        is_export=True,
    )
    return page_with(about, conversations).encode()


def export_markdown(shelf: Shelf, ids: Sequence[str], show: Policy) -> bytes:
    """The conversations as Markdown, one after the other."""
    blocks = []
    for id_ in ids:
        head = head_for_file(shelf.head(id_), show)
        facts = [fact["label"] for fact in (*head["source"]["facts"], *head["facts"])]
        blocks.append(f"# {literal(head['title'])}")
        blocks.append("\n".join(f"- {literal(fact)}" for fact in facts))
        turns = [turn_for_file(turn) for turn in shelf.conversation(id_).turns]
        blocks.append(render_markdown(turns, show))
    return ("\n\n".join(filter(None, blocks)) + "\n").encode("utf-8", "replace")


def export_json(shelf: Shelf, id: str, show: Policy) -> bytes:  # noqa: A002
    """The messages, to be read back by `from_json`; without seals, so none of them can be sent back as sealed."""
    return to_json(messages_for_file(shelf.conversation(id).messages, show))


def with_subagents(shelf: Shelf, id: str) -> list[str]:  # noqa: A002
    """A conversation and those that it started."""
    head = shelf.head(id)
    ids = [head["id"]]
    for lane in head["lanes"]:
        if lane["parent"] in ids and lane["id"] not in ids:
            ids.append(lane["id"])
    return ids


def _of_source(shelf: Shelf, id: str) -> tuple[list[str], tuple[str, ...]]:  # noqa: A002
    head = shelf.head(id)
    ids = [lane["id"] for lane in head["lanes"]]
    total = head.get("lanes_total", len(ids))
    if total == len(ids):
        return ids, ()
    return ids, (f"The first {len(ids):,} of {total:,} conversations are in it.",)


def _policy(show: str) -> Policy:
    check_policy(show)
    return cast("Policy", show)


def _whole_rows(shelf: Shelf, id: str) -> list[Row]:  # noqa: A002
    """The rows with all of their text: a file cannot load the rest."""
    conversation = shelf.conversation(id)
    rows = []
    for row in shelf.rows(id):
        made = row.copy()
        if "cut" in made:
            made["text"] = whole_text(conversation, row["n"])
            del made["cut"]
        rows.append(made)
    return rows
