"""Answers to be written, and how the SDK of each dialect hears a stream."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest

import innervoice as iv
from sdk.server import EVENT_STREAM, LINES, SSE, serve

__all__ = ["HARD", "LISTENERS", "Heard", "Listener", "heard_by_us"]

# ---- answers that are hard to write --------------------------------------------------------------

_OTHER = iv.Origin(dialect="another", block={"type": "reasoning", "data": "c2VhbA=="})
_CALLS = tuple(iv.ToolCall(f"call_{n}", "weather", json.dumps({"days": n})) for n in range(3))
_USAGE = iv.Usage(input_tokens=7, output_tokens=5, reasoning_tokens=2)


def _answer(*parts: iv.Part, reason: Any = "stop", **more: Any) -> iv.Response:
    ending = {"ended": True, "finish_reason": reason, "usage": _USAGE, **more}
    return iv.Response(parts=parts, model="m", **ending)


HARD = {
    "text": _answer(iv.Text("It rains in Köln 🌧.")),
    "parallel calls": _answer(
        iv.Thinking("Three days."), iv.Text("Let me look."), *_CALLS, reason="tool_calls"
    ),
    "calls alone": _answer(*_CALLS, reason="tool_calls"),
    "call without arguments": _answer(iv.ToolCall("call_9", "clock"), reason="tool_calls"),
    "free-form call": _answer(iv.ToolCall("call_9", "run", "print(1)"), reason="tool_calls"),
    "call that was cut off": _answer(
        iv.ToolCall("call_9", "run", '{"code": "pri', complete=False), reason="length"
    ),
    "redacted": _answer(iv.Thinking("", "hidden", origin=_OTHER), iv.Text("Four.")),
    "redacted alone": _answer(iv.Thinking("", "hidden", origin=_OTHER)),
    "interleaved": _answer(
        iv.Thinking("One."), iv.Text("First."), iv.Thinking("Two.", "summary"), iv.Text("Second.")
    ),
    "thinking behind calls": _answer(
        iv.Thinking("One."),
        _CALLS[0],
        iv.Thinking("Two.", origin=_OTHER),
        _CALLS[1],
        reason="tool_calls",
    ),
    "empty": _answer(),
    "empty text": _answer(iv.Text("")),
    "nothing known of the tokens": _answer(iv.Text("Four."), usage=iv.Usage()),
    "refusal": _answer(iv.Text("I will not."), reason="refusal"),
    "filtered": _answer(iv.Text("It is"), reason="content_filter"),
    "truncated": _answer(iv.Thinking("Long"), iv.Text("It is"), reason="length"),
    "out of tokens while thinking": _answer(iv.Thinking("Long", complete=False), reason="length"),
    "paused": _answer(iv.Text("Wait."), reason="pause"),
    "foreign blocks": _answer(iv.Opaque({"type": "map"}, origin=_OTHER), iv.Text("See the map.")),
}
BROKEN_OFF = {
    "interrupted": _answer(iv.Thinking("Hm"), iv.Text("It i"), ended=False, reason=None),
    "failed": _answer(
        iv.Text("It i"), error=iv.Failure(type="overloaded_error", message="busy"), reason=None
    ),
    "interrupted before all": _answer(ended=False, reason=None),
}


# ---- what is heard -------------------------------------------------------------------------------


@dataclass
class Heard:
    """What a client makes of a stream, white space aside."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def say(self, kind: str, text: str | None) -> None:
        setattr(self, kind, getattr(self, kind) + "".join((text or "").split()))

    def call(self, name: str, arguments: Any) -> None:
        """A call with its arguments as an object; where they are text, they may be cut off."""
        if isinstance(arguments, str):
            with suppress(ValueError):
                arguments = json.loads(arguments or "{}")
        is_object = isinstance(arguments, dict)
        self.calls.append((name, arguments if is_object else {"input": arguments}))


def heard_by_us(response: iv.Response) -> Heard:
    """What the response says."""
    heard = Heard()
    heard.say("text", response.text)
    heard.say("thinking", response.thinking)
    for call in response.tool_calls:
        heard.call(call.name, call.arguments)
    return heard


# ---- the SDKs ------------------------------------------------------------------------------------

_MESSAGES = [{"role": "user", "content": "How is Köln?"}]


def _anthropic(sdk: Any) -> Heard:
    with sdk.messages.stream(model="m", max_tokens=99, messages=_MESSAGES) as stream:
        seen = [event.type for event in stream]
        message = stream.get_final_message()
    assert seen[-1] == "message_stop"
    assert message.stop_reason
    heard = Heard()
    for block in message.content:
        match block.type:
            case "thinking":
                heard.say("thinking", block.thinking)
            case "text":
                heard.say("text", block.text)
            case "tool_use":
                heard.call(block.name, block.input)
    return heard


def _reasoning_in(members: dict[str, Any]) -> str | None:
    """The reasoning of a chat message; hosts have fields of their own for it, and an answer of theirs keeps its field."""
    for name in ("reasoning_content", "reasoning"):
        if members.get(name):
            return members[name]
    entries = members.get("reasoning_details") or ()
    return "".join(entry.get("text") or entry.get("summary") or "" for entry in entries)


def _chat(sdk: Any) -> Heard:
    with sdk.chat.completions.stream(model="m", messages=_MESSAGES) as stream:
        for _ in stream:
            pass
        (choice,) = stream.current_completion_snapshot.choices
        if choice.finish_reason not in ("length", "content_filter"):
            # For these the SDK raises an error of its own, whoever the server is.
            (choice,) = stream.get_final_completion().choices
    assert choice.finish_reason
    heard = Heard()
    heard.say("text", choice.message.content)
    heard.say("thinking", _reasoning_in(choice.message.model_extra))
    for call in choice.message.tool_calls or ():
        if call.type == "function":
            heard.call(call.function.name, call.function.arguments)
        else:
            heard.call(call.custom["name"], call.custom["input"])
    return heard


def _responses(sdk: Any) -> Heard:
    heard = Heard()
    with sdk.responses.stream(model="m", input="How is Köln?") as stream:
        *_, last = stream
        if last.type == "response.completed":
            assert stream.get_final_response() == last.response
    if last.type == "response.failed":
        raise import_module("openai").OpenAIError(last.response.error.message)
    assert last.response.status == last.type.removeprefix("response.")
    for item in last.response.output:
        match item.type:
            case "reasoning":
                for entry in [*item.summary, *(item.content or ())]:
                    heard.say("thinking", entry.text)
            case "message":
                for entry in item.content:
                    heard.say("text", entry.refusal if entry.type == "refusal" else entry.text)
            case "function_call":
                heard.call(item.name, item.arguments)
            case "custom_tool_call":
                heard.call(item.name, item.input)
    return heard


def _gemini(sdk: Any) -> Heard:
    responses = list(sdk.models.generate_content_stream(model="m", contents="How is Köln?"))
    assert responses[-1].candidates[0].finish_reason
    heard = Heard()
    contents = [response.candidates[0].content for response in responses]
    for part in [part for content in contents for part in content.parts or ()]:
        if part.text is not None:
            heard.say("thinking" if part.thought else "text", part.text)
        elif part.function_call:
            heard.call(part.function_call.name, part.function_call.args or {})
    return heard


def _interactions(sdk: Any) -> Heard:
    heard, calls = Heard(), {}
    events = list(sdk.interactions.create(model="m", input="How is Köln?", stream=True))
    for event in events:
        if event.event_type == "step.start" and event.step.type == "function_call":
            calls[event.index] = [event.step.name, ""]
        if event.event_type == "error":
            raise RuntimeError(event.error.message)  # the SDK gives the event and goes on
        if event.event_type != "step.delta":
            continue
        match event.delta.type:
            case "text":
                heard.say("text", event.delta.text)
            case "thought_summary" if event.delta.content.type == "text":
                heard.say("thinking", event.delta.content.text)
            case "arguments_delta":
                calls[event.index][1] += event.delta.arguments
    assert events[-1].event_type == "interaction.completed"
    for name, arguments in calls.values():
        heard.call(name, arguments)
    return heard


def _converse(sdk: Any) -> Heard:
    heard, calls, ended = Heard(), {}, []
    content = [{"role": "user", "content": [{"text": "How is Köln?"}]}]
    for event in sdk.converse_stream(modelId="m", messages=content)["stream"]:
        match event:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}:
                calls[index] = [use["name"], ""]
            case {"contentBlockDelta": {"delta": {"text": text}}}:
                heard.say("text", text)
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": use}}}:
                calls[index][1] += use["input"]
            case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}:
                heard.say("thinking", text)
            case {"messageStop": {"stopReason": _}} | {"metadata": {"usage": _, "metrics": _}}:
                ended.append(next(iter(event)))
    assert ended == ["messageStop", "metadata"]
    for name, arguments in calls.values():
        heard.call(name, arguments)
    return heard


def _mistral(sdk: Any) -> Heard:
    heard, reasons = Heard(), []
    with sdk.chat.stream(model="m", messages=_MESSAGES) as stream:
        choices = [choice for event in stream for choice in event.data.choices]
    for choice in choices:
        reasons += [choice.finish_reason] if choice.finish_reason else []
        content = choice.delta.content or ()
        if isinstance(content, str):
            heard.say("text", content)
            content = ()
        for chunk in content:
            for inner in chunk.thinking if chunk.type == "thinking" else ():
                heard.say("thinking", inner.text)
            if chunk.type == "text":
                heard.say("text", chunk.text)
        for call in choice.delta.tool_calls or ():
            heard.call(call.function.name, call.function.arguments)
    assert len(reasons) == 1
    return heard


def _cohere(sdk: Any) -> Heard:
    heard, calls = Heard(), {}
    events = list(sdk.chat_stream(model="m", messages=_MESSAGES))
    for event in events:
        match event.type:
            case "content-delta":
                heard.say("thinking", event.delta.message.content.thinking)
                heard.say("text", event.delta.message.content.text)
            case "tool-call-start":
                call = event.delta.message.tool_calls
                calls[event.index] = [call.function.name, call.function.arguments or ""]
            case "tool-call-delta":
                calls[event.index][1] += event.delta.message.tool_calls.function.arguments
    assert events[-1].type == "message-end"
    if events[-1].delta.finish_reason == "ERROR":
        raise import_module("cohere").core.ApiError(body=events[-1].delta)
    for name, arguments in calls.values():
        heard.call(name, arguments)
    return heard


def _ollama(sdk: Any) -> Heard:
    heard = Heard()
    responses = list(sdk.chat(model="m", messages=_MESSAGES, stream=True))
    assert [response.done for response in responses] == [*[False] * (len(responses) - 1), True]
    for message in [response.message for response in responses]:
        heard.say("thinking", message.thinking)
        heard.say("text", message.content)
        for call in message.tool_calls or ():
            heard.call(call.function.name, dict(call.function.arguments))
    return heard


def _boto_client(address: str) -> Any:
    session = import_module("boto3").session.Session(
        aws_access_key_id="dummy", aws_secret_access_key="dummy", region_name="us-east-1"
    )
    return session.client("bedrock-runtime", endpoint_url=address)


@dataclass(frozen=True)
class Listener:
    """An SDK: its client for an address, what it hears, the errors it raises, and the framing it expects."""

    module: str
    client: Callable[[Any, str], Any]
    hear: Callable[[Any], Heard]
    errors: tuple[str, ...]
    content_type: str = SSE

    @contextmanager
    def listening(self, answer: Callable[[], bytes]) -> Iterator[Callable[[], Heard]]:
        """A client of a server that gives the answer of the moment."""
        module = pytest.importorskip(self.module)
        with serve(answer, self.content_type) as address:
            sdk = self.client(module, address)
            yield lambda: self.hear(sdk)

    def error_types(self) -> tuple[type[Exception], ...]:
        """The errors of the SDK that say: the server had one."""
        found = (name.rpartition(".") for name in self.errors)
        return tuple(getattr(import_module(module), name) for module, _, name in found)


LISTENERS = {
    "anthropic": Listener(
        "anthropic", lambda module, at: module.Anthropic(api_key="dummy", base_url=at, max_retries=0),
        _anthropic, ("anthropic.APIError",),
    ),
    "openai-chat": Listener(
        "openai", lambda module, at: module.OpenAI(api_key="dummy", base_url=at, max_retries=0),
        _chat, ("openai.APIError",),
    ),
    "openai-responses": Listener(
        "openai", lambda module, at: module.OpenAI(api_key="dummy", base_url=at, max_retries=0),
        _responses, ("openai.OpenAIError",),
    ),
    "gemini": Listener(
        "google.genai", lambda module, at: module.Client(api_key="dummy", http_options={"base_url": at}),
        _gemini, ("google.genai.errors.APIError",),
    ),
    "gemini-interactions": Listener(
        "google.genai", lambda module, at: module.Client(api_key="dummy", http_options={"base_url": at}),
        _interactions, ("builtins.RuntimeError",),
    ),
    "bedrock-converse": Listener(
        "boto3", lambda _, at: _boto_client(at), _converse, ("botocore.exceptions.EventStreamError",), EVENT_STREAM,
    ),
    "mistral": Listener(
        "mistralai.client", lambda module, at: module.Mistral(api_key="dummy", server_url=at),
        _mistral, ("mistralai.client.errors.MistralError",),
    ),
    "cohere": Listener(
        "cohere", lambda module, at: module.ClientV2(api_key="dummy", base_url=at), _cohere, ("cohere.core.ApiError",),
    ),
    "ollama": Listener(
        "ollama", lambda module, at: module.Client(host=at), _ollama, ("ollama.ResponseError",), LINES,
    ),
}  # fmt: skip
