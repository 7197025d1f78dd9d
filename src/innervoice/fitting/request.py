"""A request -> who answers it, the row of its model, and settings that the model takes.

What cannot be sent as asked is changed and noted, or refused in mode "strict" by the rule it breaks.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.reasoning import Reasoning, ReasoningReport
from innervoice.canon.request import Request
from innervoice.canon.rows import Host, ModelRow
from innervoice.catalog.lookup import dialect_at, host_of, model_row_of
from innervoice.errors import RuleError, UsageError
from innervoice.fitting.reasoning import Compiler
from innervoice.wire.controls import Choice
from innervoice.wire.dialects import DIALECTS, dialect_named

__all__ = ["FittedRequest"]

_CHOICES = ("auto", "none", "required", "any")
_FILLED_LIMIT = 32_000
_NOTHING_ASKED = Reasoning()
_NOTHING_KNOWN = ModelRow(match=("*",), control="none", off="never", source="nothing is known")


class FittedRequest:
    """A request with its target, and with settings that the target takes."""

    def __init__(self, asked: Request, *, checked: bool = True) -> None:
        self.asked = asked
        self._checked = checked  # without it, what only the whole request can break is left alone
        self.notebook = Notebook()
        self.host, self.model = _target(asked)
        self.dialect = asked.dialect or (dialect_at(self.host, self.model) if self.host else "")
        if self.dialect not in DIALECTS:
            raise UsageError(
                f"who answers {asked.model!r} is not known, so dialect must be one of {', '.join(DIALECTS)}"
            )
        found = model_row_of(self.model, self.host.id if self.host else None, self.dialect)
        self.row = found or _NOTHING_KNOWN
        if self.row.guess:
            self.notebook.add("unknown_model", self.model)
        self.choice: Choice | None = None
        self.request = self._fitted(asked, known=found is not None)

    @property
    def reasons(self) -> bool:
        """Whether the model will reason, as far as it is known."""
        if self.row.control == self.row.default == "none":
            return False
        return not self.choice.off if self.choice else self.row.default != "none"

    @property
    def refuses_prefill(self) -> bool:
        """Whether the last message is the model's own, which it does not take, or not while it reasons."""
        last = self.asked.messages[-1] if self.asked.messages else None
        if last is None or last.role != "assistant":
            return False
        taken = self.row.prefill and (self.row.prefill_thinking or not self.reasons)
        block = last.origin.block if last.origin else None
        marked = isinstance(block, dict) and block.get("prefix") is True
        return not taken and not marked

    @property
    def report(self) -> ReasoningReport | None:
        """What was asked for, what is sent, and why they differ."""
        if self.asked.reasoning is None:
            return None
        effective = None
        if choice := self.choice:
            effort = "none" if choice.off else choice.effort
            effective = Reasoning(effort, choice.budget, choice.show)  # type: ignore[arg-type]
        return ReasoningReport(
            requested=self.asked.reasoning, effective=effective, notes=self.notebook.notes()
        )

    def _fitted(self, request: Request, *, known: bool) -> Request:
        compiler = Compiler(self.row, mode=request.mode, notebook=self.notebook)
        asked = None if request.reasoning == _NOTHING_ASKED else request.reasoning
        if asked is not None and not known:
            compiler.bend("control_unknown", self.model)
            asked = None
        request = self._expressible(request, compiler)
        request = self._with_limit(request, compiler)
        if asked is not None:
            self.choice = compiler.choose(asked, request.max_tokens)
            request = request.replace(max_tokens=compiler.max_tokens)
        if request.mode == "passthrough":
            return request
        if self.row.stream_only and not request.stream and self.reasons:
            compiler.bend("reasoning_off_unstreamed", self.model)
            self.choice = Choice(off=True)
        request = self._with_tools(request, compiler)
        if self._checked and self.refuses_prefill:
            while_reasoning = " while it reasons" if self.row.prefill else ""
            raise RuleError(
                "prefill_refused", f"the last message must not be the model's own{while_reasoning}"
            )
        return self._without_refused(request, compiler)

    def _expressible(self, request: Request, compiler: Compiler) -> Request:
        """The request without what its dialect cannot say."""
        dialect = dialect_named(self.dialect)
        for name in dialect.lacks:
            if getattr(request, name) is not None:
                compiler.bend("parameter_removed", f"{name}: {self.dialect} has no such member")
                request = request.replace(**{name: None})
        if not dialect.forbids_tools and request.tool_choice == "none":
            compiler.bend("parameter_removed", f"tool_choice: {self.dialect} cannot forbid tools")
            return request.replace(tool_choice=None)
        named = isinstance(request.tool_choice, str) and request.tool_choice not in _CHOICES
        if named and not dialect.names_tools:
            compiler.bend("tool_choice_relaxed", f"{request.tool_choice} became required")
            return request.replace(tool_choice="required")
        return request

    def _with_limit(self, request: Request, compiler: Compiler) -> Request:
        limit, most = request.max_tokens, self.row.max_output
        if (
            limit is not None
            and most is not None
            and limit > most
            and request.mode != "passthrough"
        ):
            compiler.bend("max_tokens_lowered", f"{limit} became {most}")
            return request.replace(max_tokens=most)
        if limit is not None or not dialect_named(self.dialect).demands_limit:
            return request
        filled = most or _FILLED_LIMIT
        self.notebook.add("max_tokens_filled", str(filled))
        return request.replace(max_tokens=filled)

    def _with_tools(self, request: Request, compiler: Compiler) -> Request:
        """Tools and a forced choice of them, where the model refuses these while it reasons."""
        if not self.reasons:
            return request
        forced = _is_forced(request.tool_choice)
        refused = (bool(request.tools) and not self.row.tools) or (
            forced and not self.row.forced_tools
        )
        if not refused:
            return request
        if self.row.off in ("value", "omit"):
            compiler.bend(
                "reasoning_off_for_tools", "a forced tool choice" if forced else "function tools"
            )
            self.choice = Choice(off=True)
            return request
        if forced and not self.row.forced_tools:
            compiler.bend("tool_choice_relaxed", str(request.tool_choice))
            return request.replace(tool_choice="auto")
        if not self._checked:
            return request
        raise RuleError(
            "reasoning_off_for_tools", "this model takes no function tools in this dialect"
        )

    def _without_refused(self, request: Request, compiler: Compiler) -> Request:
        refused = {*self.row.refuses_always, *(self.row.refuses if self.reasons else ())}
        for name in ("temperature", "top_p", "stop"):
            if name in refused and getattr(request, name) is not None:
                compiler.bend("parameter_removed", name)
                request = request.replace(**{name: None})
        if request.stop and self.reasons and self.host and self.host.stops_anywhere:
            self.notebook.add("stop_in_reasoning", self.host.id)
        return request


def _target(request: Request) -> tuple[Host | None, str]:
    provider, _, model = (
        request.model.replace(":", "/", 1).partition("/")
        if "/" not in request.model
        else request.model.partition("/")
    )
    host = host_of(provider)
    if not model:
        if request.dialect is None:
            raise UsageError(
                f"model must be 'provider/model', as 'openai/gpt-5.6'; not {request.model!r}"
            )
        return None, request.model
    if host is None and request.dialect is None:
        raise UsageError(
            f"no provider is known by {provider!r}; name another, or give a dialect and a base_url"
        )
    return host, model


def _is_forced(choice: Any) -> bool:
    if isinstance(choice, str):
        return choice not in ("auto", "none")
    return isinstance(choice, dict) and choice.get("type") in (
        "any",
        "tool",
        "function",
        "required",
    )
