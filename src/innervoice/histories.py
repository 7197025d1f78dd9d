"""Histories of any program, and a target -> what is sent, what is wrong with it, and the history as the target accepts it.

`messages` are ours, or the list of another library: dicts of any dialect, LangChain messages, objects of an SDK. The lists are read
by `sources/`; the rules are in `planning/`, which has only our messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.response import Response
from innervoice.planning import lint as linting
from innervoice.planning import plan as planning
from innervoice.planning import repair as repairing
from innervoice.planning.lint import Problem
from innervoice.planning.plan import Plan

__all__ = ["lint", "plan", "repair"]


def plan(
    messages: Sequence[Any],
    target: str,
    dialect: str | None = None,
    *,
    last: Plan | None = None,
    **settings: Any,
) -> Plan:
    """Plans a history for a target; nothing is sent.

    :param messages: The history: messages and responses, or the dicts of a provider or a framework.
    :param target: The target, `provider/model`.
    :param dialect: The wire format; None for the usual one of the provider.
    :param last: The plan of the previous request, to compare the prompt cache with.
    :param settings: Other fields of the `Request` (system, tools, reasoning, scope, ...), which are taken into account.
    """
    return planning.plan(_read(messages), target, dialect, last=last, **settings)


def lint(
    messages: Sequence[Any], target: str, dialect: str | None = None, **settings: Any
) -> list[Problem]:
    """Lists the problems of a history for a target.

    :param messages: The history: messages and responses, or the dicts of a provider or a framework.
    :param target: The target, `provider/model`.
    :param dialect: The wire format; None for the usual one of the provider.
    :param settings: Other fields of the `Request` (system, tools, reasoning, scope, ...), which are taken into account.
    """
    return linting.lint(_read(messages), target, dialect, **settings)


def repair(
    messages: Sequence[Any], target: str, dialect: str | None = None, **settings: Any
) -> list[Message]:
    """The history, acceptable for a target.

    :param messages: The history: messages and responses, or the dicts of a provider or a framework.
    :param target: The target, `provider/model`.
    :param dialect: The wire format; None for the usual one of the provider.
    :param settings: Other fields of the `Request` (system, tools, reasoning, scope, ...), which are taken into account.
    """
    return repairing.repair(_read(messages), target, dialect, **settings)


def _read(messages: Sequence[Any]) -> tuple[Message, ...]:
    ours = [item.message if isinstance(item, Response) else item for item in messages]
    if all(isinstance(item, Message) for item in ours):
        return tuple(ours)
    # Only the list of another library needs the readers.
    from innervoice.sources.stored import check_roles, history_from  # noqa: PLC0415

    check_roles(messages)
    return tuple(history_from(messages).messages)
