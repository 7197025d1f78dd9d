"""A request that was read from some dialect -> the same request for its target.

Members that a client wrote for its own provider are sent there unchanged. Elsewhere every member is written where the target has an
equivalent, and a note names each member that has none:

  settings     fields of `Request` with a dialect's own value get the nearest value that all dialects have (`ReceivedMembers.elsewhere`);
               others move from the place of one dialect to that of the other (`Dialect.places`)
  reasoning    at a chat host that has other members for it, the setting is written in that host's members
  tools        free-form tools become functions with one string argument; tools that run on a provider's server are left out
  cache marks  a mark after the tools is moved to the last tool before it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.notes import Notebook
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, Tool
from innervoice.canon.target import Target
from innervoice.conversation.stable import is_cache_point
from innervoice.planning.cache_marks import takes_cache_marks
from innervoice.wire.controls import MEMBERS, is_claude
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.further_members import path_put
from innervoice.wire.json_access import as_dict
from innervoice.wire.serve import ReceivedMembers, Spelling
from innervoice.wire.shapes import is_strict
from innervoice.wire.write import standard_format

__all__ = ["Received", "fit_received", "refuses", "takes_free_form"]

_FORMAT_MEMBERS = ("type", "json_schema", "name", "description", "schema", "strict")
_WORDS = ("auto", "none", "required", "any")


class Received(NamedTuple):
    """A request for its target."""

    request: Request
    spelling: Spelling | None = None
    """The reasoning setting in members that the target has, if it came in that form."""


def fit_received(
    request: Request, extra: ReceivedMembers, target: Target, notebook: Notebook
) -> Received:
    """The request without members that only another dialect, or another host, understands."""
    fitter = _ReceivedFitter(request, extra, target, notebook)
    return fitter.at_home() if extra.dialect == target.dialect else Received(fitter.abroad())


def refuses(body: dict[str, Any], without: dict[str, Any], target: Target) -> bool:
    """Whether the host refuses what a body has more than the same body without it."""
    problems = dialect_named(target.dialect).shape_rules
    return sum(1 for _ in problems(body, target)) > sum(1 for _ in problems(without, target))


def takes_free_form(target: Target) -> bool:
    """Whether the target has tools that take any text in place of arguments."""
    hosts = dialect_named(target.dialect).free_form_hosts
    return "*" in hosts or (target.host is not None and target.host.id in hosts)


class _ReceivedFitter:
    def __init__(
        self, request: Request, extra: ReceivedMembers, target: Target, notebook: Notebook
    ) -> None:
        self._asked = request
        self._extra = extra
        self._target = target
        self._dialect = dialect_named(target.dialect)
        self._notebook = notebook

    # ---- the same dialect ----------------------------------------------------------------------

    def at_home(self) -> Received:
        """The request for a host that speaks the dialect it was read from."""
        request, target = self._asked, self._target
        extra: dict[str, Any] = self._extra
        spelling = self._extra.spelling
        if spelling and request.reasoning != spelling.setting:
            spelling = None  # the caller has changed it since
        if spelling and not target.is_known:
            # What this model accepts is unknown here; the client may know.
            extra, spelling = {**extra, **spelling.members}, None
            request = request.replace(reasoning=None)
        elif spelling and not spelling.members.keys() <= MEMBERS[target.row.control]:
            spelling = None
        here, there = self._extra.elsewhere.get("reasoning", (None, None))
        if there is not None and request.reasoning != here and _has_amount(request.reasoning):
            extra = self._without_setting(extra)  # the caller has named an amount since
        elif target.is_known and target.row.control not in self._dialect.switches:
            request, extra = self._counted(request, extra)
        if self._dialect.claude_only and not is_claude(target.row):
            extra = self._without_claude(extra)
        if self._refuses_others:
            extra = self._known_members(extra)
        if extra is not request.extra:
            request = request.replace(extra=ReceivedMembers(target.dialect, extra))
        tools = tuple(self._own_tools())
        return Received(
            request.replace(tools=tools) if tools != request.tools else request, spelling
        )

    @property
    def _is_maker(self) -> bool:
        """Whether the host is the provider whose API it is. It judges new members itself: it may have them."""
        host = self._target.host
        return host is not None and host.id == self._dialect.home

    @property
    def _refuses_others(self) -> bool:
        """Whether the host refuses members that it does not have."""
        return is_strict(self._target) and (not self._is_maker or bool(self._dialect.extensions))

    def _counted(self, request: Request, extra: dict[str, Any]) -> tuple[Request, dict[str, Any]]:
        """The request for a model without the switch, such as an older Claude without adaptive thinking: with a setting for the amount."""
        here, there = self._extra.elsewhere.get("reasoning", (None, None))
        if there is None or request.reasoning != here:
            return request, extra
        return request.replace(reasoning=there), self._without_setting(extra)

    def _without_setting(self, extra: dict[str, Any]) -> dict[str, Any]:
        """The members of the body without those that ask for reasoning."""
        for path, fields in self._dialect.said_by.items():
            if "reasoning" in fields:
                extra = _without_path(extra, path)
        return extra

    def _without_claude(self, extra: dict[str, Any]) -> dict[str, Any]:
        members = _without_path(extra, self._dialect.claude_only)
        if members != extra:
            self._notebook.add("extra_dropped", ".".join(self._dialect.claude_only))
        return members

    def _own_tools(self) -> Iterator[Tool]:
        """The tools that the host has: another host's client may have sent others."""
        for tool in self._asked.tools:
            if tool.is_free_form and not takes_free_form(self._target):
                yield tool.as_function()
            elif (
                tool.own is not None
                and self._refuses_others
                and refuses({"tools": [tool.own]}, {}, self._target)
            ):
                self._drop(tool)
            else:
                yield tool

    def _known_members(self, extra: dict[str, Any]) -> dict[str, Any]:
        """The members that the host has, if it refuses others: another host's client may have sent them."""
        members: dict[str, Any] = {}
        dropped = False
        for path, value in _paths(extra, self._dialect):
            member: dict[str, Any] = {}
            path_put(member, path, value)
            is_foreign = not self._is_maker or path[0] in self._dialect.extensions
            if is_foreign and refuses(member, {}, self._target):
                self._notebook.add("extra_dropped", ".".join(path))
                dropped = True
            else:
                path_put(members, path, value)
        return members if dropped else extra

    # ---- another dialect -----------------------------------------------------------------------

    def abroad(self) -> Request:
        """The request for another dialect than the one it was read from."""
        request, read = self._asked, self._extra
        changes = {
            name: there
            for name, (here, there) in read.elsewhere.items()
            if getattr(request, name) == here
        }
        form = changes.get("response_format", request.response_format)
        if form is not None:
            changes["response_format"] = self._format(form)
        extra = self._moved(changes)
        tools = tuple(self._tools())
        choice = changes.get("tool_choice", request.tool_choice)
        if "tool_choice" in changes and choice in _WORDS:
            self._notebook.add("tool_choice_relaxed", f"sent {choice}")
        if not self._is_choice(choice, tools):
            self._notebook.add("extra_dropped", "tool_choice")
            choice = None
        return request.replace(**{**changes, "extra": extra, "tools": tools, "tool_choice": choice})

    def _format(self, form: Any) -> Any:
        """A response format in the form that all writers understand; one that is not understood is noted, and not sent."""
        standard = standard_format(form)
        if standard is None:
            if as_dict(form).get("type") != "text":  # the default everywhere
                self._notebook.add("extra_dropped", "response_format")
            return None
        inner = as_dict(standard.get("json_schema"))
        for name in (*standard, *inner):
            if name not in _FORMAT_MEMBERS:
                self._notebook.add("extra_dropped", f"response_format.{name}")
        plain = {name: value for name, value in inner.items() if name in _FORMAT_MEMBERS}
        return {"type": standard["type"], **({"json_schema": plain} if plain else {})}

    def _is_choice(self, choice: Any, tools: tuple[Tool, ...]) -> bool:
        """Whether a tool choice is still meaningful with the tools that are sent."""
        if choice is None:
            return True
        names_tool = isinstance(choice, str) and choice not in _WORDS
        names = {tool.name for tool in tools}
        return choice in names if names_tool else isinstance(choice, str) and bool(tools)

    def _moved(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The members that the target has an equivalent for; the others are noted."""
        source = dialect_named(self._extra.dialect)
        row = self._target.row
        names = {path: name for name, path in source.places.items()}
        moved: dict[str, Any] = {}
        for path, value in _paths(self._extra, source):
            name = names.get(path)
            if name in row.refuses_always or name in row.refuses:
                self._notebook.add("parameter_removed", name)
            elif name in self._dialect.places and not self._is_refused(name, value):
                path_put(moved, self._dialect.places[name], value)
            elif not any(field in source.said_by.get(path, ()) for field in changes):
                self._notebook.add("extra_dropped", ".".join(path))
        return moved

    def _is_refused(self, name: str, value: Any) -> bool:
        """Whether a host that refuses unknown members does not have this one of its dialect."""
        member: dict[str, Any] = {}
        path_put(member, self._dialect.places[name], value)
        return is_strict(self._target) and refuses(member, {}, self._target)

    def _tools(self) -> Iterator[Tool]:
        tool_before: Tool | None = None
        for tool in self._asked.tools:
            if is_cache_point(tool.own):
                tool_before = self._marked(tool_before, tool)
                continue
            if tool_before is not None:
                yield tool_before
            tool_before = self._tool(tool)
        if tool_before is not None:
            yield tool_before

    def _tool(self, tool: Tool) -> Tool | None:
        if tool.is_free_form:
            return tool.as_function()
        if tool.own is None and not _is_placeholder(tool):
            return tool
        self._drop(tool)
        return None

    def _drop(self, tool: Tool) -> None:
        """Notes a tool that is left out; Gemini's own tools have no name except that of their member."""
        declared = as_dict(tool.own)
        is_named = tool.name in (declared.get("name"), declared.get("type")) or not declared
        self._notebook.add("tool_dropped", tool.name if is_named else ", ".join(declared))

    def _marked(self, tool: Tool | None, point: Tool) -> Tool | None:
        """The tool before a cache point, with the mark."""
        if tool is None or not takes_cache_marks(self._target):
            self._notebook.add("cache_mark_dropped", "tools")
            return tool
        lasting = as_dict(point.own["cachePoint"]).get("ttl")
        mark = {"type": "ephemeral", **({"ttl": lasting} if lasting else {})}
        return tool.replace(members={**tool.members, "cache_control": mark})


def _is_placeholder(tool: Tool) -> bool:
    """Whether a function is only a placeholder for tools that its client would load later."""
    return bool(tool.members.get("defer_loading")) and not (tool.parameters or tool.description)


def _paths(members: dict[str, Any], dialect: Dialect) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every member with its path; those of an object that holds settings one by one."""
    paths = (*dialect.places.values(), *dialect.said_by)
    holders = {path[0] for path in paths if len(path) > 1} | {*dialect.holders}
    for name, value in members.items():
        if name in holders and isinstance(value, dict):
            yield from (((name, inner), item) for inner, item in value.items())
        else:
            yield (name,), value


def _has_amount(setting: Reasoning | None) -> bool:
    return setting is not None and (setting.effort is not None or setting.budget is not None)


def _without_path(members: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The members without the one at a path, and without an object that contained nothing else."""
    first, *rest = path
    others = {name: item for name, item in members.items() if name != first}
    if rest and (inner := _without_path(as_dict(members.get(first)), tuple(rest))):
        others[first] = inner
    return others
