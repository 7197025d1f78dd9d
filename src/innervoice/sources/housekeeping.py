"""Requests that a client sends for itself: for a title, a summary, a check. A row each: how the system prompt or the user's message begins, and what is asked for.

They are no conversations of the user, however early they arrive. Found in the programs on 2026-11-17; that of opencode in its request, that of Codex in a recorded one.

A program also says which requests come from its sub-agents, in a header: Claude Code since 2.1.139, Codex in its own tests and those of proxies,
opencode in its source (public repositories, read 2026-11-18).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

__all__ = ["HELPERS", "KINDS", "Helper", "RequestKind", "helper_of", "kind_of"]

RequestKind: TypeAlias = Literal["main", "sub-agent", "title", "summary", "check"]
"""What a request is for: the user's conversation, a sub-agent's, or something that the client asks for itself."""
KINDS: tuple[RequestKind, ...] = get_args(RequestKind)


class Helper(NamedTuple):
    """A request of a client for itself."""

    client: str
    version: str
    asks_for: str
    beginning: str


HELPERS = (
    Helper("Claude Code", "2.1.325", "a title", "Generate a short kebab-case name (2-4 words) that captures the main topic"),
    Helper("Claude Code", "2.1.325", "a title", "Generate a concise, technical issue title"),
    Helper("Claude Code, opencode", "2.1.325, 1.18.33", "a summary", "You are a helpful AI assistant tasked with summarizing conversations"),
    Helper("Claude Code", "2.1.325", "a summary", "CRITICAL: Respond with TEXT ONLY"),
    Helper("Claude Code", "2.1.325", "a summary", "Your task is to create a detailed summary of the conversation so far"),
    Helper("Codex", "0.166.0", "a summary", "You are performing a CONTEXT CHECKPOINT"),
    Helper("Gemini CLI", "0.61.0", "a title", "Summarize the user's primary intent or goal in this conversation"),
    Helper("Gemini CLI", "0.61.0", "who speaks next", "Analyze *only* the content and structure of your immediately preceding response"),
    Helper("Gemini CLI", "0.61.0", "whether it runs in circles", "You are a diagnostic agent that determines whether a conversational AI assistant is stuck"),
    Helper("Gemini CLI", "0.61.0", "a summary", "You are a specialized system component responsible for distilling chat history"),
    Helper("opencode", "1.18.33", "a title", "You are a title generator."),
    Helper("pi", "0.73.1", "a summary", "You are a context summarization assistant."),
    Helper("innervoice serve", "0.2.1", "a summary", "Write a summary that will stand in place of the conversation above."),
)  # fmt: skip


def helper_of(texts: Iterable[str]) -> Helper | None:
    """The row of a request, by its system prompt and the user's new messages; None for a request of the user."""
    beginnings = [text.lstrip()[:400] for text in texts]
    return next((row for row in HELPERS if any(text.startswith(row.beginning) for text in beginnings)), None)  # fmt: skip


class Marked(NamedTuple):
    """A header that says what kind of request it is in."""

    client: str
    header: str
    value: str | None
    """The value that it must have; None: any but an empty one."""
    kind: RequestKind


MARKED = (
    Marked("Codex", "x-openai-subagent", "compact", "summary"),
    Marked("Codex", "x-openai-subagent", None, "sub-agent"),
    Marked("Codex", "x-codex-parent-thread-id", None, "sub-agent"),
    Marked("Claude Code", "x-claude-code-agent-id", None, "sub-agent"),
    Marked("Claude Code", "x-claude-code-parent-agent-id", None, "sub-agent"),
    Marked("opencode", "x-parent-session-id", None, "sub-agent"),
)
_KIND_OF: dict[str, RequestKind] = {"a title": "title", "a summary": "summary"}


def kind_of(headers: Mapping[str, str], texts: Iterable[str]) -> RequestKind:
    """What a request is for, by its headers in lowercase, its system prompt and the user's new messages."""
    if helper := helper_of(texts):
        return _KIND_OF.get(helper.asks_for, "check")
    for row in MARKED:
        value = headers.get(row.header, "").strip()
        if value and row.value in (None, value):
            return row.kind
    return "main"
