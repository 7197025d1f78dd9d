"""Fits the settings of a request to its target.

Settings that cannot be sent as requested are changed and noted, or refused in mode "strict" by the rule that they break.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Thinking
from innervoice.canon.reasoning import Reasoning, ReasoningReport
from innervoice.canon.request import Request, Tool
from innervoice.canon.target import Target
from innervoice.catalog.lookup import card_of
from innervoice.catalog.targets import target_of
from innervoice.errors import RuleError
from innervoice.planning.cache_marks import takes_cache_marks, without_mark
from innervoice.planning.effort_changes import FittedEffort, fit_effort
from innervoice.planning.received import fit_received
from innervoice.planning.settings import Compiler, auto_shown
from innervoice.wire.controls import Choice, fields_of
from innervoice.wire.dialects import dialect_named
from innervoice.wire.serve import ReceivedMembers, Spelling
from innervoice.wire.write import merged

__all__ = ["FittedRequest"]

_CHOICES = ("auto", "none", "required", "any")
_FILLED_LIMIT = 32_000
_NOTHING_ASKED = Reasoning()


class FittedRequest:
    """A request with its target, and with settings that the target accepts."""

    def __init__(
        self,
        asked: Request,
        target: Target | None = None,
        *,
        checked: bool = True,
        notebook: Notebook | None = None,
    ) -> None:
        self.target = target or target_of(asked)
        self.notebook = Notebook() if notebook is None else notebook
        self.asked = asked
        self._spelling: Spelling | None = None
        if isinstance(asked.extra, ReceivedMembers):
            self.asked, self._spelling = fit_received(
                asked, asked.extra, self.target, self.notebook
            )
        self.choice: Choice | None = None
        self.checked = (
            checked  # False: rules that only a complete request can break are not enforced
        )
        self._dialect = dialect_named(self.target.dialect)
        self._changes: dict[str, Any] = {}
        self.effort: FittedEffort
        """What becomes of the efforts that the history sets."""
        row = self.target.row
        if row.guess:
            self.notebook.add("unknown_model", self.target.model)
        host = self.target.host
        self._compiler = Compiler(
            row,
            mode=asked.mode,
            notebook=self.notebook,
            has_budget=host is not None and host.budget_member is not None,
        )
        self._fit()

    def with_messages(self, messages: tuple[Message, ...]) -> Request:
        """The request with fitted settings and with these messages."""
        changes = self._changes
        if messages != self.asked.messages:
            changes = {**changes, "messages": messages}
        return self.asked.replace(**changes) if changes else self.asked

    def change_tools(self, change: Callable[[Tool], Tool]) -> None:
        """Changes each tool that is sent."""
        self._changes["tools"] = tuple(map(change, self._value("tools")))

    @property
    def reasons(self) -> bool:
        """Whether the model will reason, according to its row."""
        if self.target.row.control == self.target.row.default == "none":
            return False
        return not self.choice.off if self.choice else self.target.row.default != "none"

    def refuses_end(self, messages: Sequence[Message]) -> bool:
        """Whether messages that are sent end with an assistant message that the model does not accept as prefill, or not while it reasons."""
        last = messages[-1] if messages else None
        if last is not None and not last.parts:
            return self.refuses_end(messages[:-1])
        if last is None or last.role != "assistant":
            return False
        return not self._takes_prefill and not _is_marked(last)

    @property
    def _takes_prefill(self) -> bool:
        row = self.target.row
        return row.prefill and (row.prefill_thinking or not self.reasons)

    def is_leftover(self, message: Message) -> bool:
        """Whether a last message is the beginning of an answer that was cut off, and no prefill, which the model does not continue."""
        if message.role != "assistant" or not message.parts or self._takes_prefill:
            return False
        if _is_marked(message) or any(call.complete for call in message.tool_calls):
            return False
        return is_reasoning(message) or not all(
            getattr(part, "complete", True) for part in message.parts
        )

    @property
    def report(self) -> ReasoningReport | None:
        """What was requested, what is sent, and why they differ."""
        requested = _said(self.asked.reasoning)
        if requested is None and self.choice is None:
            return None
        effective = None
        if choice := self.choice:
            effort = "none" if choice.off else choice.effort
            effective = Reasoning(effort, choice.budget, choice.show)  # type: ignore[arg-type]
        return ReasoningReport(
            requested=requested, effective=effective, notes=self.notebook.notes()
        )

    @property
    def reasoning_members(self) -> dict[str, Any]:
        """The members of the body that set the reasoning: as received, if they express what is to be sent."""
        choice, spelling = self.choice, self._spelling
        host = self.target.host
        members: dict[str, Any] = {}
        if choice is not None:
            members = fields_of(choice, self.target.row, host)
            if spelling is not None:
                report = self.report
                as_asked = report is not None and report.effective == report.requested
                is_on = spelling.is_switch and not choice.off
                members = spelling.members if as_asked or is_on else members
        if host is None or not host.template_arguments or (choice and choice.off):
            return members
        # Without these the model's template leaves out reasoning that is sent back; the same in every request, for the cache.
        card = card_of(self.target.model)
        switch = card.replay_switch if card else {}
        return merged({"chat_template_kwargs": dict(switch)}, members) if switch else members

    def _value(self, name: str) -> Any:
        """A field of the request as it is sent."""
        return self._changes.get(name, getattr(self.asked, name))

    def _fit(self) -> None:
        request, compiler = self.asked, self._compiler
        setting = None if request.reasoning == _NOTHING_ASKED else request.reasoning
        self.effort = fit_effort(request, setting, self.target, self.notebook)
        setting = self.effort.setting
        if setting is not None and not self.target.is_known:
            if setting.show != "auto" or setting.effort or setting.budget is not None:
                compiler.bend("control_unknown", self.target.model)
            setting = None
        if setting is not None and setting.show == "auto":
            setting = auto_shown(setting, self.target.row)
        self._fit_to_dialect()
        self._fit_limit()
        if setting is not None:
            self.choice = compiler.choose(setting, self._value("max_tokens"))
            if compiler.max_tokens != self._value("max_tokens"):
                self._changes["max_tokens"] = compiler.max_tokens
        if request.mode == "passthrough":
            return
        row = self.target.row
        if row.stream_only and not request.stream and self.reasons:
            compiler.bend("reasoning_off_unstreamed", self.target.model)
            self.choice = Choice(off=True)
        self._fit_tools()
        self._leave_out_refused()

    def _fit_to_dialect(self) -> None:
        """Leaves out settings that the dialect has no member for."""
        dialect, bend = self._dialect, self._compiler.bend
        for name in dialect.lacks:
            value = getattr(self.asked, name)
            if value is not None and (name, value) != ("parallel_tool_calls", True):
                bend("parameter_removed", f"{name}: {dialect.name} has no such member")
                self._changes[name] = None
        if any("cache_control" in tool.members for tool in self.asked.tools):
            self._fit_cache_marks()
        choice = self._value("tool_choice")
        if choice is None:
            return
        if choice == "none" and not dialect.forbids_tools:
            bend("parameter_removed", f"tool_choice: {dialect.name} cannot forbid tools")
            self._changes["tool_choice"] = None
        names_tool = isinstance(choice, str) and choice not in _CHOICES
        if names_tool and not dialect.names_tools:
            bend("tool_choice_relaxed", f"{choice} became required")
            self._changes["tool_choice"] = "required"

    def _fit_cache_marks(self) -> None:
        """Leaves out the cache marks of tools where the dialect has them but the model does not."""
        if "cache_control" in self._dialect.tool_members and not takes_cache_marks(self.target):
            self.notebook.add("cache_mark_dropped", "tools")
            self._changes["tools"] = tuple(map(without_mark, self.asked.tools))

    def _fit_limit(self) -> None:
        limit, most = self.asked.max_tokens, self.target.row.max_output
        if limit is None:
            if self._dialect.demands_limit:
                filled = most or _FILLED_LIMIT
                self.notebook.add("max_tokens_filled", str(filled))
                self._changes["max_tokens"] = filled
        elif most is not None and limit > most and self.asked.mode != "passthrough":
            self._compiler.bend("max_tokens_lowered", f"{limit} became {most}")
            self._changes["max_tokens"] = most

    def _fit_tools(self) -> None:
        """Handles tools, and a forced tool choice, that the model refuses while it reasons."""
        if not self.reasons:
            return
        row, choice, bend = self.target.row, self._value("tool_choice"), self._compiler.bend
        forced = _is_forced(choice)
        refuses_choice = forced and not row.forced_tools
        if not refuses_choice and (row.tools or not self.asked.tools):
            return
        if row.off in ("value", "omit"):
            what = "a forced tool choice" if forced else "function tools"
            bend("reasoning_off_for_tools", what)
            self.choice = Choice(off=True)
        elif refuses_choice:
            bend("tool_choice_relaxed", str(choice))
            self._changes["tool_choice"] = "auto"
        elif self.checked:
            raise RuleError(
                "reasoning_off_for_tools",
                "this model does not accept function tools in this dialect",
            )

    def _leave_out_refused(self) -> None:
        row, host = self.target.row, self.target.host
        refused = {*row.refuses_always, *(row.refuses if self.reasons else ())}
        for name in ("temperature", "top_p", "stop"):
            if name in refused and self._value(name) is not None:
                self._compiler.bend("parameter_removed", name)
                self._changes[name] = None
        if self._value("stop") and self.reasons and host and host.stops_anywhere:
            self.notebook.add("stop_in_reasoning", host.id)


def _is_forced(choice: Any) -> bool:
    if isinstance(choice, str):
        return choice not in ("auto", "none")
    return isinstance(choice, dict) and choice.get("type") in (
        "any",
        "tool",
        "function",
        "required",
    )


def is_reasoning(message: Message) -> bool:
    """Whether a message has nothing but reasoning."""
    return all(isinstance(part, Thinking) for part in message.parts)


def _is_marked(message: Message) -> bool:
    """Whether a client marked a message as prefill."""
    block = message.origin.block if message.origin else None
    return isinstance(block, dict) and block.get("prefix") is True


def _said(setting: Reasoning | None) -> Reasoning | None:
    """What the caller asked for; "auto" is how clients ask for what nobody mentioned."""
    if setting is None or setting.show != "auto":
        return setting
    plain = setting.replace(show=None)
    return None if plain == _NOTHING_ASKED else plain
