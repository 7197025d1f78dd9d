"""The floor: the minimum work, by hand with msgspec and httpx2."""

from __future__ import annotations

import msgspec

from contenders import CROWD, MESSAGES, MIXED, ORPHAN, PIECES, WHOLE, Jobs
from payloads import MAKERS, payload
from texts import mixed, orphaned, pieces, tagged

_decode = msgspec.json.decode


# ---- a body with types, and only the members that are read ------------------------------------------


class _ChatMessage(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    message: _ChatMessage
    finish_reason: str | None = None


class _Counts(msgspec.Struct):
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: _Counts | None = None
    prompt_tokens_details: _Counts | None = None


class _Chat(msgspec.Struct):
    id: str
    model: str
    choices: list[_Choice]
    usage: _ChatUsage


class _Block(msgspec.Struct):
    type: str
    thinking: str | None = None
    text: str | None = None
    signature: str | None = None


class _ClaudeUsage(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Claude(msgspec.Struct):
    id: str
    model: str
    content: list[_Block]
    usage: _ClaudeUsage
    stop_reason: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None


class _Content(msgspec.Struct):
    parts: list[_Part]


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content
    finish_reason: str | None = None


class _GeminiUsage(msgspec.Struct, rename="camel"):
    prompt_token_count: int
    candidates_token_count: int
    thoughts_token_count: int
    total_token_count: int


class _Gemini(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate]
    model_version: str
    response_id: str
    usage_metadata: _GeminiUsage


class _Entry(msgspec.Struct):
    text: str


class _Item(msgspec.Struct):
    type: str
    id: str
    summary: list[_Entry] = []
    content: list[_Entry] = []
    encrypted_content: str | None = None


class _ResponseUsage(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    input_tokens_details: _Counts
    output_tokens_details: _Counts


class _Response(msgspec.Struct):
    id: str
    model: str
    status: str
    output: list[_Item]
    usage: _ResponseUsage


_TYPES = {
    "chat": _Chat,
    "tags": _Chat,
    "anthropic": _Claude,
    "gemini": _Gemini,
    "responses": _Response,
}


def read_frames(stream: bytes) -> int:
    """Splits frames and decodes their JSON."""
    count = 0
    for frame in stream.split(b"\n\n"):
        at = frame.find(b"data: ")
        if at >= 0 and frame[at + 6 : at + 7] == b"{":
            _decode(frame[at + 6 :])
            count += 1
    return count


# ---- HTTP ------------------------------------------------------------------------------------------


def _http_jobs(base: str) -> Jobs:
    import httpx2  # noqa: PLC0415 - only who asks for HTTP pays for it

    client = httpx2.Client()
    crowd = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=1000))
    asked = {"model": "m", "messages": MESSAGES, "stream": True}

    def call(name: str) -> None:
        _decode(client.post(f"{base}/{name}/v1", json={"messages": MESSAGES}).content)

    def stream(name: str) -> None:
        rest = b""
        with client.stream("POST", f"{base}/{name}/v1", json=asked) as answer:
            for chunk in answer.iter_bytes():
                whole, end, rest = (rest + chunk).rpartition(b"\n\n")
                read_frames(whole + end)

    async def one_of_many(name: str) -> None:
        rest = b""
        async with crowd.stream("POST", f"{base}/{name}{CROWD}/v1", json=asked) as answer:
            async for chunk in answer.aiter_bytes():
                whole, end, rest = (rest + chunk).rpartition(b"\n\n")
                read_frames(whole + end)

    found: Jobs = {}
    for name in MAKERS:
        found["call", name] = lambda name=name: call(name)
        found["stream", name] = lambda name=name: stream(name)
        found["streams", name] = lambda name=name: one_of_many(name)
    return found


# ---- text ------------------------------------------------------------------------------------------


def _find() -> None:
    text = tagged(WHOLE)
    text.find("<think>")
    text.find("</think>")
    text.find("<think>", 7)


def _find_closer() -> None:
    thought, answer = orphaned(ORPHAN)
    text = f"{thought}</think>{answer}"
    text.find("<think>")
    text.find("</think>")


def _find_in_mixed() -> None:
    for row in mixed(MIXED):
        row.text.find("<think>")
        row.text.find("</think>")


def _find_in_each(width: int) -> None:
    for piece in pieces(PIECES, width):
        piece.find("<think>")


def jobs(base: str) -> Jobs:
    """All of them."""
    found: Jobs = {
        ("whole", "text"): _find,
        ("pieces4", "text"): lambda: _find_in_each(4),
        ("pieces20", "text"): lambda: _find_in_each(20),
        ("orphan", "text"): _find_closer,
        ("mixed", "text"): _find_in_mixed,
    }
    for name, type_ in _TYPES.items():
        decoder = msgspec.json.Decoder(type_)
        body, stream = payload(name).body, payload(name).stream
        found["body", name] = lambda decoder=decoder, body=body: decoder.decode(body)
        found["delta", name] = lambda stream=stream: read_frames(stream)
    return {**found, **_http_jobs(base)}
