"""Writes the reference of the site from the code: public names, hosts, models, notes, errors, the changelog."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, get_args

import innervoice
from innervoice import errors
from innervoice.canon.notes import SENTENCES
from innervoice.catalog.lookup import all_cards, all_hosts, all_model_rows
from innervoice.wire.dialects import DIALECTS, dialect_named

__all__ = ["GROUPS", "pages", "write"]

_ROOT = Path(__file__).parents[1]


class Group(NamedTuple):
    """Names that a page of the reference has, in the order of the page."""

    title: str
    words: str
    names: tuple[str, ...]
    more: tuple[str, ...] = ()
    """What these names return or take and nobody imports, with its module."""


GROUPS = {
    "read": Group(
        "Read",
        "Answers of any provider into one form, whole or streamed.",
        ("decode", "decode_stream", "StreamDecoder", "split", "Splitter", "fold", "convert"),
    ),
    "values": Group(
        "Messages and answers",
        "What everything is read into.",
        ("Response", "Message", "Text", "Thinking", "ToolCall", "ToolResult", "Media", "Opaque", "Part", "Origin", "Markup", "Usage", "ThinkingMetrics",
         "Note", "Failure", "ReasoningReport", "StructuredResponse", "user", "assistant", "system", "tool_result", "file", "restore",
         "to_json", "from_json"),
    ),
    "events": Group(
        "Events",
        "What a streamed answer consists of.",
        ("Event", "PartStart", "TextDelta", "ThinkingDelta", "ToolCallDelta", "PartEnd", "Recast", "UsageUpdate", "Heartbeat", "Finish"),
    ),
    "ask": Group(
        "Ask",
        "Requests to any provider.",
        ("Client", "AsyncClient", "Request", "Reasoning", "Tool", "encode", "Wire", "decode_request"),
        ("innervoice.client.conversation.Conversation", "innervoice.client.conversation.AsyncConversation", "innervoice.client.settings.ClientOptions",
         "innervoice.client.settings.CallFields", "innervoice.client.settings.ConversationOptions"),
    ),
    "replay": Group(
        "Replay",
        "Histories that the next model accepts.",
        ("plan", "Plan", "Decision", "lint", "Problem", "repair", "trim", "carry", "CarriedSession"),
    ),
    "write": Group(
        "Write answers",
        "Answers in any provider's form, for servers.",
        ("encode_response", "written", "WrittenAnswer", "encode_stream", "StreamEncoder"),
    ),
}  # fmt: skip
_MODULES = {
    "show": ("innervoice.show", "reasoning for people, in terminals, HTML, Markdown, Discord."),
    "emulator": ("innervoice.emulator", "every provider's API, with its real rules, in this process."),
    "pricing": ("innervoice.pricing", "what an answer cost."),
}  # fmt: skip


def write(folder: Path) -> None:
    """Writes all pages into a folder; a page that is as it was keeps its date, so that it is not built again."""
    folder.mkdir(exist_ok=True)
    for name, text in pages():
        file = folder / f"{name}.md"
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page."""
    for name, group in GROUPS.items():
        yield name, _names_page(group)
    for name, (module, words) in _MODULES.items():
        yield name, _module_page(module, words)
    yield "hosts", _hosts()
    yield "models", _models()
    yield "dialects", _dialects()
    yield "notes", _notes()
    yield "errors", _errors()
    yield "vectors", _inside((_ROOT / "vectors" / "README.md").read_text("utf-8"))
    yield "changelog", _changelog()


# ---- names -------------------------------------------------------------------------------------------


def _names_page(group: Group) -> str:
    entries = "\n".join(_entry(innervoice, name) for name in group.names)
    entries += "\n".join(_further(path) for path in group.more)
    return f"# {group.title}\n\n{group.words}\n\n{entries}"


def _module_page(module: str, words: str) -> str:
    found = import_module(module)
    entries = "\n".join(_entry(found, name) for name in found.__all__)
    title = module.rpartition(".")[2].capitalize()
    return f"# {title}\n\n`{module}`: {words}\n\n{entries}"


def _entry(module: object, name: str) -> str:
    value = getattr(module, name)
    title = getattr(module, "__name__")  # noqa: B009 - a module as an object
    if not inspect.isclass(value) and (words := get_args(value)):
        # A name for several types or words; Python's own description of it helps nobody.
        said = ", ".join(f"`{getattr(word, '__name__', repr(word))}`" for word in words)
        return (
            f"## {name}\n\n```{{eval-rst}}\n.. py:data:: {title}.{name}\n\n   One of {said}.\n```\n"
        )
    directive = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    return f"## {name}\n\n```{{eval-rst}}\n.. auto{directive}:: {title}.{name}\n```\n"


def _further(path: str) -> str:
    name = path.rpartition(".")[2]
    directive = f".. autoclass:: {path}\n   :inherited-members: object, dict"
    return f"\n## {name}\n\n```{{eval-rst}}\n{directive}\n```\n"


# ---- tables ------------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table that the page's filter searches."""
    lines = [tuple(head), *(tuple(map(_cell, row)) for row in rows)]
    lines.insert(1, ("---",) * len(lines[0]))
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{{.filtered}}\n{made}\n"


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _code(values: Iterable[str], most: int = 4) -> str:
    shown = [f"`{value}`" for value in values]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def _hosts() -> str:
    rows = [
        (f"`{host.id}`", _code(host.aliases), host.dialect, _code(host.keys), ", ".join(host.fields), host.base_url)
        for host in all_hosts()
    ]  # fmt: skip
    words = (
        f"The {len(rows)} hosts that innervoice knows: the name before the slash of `provider/model`, where the key is looked for, the wire format,"
        " and where its answers carry reasoning. Any other server works with `base_url=` and `dialect=`."
    )
    return f"# Hosts\n\n{words}\n\n{_table(('name', 'also', 'wire format', 'key', 'reasoning is in', 'address'), rows)}"


def _models() -> str:
    rows = [
        (
            _code(row.match, 2),
            "any" if row.hosts == ("*",) else ", ".join(row.hosts),
            ", ".join(row.efforts) or "no levels",
            {"value": "yes", "omit": "yes", "between_tools": "between tools only", "never": "no"}[row.off],
            f"{row.budget[0]} to {row.budget[1]}" if row.budget else "",
            row.shown,
            row.replay,
            "a guess for newer names" if row.guess else row.source,
        )
        for row in all_model_rows()
    ]  # fmt: skip
    words = (
        "One row for each family and group of hosts: the efforts a model accepts, whether its reasoning can be switched off, the range of its budget,"
        " what it shows by default, what it does with reasoning that is sent back, and where these facts come from."
    )
    head = ("model", "hosts", "efforts", "off", "budget", "shows", "sent back", "source")
    cards = [(card.family, _code(card.markup), _code(card.match, 3)) for card in all_cards()]
    return (
        f"# Models\n\n{words}\n\n{_table(head, rows)}\n## Markup in the text\n\n"
        f"Families that write their reasoning into the text, and the [format](../inline.md) they use.\n\n{_table(('family', 'formats', 'names'), cards)}"
    )


def _dialects() -> str:
    rows = [
        (f"`{name}`", (inspect.getdoc(import_module(dialect_named(name).package)) or "").partition("\n")[0], f"`{dialect_named(name).path}`", f"`{dialect_named(name).history}`")
        for name in DIALECTS
    ]  # fmt: skip
    words = "The wire formats that are read, written, checked and served."
    return f"# Wire formats\n\n{words}\n\n{_table(('name', 'what it is', 'path', 'history'), rows)}"


def _notes() -> str:
    words = (
        "Whatever innervoice guesses, changes or leaves out is a note: on `Response.notes` and on `Wire.notes`. Its code is stable; programs may test"
        " for it."
    )
    return f"# Notes\n\n{words}\n\n{_table(('code', 'meaning'), ((f'`{code}`', text) for code, text in SENTENCES.items()))}"


def _errors() -> str:
    words = "Every error is an `InnervoiceError`. What each means, and what to do: [the guide](../guides/errors.md)."
    entries = "\n".join(
        f"```{{eval-rst}}\n.. autoclass:: innervoice.{name}\n   :show-inheritance:\n```\n"
        for name in (one.__name__ for _, one in _tree(errors.InnervoiceError))
    )
    tree = "\n".join(
        f"{'  ' * depth}- `{one.__name__}`: {(inspect.getdoc(one) or '').partition(chr(10))[0]}"
        for depth, one in _tree(errors.InnervoiceError)
    )
    return f"# Errors\n\n{words}\n\n{tree}\n\n{entries}"


def _tree(root: type, depth: int = 0) -> Iterator[tuple[int, type]]:
    """A class and those below it; those that are not public are left out, and what is below them stands in their place."""
    is_public = root.__name__ in innervoice.__all__
    if is_public:
        yield depth, root
    for child in root.__subclasses__():
        yield from _tree(child, depth + is_public)


# ---- changelog -----------------------------------------------------------------------------------------


def _changelog() -> str:
    """What is released, behind what is not yet."""
    kinds: dict[str, list[str]] = {}
    for file in sorted((_ROOT / "changelog.d").glob("*.md")):
        kind = file.name.split(".")[-2].capitalize()
        kinds.setdefault(kind, []).append(_item(file.read_text("utf-8")))
    news = "".join(f"### {kind}\n\n{''.join(items)}\n" for kind, items in kinds.items())
    file = _ROOT / "CHANGELOG.md"
    # There each version has a title of the first level.
    released = (
        re.sub("^#", "##", file.read_text("utf-8"), flags=re.MULTILINE) if file.is_file() else ""
    )
    made = "# Changelog\n\n" + (f"## Not released yet\n\n{news}" if news else "") + released
    return _inside(made)


def _inside(text: str) -> str:
    """A page from outside docs/, whose links lead to the pages here."""
    return text.replace("](docs/", "](../").replace("](../docs/", "](../")


def _item(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join([f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:]), ""])
