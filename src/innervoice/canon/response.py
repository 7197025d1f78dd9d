"""The answer of a model: the parts, and everything that is derived from them.

Status, text, thinking and the message are computed from the parts, never stored separately.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.notes import Note
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Thinking, ToolCall
from innervoice.canon.reasoning import ReasoningReport
from innervoice.canon.usage import Usage
from innervoice.canon.value import Value
from innervoice.canon.views import answer_of, thinking_of

if TYPE_CHECKING:
    from innervoice.canon.thinking_metrics import ThinkingMetrics
    from innervoice.canon.usage import Cost

__all__ = ["Failure", "FinishReason", "Response", "Status"]


FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error"
]
Status: TypeAlias = Literal[
    "interrupted",
    "refused",
    "budget_exhausted",
    "truncated",
    "tool_calls",
    "answered",
    "stopped_inside_thinking",
    "empty",
]


class Failure(Value, frozen=True, kw_only=True):
    """What ended a response early."""

    hidden: ClassVar[frozenset[str]] = frozenset({"raw"})

    type: str | None = None
    """The kind of the error, in the provider's word."""
    code: str | int | None = None
    """The provider's code."""
    message: str | None = None
    """The provider's sentence."""
    raw: Any = None
    """The error as it was received."""


# What a client measures of an answer is in its `__dict__`: it belongs to one call, not to the value, so it is neither compared nor stored.
class Response(
    Value,
    frozen=True,
    kw_only=True,
    tag="response",
    tag_field="type",
    dict=True,
    gc=True,
    # Its name in stored answers, which stays.
    rename={"reasoning_report": "reasoning"},
):
    """An answer, complete or as far as it was received."""

    type: ClassVar[Literal["response"]] = "response"

    parts: tuple[Part, ...] = ()
    """The parts of the answer, in the order in which the model wrote them."""
    provider: str | None = None
    """The provider that answered."""
    model: str | None = None
    """The model, as the provider names it in the answer."""
    id: str | None = None
    """The provider's id of the answer."""
    ended: bool = False
    """Whether a terminal marker was seen: a finish reason, `[DONE]`, the end of a whole body."""
    finish_reason: FinishReason | None = None
    """Why the answer ended, in one vocabulary for every provider."""
    wire_finish_reason: str | None = None
    """The same in the provider's own word."""
    usage: Usage = Usage()
    """The token counts."""
    reasoning_report: ReasoningReport | None = None
    """The reasoning setting that was requested and the one that was sent; None without `request=`."""
    notes: tuple[Note, ...] = ()
    """What was guessed, changed or left out."""
    error: Failure | None = None
    """What ended the answer early; None if nothing did."""
    alternatives: tuple[Response, ...] = ()
    """Further answers to the same request, where several were requested."""
    origin: Origin | None = None
    """Members of the body on the wire that belong to no part."""

    @property
    def text(self) -> str:
        """The answer, never reasoning."""
        return answer_of(self.parts)

    @property
    def thinking(self) -> str | None:
        """The readable reasoning; None if there is none."""
        return thinking_of(self.parts)

    @property
    def reasoning(self) -> str | None:
        """The same as `thinking`, by the other name that the field has for it."""
        return self.thinking

    @property
    def has_thinking(self) -> bool:
        """Whether some reasoning can be read."""
        return self.thinking is not None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def message(self) -> Message:
        """The message to append to a history."""
        return Message("assistant", self.parts, self.origin)

    @property
    def status(self) -> Status:
        """How the answer ended, in one word."""
        if not self.ended or self.error is not None:
            return "interrupted"
        if self.finish_reason == "refusal":
            return "refused"
        answered = bool(self.text.strip())
        if self.finish_reason == "length":
            return "truncated" if answered or self.tool_calls else "budget_exhausted"
        if self.tool_calls:
            return "tool_calls"
        if answered:
            return "answered"
        thoughts = [part for part in self.parts if isinstance(part, Thinking)]
        return "stopped_inside_thinking" if thoughts and not thoughts[-1].complete else "empty"

    def cost(self) -> Cost | None:
        """The cost of the answer in dollars at list prices; None where tokens or prices are unknown.

        Needs the extra `innervoice[prices]`.
        """
        cost: Cost | None = import_module("innervoice.pricing").cost(self)
        return cost

    def thinking_metrics(self) -> ThinkingMetrics:
        """How long the answer took to think, how many of its tokens were reasoning, and what they cost; what is not known is None.

        Times are those that a client has measured. They belong to the call: `to_json` leaves them out, and they make no difference when
        responses are compared.
        """
        metrics: ThinkingMetrics = import_module("innervoice.thinking_metrics").thinking_metrics(
            self
        )
        return metrics

    def _repr_html_(self) -> str:
        """The response as HTML, for notebooks."""
        return str(import_module("innervoice.show.forms").render_html(self))
