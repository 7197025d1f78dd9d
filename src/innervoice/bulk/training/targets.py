"""The trainers and model families for which examples are written, one row each.

A *family* describes a chat template: the member it reads reasoning from, which reasoning it keeps, and what it reads as its own markup. A *target* describes
what a trainer reads. Sources were read in November 2026: TRL 1.16 (`chat_templates/`), the configuration reference of Axolotl, `data/template.py` of
LLaMA-Factory, and data sets made for verl.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, TypeVar

from innervoice.bulk.training.history_rules import HistoryRule
from innervoice.errors import UsageError

__all__ = ["FAMILIES", "TARGETS", "Family", "FormName", "TrainingTarget", "family_of", "target_of"]

_T = TypeVar("_T")
FormName: TypeAlias = Literal[
    "messages", "sharegpt", "prompt_completion", "text", "columns", "json", "verl"
]


class Family(NamedTuple):
    """What the chat template of a model family does with reasoning."""

    name: str
    field: str
    """The member of a message that it reads reasoning from."""
    keeps: HistoryRule
    """Which reasoning of a conversation it keeps."""
    source: str
    tags: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    """The tags that it puts around reasoning; LLaMA-Factory has the same as `thought_words` of its template of this name."""
    markup: tuple[str, ...] = ()
    """The rows of `inline/formats.py` that read these tags, if they are not among the usual ones."""
    template: str = ""
    """The name of LLaMA-Factory's template."""
    reserved: tuple[str, ...] = ()
    """Texts that the template refuses, or reads as its own markup, inside a message."""
    empty_field: bool = False
    """Whether the field is written as "" where there is no reasoning: without the field, the template looks for a closing tag in the text instead."""
    arguments: Literal["text", "object"] = "text"
    """How the arguments of a tool call are written."""
    one_call: bool = False
    """Whether the template reads only the first tool call of a message, and not both a text and reasoning next to it."""


class TrainingTarget(NamedTuple):
    """What a trainer reads."""

    name: str
    form: FormName
    meaning: str
    unrolled: FormName | None = None
    """The form of examples with one answer to train, if it is a different one."""
    trained: str | None = None
    """The member of a message that says whether it is trained."""
    settings: tuple[str, ...] = ()
    """The settings that the trainer needs, with {field} and {template} of the family."""
    unrolled_settings: tuple[str, ...] = ()
    """The same for unrolled examples."""


_FAMILIES = (
    Family(
        name="qwen3",
        field="reasoning_content",
        keeps="last_turn",
        source="trl/chat_templates/qwen3.jinja: `last_query_index`, and a text with </think> is split if the field is not a string",
        template="qwen3",
        reserved=("<|im_start|>", "<|im_end|>"),
        empty_field=True,
    ),
    Family(
        name="gpt-oss",
        field="thinking",
        keeps="last_turn",
        source="trl/chat_templates/gptoss.jinja: raises for channel tags and for text next to thinking in a turn with calls, reads tool_calls[0]",
        tags=("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        markup=("harmony",),
        template="gpt",
        reserved=("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"),
        arguments="object",
        one_call=True,
    ),
    Family(
        name="deepseek",
        field="reasoning_content",
        keeps="last_turn",
        source="the API's guide: reasoning of earlier turns is dropped, that of a tool loop is required; trl/chat_templates/deepseekv3.jinja drops all text before </think>",
        template="deepseekr1",
        reserved=("</think>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    ),
)  # fmt: skip
_ANY = Family(name="any", field="reasoning_content", keeps="all", source="the field of most hosts")

_TARGETS = (
    TrainingTarget("messages", "messages", "messages with the reasoning in a field of its own"),
    TrainingTarget("sharegpt", "sharegpt", "conversations with from and value, the reasoning in tags"),
    TrainingTarget("prompt_completion", "prompt_completion", "the messages before an answer, and the answer"),
    TrainingTarget("text", "text", "the messages before an answer, and the answer as one text with tags"),
    TrainingTarget("columns", "columns", "the messages before an answer, its reasoning and its answer"),
    TrainingTarget("json", "json", "the JSON of innervoice: messages with all their parts"),
    TrainingTarget(
        "trl",
        "messages",
        "TRL: messages, or prompt and completion if unrolled, since only the completion is trained",
        unrolled="prompt_completion",
        settings=("load with `dataset.with_transform(remove_none_values)` of TRL if rows differ in their members",),
    ),
    TrainingTarget(
        "axolotl",
        "messages",
        "Axolotl, type chat_template",
        trained="train",
        settings=("type: chat_template", "field_messages: messages", "field_thinking: {field}", "template_thinking_key: {field}"),
        unrolled_settings=("message_field_training: train",),
    ),
    TrainingTarget(
        "llama-factory",
        "sharegpt",
        "LLaMA-Factory, formatting sharegpt, tags as its template has them",
        settings=("formatting: sharegpt", "columns: messages = conversations, system = system, tools = tools", "template: {template}", "enable_thinking: true"),
        unrolled_settings=("mask_history: true",),
    ),
    TrainingTarget(
        "verl",
        "verl",
        "verl for reinforcement learning: prompt, ground truth and what the teacher wrote",
        unrolled="verl",
        settings=("reward_model.ground_truth is the final answer that the row marks, or else the whole answer; --reference COLUMN names another one",),
    ),
)  # fmt: skip

FAMILIES: dict[str, Family] = {family.name: family for family in _FAMILIES}
TARGETS: dict[str, TrainingTarget] = {target.name: target for target in _TARGETS}


def target_of(name: str) -> TrainingTarget:
    """The target of this name; raises UsageError with all names for another one."""
    return _row_of(TARGETS, name, "target")


def family_of(name: str | None) -> Family:
    """The family of this name; None is a family without special features."""
    return _ANY if name is None else _row_of(FAMILIES, name, "model family")


def _row_of(table: dict[str, _T], name: str, what: str) -> _T:
    try:
        return table[name]
    except KeyError:
        raise UsageError(f"unknown {what} {name!r}; there are: {', '.join(table)}") from None
