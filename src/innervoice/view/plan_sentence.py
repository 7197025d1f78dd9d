"""A plan in one sentence, in the words of someone who uses an agent: what the model would get, what stays here and whose it is, and what becomes of the prompt cache."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.catalog.lookup import family_of
from innervoice.planning.cache import CacheEffect
from innervoice.planning.decisions import Decision
from innervoice.planning.plan import Plan
from innervoice.show.policy import counted
from innervoice.view.row_types import fact

__all__ = ["plan_sentence"]

_FAMILIES = {"gpt": "GPT", "glm": "GLM", "deepseek": "DeepSeek", "minimax": "MiniMax"}
"""Families whose names are not written like other names."""
_KINDS = {"thinking": "thought", "tool_call": "call", "tool_result": "result", "text": "text", "media": "file"}  # fmt: skip
_DEAD = "prefix_changed"
_VERSION = re.compile(r"\b(\d)-(\d)\b")


def plan_sentence(
    target: str, plan: Plan, messages: Iterable[Message], effect: CacheEffect | None, turn: str
) -> str:
    """`GPT-5.6 would get everything but 6 thoughts, which are Claude's and stay here; the prompt cache starts anew.`

    `turn` is the name of the turn up to which the cache can be used.
    """
    history = tuple(messages)
    staying = [one for one in plan.decisions if one.action == "omitted" and one.member is None]
    clauses = [f"{_name(target)} would get everything{_but(staying, history)}"]
    clauses += _changes(plan.decisions)
    if effect is not None:
        clauses.append(_cache(effect, turn))
    return fact("", "; ".join(clauses) + ".")["why"]


def _name(target: str) -> str:
    """A model as people call it."""
    model = target.rpartition("/")[2]
    family, _, rest = model.partition("-")
    if not rest or not family.isalpha() or family_of(model) != family:
        return model
    words = " ".join(word.capitalize() for word in _VERSION.sub(r"\1.\2", rest).split("-"))
    return f"{_called(family)}{'-' if family == 'gpt' else ' '}{words}"


def _called(family: str) -> str:
    return _FAMILIES.get(family, family.capitalize())


def _but(staying: list[Decision], messages: tuple[Message, ...]) -> str:
    if not staying:
        return ""
    counts = Counter(_KINDS.get(one.kind, "part") for one in staying)
    words = _joined([counted(count, word) for word, count in counts.items()])
    return f" but {words}, {_whose(staying, messages)}"


def _whose(staying: list[Decision], messages: tuple[Message, ...]) -> str:
    is_one = len(staying) == 1
    verb = "stays" if is_one else "stay"
    if all(one.note == _DEAD for one in staying):
        seals = "its seal no longer fits" if is_one else "their seals no longer fit"
        return f"which {verb} here because {seals}"
    owners = {owner for one in staying if (owner := _owner(one, messages))}
    if len(owners) == 1:
        return f"which {'is' if is_one else 'are'} {owners.pop()}'s and {verb} here"
    if owners:
        return f"which are of other models ({', '.join(sorted(owners))}) and {verb} here"
    return f"which {verb} here"


def _owner(decision: Decision, messages: tuple[Message, ...]) -> str | None:
    """The family of the model that wrote a thought."""
    if decision.kind != "thinking" or decision.message >= len(messages):
        return None
    parts = messages[decision.message].parts
    own = [parts[decision.part]] if decision.part is not None else parts
    for part in own:
        if isinstance(part, Thinking) and part.origin and part.origin.model:
            family = family_of(part.origin.model)
            return _called(family)
    return None


def _changes(decisions: Iterable[Decision]) -> Iterator[str]:
    rewritten = Counter(_KINDS.get(one.kind, "part") for one in decisions if one.action == "converted")  # fmt: skip
    if rewritten:
        words = _joined([counted(count, word) for word, count in rewritten.items()])
        yield f"{words} {'goes' if rewritten.total() == 1 else 'go'} in another form"
    added = sum(one.action == "filled" for one in decisions)
    if added:
        yield f"{counted(added, 'piece')} that its API requires {'is' if added == 1 else 'are'} added"


def _cache(effect: CacheEffect, turn: str) -> str:
    if effect.message is None:
        return "the prompt cache is used"
    if effect.message == 0:
        return "the prompt cache starts anew"
    return f"the prompt cache is used up to {turn}"


def _joined(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
