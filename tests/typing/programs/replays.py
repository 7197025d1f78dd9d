"""Keeps a history, checks it, and writes requests and answers."""

from __future__ import annotations

import innervoice as iv


def checked(history: list[iv.Message], target: str) -> list[str]:
    problems = iv.lint(history, target)
    if any(problem.severity == "refused" for problem in problems):
        history = iv.repair(history, target)
    plan = iv.plan(history, target)
    return [f"{decision.action} {decision.rule} {decision.why}" for decision in plan.decisions]


def written(history: list[iv.Message]) -> tuple[str, list[str]]:
    request = iv.Request("anthropic/claude-opus-5-5", tuple(history), reasoning="high")
    wire = iv.encode(request)
    return wire.url, [note.code for note in wire.notes]


def stored(response: iv.Response) -> bytes:
    asked = iv.user(["And this?", iv.file("dog.png")])  # type: ignore[misc] # content may be anything
    kept = [iv.user("Why?"), response.message, asked]
    return iv.to_json(kept)


def refused(error: iv.ProviderError) -> str:
    if isinstance(error, iv.RateLimitError):
        return f"wait {error.retry_after}"
    return f"{error.status} {error.message}"


def split(text: str) -> str:
    splitter = iv.Splitter(model="qwq-32b")
    events = splitter.feed(text) + splitter.finish("stop")
    folded = iv.fold(events)
    return folded.text + iv.restore(folded.parts)
