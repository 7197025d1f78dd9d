"""Keys, tokens and passwords in prompts, reasoning and answers: where they are, and, on request, rows without them.

The patterns of secrets are those of `privacy/secrets.py`. Only their places are kept, never the secrets themselves.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from innervoice.bulk.schema import Batch, Column, Step, column, rows_in
from innervoice.privacy.secrets import redacted, secrets_in

__all__ = ["secrets"]

_ADDS = {
    "secrets": Column("list<struct<place: string, message: int32, kind: string, start: int32, end: int32>>", "What looks like a secret: the column, for a prompt the message and its member, and the characters from start to end; if redacted, positions in the original text."),
}  # fmt: skip


def secrets(*, redact: bool = False) -> Step:
    """The step; with `redact`, placeholders replace the secrets in all columns of the schema, and parts lose their origins, which may repeat them."""
    return Step("secrets", partial(_run, redact=redact), _ADDS)


def _run(batch: Batch, *, redact: bool) -> Batch:
    prompts = column(batch, "prompt", "secrets")
    thoughts = column(batch, "reasoning", "secrets")
    answers = column(batch, "answer", "secrets")
    counts = [
        [
            *_in_prompt(prompts[index]),
            *_in_text("reasoning", thoughts[index]),
            *_in_text("answer", answers[index]),
        ]
        for index in range(rows_in(batch))
    ]
    batch = {**batch, "secrets": counts}
    return _redacted(batch) if redact else batch


def _in_text(place: str, text: str | None, message: int | None = None) -> list[dict[str, Any]]:
    found = secrets_in(text) if text else ()
    return [{"place": place, "message": message, **secret._asdict()} for secret in found]


def _in_prompt(prompt: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [
        entry
        for index, message in enumerate(prompt or ())
        for member in _MEMBERS
        for entry in _in_text(f"prompt.{member}", message.get(member), index)
    ]


_MEMBERS = ("content", "reasoning", "calls")


def _redacted(batch: Batch) -> Batch:
    changed: Batch = {
        **batch,
        "prompt": [
            None if prompt is None else [_of_message(message) for message in prompt]
            for prompt in batch["prompt"]
        ],
    }
    for name in ("reasoning", "answer", "raw"):
        if name in batch:
            changed[name] = [None if text is None else redacted(text) for text in batch[name]]
    if "parts" in batch:
        changed["parts"] = [
            None
            if parts is None
            else [{**part, "text": redacted(part["text"] or ""), "origin": None} for part in parts]
            for parts in batch["parts"]
        ]
    return changed


def _of_message(message: dict[str, Any]) -> dict[str, Any]:
    return {
        name: redacted(value) if name in _MEMBERS and value is not None else value
        for name, value in message.items()
    }
