"""Everything that shows a conversation: each output as a function that returns all of its text."""

import io
import json
import sys
from typing import Any

import pytest

import innervoice as iv
from innervoice.canon.events import Finish, PartEnd, PartStart
from innervoice.gateway.operations import journal
from innervoice.planning.encode import encode
from innervoice.privacy import redactor, secrets
from innervoice.show import Live, export_json, render
from innervoice.show.policy import Policy
from innervoice.sources.conversation import Conversation
from innervoice.sources.request_log.records import Keeper
from innervoice.view import row_types
from innervoice.view.export import export_file
from innervoice.view.library import Library
from innervoice.view.plans import plan_view, request_lines
from innervoice.view.rows import head_facts, rows_of, whole_text

__all__ = ["LOGGED", "POLICIES", "SCREEN", "SHARED", "SHELF", "TARGETS", "switch_off"]

POLICIES = Policy.__args__
TARGETS = ("anthropic/claude-opus-4-6", "openai/gpt-5.6", "gemini/gemini-3-flash-preview", "deepseek/deepseek-v4")  # fmt: skip


def _turns(conversation: Conversation) -> list[Any]:
    return [turn.answer or turn.message for turn in conversation.turns]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _repr(conversation: Conversation) -> str:
    return repr(conversation) + repr(_turns(conversation))


def _rendered(form: str):
    def rendered(conversation: Conversation) -> str:
        made = []
        for show in POLICIES:
            made.append(render(_turns(conversation), form, show))
            made += [render(turn, form, show) for turn in _turns(conversation)]
        return "".join(text if isinstance(text, str) else "".join(text) for text in made)

    return rendered


def _exported(conversation: Conversation) -> str:
    return "".join(export_json(_turns(conversation), show).decode() for show in POLICIES)


def _notebook(conversation: Conversation) -> str:
    turns = _turns(conversation)
    shown: list[Any] = [*turns, *(turn.usage for turn in turns if isinstance(turn, iv.Response))]
    for target in TARGETS:
        shown += [
            iv.Request(target, turns),
            iv.plan(turns, target),
            iv.lint(turns, target),
        ]
    return "".join(value._repr_html_() for value in shown)


def _live(conversation: Conversation, **options: Any) -> None:
    for turn in _turns(conversation):
        if isinstance(turn, iv.Response):
            with Live(**options) as live:
                for index, part in enumerate(turn.parts):
                    live.feed(PartStart(index, part.type, part))
                    live.feed(PartEnd(index, part))
                live.feed(Finish(turn))


def _plain_live(conversation: Conversation) -> str:
    file = io.StringIO()
    _live(conversation, file=file)
    return file.getvalue()


def _terminal(conversation: Conversation) -> str:
    console = pytest.importorskip("rich.console")
    file = io.StringIO()
    made = console.Console(file=file, force_terminal=True, width=4000, height=200)
    _live(conversation, console=made, keep=True)
    return file.getvalue()


def _rows(conversation: Conversation) -> str:
    rows = rows_of(conversation)
    texts = [whole_text(conversation, row["n"]) for row in rows]
    return _text([rows, head_facts(conversation), texts])


def _plans(conversation: Conversation) -> str:
    return "".join(_text(plan_view(conversation, target)) for target in TARGETS)


def _request_text(conversation: Conversation) -> str:
    """The body that the conversation would be sent in, as far as it can be written."""
    made = []
    for target in TARGETS:
        request = (conversation.request or iv.Request(target, ())).replace(model=target)
        messages = tuple(turn.message for turn in conversation.turns if turn.message.parts)
        try:
            wire = encode(request.replace(messages=messages, max_tokens=1000))
        except iv.InnervoiceError:
            continue
        made += request_lines(wire.body, messages)
        made.append(repr(wire))
    return "\n".join(made)


def _shelf_text(conversation: Conversation, folder: Any, name: str) -> tuple[Library, str]:
    file = folder / f"{name}.json"
    file.write_bytes(iv.to_json(_turns(conversation)))
    shelf = Library([file])
    return shelf, shelf.sources()["sources"][0]["first"]


def _export_of(form: str):
    def exported(conversation: Conversation, folder: Any, policies: Any = POLICIES) -> str:
        shelf, first = _shelf_text(conversation, folder, form)
        made = [export_file(shelf, first, form, show) for show in policies]
        return "".join(file.name + file.data.decode() for file in made)

    return exported


def _shelf(conversation: Conversation, folder: Any) -> str:
    shelf, first = _shelf_text(conversation, folder, "shelf")
    return _text([shelf.sources(), shelf.head(first), shelf.rows(first)])


def _log(level: str):
    def logged(conversation: Conversation) -> str:
        keeper = Keeper(level)
        made: list[Any] = keeper.messages([turn.message for turn in conversation.turns])
        for turn in conversation.turns:
            if turn.answer:
                made += [keeper.response(turn.answer), keeper.notes(turn.answer.notes)]
        if conversation.request:
            made.append(keeper.settings(conversation.request))
        return _text(made)

    return logged


SCREEN = {
    "repr": _repr,
    **{form: _rendered(form) for form in ("plain", "markdown", "html", "discord")},
    "notebook": _notebook,
    "json": _exported,
    "live": _plain_live,
    "terminal": _terminal,
    "rows": _rows,
    "plans": _plans,
}
"""For the owner of a conversation, who sees its words as they are."""
LOGGED = {"log full": _log("full"), "log shape": _log("shape"), "request text": _request_text}
"""Nothing private, in words neither."""
SHARED = {f"{form} file": _export_of(form) for form in ("html", "markdown", "json")}
SHELF = _shelf


def switch_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the redactor show everything, wherever it is used."""

    def unchanged(value: Any, *_: Any, **__: Any) -> Any:
        return value

    functions = (secrets.redacted, secrets.redacted_name, redactor.identifier, redactor.plain_word)
    for module in [one for name, one in sys.modules.items() if name.startswith("innervoice.")]:
        for name, value in list(vars(module).items()):
            if any(value is function for function in functions):
                monkeypatch.setattr(module, name, unchanged)
    for name in ("address", "foreign"):
        monkeypatch.setattr(redactor.Redactor, name, lambda _, value, *__: value)
    forget()


def forget() -> None:
    """Empties what was shown before."""
    row_types._line.cache_clear()
    journal._shown_name.cache_clear()
