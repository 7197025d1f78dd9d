"""The emulator refuses in the providers' own words, and takes the neighbour of what it refuses."""

import json
from urllib.parse import urlsplit

import pytest

import innervoice as iv
from emulator.refusals import CASES
from innervoice.emulator import Emulator
from shared import SHARED, needs_shared


def reply(emulator, case, body, key="test-key"):
    provider, _, model = case.target.partition("/")
    provider, _, kind = provider.partition(":")
    dialect = {"chat": "openai-chat", "responses": "openai-responses"}.get(kind)
    wire = iv.encode(iv.Request(f"{provider}/{model}", [], dialect=dialect))
    path = f"/{provider}{urlsplit(wire.url).path}"
    headers = {**wire.headers, **case.headers, "authorization": f"Bearer {key}"}
    body = {"model": model, **body} if "model" in wire.body else body
    return emulator.reply("POST", path, headers, json.dumps(body).encode())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.target}-{case.words[:50]}")
def test_refusal(case):
    emulator = Emulator()
    taken = reply(emulator, case, case.taken(emulator))
    assert 200 == taken.status, taken.body
    refused = reply(emulator, case, case.refused(emulator), case.key)
    assert case.status == refused.status
    assert case.words in refused.body.decode().replace('\\"', '"')


# Pieces of texts that the facts quote with a placeholder in them, or that stand in other words there.
_OURS = {
    "between_tools", "temperature", "MINIMAL", "cannot be modified", "bound to a different conversation",
    "Expected `thinking` or `redacted_thinking`", "Corrupted thought signature",
    '"thinking.type.disabled" is not supported',
}  # fmt: skip


@needs_shared
def test_the_words_are_those_of_the_facts():
    """No text is made up: all stand in the facts, the names of models and places aside."""
    facts = "\n".join(path.read_text("utf-8") for path in (SHARED / "facts").glob("*.md"))
    facts = " ".join(facts.replace("…", "").split())
    unknown = []
    for case in CASES:
        pieces = [piece for piece in _without_names(case.words) if len(piece) > 8]
        if case.words not in _OURS and not all(piece in facts for piece in pieces):
            unknown.append(case.words)
    assert [] == unknown


def _without_names(words):
    for name in ("gpt-5.6", "gpt-5.1", "messages.1.content.0", "messages.0.content.1", "index 1", 'Use "thinking.type.between'):  # fmt: skip
        words = words.replace(name, "\n")
    return [piece.strip(" :.") for piece in words.split("\n")]


def test_encrypted_content_of_a_stored_response():
    """What was stored can be had, and its encrypted content cannot."""
    emulator = Emulator()
    asked = json.dumps({"model": "gpt-5.6", "input": "What is 2 + 2?"}).encode()
    made = json.loads(emulator.reply("POST", "/openai/v1/responses", {}, asked).body)
    path = f"/openai/v1/responses/{made['id']}"
    stored = emulator.reply("GET", path, {}, b"")
    assert (200, "2 + 2 = 4.") == (stored.status, iv.decode(stored.body).text)
    refused = emulator.reply("GET", f"{path}?include[]=reasoning.encrypted_content", {}, b"")
    assert 400 == refused.status
    assert b"Encrypted content cannot be requested for persisted responses" in refused.body


def test_a_long_history_without_signatures():
    """Gemini then says no more than that something is wrong."""
    call = {"functionCall": {"name": "f", "args": {}}}
    contents = [{"role": "user", "parts": [{"text": "x"}]}]
    for _ in range(25):
        contents.append({"role": "model", "parts": [call]})
        contents.append({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]})  # fmt: skip
    path = "/gemini/v1beta/models/gemini-3.5-flash:generateContent"
    body = json.dumps({"contents": contents}).encode()
    refused = Emulator().reply("POST", path, {}, body)
    assert (400, True) == (refused.status, b"Request contains an invalid argument." in refused.body)
