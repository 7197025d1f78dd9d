"""A recipe, which says how a request differs from a plain one -> the request for a model.

Bodies are written by the dialect's own writer, and settings by the model's control. The turns of a tool loop go back byte for byte as
they came, apart from the change that a recipe asks for: no plan decides about them.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from innervoice.answering.writing import encode_response
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message, assistant, tool_result, user
from innervoice.canon.parts import ToolCall
from innervoice.canon.request import Request, Tool, Wire
from innervoice.canon.response import Response
from innervoice.canon.rows import ModelRow, Row
from innervoice.canon.target import Target
from innervoice.planning.encode import encoded
from innervoice.probe.tampering import Change, tampered
from innervoice.wire.controls import CONTROLS, Choice
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.write import merged

__all__ = [
    "Recipe",
    "Turn",
    "limit_of",
    "on_choices",
    "other_spellings",
    "setting_members",
    "turn_of",
    "wire_of",
]

SMALL = 64
"""The limit on the output where only the acceptance of a request matters."""
LARGE = 2000
"""The same where the reasoning is looked at."""
QUESTION = "What is the weather in Paris and in Rome?"
OTHER_QUESTION = "What is the weather in Paris, and in Rome?"
SUM = "What is 15 * 23? Think it through first."
RESULT = "18 degrees and sunny"
UNKNOWN_MEMBER = "innervoice_probe"
UNKNOWN_MODEL = "innervoice-probe-no-such-model"
_TOOL = Tool(
    "get_weather",
    "Returns the weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
_SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "schema": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}
_VALUES: dict[str, Any] = {
    "temperature": 0.5, "top_p": 0.5, "stop": ["zzz"], "top_k": 5, "presence_penalty": 0.5, "frequency_penalty": 0.5,
    "top_logprobs": 2, "logprobs": True, "logit_bias": {"50256": -100},
}  # fmt: skip
_OWN_FIELDS = ("temperature", "top_p", "stop")
"""Parameters that a `Request` has a field for."""

_OTHER_CONTROLS = {
    "anthropic-adaptive": "anthropic-enabled",
    "anthropic-enabled": "anthropic-adaptive",
    "gemini-level": "gemini-budget",
    "gemini-budget": "gemini-level",
}
_BUDGETED = ("anthropic-enabled", "gemini-budget")
_USUAL_BUDGET = 1024

Turn: TypeAlias = tuple[list[Any], tuple[ToolCall, ...]]
"""The items of a model's turn as a history holds them, and its calls."""


class Recipe(Row, frozen=True, kw_only=True):
    """How a request differs from a plain one."""

    setting: Literal["default", "on", "off"] = "default"
    """Nothing is sent about reasoning; it is switched on, at its lowest; it is switched off."""
    effort: str | None = None
    budget: int | None = None
    show: str | None = None
    """full, summary or hidden; "visible": whatever makes the reasoning readable, by the catalog."""
    off_by: str | None = None
    """Claude's word for off, where it is not the one in the catalog."""
    parameter: str | None = None
    """A parameter that the model may refuse."""
    tools: bool = False
    forced: bool = False
    prefill: bool = False
    schema: bool = False
    stream: bool = False
    whole: bool = False
    """Not streamed, even if the model reasons only in streams."""
    large: bool = False
    """With room for the reasoning."""
    limit: int | None = None
    limit_name: str | None = None
    unknown_member: bool = False
    unknown_model: bool = False
    message_member: str | None = None
    """A member of an assistant's message in the history."""
    members: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    """Members of the body."""
    loop: Change | None = None
    """What is sent of the turn with calls, after which the results follow."""
    peek: bool = False
    """Only the beginning of the answer is read, so that a large limit costs little."""
    counted: bool = False
    """The tokens of the request are counted, and it is not answered."""

    @property
    def key(self) -> str:
        """The recipe in one line: its differences from a plain request."""
        return dump_json(self.differences()).decode()

    def differences(self) -> dict[str, Any]:
        """The fields that are not as in a plain request."""
        defaults = self.defaults()
        return {
            name: getattr(self, name)
            for name in self.columns()
            if getattr(self, name) != defaults[name]
        }


def on_choices(target: Target) -> list[Choice]:
    """What switches the reasoning on, the cheapest first."""
    row = target.row
    choices = [Choice(effort=effort) for effort in row.efforts]
    if row.budget is not None and not row.efforts:
        least, most = row.budget
        steps = (least, least * 2, least * 4)
        choices += [Choice(budget=step) for step in steps if step <= most]
    is_switch = bool(setting_members(Choice(), target))
    return [*choices, Choice()] if is_switch or not choices else choices


def other_spellings(target: Target) -> list[Target]:
    """The target with the other control of its API, for a server that does not accept the one in the catalog."""
    other = _OTHER_CONTROLS.get(target.row.control)
    if other is None:
        return []
    budget = target.row.budget or (_USUAL_BUDGET, _USUAL_BUDGET * 8)
    efforts = () if other in _BUDGETED else target.row.efforts or ("low", "high")
    row = target.row.replace(control=other, efforts=efforts, budget=budget)
    return [target.replace(row=row)]


def setting_members(choice: Choice, target: Target) -> dict[str, Any]:
    """The members of a body for a choice, where the dialect has them."""
    # Rows that are switched off by sending nothing have no value for off; whether there is one is measured.
    row = target.row.replace(off="value") if target.row.off == "omit" else target.row
    if choice.off and row.off == "never":
        row = row.replace(off="value")
    members = CONTROLS[row.control](choice, row)
    wrap = dialect_named(target.dialect).wraps_reasoning
    return {wrap: members} if members and wrap else members


def visible_choice(choice: Choice, row: ModelRow) -> Choice:
    """The choice with what makes reasoning readable, by the catalog."""
    words = [word for word in ("summary", "full") if word in row.showable]
    if row.shown != "hidden" or not words:
        return choice
    return choice._replace(show=words[0])


def wire_of(
    recipe: Recipe,
    target: Target,
    base_url: str,
    *,
    stream: bool = False,
    on: Choice | None = None,
    turn: Turn | None = None,
) -> Wire:
    """The request of a recipe; `on` is what switches the reasoning on, `turn` the turn that a loop goes on from."""
    request = Request(
        f"{target.provider}/{UNKNOWN_MODEL if recipe.unknown_model else target.model}",
        _messages(recipe, turn),
        dialect=target.dialect,
        mode="passthrough",
        tools=[_TOOL] if recipe.tools or recipe.loop else [],
        tool_choice="required" if recipe.forced else None,
        response_format=_SCHEMA if recipe.schema else None,
        stream=stream or recipe.stream,
        max_tokens=_limit(recipe, target.row),
        base_url=base_url,
    )
    request = request.replace(**_own_parameter(recipe))
    model = UNKNOWN_MODEL if recipe.unknown_model else target.model
    wire = encoded(request, target.replace(model=model))
    body = merged(wire.body, _members(recipe, target, on))
    history = dialect_named(target.dialect).history
    if recipe.loop and turn:
        body[history] = _continued(body[history], turn)
        body = tampered(body, history, recipe.loop, target.dialect)
    if recipe.message_member:
        body[history] = [_with_member(item, recipe.message_member) for item in body[history]]
    if recipe.limit_name:
        body = _with_limit(body, recipe, target)
    if recipe.counted:
        return _counting(wire.replace(body=body), target)
    return wire.replace(body=body)


def turn_of(response: Response, body: Any, dialect: str) -> Turn:
    """The turn of an answer, as its history holds it: out of the body, or out of what was read of a stream."""
    if not isinstance(body, dict):
        body = encode_response(response, dialect)
    return dialect_named(dialect).turn_of(body), response.tool_calls


# ---- messages ----------------------------------------------------------------------------------------


def _messages(recipe: Recipe, turn: Turn | None) -> list[Message]:
    if recipe.loop and turn:
        calls = turn[1]
        question = OTHER_QUESTION if recipe.loop == "prefix" else QUESTION
        results = [tool_result(call.id, RESULT) for call in calls]
        return [user(question), Message("assistant", calls), *results]
    if recipe.prefill:
        return [user(SUM), assistant("The product is")]
    if recipe.message_member:
        return [user("Hello."), assistant("Hello. How can I help?"), user(SUM)]
    return [user(QUESTION if recipe.tools else SUM)]


def _continued(written: list[Any], turn: Turn) -> list[Any]:
    """A history whose turn with calls is the one that came, not the one that our writer wrote."""
    results = [item for item in written if RESULT in dump_json(item).decode()]
    return [written[0], *load_json(dump_json(turn[0])), *results]


def _with_member(item: Any, name: str) -> Any:
    is_turn = as_dict(item).get("role") == "assistant"
    return {**item, name: "I add both parts."} if is_turn else item


# ---- settings ----------------------------------------------------------------------------------------


def _limit(recipe: Recipe, row: ModelRow) -> int:
    if recipe.limit is not None:
        return recipe.limit
    least = LARGE if recipe.large or recipe.tools or recipe.loop else SMALL
    budget = recipe.budget or 0
    if row.budget is not None and recipe.setting == "on":
        budget = max(budget, row.budget[0] * 4)  # the largest that `on_choices` tries
    return budget + least


def _own_parameter(recipe: Recipe) -> dict[str, Any]:
    name = recipe.parameter
    return {name: _VALUES[name]} if name in _OWN_FIELDS else {}


def _members(recipe: Recipe, target: Target, on: Choice | None) -> dict[str, Any]:
    """The members of the body beside those of a plain request."""
    members = dict(recipe.members)
    if recipe.parameter and recipe.parameter not in _OWN_FIELDS:
        members = merged(members, _placed(recipe.parameter, target.dialect))
    if recipe.unknown_member:
        members[UNKNOWN_MEMBER] = "x"
    choice = _choice(recipe, target.row, on)
    if choice is None:
        return members
    setting = setting_members(choice, target)
    if recipe.off_by:
        setting = {"thinking": {"type": recipe.off_by}}
        wrap = dialect_named(target.dialect).wraps_reasoning
        setting = {wrap: setting} if wrap else setting
    if choice.off and recipe.effort:
        effort = {"output_config": {"effort": recipe.effort}}
        wrap = dialect_named(target.dialect).wraps_reasoning
        setting = merged(setting, {wrap: effort} if wrap else effort)
    return merged(members, setting)


def _choice(recipe: Recipe, row: ModelRow, on: Choice | None) -> Choice | None:
    if recipe.setting == "off":
        return Choice(off=True)
    choice = Choice(effort=recipe.effort, budget=recipe.budget)
    if recipe.setting == "on" and choice == Choice():
        if on is None:
            return None  # nothing that would switch it on is accepted
        choice = on
    if recipe.show == "visible":
        choice = visible_choice(choice, row)
    elif recipe.show:
        choice = choice._replace(show=recipe.show)  # type: ignore[arg-type]
    is_plain = choice == Choice() and recipe.setting == "default"
    return None if is_plain else choice


def _placed(parameter: str, dialect: str) -> dict[str, Any]:
    """A parameter where the dialect has it."""
    value: Any = _VALUES[parameter]
    path = dialect_named(dialect).places.get(parameter, (parameter,))
    for name in reversed(path):
        value = {name: value}
    return as_dict(value)


def _with_limit(body: dict[str, Any], recipe: Recipe, target: Target) -> dict[str, Any]:
    """The body with the limit under another name."""
    names = {target.row.limit, dialect_named(target.dialect).limit, "max_tokens"}
    rest = {name: value for name, value in body.items() if name not in names}
    return {**rest, str(recipe.limit_name): _limit(recipe, target.row)}


def _counting(wire: Wire, target: Target) -> Wire:
    """The request that has the tokens counted."""
    dialect = dialect_named(target.dialect)
    old, new = dialect.counts_at or ("", "")
    url = wire.url.partition("?")[0].removesuffix(old) + new
    if dialect.counted_in:
        return wire.replace(
            url=url, body={dialect.counted_in: {"model": target.model, **wire.body}}
        )
    names = dialect.counted or tuple(wire.body)
    return wire.replace(
        url=url, body={name: wire.body[name] for name in names if name in wire.body}
    )


def limit_of(recipe: Recipe, row: ModelRow) -> int:
    """The most tokens that the answer to a request can have, for an estimate of its cost."""
    if recipe.counted or recipe.unknown_model:
        return 0
    return SMALL if recipe.peek else _limit(recipe, row)
