"""Secrets for the tests to plant, each with its place, and conversations that are full of them."""

import copy
import json
from base64 import b64encode
from hashlib import sha512
from typing import Any, NamedTuple

import innervoice as iv
from innervoice.sources.conversation import Conversation, Turn
from wire.fixtures import ANSWERS, SAID, THOUGHT

__all__ = ["ALL_ANSWERS", "Planted", "Plants", "conversation_of", "full_conversation", "leaves", "planted_answers"]  # fmt: skip


class Plants:
    """Makes secrets that tell their places apart, and finds them again."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def seal(self, place: str) -> str:
        data = sha512(place.encode()).digest() + sha512(place.encode() + b"2").digest()
        return self._added(place, b64encode(data).decode().replace("/", "Z").rstrip("="))

    def key(self, place: str) -> str:
        body = b64encode(sha512(f"key of {place}".encode()).digest()).decode()
        return self._added(
            place, "sk-ant-api03-" + "".join(filter(str.isalnum, body))[:40], key=True
        )

    def _added(self, place: str, secret: str, *, key: bool = False) -> str:
        self.places[secret[20:44]] = f"{place} ({'key' if key else 'seal'})"
        return secret

    def leaks(self, output: str) -> list[str]:
        """The places whose secrets are in an output; base64 of JSON may be escaped, the middle of a secret is not."""
        return [place for middle, place in self.places.items() if middle in output]

    def only(self, *places: str) -> "Plants":
        chosen = Plants()
        chosen.places = {
            middle: place for middle, place in self.places.items() if place.startswith(places)
        }
        return chosen


INTERACTION = {
    "id": "v1_1", "object": "interaction", "model": "gemini-3.5-flash", "status": "requires_action", "role": "model",
    "steps": [
        {"type": "thought", "signature": "sig-interaction==", "summary": [{"type": "text", "text": THOUGHT}]},
        {"type": "model_output", "content": [{"type": "text", "text": SAID}]},
        {"type": "function_call", "id": "call_9", "name": "weather", "arguments": {"city": "Rome"}},
    ],
    "usage": {"total_input_tokens": 40, "total_output_tokens": 60, "total_thought_tokens": 30},
}  # fmt: skip


class Whole(NamedTuple):
    name: str
    provider: str
    dialect: str
    model: str
    body: Any
    seals: tuple[str, ...]


ALL_ANSWERS = [
    *(Whole(one.name, one.provider, one.dialect, one.model, one.whole, one.seals) for one in ANSWERS),
    Whole("interactions", "gemini", "gemini-interactions", "gemini-3.5-flash", INTERACTION, ("sig-interaction==",)),
]  # fmt: skip


def leaves(value: Any, path: tuple = ()) -> list[tuple]:
    """The paths of all texts in a JSON value."""
    if isinstance(value, str):
        return [path]
    members = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [leaf for name, item in members for leaf in leaves(item, (*path, name))]


class Planted(NamedTuple):
    """An answer with one secret in one of its members."""

    place: str
    plants: Plants
    body: Any
    response: iv.Response

    @property
    def is_word(self) -> bool:
        """Whether the secret is in what the model said, which its owner sees as it is."""
        parts = [part for one in (self.response, *self.response.alternatives) for part in one.parts]
        words = [
            getattr(part, name, "") or "" for part in parts for name in ("text", "arguments")
        ]  # fmt: skip
        return bool(self.plants.leaks(" ".join(words)))


def planted_answers(answer: Whole) -> list[Planted]:
    """The answer once for each member and each kind of secret: behind its value as in an id, in its text, and, where a seal is, in its place."""
    made = []
    for path in leaves(answer.body):
        for form in ("{old}__thought__{seal}", "{old} {key}", "{seal}", "{key}"):
            place = f"{answer.name}: {'.'.join(map(str, path))} = {form}"
            plants = Plants()
            body = copy.deepcopy(answer.body)
            inner = body
            for name in path[:-1]:
                inner = inner[name]
            secret = (
                {"seal": plants.seal(place)} if "{seal}" in form else {"key": plants.key(place)}
            )
            inner[path[-1]] = form.format(old=inner[path[-1]], **secret)
            try:
                response = iv.decode(
                    json.dumps(body).encode(),
                    provider=answer.provider,
                    dialect=answer.dialect,
                    model=answer.model,
                )
            except iv.InnervoiceError:
                continue  # nothing of it is shown
            made.append(Planted(place, plants, body, response))
    return made


def conversation_of(
    response: iv.Response, question: Any = "What is the weather?", request: Any = None
) -> Conversation:
    """A conversation with this answer, and results of its calls."""
    results = [iv.tool_result(call.id, "Rain.") for call in response.tool_calls]
    turns = [Turn(message=iv.user(question)), Turn(message=response.message, answer=response)]
    return Conversation(
        id="one",
        turns=(*turns, *(Turn(message=message) for message in results)),
        request=request,
    )


def full_conversation(plants: Plants, *, words: bool = False) -> Conversation:
    """A conversation with a secret in every field of every canonical value; with `words`, also in what was said."""

    def id_(place: str) -> str:
        return f"call_1__thought__{plants.seal(place)}"

    def name(place: str) -> str:
        return f"name {plants.key(place)} of {plants.seal(place)}"

    def foreign(place: str, kind: str) -> dict[str, Any]:
        return {
            "type": kind,
            "id": id_(f"{place}.id"),
            "note": name(f"{place}.note"),
            "password": plants.seal(f"{place}.password")[:30] * 2,
            "data": plants.seal(f"{place}.data"),
            "nested": [{"encrypted": {"deep": plants.seal(f"{place}.deep")}}],
            plants.key(f"{place} as a member"): 1,
            "api_key": plants.key(f"{place}.api_key"),
            "token": plants.seal(f"{place}.token"),
            "link": f"https://user:{plants.key(f'{place}.user')}@host/{plants.key(f'{place}.path')}?sig={plants.seal(f'{place}.query')}",
        }

    def origin(place: str, **more: Any) -> iv.Origin:
        block = {"signature": plants.seal(f"{place}.signature"), "more": {"thoughtSignature": plants.seal(f"{place}.inner")}, "odd": foreign(f"{place}.block", "x")}  # fmt: skip
        return iv.Origin(
            provider=f"acme {plants.key(f'{place}.provider')}",
            model=name(f"{place}.model"),
            block=block,
            seals=("signature", "more.thoughtSignature"),
            item=id_(f"{place}.item"),
            led_by=id_(f"{place}.led_by"),
            scope=name(f"{place}.scope"),
            cache_mark=None,
            **more,
        )

    def said(place: str) -> str:
        return f" The key is {plants.key(place)}." if words else ""

    called = id_("call id")
    parts = (
        iv.Thinking("I look." + said("thought"), origin=origin("thinking")),
        iv.Thinking("", "hidden", origin=origin("hidden thinking")),
        iv.Text("It rains." + said("answer"), origin=origin("text")),
        iv.Opaque(foreign("opaque", "web_search_call"), origin=origin("opaque origin")),
        iv.Opaque(foreign("opaque thought", name("opaque type")), origin=None),
        iv.ToolCall(
            called, name("call name"), json.dumps({"q": said("argument")}), origin=origin("call")
        ),
    )
    response = iv.Response(
        parts=parts,
        provider=name("provider"),
        model=name("model"),
        id=id_("response id"),
        ended=True,
        finish_reason="tool_calls",
        wire_finish_reason=name("finish reason"),
        usage=iv.Usage(
            input_tokens=1, output_tokens=2, raw={plants.key("usage"): plants.seal("raw")}
        ),
        notes=(iv.Note("odd_value", name("note")),),
        origin=origin("response"),
    )
    failed = iv.Response(
        error=iv.Failure(
            type=name("error type"),
            code=plants.key("error code"),
            message=name("error"),
            raw={"x": plants.seal("error raw")},
        ),
        alternatives=(response,),
    )
    files = (
        iv.Media(
            mime=name("mime"),
            url=f"https://host/{plants.key('url path')}?X-Sig={plants.seal('url query')}",
            name=name("file name"),
            origin=origin("media"),
        ),
        iv.Opaque(foreign("user block", "container_upload")),
    )
    result = iv.Message("tool", (iv.ToolResult(called, (iv.Text("Rain." + said("tool")), *files), origin=origin("result")),), origin("message"))  # fmt: skip
    schema = {
        "type": "object",
        "properties": {"q": {"description": name("schema"), "default": plants.key("default")}},
        "examples": foreign("schema examples", "x"),
    }
    request = iv.Request(
        "anthropic/claude-opus-4-6",
        (),
        tools=[
            iv.Tool(name("tool"), name("tool description"), schema),
            iv.Tool("own", own=foreign("own tool", "web_search_20250305")),
        ],
        extra={"metadata": foreign("extra", "x")},
        scope=name("request scope"),
        max_tokens=1000,
    )
    turns = (
        Turn(message=iv.user(["Look." + said("user"), *files])),
        Turn(message=response.message, answer=response),
        Turn(message=result),
        Turn(message=failed.message, answer=failed),
    )
    return Conversation(id="one", turns=turns, request=request)
