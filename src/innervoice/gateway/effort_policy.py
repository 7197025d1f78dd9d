"""How much a model reasons for a request, by the rules of the configuration: what the client asked for goes in, what is sent comes out.

    [[reasoning]]   rules for some models, owners of keys and kinds of requests, then those of [[models]]
                    each member is decided by the first rule that fits and has it

`auto` chooses the effort by the shape of the request alone: what it is for, how long the question is, whether there are tools and files. So the
same conversation always gets the same level, and a tool loop keeps that of its question. Where another level in the middle of a conversation would
lose the prompt cache, that of the first question stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple, get_args

from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Text
from innervoice.canon.reasoning import Effort, Reasoning
from innervoice.canon.request import Request
from innervoice.canon.target import Target
from innervoice.gateway.config import GatewayConfig, NamedModel, ReasoningPolicy, ReasoningRule
from innervoice.gateway.config.names import matched
from innervoice.planning.effort_changes import has_new_input, reads_changes
from innervoice.sources.housekeeping import RequestKind, kind_of
from innervoice.sources.injected import is_injected
from innervoice.wire.dialects import dialect_named
from innervoice.wire.effort_messages import is_effort_message, with_effort
from innervoice.wire.serve import ReceivedMembers

__all__ = [
    "Governed",
    "GovernedRequest",
    "PlacedRule",
    "described",
    "governed_by",
    "placed_rules",
    "rules_for",
]

_RANKS: dict[str, int] = {word: rank for rank, word in enumerate(get_args(Effort))}
_EFFORT = attrgetter("effort")
_MEMBERS = ("at_most", "at_least", "default", "show", "auto")


class PlacedRule(NamedTuple):
    """A rule, and where it stands in the file."""

    place: str
    rule: ReasoningRule


class Shape(NamedTuple):
    """A row of `auto`: the requests that it fits, and their effort. The first that fits counts."""

    name: str
    effort: Effort
    kinds: tuple[RequestKind, ...] = ()
    has_files: bool | None = None
    has_tools: bool | None = None
    least: int = 0
    """The fewest characters of the question."""
    most: int | None = None


SHAPES = (
    Shape("something that the client asks for itself", "low", kinds=("title", "summary", "check")),
    Shape("a file", "high", has_files=True),
    Shape("a long question", "high", least=4000),
    Shape("a long task with tools", "high", has_tools=True, least=1000),
    Shape("a short question without tools", "low", has_tools=False, most=200),
    Shape("any other question", "medium"),
)


def placed_rules(config: GatewayConfig) -> tuple[PlacedRule, ...]:
    """The rules of [[reasoning]], and those of [[models]] for their names."""
    rules = [PlacedRule(f"reasoning[{n}]", rule) for n, rule in enumerate(config.reasoning)]
    for number, model in enumerate(config.models):
        if _has_members(model.reasoning):
            members = {name: getattr(model.reasoning, name) for name in _MEMBERS}
            rule = ReasoningRule(**members, models=(model.name,))
            rules.append(PlacedRule(f"models[{number}].reasoning", rule))
    return tuple(rules)


def rules_for(
    name: str, entry: NamedModel | None, rules: tuple[PlacedRule, ...]
) -> tuple[PlacedRule, ...]:
    """The rules for a name that a caller asks for, and for the entry of [[models]] that it is."""
    if not rules:
        return ()
    names = {name, *((entry.name,) if entry else ())}
    return tuple(placed for placed in rules if _fits(placed, names, entry))


def _fits(placed: PlacedRule, names: set[str], entry: NamedModel | None) -> bool:
    models = placed.rule.models
    if placed.place.startswith("models["):
        return entry is not None and models == (entry.name,)
    return not models or any(matched(one, name) is not None for one in models for name in names)


def _has_members(policy: ReasoningPolicy) -> bool:
    return any(getattr(policy, name) is not None for name in _MEMBERS)


def described(policy: ReasoningPolicy) -> str:
    """A policy in a few words; empty if it says nothing."""
    words = {"at_most": "effort at most", "at_least": "effort at least", "default": "effort by default", "show": "shows"}  # fmt: skip
    pieces = [
        f"{text} {value}"
        for name, text in words.items()
        if (value := getattr(policy, name)) is not None
    ]
    return ", ".join([*pieces, *(["effort by the shape of the request"] if policy.auto else [])])


# ---- one request -----------------------------------------------------------------------------------


class GovernedRequest(NamedTuple):
    """The facts of a request that rules depend on."""

    tenant: str
    headers: Mapping[str, str]
    request: Request

    @property
    def kind(self) -> RequestKind:
        """What it is for."""
        request = self.request
        texts = [request.system] if request.system else []
        new: list[str] = []
        for message in request.messages:
            spoken = [part.text for part in message.parts if isinstance(part, Text)]
            if message.role == "assistant":
                new = []
            elif message.role == "system":
                texts += spoken
            else:
                new += spoken
        return kind_of(self.headers, [*texts, *new])


class Governed(NamedTuple):
    """A request by the rules."""

    messages: tuple[Message, ...]
    setting: Reasoning | None
    explained: dict[str, Any]
    """Which rule decided what, for `/v1/explain`."""


class _Policy(NamedTuple):
    """The members that are in force for a request, and the places of their rules."""

    values: dict[str, Any]
    places: dict[str, str]


def governed_by(
    rules: tuple[PlacedRule, ...], governed: GovernedRequest, target: Target, notebook: Notebook
) -> Governed:
    """What is sent of a request to a target."""
    kind, request = governed.kind, governed.request
    policy = _policy(rules, governed.tenant, kind)
    setting, used = request.reasoning, dict[str, str]()
    effort = _Effort(policy.values, target, used)
    changes = [one for one in request.messages if one.effort and one.role != "assistant"]
    level, shape = None, None
    if policy.values.get("auto") and not (setting and setting.effort == "none"):
        pins = bool(changes) or not reads_changes(target, request.extra, setting)
        level, shape = _level(request, kind, of_first=pins)
    setting = effort.fitted(setting, level, _unnamed_amount(request, target))
    messages = request.messages
    if any(map(_EFFORT, messages)):
        messages = tuple(_with_change(one, effort, level) for one in messages)
    if used:
        limited = used.keys() == {"at_most"}
        code = "effort_limited" if limited else "effort_by_policy"
        detail = f"at most {policy.values['at_most']}" if limited else str(setting and setting.effort)  # fmt: skip
        notebook.add(code, detail)
    setting_shown = _with_display(setting, policy.values.get("show"), target)
    if setting_shown != setting:
        used["show"] = policy.places["show"]
        notebook.add("show_by_policy", setting_shown.show if setting_shown else None)
    explained = {
        "kind": kind,
        "asked": _words(request.reasoning),
        "sent": _words(setting_shown),
        "shape": shape,
        "rules": {name: policy.places[name] for name in used},
    }
    return Governed(messages, setting_shown, explained)


def _policy(rules: tuple[PlacedRule, ...], tenant: str, kind: RequestKind) -> _Policy:
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for place, rule in rules:
        if (rule.keys and tenant not in rule.keys) or (rule.kinds and kind not in rule.kinds):
            continue
        for name in _MEMBERS:
            value = getattr(rule, name)
            if value is not None and name not in values:
                values[name], places[name] = value, place
    return _Policy(values, places)


class _Effort:
    """Brings an effort to what the rules allow; `used` gets the members that changed it."""

    def __init__(self, values: Mapping[str, Any], target: Target, used: dict[str, str]) -> None:
        self._values, self._used = values, used
        row = target.row
        self._usual = row.default if row.default in _RANKS else None
        """The level of a request that names none, where it is known."""

    def fitted(
        self, setting: Reasoning | None, level: Effort | None, unnamed: Reasoning | None
    ) -> Reasoning | None:
        """The setting with an effort that the rules allow; `level` is what `auto` chose, `unnamed` what a setting without an amount means."""
        values = self._values
        word: str | None = setting.effort if setting else None
        has_budget = setting is not None and word is None and setting.budget is not None
        if level is not None and (word != level or has_budget):
            self._used["auto"] = word = level
            has_budget = False
        elif word is None and not has_budget and values.get("default") is not None:
            self._used["default"] = word = values["default"]
        usual = (unnamed and unnamed.effort) or self._usual
        word = self.bounded(word, usual, has_budget=has_budget)
        if word is None or (setting is not None and word == setting.effort):
            return setting
        return (setting or unnamed or Reasoning()).replace(effort=word, budget=None)

    def of_change(self, message: Message, level: Effort | None) -> str | None:
        """The level that a message of the history sets, or that a turn was written with, within the limits; of a change, what `auto` chose."""
        if level is not None and message.role != "assistant":
            if message.effort != level:
                self._used["auto"] = level
            return level
        word = None if message.effort == "default" else message.effort
        return self.bounded(word, self._usual) or message.effort

    def bounded(
        self, word: str | None, usual: str | None, *, has_budget: bool = False
    ) -> str | None:
        """A level within the limits, where `usual` is the one of None; None stays None where nothing has to change."""
        most, least = self._values.get("at_most"), self._values.get("at_least")
        effort = None if has_budget else word or usual
        # A budget may be any effort, so the limit replaces it.
        if most is not None and (has_budget or (effort and _RANKS[effort] > _RANKS[most])):
            self._used["at_most"] = word = most
        elif least is not None and effort and _RANKS[effort] < _RANKS[least]:
            self._used["at_least"] = word = least
        return word


def _unnamed_amount(request: Request, target: Target) -> Reasoning | None:
    """What a setting means that names no amount, such as adaptive thinking or any budget: at other models than its API's, and where nothing is
    known of the model's own default."""
    extra = request.extra
    if not isinstance(extra, ReceivedMembers):
        return None
    here, meant = extra.elsewhere.get("reasoning", (None, None))
    if not isinstance(meant, Reasoning) or request.reasoning != here:
        return None
    usual: Any = target.row.default if extra.dialect == target.dialect else None
    return meant.replace(effort=usual) if usual in _RANKS and usual != "none" else meant


def _with_change(message: Message, effort: _Effort, level: Effort | None) -> Message:
    """A message with the effort that it sets, or was written with, within the limits."""
    if message.effort is None:
        return message
    word: Any = effort.of_change(message, level)
    if word == message.effort:
        return message
    dialect = message.origin.dialect if message.origin else None
    if dialect is None or not is_effort_message(message, dialect):
        return message.replace(effort=word)
    return with_effort(message, word, dialect_named(dialect))


def _level(request: Request, kind: RequestKind, *, of_first: bool) -> tuple[Effort, str]:
    """What `auto` chooses, and the name of the shape; of the first question, or of the last one."""
    questions = [one for one in request.messages if has_new_input(one) and _text_of(one)]
    question = (questions[0] if of_first else questions[-1]) if questions else None
    text = _text_of(question) if question else ""
    has_files = bool(question) and any(isinstance(one, Media) for one in question.parts)  # type: ignore[union-attr]
    for shape in SHAPES:
        if (
            (not shape.kinds or kind in shape.kinds)
            and shape.has_files in (None, has_files)
            and shape.has_tools in (None, bool(request.tools))
            and shape.least <= len(text)
            and (shape.most is None or len(text) <= shape.most)
        ):
            return shape.effort, shape.name
    raise AssertionError("the last shape fits every request")


def _text_of(message: Message) -> str:
    """What the user wrote in a message, without what the program wrote in the user's name."""
    texts = (part.text for part in message.parts if isinstance(part, Text))
    return "\n".join(text for text in texts if text.strip() and not is_injected(text))


def _with_display(setting: Reasoning | None, show: Any, target: Target) -> Reasoning | None:
    """The setting with what is to be shown, as far as the model can show it."""
    row = target.row
    is_off = setting.effort == "none" if setting else row.default == "none"
    if show is None or is_off:
        return setting
    if show == "hidden":
        wanted = "hidden" if row.shown != "hidden" and "hidden" in row.showable else None
    else:
        others = [show, *({"summary", "full"} - {show})]
        can = next((one for one in others if one in row.showable), None)
        wanted = can if row.shown == "hidden" or (setting and setting.show == "hidden") else None
    if wanted is None:
        asks_otherwise = setting is not None and setting.show not in (None, show)
        return setting.replace(show=None) if setting and asks_otherwise else setting
    return (setting or Reasoning()).replace(show=wanted)


def _words(setting: Reasoning | None) -> dict[str, Any]:
    setting = setting or Reasoning()
    return {"effort": setting.effort, "budget": setting.budget, "show": setting.show}
