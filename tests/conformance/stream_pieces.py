"""What a stream says, piece by piece: the form in which a recorded stream and a written one are compared.

1. Members that the dialect's grammar lists as incidental, and nulls, are left out.
2. A message that bundles several things (chat, Gemini) is as many pieces; the members of one delta have no order.
3. What says nothing is no piece: an empty text, a head with nothing behind it, a sign of life.
4. Neighbours that differ in their text alone are one: where a text was cut says nothing.
5. What a writer cannot know before a part is over, and what says itself where it belongs, is compared at a fixed place (`ARRANGED`).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from innervoice.frames.sniff import AnyFraming
from innervoice.wire.dialects import dialect_named

DONE = "[DONE]"
TEXTS = {
    "anthropic": {"delta.text", "delta.thinking", "delta.partial_json"},
    "openai-responses": {"delta"},
    "bedrock-converse": {"delta.text", "delta.reasoningContent.text", "delta.toolUse.input"},
    "cohere": {
        "delta.message.content.text", "delta.message.content.thinking", "delta.message.tool_plan",
        "delta.message.tool_calls.function.arguments",
    },
    "gemini": {"said.text"},
    "gemini-interactions": {"delta.text", "delta.arguments", "delta.content.text"},
    "openai-chat": {
        "delta.content", "delta.refusal", "delta.reasoning_content", "delta.reasoning", "delta.reasoning_details.text",
        "delta.reasoning_details.summary", "delta.tool_calls.function.arguments", "delta.tool_calls.custom.input",
    },
    "mistral": {"delta.content", "delta.content.thinking.text"},
}  # fmt: skip
"""Where the pieces of a text stand; all else of such a piece says which text it is."""


def messages_of(data: bytes) -> list[tuple[str | None, Any]]:
    """The messages of a stream, each with the name of its event."""
    framing = AnyFraming()
    frames = [frame for frame in [*framing.feed(data), *framing.finish()] if frame.data]
    return [(frame.name, _value(frame.data.strip())) for frame in frames]


def _value(data: bytes) -> Any:
    return DONE if data == DONE.encode() else json.loads(data)


def pieces_of(
    dialect: str, messages: Iterable[tuple[str | None, Any]], left_out: Iterable[str]
) -> list[Any]:
    """A stream in the form that is compared."""
    grammar, split, hidden = (
        dialect_named(dialect).grammar,
        SPLITS.get(dialect),
        frozenset(left_out),
    )
    pieces: list[Any] = []
    for name, message in messages:
        if message == DONE:
            pieces += [DONE] if grammar.has_done else []
        elif name not in grammar.signs_of_life:
            value = essence(message, hidden)
            # The type of an event is its name once more.
            named = {} if "type" in value else {"event": name}
            pieces += [{**named, **piece} for piece in (split(value) if split else [value])]
    arrange = ARRANGED.get(dialect, list)
    return joined(arrange(pieces), TEXTS[dialect])


def essence(value: Any, left_out: frozenset[str], path: str = "") -> Any:
    """A value without nulls and without the members at these paths."""
    if isinstance(value, list):
        return [essence(item, left_out, path) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: essence(item, left_out, below(path, name))
        for name, item in value.items()
        if item is not None and below(path, name) not in left_out
    }


def below(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """The other members."""
    return {name: item for name, item in value.items() if name not in names}


# ---- messages that say several things ----------------------------------------------------------


def chat_pieces(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One piece for each thing that a chunk says: reasoning, content, each call, and the reason for the end."""
    if error := message.get("error"):
        # Each host has its own form for it.
        yield {"event": None, "error": {name: error.get(name) for name in ("message", "code")}}
        return
    for choice in message.get("choices", []):
        head = {**without(message, "choices"), **without(choice, "delta", "finish_reason")}
        delta = {name: value for name, value in choice.get("delta", {}).items() if value not in ("", [])}  # fmt: skip
        content, calls = delta.pop("content", []), delta.pop("tool_calls", [])
        contents = map(plain_chunk, content) if isinstance(content, list) else [content]
        said = [{"content": one} for one in contents if one]
        called = [{"tool_calls": piece} for call in calls for piece in call_pieces(call)]
        for one in (reasoning_of(delta), *said, *called, delta):
            if one:
                yield {**head, "delta": one}
        if "finish_reason" in choice:
            yield {**head, "finish_reason": choice["finish_reason"]}


def plain_chunk(chunk: dict[str, Any]) -> Any:
    """A chunk of the content; one of text alone is that text, and an empty one is nothing."""
    if chunk.keys() == {"type", "text"}:
        return chunk["text"]
    return None if chunk == {"type": "thinking", "thinking": []} else chunk


def reasoning_of(delta: dict[str, Any]) -> dict[str, Any]:
    """Takes the reasoning out of a delta, without entries that say nothing; `reasoning` may repeat what the entries say."""
    fields = [name for name in delta if name.startswith(("reasoning", "thinking"))]
    thought = {name: delta.pop(name) for name in fields}
    filled = [
        {name: value for name, value in entry.items() if value != ""}
        for entry in thought.pop("reasoning_details", [])
    ]
    entries = [entry for entry in filled if entry.keys() & {"text", "summary", "signature", "data"}]
    said = "".join(entry.get("text") or entry.get("summary") or "" for entry in entries)
    if said and said == thought.get("reasoning"):
        del thought["reasoning"]
    return {**thought, "reasoning_details": entries} if entries else thought


def call_pieces(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The start of a call, and its arguments."""
    kind, member = ("custom", "input") if "custom" in call else ("function", "arguments")
    inner = call.get(kind, {})
    start = {**without(call, kind), **({kind: rest} if (rest := without(inner, member)) else {})}
    if start.keys() - {"index"}:
        yield start
    if member in inner:
        yield {"index": call.get("index"), kind: {member: inner[member]}}


def gemini_pieces(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One piece for each part, and one for the end; the reason for it may have a message of its own."""
    head = without(message, "candidates")
    for candidate in message.get("candidates", []):
        content = candidate.get("content", {})
        for number, part in enumerate(content.get("parts", [])):
            member = "said" if part.keys() <= {"text", "thought"} else "part"
            # A part that is not the first of its message does not go on with the text before it.
            yield {**head, "role": content.get("role"), member: part, "is_new": number > 0}
        rest = {name: value for name, value in without(candidate, "content").items() if value != {}}
        if rest:
            yield {**head, **rest}


SPLITS: dict[str, Callable[[dict[str, Any]], Iterator[dict[str, Any]]]] = {
    "openai-chat": chat_pieces,
    "mistral": chat_pieces,
    "gemini": gemini_pieces,
}


# ---- what comes at another moment --------------------------------------------------------------


def chat_arranged(pieces: list[Any]) -> list[Any]:
    """The fields of a message are joined each by itself. Seals, and what a message has beside its parts, have no place among the texts;
    that they are whole is known when the answer ends. Of such members the last word counts, and a reason that comes twice is one."""
    texts, seals, end = [], [], []
    members: dict[str, Any] = {}
    for piece in pieces:
        delta = piece.get("delta", {}) if isinstance(piece, dict) else {}
        entries = delta.get("reasoning_details", [])
        if delta.keys() - CHAT_TEXTS:
            members.update(delta)
        elif delta.keys() == {"reasoning_details"} and not any({"text", "summary"} & entry.keys() for entry in entries):  # fmt: skip
            seals.append(piece)
        elif delta:
            texts.append(piece)
        elif piece not in end:
            end.append(piece)
    return [*texts, *seals, *([members] if members else []), *end]


CHAT_TEXTS = {"content", "refusal", "tool_calls", "reasoning_content", "reasoning", "reasoning_details"}  # fmt: skip


def cohere_arranged(pieces: list[Any]) -> list[Any]:
    """A citation says which characters it belongs to, and is written when the message ends."""
    kinds = [piece.get("type", "") if piece != DONE else DONE for piece in pieces]
    cited = [kind.startswith("citation") for kind in kinds]
    end = kinds.index("message-end") if "message-end" in kinds else len(pieces)
    texts = [piece for at, piece in enumerate(pieces) if at < end and not cited[at]]
    return [*texts, *(piece for at, piece in enumerate(pieces) if cited[at]), *pieces[end:]]


def anthropic_arranged(pieces: list[Any]) -> list[Any]:
    """The input of a server's call is read as a value: the white space in its JSON is not kept."""
    blocks = [piece for piece in pieces if "content_block" in piece]
    kinds = {piece.get("index"): piece["content_block"].get("type") for piece in blocks}
    inputs: dict[int, str] = {}
    found = []
    for piece in pieces:
        index, text = piece.get("index"), piece.get("delta", {}).get("partial_json")
        if text is not None and kinds.get(index) != "tool_use":
            inputs[index] = inputs.get(index, "") + text
            continue
        if piece.get("type") == "content_block_stop" and inputs.get(index):
            found.append({"index": index, "input": json.loads(inputs[index])})
        found.append(piece)
    return found


def responses_arranged(pieces: list[Any]) -> list[Any]:
    """What a server's tool does on its way is in its item when that is done, and so are annotations, which say where they belong. The
    seal of an item that has only begun is not whole: another follows."""
    found, noted = [], []
    running: set[int] = set()  # the indexes of the items of server's tools
    for piece in pieces:
        kind, index, item = piece.get("type"), piece.get("output_index"), piece.get("item")
        if kind == "response.output_item.added":
            begun = without(item, "encrypted_content")
            if begun.get("type") not in SAYING_ITEMS:
                running.add(index)
                begun = {name: begun.get(name) for name in ("id", "type")}
            found.append({**piece, "item": begun})
        elif kind == "response.output_text.annotation.added":
            noted.append(piece)
        elif index not in running or item:
            found += noted if kind == "response.output_text.done" else []
            noted = [] if kind == "response.output_text.done" else noted
            found.append(piece)
    return [*found, *noted]


SAYING_ITEMS = ("message", "reasoning", "function_call", "custom_tool_call")

ARRANGED: dict[str, Callable[[list[Any]], list[Any]]] = {
    "openai-chat": chat_arranged,
    "mistral": chat_arranged,
    "cohere": cohere_arranged,
    "anthropic": anthropic_arranged,
    "openai-responses": responses_arranged,
}


# ---- texts -------------------------------------------------------------------------------------


def joined(pieces: list[Any], places: set[str]) -> list[Any]:
    """The pieces with neighbours of one text joined, and without those of an empty one."""
    found: list[Any] = []
    for piece in pieces:
        texts = texts_of(piece, places) if is_delta(piece) else []
        before = found[-1] if found else None
        if texts and not any(texts):
            continue
        if texts and is_delta(before) and blank(before, places) == blank(piece, places):
            both = zip(texts_of(before, places), texts, strict=True)
            found[-1] = with_texts(before, places, iter([one + other for one, other in both]))
        else:
            found.append(piece)
    return found


def is_delta(piece: Any) -> bool:
    """Whether a piece may be more of a text; where events have names, these say it."""
    name = (piece.get("event") or piece.get("type") or "delta") if isinstance(piece, dict) else ""
    return name.lower().endswith("delta")


def blank(piece: Any, places: set[str]) -> Any:
    """A piece without its text."""
    return with_texts(piece, places, iter([""] * len(texts_of(piece, places))))


def texts_of(value: Any, places: set[str], path: str = "") -> list[str]:
    """The texts at these places, in their order."""
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item, places, path)]
    if isinstance(value, dict):
        return [text for name, item in value.items() for text in texts_of(item, places, below(path, name))]  # fmt: skip
    return [value] if path in places and isinstance(value, str) else []


def with_texts(value: Any, places: set[str], texts: Iterator[str], path: str = "") -> Any:
    """A value with other texts at these places."""
    if isinstance(value, list):
        return [with_texts(item, places, texts, path) for item in value]
    if isinstance(value, dict):
        return {name: with_texts(item, places, texts, below(path, name)) for name, item in value.items()}  # fmt: skip
    return next(texts) if path in places and isinstance(value, str) else value
