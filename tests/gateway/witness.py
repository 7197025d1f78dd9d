"""An upstream that keeps what it answered, and what of it must be in the requests that follow."""

import asyncio
import json
from dataclasses import replace

import innervoice as iv
from gateway.harness import QUESTION, Client, Served, Upstream
from innervoice.emulator.routes import route_of

__all__ = [
    "FRONTS", "SKIP", "Witness", "ask", "loop", "noted", "proofs", "reasoning_is_at_home", "reasoning_is_back", "seals", "shown", "watched",
]  # fmt: skip

FRONTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SKIP = "skip_thought_signature_validator"
_SEALS = ("signature", "encrypted_content", "thoughtSignature", "thought_signature", "redactedContent")  # fmt: skip
_SEALED_DATA = ("redacted_thinking", "reasoning.encrypted")
_FOR_URLS = str.maketrans("+/", "-_")


class Witness(Upstream):
    """The emulator; `answers` are its answers as they were read by nobody but the provider's own client."""

    def __init__(self, emulator=None):
        super().__init__(emulator)
        self.answers: list[iv.Response | None] = []

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        raw, route = reply.body, route_of(path)
        answered = reply.status == 200 and route is not None
        self.answers.append(
            iv.decode(raw, dialect=route.dialect, provider=route.provider) if answered else None
        )
        return replace(reply, pieces=iter([raw]))


def watched(config=None, **options) -> Served:
    """A gateway on a witness."""
    return Served(config, Witness(), **options)


def loop(served, front, model, *, question=QUESTION, **how) -> Client:
    """A client that has run a tool loop of three turns."""
    client = Client(served, front, model, **how)
    asyncio.run(client.say(question))
    return client


def ask(client, text="What is 2 + 2?", *, model=None) -> iv.Response:
    """The client's next question, if need be to another model."""
    client.model = model or client.model
    return asyncio.run(client.say(text))


def seals(value) -> list[str]:
    """All seals in the JSON of a request or a block, in their order."""
    found = []
    if isinstance(value, dict):
        for name, member in value.items():
            is_seal = name in _SEALS or (name == "data" and value.get("type") in _SEALED_DATA)
            found += [member] if is_seal and isinstance(member, str) else seals(member)
    elif isinstance(value, list):
        for item in value:
            found += seals(item)
    return [seal for seal in found if seal]


def proofs(message, *, summaries=True) -> list[str]:
    """What must be in a request for a turn to be whole: its seals, and the words of reasoning that has none.

    Without `summaries`, as a store keeps turns: not the words of Gemini's thoughts, which Gemini does without.
    """
    found = []
    for part in message.parts:
        given = seals(part.origin.block) if part.origin else []
        is_summary = bool(part.origin and part.origin.dialect == "gemini")
        has_words = isinstance(part, iv.Thinking) and part.text and (summaries or not is_summary)
        found += given or ([part.text] if has_words else [])
    return found


def reasoning_is_back(upstream, *, since=0, summaries=True) -> int:
    """Asserts that each request has the reasoning of all answers before it, each once and in order; returns how much it was."""
    known, count = [], 0
    for request, answer in zip(upstream.requests[since:], upstream.answers[since:], strict=True):
        count += _has_in_order(request, known)
        if answer is not None:
            known += proofs(answer.message, summaries=summaries)
    return count


def reasoning_is_at_home(upstream, *, summaries=True) -> int:
    """The same for a conversation with several providers: each request has the reasoning of its own provider's answers, and no other."""
    known, count = {}, 0
    for path, request, answer in zip(upstream.paths, upstream.requests, upstream.answers, strict=True):  # fmt: skip
        home = route_of(path).provider
        count += _has_in_order(request, known.setdefault(home, []))
        text = json.dumps(request, ensure_ascii=False)
        for provider, proof in [(one, proof) for one in known for proof in known[one]]:
            assert provider == home or json.dumps(proof, ensure_ascii=False) not in text, provider
        known[home] += proofs(answer.message, summaries=summaries)
    return count


def _has_in_order(request, known) -> int:
    text, place = json.dumps(request, ensure_ascii=False), -1
    for proof in known:
        # Words may be in tags, beside others.
        written = json.dumps(proof, ensure_ascii=False)[1:-1]
        if written not in text:  # google-genai writes bytes in the alphabet for URLs
            written = written.translate(_FOR_URLS)
        assert text.count(written) == 1, (text.count(written), proof[:80])
        assert (place := text.find(written, place + 1)) >= 0, "in their order"
    return len(known)


def shown(message) -> tuple:
    """What a client gets of a turn: its words, its reasoning, its calls, and how many seals it has."""
    blocks = [part.origin.block for part in message.parts if part.origin]
    calls = [(call.name, call.arguments) for call in message.tool_calls]
    return message.text, message.thinking, calls, len(seals(blocks))


def noted(report) -> set[str]:
    """The codes of what was noted of a request."""
    return {note.code for note in report.notes}
