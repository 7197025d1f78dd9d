"""What the rules of all dialects share.

A rule gets a body and its target, and yields what the API would refuse, in the API's own words where they are
documented. The same rules check what we write and what an emulator receives. What
only the host can check, whether a seal is genuine and still valid, is checked where the key is: `emulator/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.rows import ModelRow
from innervoice.canon.target import Target
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal

__all__ = [
    "answers", "claude", "claude_is_on", "company", "is_forced", "last_turn", "quoted", "refused", "supported",
    "turns_of",
]  # fmt: skip

LEAST_BUDGET = 1024


def refused(
    text: str, *, code: str | int | None = None, param: str | None = None, status: int = 400
) -> Refusal:
    """A refusal."""
    return Refusal(text=text, code=code, param=param, status=status)


def supported(row: ModelRow) -> list[str]:
    """The efforts that a model accepts, "none" first if that switches it off."""
    return [*(["none"] if row.off == "value" else []), *row.efforts]


def quoted(words: list[str], last: str = "and") -> str:
    """Words as OpenAI's refusals list them: 'low', 'medium', and 'high'."""
    marked = [f"'{word}'" for word in words]
    if len(marked) < 3:
        return f" {last} ".join(marked)
    return f"{', '.join(marked[:-1])}, {last} {marked[-1]}"


def company(
    body: dict[str, Any], target: Target, names: dict[str, str], *, on: bool
) -> Iterator[Refusal]:
    """Parameters that the model refuses, always or while it reasons; `names` maps our names to those of the API."""
    row = target.row
    kept = {*row.refuses_always, *(row.refuses if on else ())}
    for ours, wire in names.items():
        value = body.get(wire)
        neutral = ours in ("temperature", "top_p") and value == 1
        if ours in kept and value is not None and not neutral:
            yield refused(
                f"Unsupported parameter: '{wire}' is not supported with this model.",
                code="unsupported_parameter",
                param=wire,
            )


def is_forced(choice: Any) -> bool:
    """Whether a tool choice, in any dialect's form, leaves no choice."""
    if isinstance(choice, str):
        return choice.lower() in ("required", "any")
    kinds = {str(as_dict(choice).get("type")), *as_dict(choice)}
    return bool(kinds & {"any", "tool", "function", "custom"})


def last_turn(messages: Any, row: ModelRow) -> Iterator[Refusal]:
    """The last message must not be the model's own if it does not accept prefill."""
    turns = as_list(messages)
    if turns and as_dict(turns[-1]).get("role") == "assistant" and not row.prefill:
        yield refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def answers(message: dict[str, Any]) -> bool:
    """Whether a user turn contains tool results, in Claude's or Converse's form."""
    return any(
        as_dict(block).get("type") == "tool_result" or "toolResult" in as_dict(block)
        for block in as_list(message.get("content"))
    )


def turns_of(messages: Any, member: str = "content") -> list[dict[str, Any]]:
    """The turns as seen by an API that joins consecutive messages of one role."""
    turns: list[dict[str, Any]] = []
    for message in map(as_dict, as_list(messages)):
        blocks = as_list(message.get(member))
        if turns and turns[-1].get("role") == message.get("role"):
            turns[-1][member].extend(blocks)
        else:
            turns.append({**message, member: list(blocks)})
    return turns


def claude(fields: dict[str, Any], row: ModelRow, limit: Any) -> Iterator[Refusal]:
    """Refusals about Claude's thinking and effort."""
    thinking, config = as_dict(fields.get("thinking")), as_dict(fields.get("output_config"))
    word = config.get("effort")
    if fields.get("thinking") is not None:
        yield from _claude_type(as_text(thinking.get("type")), row, word)
        budget = thinking.get("budget_tokens")
        if thinking.get("type") == "enabled":
            yield from _claude_budget(budget, limit, fields, row)
    if word is not None and not row.efforts:
        yield refused("This model does not support the effort parameter.")
    elif word is not None and word not in row.efforts:
        yield refused(
            f"output_config.effort: Input should be {quoted(list(row.efforts), 'or').replace(', or', ' or')}"
        )


def _claude_type(kind: Any, row: ModelRow, effort: Any) -> Iterator[Refusal]:
    adaptive = row.control == "anthropic-adaptive"
    taken = {"adaptive" if adaptive else "enabled", *row.tolerates}
    taken |= {"value": {"disabled"}, "omit": {"disabled"}, "between_tools": {"between_tools"}}.get(
        row.off, set()
    )
    if row.control == "none" and kind == "enabled":
        yield refused("thinking is not supported on this model")
    elif kind == "adaptive" and kind not in taken:
        yield refused("adaptive thinking is not supported on this model")
    elif kind == "enabled" and kind not in taken:
        yield refused(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    elif kind not in taken:
        instead = ' Use "thinking.type.between_tools".' if row.off == "between_tools" else ""
        yield refused(f'"thinking.type.{kind}" is not supported for this model.{instead}')
    elif kind in ("disabled", "between_tools") and _is_above(effort, row):
        yield refused(
            f'"thinking.type.{kind}" is not supported for this model with effort {effort!r}.'
        )


def _is_above(effort: Any, row: ModelRow) -> bool:
    """Whether an effort is above the highest one that allows thinking to be off."""
    if row.off_up_to is None or effort not in row.efforts:
        return False
    return row.efforts.index(effort) > row.efforts.index(row.off_up_to)


def _claude_budget(
    budget: Any, limit: Any, fields: dict[str, Any], row: ModelRow
) -> Iterator[Refusal]:
    least = row.budget[0] if row.budget else LEAST_BUDGET
    if not isinstance(budget, int) or budget < least:
        yield refused(
            f"thinking.enabled.budget_tokens: Input should be greater than or equal to {least}"
        )
    elif isinstance(limit, int) and budget >= limit and not _is_interleaved(fields):
        yield refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _is_interleaved(fields: dict[str, Any]) -> bool:
    """With interleaved thinking a budget spans the turn and may exceed the limit of one answer."""
    return any(
        str(beta).startswith("interleaved-thinking")
        for beta in as_list(fields.get("anthropic_beta"))
    )


def claude_is_on(fields: dict[str, Any], row: ModelRow) -> bool:
    """Whether Claude will think."""
    kind = as_dict(fields.get("thinking")).get("type")
    return kind in ("adaptive", "enabled") if kind else row.default != "none"
