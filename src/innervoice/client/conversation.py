"""A conversation: it keeps the history, runs tools, and can switch between models.

    chat = client.conversation("anthropic/claude-opus-5-5", tools=[get_weather])
    chat.ask("What is the weather in Paris?")
    chat.switch("gemini/gemini-3.5-flash").ask("And in Rome?")

A failed request leaves the history unchanged, so that it can be repeated.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, overload

from innervoice.canon.answer_type import StructuredResponse
from innervoice.canon.events import Event, Finish
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message, user
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import ToolCall
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json, to_json
from innervoice.canon.usage import Usage
from innervoice.catalog.targets import target_of
from innervoice.client.settings import (
    CALL_NAMES,
    CONVERSATION_NAMES,
    NOT_OF_A_REQUEST,
    CallFields,
    ConversationOptions,
    check_names,
)
from innervoice.client.tools import ToolBox
from innervoice.errors import DecodeError, UsageError
from innervoice.planning.effort_changes import reads_changes, word_for
from innervoice.planning.plan import Plan, plan
from innervoice.planning.trim import trim

__all__ = ["ConversationBase"]

# ---- What both kinds of conversation share: the state, and everything that does not wait.


_KIND = "innervoice.conversation"
_UNPLANNED = ("stream", *NOT_OF_A_REQUEST)


class ConversationBase:
    """The history of a conversation, its tools and its usage."""

    def __init__(self, client: Any, model: str, **options: Unpack[ConversationOptions]) -> None:
        check_names(options, CONVERSATION_NAMES, "conversation")
        settings: dict[str, Any] = dict(options)
        max_rounds: int = settings.pop("max_rounds", 20)
        if max_rounds < 1:
            raise UsageError(f"max_rounds must be 1 or more, not {max_rounds!r}")
        self.client = client
        self.model = model
        self.system: str | None = settings.pop("system", None)
        self.history: list[Message] = [
            item.message if isinstance(item, Response) else item
            for item in settings.pop("history", ())
        ]
        self.max_rounds = max_rounds
        self.responses: list[Response] = []
        """Every response so far, including those of tool rounds."""
        self._tool_arguments: tuple[Any, ...] = tuple(settings.pop("tools", ()))
        self._raises: bool = settings.pop("raise_tool_errors", False)
        self._tools = self._tool_box()
        self.settings = settings
        """The arguments of every call."""
        self._last_asked: dict[str, Any] | None = None
        """The data of the last request's plan; the plan itself is computed only when it is compared."""
        self._efforts = _Efforts()

    def _tool_box(self) -> ToolBox:
        """The tools; a traced conversation has other ones."""
        return ToolBox(self._tool_arguments, raises=self._raises)

    # ---- public methods -----------------------------------------------------------------

    def switch(self, model: str) -> Self:
        """Continues with another model; reasoning that only the old one can read stays in the history.

        :param model: The next target, `provider/model`.
        """
        self.model = model
        return self

    def fork(self) -> Self:
        """A copy of this conversation that continues independently."""
        other = type(self)(
            self.client,
            self.model,
            system=self.system,
            tools=self._tool_arguments,
            history=self.history,
            max_rounds=self.max_rounds,
            raise_tool_errors=self._raises,
            **self.settings,
        )
        other.responses = list(self.responses)
        other._efforts = replace(self._efforts)  # noqa: SLF001 - of the same class
        return other

    def trim(self, keep: int) -> Self:
        """Keeps the last turns of the user, with everything that belongs to them.

        :param keep: The number of turns.
        """
        self.history = trim(self.history, keep=keep)
        return self

    @property
    def usage(self) -> Usage:
        """The tokens of all responses so far; a number that none reported is None."""
        return sum((response.usage for response in self.responses), Usage())

    def _repr_html_(self) -> str:
        """The conversation as HTML, for notebooks."""
        return str(import_module("innervoice.show.notebook").conversation_html(self))

    def plan(self, **settings: Unpack[CallFields]) -> Plan:
        """The plan of the next request: what is sent, by which rules, and how much of the last request a prompt cache can reuse.

        :param settings: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers`, for this call.
        """
        check_names(settings, CALL_NAMES, "conversation")
        last = plan(**self._last_asked) if self._last_asked else None
        return plan(**self._plan_arguments(settings), last=last)

    def _plan_arguments(self, settings: CallFields) -> dict[str, Any]:
        """The data for the plan of the next request."""
        fields = {**self.settings, **settings, "system": self.system, "tools": self._tools.offered}
        planned = {key: value for key, value in fields.items() if key not in _UNPLANNED}
        planned["reasoning"] = self._efforts.at_top(planned.get("reasoning"))
        target = self.client.full_name(self.model)
        return {"messages": tuple(self.history), "target": target, **planned}

    # ---- on disk ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes model, system prompt and history to a file, including sealed reasoning; tools are not saved.

        :param path: The file to write.
        """
        head = {"type": _KIND, "version": 1, "model": self.model, "system": self.system}
        head |= self._efforts.saved()
        body = dump_json(head)[:-1] + b',"messages":' + to_json(self.history) + b"}"
        Path(path).write_bytes(body + b"\n")

    def load(self, path: str | Path) -> Self:
        """Loads a conversation that `save` wrote; the tools stay as they are.

        :param path: The file to read.
        """
        try:
            value = load_json(Path(path).read_bytes())
        except ValueError as error:
            raise DecodeError(f"expected a saved conversation in {path}: {error}") from None
        if not isinstance(value, dict) or value.get("type") != _KIND:
            raise DecodeError(f"expected a saved conversation in {path}")
        self.model, self.system = str(value["model"]), value.get("system")
        self.history = list(from_json(dump_json(value["messages"])))
        self.responses, self._last_asked = [], None
        self._efforts = _Efforts.loaded(value)
        return self

    # ---- turns ----------------------------------------------------------------

    @contextmanager
    def _turn(self, content: Any, settings: CallFields) -> Iterator[None]:
        """Appends the user's message, with the effort where it changes, and removes it again if there was no response."""
        mark, before = len(self.history), self._efforts
        message = content if isinstance(content, Message) else user(content)
        self._efforts = replace(before)
        message = self._efforts.begun(self, message, {**self.settings, **settings})
        self.history.append(message)
        try:
            yield
        finally:
            if len(self.history) == mark + 1:
                del self.history[mark:]
                self._efforts = before

    def _countdown(self) -> Iterator[bool]:
        """For each allowed round, whether it is the last."""
        return (number == self.max_rounds - 1 for number in range(self.max_rounds))

    def _fields(self, settings: CallFields) -> dict[str, Any]:
        """The fields of the next request, besides model and messages."""
        merged = {**self.settings, **settings}
        reasoning = self._efforts.at_top(merged.get("reasoning"))
        if reasoning is not None or "reasoning" in merged:
            merged["reasoning"] = reasoning
        self._last_asked = self._plan_arguments(settings)
        return {"system": self.system, "tools": self._tools.offered, **merged}

    def _keep(self, response: Response, *, last: bool) -> Sequence[ToolCall]:
        """Adds a response to the history; returns the tool calls to run now."""
        calls = [call for call in response.tool_calls if call.complete]
        if isinstance(response, StructuredResponse):
            # The tool whose arguments are the answer is not run.
            calls = [call for call in calls if call.name != response.answer_type.name]
        runs = self._tools.can_run(calls)
        notebook = Notebook()
        if runs and last:
            notebook.add("rounds_used_up", str(self.max_rounds))
        if change := self._efforts.take_change():
            notebook.add(*change)
        if notes := notebook.notes():
            times = vars(response)
            response = response.replace(notes=(*response.notes, *notes))
            vars(response).update(times)
        self.history.append(response.message)
        self.responses.append(response)
        return calls if runs and not last else ()


@dataclass
class _Efforts:
    """The effort of a conversation: what stands at the top of its requests, and what was asked for last.

    A call that asks for another effort changes it in the history, where the model reads that: so the prompt cache stays valid. Elsewhere the
    setting at the top changes.
    """

    top: Reasoning | None = None
    asked: str | None = None
    """The last effort in a word; "budget" for a budget, None before the first question."""
    _change: tuple[str, str] | None = None

    def at_top(self, asked: Any) -> Reasoning | None:
        """The setting that is sent at the top, for a call that asks for one."""
        setting = Reasoning.from_any(asked)
        if self.asked is None:
            return setting
        show = setting.show if setting else None
        if self.top is None:
            return Reasoning(show=show) if show else None
        return self.top.replace(show=show)

    def take_change(self) -> tuple[str, str] | None:
        """The note of a change, once."""
        change, self._change = self._change, None
        return change

    def begun(self, talk: ConversationBase, message: Message, fields: dict[str, Any]) -> Message:
        """The user's next message, with the effort that it changes."""
        setting = Reasoning.from_any(fields.get("reasoning"))
        word = _word(setting)
        last, self.asked = self.asked, word
        efforts = [one.effort for one in talk.history if one.effort and one.role != "assistant"]
        if last is None:
            self.top = setting
            is_changed = bool(efforts) and word not in ("default", efforts[-1])
        else:
            is_changed = word != last
        if not is_changed or message.effort:
            return message
        request = Request(talk.client.full_name(talk.model), (), dialect=fields.get("dialect"), base_url=fields.get("base_url"))  # fmt: skip
        target = target_of(request)
        reads = word != "budget" and reads_changes(target, fields.get("extra"), self.top) and word_for(word, target) is not None  # type: ignore[arg-type] # fmt: skip
        if reads or (efforts and word != "budget"):
            self._change = ("effort_in_place", word) if reads else None
            return message.replace(effort=word)
        talk.history = [one.replace(effort=None) if one.effort else one for one in talk.history]
        self.top, self._change = setting, ("effort_at_top", word)
        return message

    def saved(self) -> dict[str, Any]:
        """What is saved of it."""
        if self.asked is None:
            return {}
        return {"asked": self.asked, "reasoning": _members(self.top)}

    @classmethod
    def loaded(cls, head: dict[str, Any]) -> _Efforts:
        """The same, from a saved conversation."""
        reasoning = head.get("reasoning")
        return cls(Reasoning(**reasoning) if reasoning else None, head.get("asked"))


def _members(setting: Reasoning | None) -> dict[str, Any] | None:
    if setting is None:
        return None
    return {"effort": setting.effort, "budget": setting.budget, "show": setting.show}


def _word(setting: Reasoning | None) -> str:
    if setting is None or (setting.effort is None and setting.budget is None):
        return "default"
    return setting.effort or "budget"


# ---- the two kinds

T = TypeVar("T")

__all__ = ["AsyncConversation", "Conversation"]


class Conversation(ConversationBase):
    """A conversation over `Client`; `Client.conversation` makes it.

    :param client: The client that sends.
    :param model: The first target, `provider/model`.
    :param options: The fields of `ConversationOptions`, which hold for every call.
    """

    @overload
    def ask(
        self, content: Any, *, schema: type[T], **settings: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    def ask(
        self, content: Any, *, schema: dict[str, Any], **settings: Unpack[CallFields]
    ) -> StructuredResponse[Any]: ...
    @overload
    def ask(
        self, content: Any, *, schema: None = None, **settings: Unpack[CallFields]
    ) -> Response: ...
    def ask(self, content: Any, *, schema: Any = None, **settings: Unpack[CallFields]) -> Response:
        """Sends a user message, runs the tools that the model calls, and returns the last response.

        :param content: Text, a part, or a list of these: the user's message.
        :param schema: The form of the answer, as for `Client.ask`.
        :param settings: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers`, for this call.
        """
        with self._turn(content, settings):
            for last in self._countdown():
                fields = self._fields(settings)
                response = self.client.ask(self.model, self.history, schema=schema, **fields)
                calls = self._keep(response, last=last)
                if not calls:
                    break
                self.history += self._tools.run(calls)
        return self.responses[-1]

    @contextmanager
    def stream(self, content: Any, **settings: Unpack[CallFields]) -> Iterator[Iterator[Event]]:
        """The same as events: every round of tools ends with a `Finish`, and the last one has the answer.

        :param content: Text, a part, or a list of these: the user's message.
        :param settings: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers`, for this call.
        """
        with self._turn(content, settings):
            events = self._rounds(settings)
            try:
                yield events
            finally:
                events.close()

    def _rounds(self, settings: CallFields) -> Generator[Event]:
        for last in self._countdown():
            fields = self._fields(settings)
            with self.client.stream(self.model, self.history, **fields) as events:
                for event in events:
                    if not isinstance(event, Finish):
                        yield event
                response = events.response
            calls = self._keep(response, last=last)
            yield Finish(self.responses[-1])
            if not calls:
                return
            self.history += self._tools.run(calls)


class AsyncConversation(ConversationBase):
    """A conversation over `AsyncClient`; `AsyncClient.conversation` makes it.

    :param client: The client that sends.
    :param model: The first target, `provider/model`.
    :param options: The fields of `ConversationOptions`, which hold for every call.
    """

    @overload
    async def ask(
        self, content: Any, *, schema: type[T], **settings: Unpack[CallFields]
    ) -> StructuredResponse[T]: ...
    @overload
    async def ask(
        self, content: Any, *, schema: dict[str, Any], **settings: Unpack[CallFields]
    ) -> StructuredResponse[Any]: ...
    @overload
    async def ask(
        self, content: Any, *, schema: None = None, **settings: Unpack[CallFields]
    ) -> Response: ...
    async def ask(
        self, content: Any, *, schema: Any = None, **settings: Unpack[CallFields]
    ) -> Response:
        """Sends a user message, runs the tools that the model calls, and returns the last response.

        :param content: Text, a part, or a list of these: the user's message.
        :param schema: The form of the answer, as for `Client.ask`.
        :param settings: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers`, for this call.
        """
        with self._turn(content, settings):
            for last in self._countdown():
                fields = self._fields(settings)
                response = await self.client.ask(self.model, self.history, schema=schema, **fields)
                calls = self._keep(response, last=last)
                if not calls:
                    break
                self.history += await self._tools.run_async(calls)
        return self.responses[-1]

    @asynccontextmanager
    async def stream(
        self, content: Any, **settings: Unpack[CallFields]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """The same as events: every round of tools ends with a `Finish`, and the last one has the answer.

        :param content: Text, a part, or a list of these: the user's message.
        :param settings: Fields of the `Request`, and `timeout`, `idle_timeout` and `headers`, for this call.
        """
        with self._turn(content, settings):
            events = self._rounds(settings)
            try:
                yield events
            finally:
                await events.aclose()

    async def _rounds(self, settings: CallFields) -> AsyncGenerator[Event]:
        for last in self._countdown():
            fields = self._fields(settings)
            async with self.client.stream(self.model, self.history, **fields) as events:
                async for event in events:
                    if not isinstance(event, Finish):
                        yield event
                response = events.response
            calls = self._keep(response, last=last)
            yield Finish(self.responses[-1])
            if not calls:
                return
            self.history += await self._tools.run_async(calls)
