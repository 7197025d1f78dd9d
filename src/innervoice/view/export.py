"""Conversations -> a file to share: the page itself, Markdown or our JSON.

The policy and the redaction of secrets are applied here, before anything is exported; seals never are.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.errors import UsageError
from innervoice.privacy.redactor import Redactor, identifier, plain_word
from innervoice.show import render_markdown
from innervoice.show.forms import literal
from innervoice.show.policy import Policy, check_policy, thought_about
from innervoice.sources.conversation import Turn
from innervoice.view.call_forms import call_blocks
from innervoice.view.library import Library
from innervoice.view.markdown import blocks_of
from innervoice.view.row_types import About, Fact, Head, Row, Rows
from innervoice.view.rows import whole_text

__all__ = [
    "PAGE",
    "RUNS_PAGE",
    "USAGE_PAGE",
    "ExportedFile",
    "Form",
    "asset",
    "bundled",
    "export_file",
    "export_html",
    "export_json",
    "export_markdown",
    "export_of",
    "form_of",
    "head_for_file",
    "media_type",
    "message_for_file",
    "messages_for_file",
    "names",
    "page_with",
    "parts_for_file",
    "rows_for_file",
    "standalone",
    "turn_for_file",
    "without_secrets",
]

Form: TypeAlias = Literal["html", "markdown", "json"]

_ENDINGS: dict[str, Form] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
_TYPES: dict[Form, str] = {
    "html": "text/html; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
}
_SHARED = Redactor("share")
_ODD = re.compile(r"[^A-Za-z0-9]+")


class ExportedFile(NamedTuple):
    """A file, and its name."""

    name: str
    media_type: str
    data: bytes
    omissions: tuple[str, ...] = ()
    """What is left out, in sentences."""


def form_of(file: str) -> Form:
    """The form for the suffix of a file."""
    for ending, form in _ENDINGS.items():
        if file.lower().endswith(ending):
            return form
    raise UsageError(f"expected a file that ends with {', '.join(_ENDINGS)}, not {file!r}")


def export_of(library: Library, id: str, form: Form, show: Policy) -> ExportedFile:  # noqa: A002 - the plain word
    """All conversations of a source as a file, as far as the form supports them."""
    ids, sentences = _of_source(library, id)
    match form:
        case "html":
            data = export_html(library, ids, show)
        case "markdown":
            data = export_markdown(library, ids, show)
        case "json":
            data = export_json(library, ids[0], show)
            sentences = (
                "Seals are left out: from_json can read the file, but no provider accepts its reasoning as its own.",
            )
            if len(ids) > 1:
                sentences += (f"Only the first of {len(ids):,} conversations is in it.",)
    return ExportedFile("", _TYPES[form], data, sentences)


def export_file(library: Library, id: str, form: str, show: str) -> ExportedFile:  # noqa: A002
    """A conversation as a file with a name; the HTML file also has its subagents."""
    policy = _policy(show)
    title = library.head(id)["title"]
    match form:
        case "html":
            data = export_html(library, with_subagents(library, id), policy)
        case "markdown":
            data = export_markdown(library, [id], policy)
        case "json":
            data = export_json(library, id, policy)
        case _:
            raise UsageError(f"form must be one of {', '.join(get_args(Form))}, not {form!r}")
    ending = next(ending for ending, other_form in _ENDINGS.items() if other_form == form)
    name = (
        _ODD.sub("-", _SHARED.name(_SHARED.line(title))).strip("-").lower()[:60].strip("-")
        or "conversation"
    )
    return ExportedFile(name + ending, _TYPES[form], data)


def export_html(library: Library, ids: Sequence[str], show: Policy) -> bytes:
    """The page with these conversations; the first one is shown."""
    conversations: dict[str, Rows] = {}
    for id_ in ids:
        head = library.head(id_)
        head["lanes"] = [thread for thread in head["lanes"] if thread["id"] in ids]
        head.pop("lanes_total", None)
        rows = rows_for_file(_whole_rows(library, id_), show)
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


def export_markdown(library: Library, ids: Sequence[str], show: Policy) -> bytes:
    """The conversations as Markdown, one after the other."""
    blocks = []
    for id_ in ids:
        head = head_for_file(library.head(id_), show)
        facts = [fact["label"] for fact in (*head["source"]["facts"], *head["facts"])]
        blocks.append(f"# {literal(head['title'])}")
        blocks.append("\n".join(f"- {literal(fact)}" for fact in facts))
        turns = [turn_for_file(turn) for turn in library.conversation(id_).turns]
        blocks.append(render_markdown(turns, show))
    return ("\n\n".join(filter(None, blocks)) + "\n").encode("utf-8", "replace")


def export_json(library: Library, id: str, show: Policy) -> bytes:  # noqa: A002
    """The messages, to be read back by `from_json`; without seals, so none of them can be sent back as sealed."""
    return to_json(messages_for_file(library.conversation(id).messages, show))


def with_subagents(library: Library, id: str) -> list[str]:  # noqa: A002
    """A conversation and those that it started."""
    head = library.head(id)
    ids = [head["id"]]
    for thread in head["lanes"]:
        if thread["parent"] in ids and thread["id"] not in ids:
            ids.append(thread["id"])
    return ids


def _of_source(library: Library, id: str) -> tuple[list[str], tuple[str, ...]]:  # noqa: A002
    head = library.head(id)
    ids = [thread["id"] for thread in head["lanes"]]
    total = head.get("lanes_total", len(ids))
    if total == len(ids):
        return ids, ()
    return ids, (f"The first {len(ids):,} of {total:,} conversations are in it.",)


def _policy(show: str) -> Policy:
    check_policy(show)
    return cast("Policy", show)


def _whole_rows(library: Library, id: str) -> list[Row]:  # noqa: A002
    """The rows with all of their text: a file cannot load the rest."""
    conversation = library.conversation(id)
    rows = []
    for row in library.rows(id):
        whole = row.copy()
        if "cut" in whole:
            whole["text"] = whole_text(conversation, row["n"])
            del whole["cut"]
        rows.append(whole)
    return rows


# ---- The page with its rows inside: one HTML file that loads nothing and makes no requests.


_CHARSET = '<meta charset="utf-8">'
_STYLE = re.compile(r'<link rel="stylesheet" href="assets/([a-z]+\.css)">\n?')
_SCRIPT = re.compile(r'<script type="module" src="assets/([a-z]+)\.js"></script>')
_END = "</body>"


def page_with(about: About, conversations: Mapping[str, Rows]) -> str:
    """The file; the first conversation is the one that is shown."""
    data = {"about": about, "first": next(iter(conversations)), "conversations": conversations}
    return standalone(PAGE, data)


def standalone(name: str, data: object) -> str:
    """A page with its styles, its modules and its data inside."""
    page = _text(name)
    entry, styles = _SCRIPT.findall(page), _STYLE.findall(page)
    if len(entry) != 1 or page.count(_CHARSET) != 1 or page.count(_END) != 1:
        raise UsageError(f"expected one script, {_CHARSET} and {_END} in {name}")
    style = "\n".join(_text(file) for file in styles)
    script = bundled(entry[0], _text)
    for kind, text in (("style", style), ("script", script)):
        if f"</{kind}" in text.lower() or "<!--" in text:
            raise UsageError(f"the {kind} of the page would end its own element")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    page = _STYLE.sub("", page)
    page = _SCRIPT.sub(lambda _: f'<style>{style}</style>\n<script type="module">{script}</script>', page)  # fmt: skip
    meta = f'{_CHARSET}\n<meta http-equiv="content-security-policy" content="{policy}">'
    inside = f'<script type="application/json" id="data">{_embedded(data)}</script>\n{_END}'
    return page.replace(_CHARSET, meta).replace(_END, inside)


def _embedded(data: object) -> str:
    """JSON that cannot end its element or begin another."""
    return dump_json(data).decode().replace("<", "\\u003c")


def _text(name: str) -> str:
    # A browser reads every line break as a line feed, before it computes the hash.
    return asset(name).decode().replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# ---- Rows for an exported file: only what the policy shows, and no secret. Nothing else may be exported.


Json = TypeVar("Json")

_ABOUT_REASONING = re.compile("reason|think|thought|seal", re.IGNORECASE)
_LEFT_AS_IT_IS = ("image", "blocks")
"""Members whose text is data, where a match of a key pattern would only be an accident."""


def rows_for_file(rows: list[Row], show: Policy) -> list[Row]:
    """The rows, renumbered if some are left out."""
    visible_rows = [exported for row in rows if (exported := _row_for(row, show)) is not None]
    numbers = {row["n"]: number for number, row in enumerate(visible_rows)}
    for row in visible_rows:
        row["n"] = numbers[row["n"]]
        if "call" in row:
            if row["call"] in numbers:
                row["call"] = numbers[row["call"]]
            else:
                del row["call"]
    return [_with_blocks(without_secrets(row)) for row in visible_rows]


def _with_blocks(row: Row) -> Row:
    """The row with the blocks of the text that is in the file: those that it came with have everything."""
    if "blocks" in row:
        call = ToolCall("", row["title"], row["text"])
        blocks = call_blocks(call) if row["kind"] == "call" else blocks_of(row["text"])
        del row["blocks"]
        if blocks:
            row["blocks"] = blocks
    return row


def head_for_file(head: Head, show: Policy) -> Head:
    """The head above the rows."""
    exported = Head(**head)
    exported["facts"] = _facts(head["facts"], show)
    return without_secrets(exported)


def _row_for(row: Row, show: Policy) -> Row | None:
    exported = row.copy()
    if show == "none":
        is_opaque = row["kind"] == "opaque" and _ABOUT_REASONING.search(row["title"])
        if row["kind"] == "thinking" or is_opaque:
            return None
        if row["kind"] == "remark" and _ABOUT_REASONING.search(row["text"]):
            exported["text"] = exported["title"] = "no answer"
            exported.pop("first", None)
        exported["facts"] = _facts(row["facts"], show)
        exported["notes"], exported["seals"] = [], []
        exported.pop("empty", None)
        return exported
    if row["kind"] == "thinking" and show != "full":
        exported.pop("blocks", None)
        exported["text"] = row.get("opening", "") if show == "summary" else ""
        exported["first"] = exported["text"].partition("\n")[0]
        exported.pop("opening", None)
        exported.pop("cut", None)
    return exported


def _facts(facts: list[Fact], show: Policy) -> list[Fact]:
    if show != "none":
        return facts
    return [
        fact
        for fact in facts
        if not _ABOUT_REASONING.search(f"{fact['label']} {fact.get('why', '')}")
    ]


def without_secrets(value: Json) -> Json:
    """A value without what looks like a key or a token."""
    cleaned: Any = value
    match value:
        case str():
            cleaned = _SHARED.line(value)
        case list():
            cleaned = [without_secrets(item) for item in value]
        case dict():
            cleaned = {
                name: item
                if name in _LEFT_AS_IT_IS
                else _SHARED.text(item)
                if name == "text" and isinstance(item, str)
                else without_secrets(item)
                for name, item in value.items()
            }
    return cleaned  # type: ignore[no-any-return]


# ---- Messages for an exported file: without seals and secrets, and only what the policy shows of the reasoning.
#
# The output can be read back by `from_json`. It cannot be sent back as sealed reasoning: a seal belongs to the owner of the account, not in a
# file that is shared.


_LEFT_OUT = "left out: it may contain data that only its provider can read"


def messages_for_file(messages: Iterable[Message], show: Policy) -> list[Message]:
    """The messages; one of which nothing is shown is left out."""
    exported = [message_for_file(message, show) for message in messages]
    return _with_numbered_calls([message for message in exported if message.parts])


def _with_numbered_calls(messages: list[Message]) -> list[Message]:
    """The messages with calls and results that are matched by numbers: nobody needs the ids of another's account."""
    numbers: dict[str, str] = {}

    def numbered(part: Part) -> Part:
        match part:
            case ToolCall(id=id_):
                return part.replace(id=numbers.setdefault(id_, f"call_{len(numbers) + 1}"))
            case ToolResult(call_id=id_):
                return part.replace(call_id=numbers.setdefault(id_, f"call_{len(numbers) + 1}"))
            case _:
                return part

    return [message.replace(parts=tuple(map(numbered, message.parts))) for message in messages]


def message_for_file(message: Message, show: Policy) -> Message:
    """A message."""
    return message.replace(
        parts=tuple(parts_for_file(message.parts, show)), origin=_origin(message.origin)
    )


def turn_for_file(turn: Turn) -> Response | Message:
    """A turn with all of its reasoning, for a renderer that applies the policy; an answer if its status and tokens are known."""
    parts = tuple(parts_for_file(turn.message.parts, "full"))
    if turn.answer is None or turn.message.role != "assistant":
        return turn.message.replace(parts=parts, origin=None)
    error = turn.answer.error
    if error is not None and error.message:
        error = error.replace(message=_SHARED.name(error.message))
    return turn.answer.replace(parts=parts, error=error, alternatives=(), origin=None)


def parts_for_file(parts: Iterable[Part], show: Policy) -> Iterator[Part]:
    """Parts; reasoning that is not shown stays as a part without a text, and with `none` not at all."""
    for part in parts:
        is_reasoning = bool(thought_about([part], "length")) or isinstance(part, Thinking)
        if is_reasoning and show == "none":
            continue
        yield _part(part, show)


def _part(part: Any, show: Policy) -> Part:
    match part:
        case Thinking():
            thoughts = thought_about([part], show)
            text = part.text if show == "full" else "".join(thought.text for thought in thoughts)
            form = part.form if text or not part.text else "hidden"
            exported: Part = part.replace(
                text=_SHARED.text(text), form=form, origin=_origin(part.origin)
            )
        case Text():
            exported = part.replace(text=_SHARED.text(part.text), origin=_origin(part.origin))
        case ToolCall():
            exported = part.replace(
                id=identifier(part.id),
                name=_SHARED.name(part.name),
                arguments=_SHARED.text(part.arguments),
                origin=_origin(part.origin),
            )
        case ToolResult(content=str(content)):
            exported = part.replace(
                call_id=identifier(part.call_id),
                content=_SHARED.text(content),
                origin=_origin(part.origin),
            )
        case ToolResult(content=content):
            inner = tuple(_part(item, show) for item in content)
            exported = part.replace(
                call_id=identifier(part.call_id), content=inner, origin=_origin(part.origin)
            )
        case Media():
            # A URL that holds its data is a file, like `data`.
            is_file = part.url is None or part.url.startswith("data:")
            exported = part.replace(
                mime=_name(part.mime),
                url=part.url if is_file else _SHARED.address(part.url or ""),
                name=_name(part.name),
                origin=_origin(part.origin),
            )
        case Opaque():
            kind = plain_word(part.value.get("type")) if isinstance(part.value, dict) else None
            members = {"type": kind} if kind else {}
            exported = Opaque({**members, "innervoice": _LEFT_OUT}, complete=part.complete)
    return exported


def _origin(origin: Origin | None) -> Origin | None:
    """The origin, in names alone; markup has characters of the text and positions, which change where something was removed."""
    if origin is None:
        return None
    return Origin(
        provider=_name(origin.provider), model=_name(origin.model), dialect=_name(origin.dialect)
    )


def _name(text: str | None) -> str | None:
    return None if text is None else _SHARED.name(text)


# ---- The modules of the page -> one script, for a file that loads nothing.
#
# The modules are written in a simple form, one statement per line: `import { a, b as c } from "./name.js";`, `import * as name from "./name.js";`,
# `import "./name.js";`, and `export` before a function, a class or a const. Each becomes a function that returns its exports, in the order in which
# a browser would run them. Anything else is an error, not a guess.


_IMPORT = re.compile(
    r"""import\s+(?:(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>[\w$]+))\s+from\s+)?["']\./(?P<module>[\w-]+)\.js["'];?"""
)
_EXPORT = re.compile(r"export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(?P<name>[\w$]+))")
_STATEMENT = re.compile(r"(?:import|export)\b(?!\s*[.(])")
_RENAMED = re.compile(r"([\w$]+)\s+as\s+([\w$]+)")


def bundled(entry: str, read: Callable[[str], str]) -> str:
    """One script that does what the module `entry` does; `read` returns the text of a module by its name."""
    modules: dict[str, str] = {}
    _add(entry, read, modules, ())
    return "".join(modules.values())


def _add(
    name: str, read: Callable[[str], str], bundled: dict[str, str], within: tuple[str, ...]
) -> None:
    if name in within:
        raise UsageError(f"modules import each other: {' -> '.join([*within, name])}")
    if name in bundled:
        return
    lines = []
    exported: list[str] = []
    for number, line in enumerate(read(f"{name}.js").splitlines(), 1):
        if match := _IMPORT.fullmatch(line.rstrip()):
            _add(match["module"], read, bundled, (*within, name))
            lines.append(_bound(match))
        elif match := _EXPORT.match(line):
            exported.append(match["name"])
            lines.append(line[match.end() :])
        elif _STATEMENT.match(line):
            raise UsageError(
                f"{name}.js, line {number}: expected a simple import or export, not {line!r}"
            )
        else:
            lines.append(line)
    body = "\n".join(lines)
    bundled[name] = (
        f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"
    )


def _bound(statement: re.Match[str]) -> str:
    """The names that an import binds, taken from what the other module returned."""
    if statement["all"]:
        return f"const {statement['all']} = {_variable(statement['module'])};"
    if statement["names"] is None:
        return ""
    names = _RENAMED.sub(r"\1: \2", statement["names"].strip().rstrip(","))
    return f"const {{ {names} }} = {_variable(statement['module'])};"


def _variable(module: str) -> str:
    return f"module_{module.replace('-', '_')}"


# ---- The files of the page, by a fixed list of names.


PAGE = "index.html"
USAGE_PAGE = "usage.html"
RUNS_PAGE = "runs.html"
_FOLDER = Path(__file__).parent / "assets"
_OTHER_FOLDERS = [Path(__file__).parent / name for name in ("usage_assets", "runs_assets")]
"""What only the pages about usage and about two runs have."""
_ASSET_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def names() -> frozenset[str]:
    """The names of all files of the page that is exported."""
    return frozenset(_files(_FOLDER))


def asset(name: str) -> bytes:
    """The content of a file whose name is in the list, or of one of the other pages; raises `KeyError` for any other."""
    others = {file: path for folder in _OTHER_FOLDERS for file, path in _files(folder).items()}
    return (others | _files(_FOLDER))[name].read_bytes()


def _files(folder: Path) -> dict[str, Path]:
    files = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path for path in files if path.suffix in _ASSET_TYPES}


def media_type(name: str) -> str:
    """The type of a file, by its name."""
    return _ASSET_TYPES[Path(name).suffix]
