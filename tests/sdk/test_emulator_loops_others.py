"""Tool loops as users of the SDKs write them, against the emulator: Gemini, Mistral, Cohere, Ollama."""

import pytest

from sdk.loops import (
    FUNCTION,
    NAME,
    QUESTION,
    SCHEMA,
    STREAMED,
    Ended,
    check,
    get_weather,
    read,
    unchanged,
    weather_of,
)

cohere = pytest.importorskip("cohere")
genai = pytest.importorskip("google.genai")
mistral = pytest.importorskip("mistralai.client")
ollama = pytest.importorskip("ollama")


# ---- Gemini ----------------------------------------------------------------------------------------


def gemini_loop(emulator, *, thoughts_asked=True, streamed=False, send=unchanged) -> Ended:
    types = genai.types
    sdk = genai.Client(
        api_key="dummy", http_options=types.HttpOptions(base_url=f"{emulator.url}/gemini")
    )
    declared = types.FunctionDeclaration(
        name=NAME, description="Weather.", parameters_json_schema=SCHEMA
    )
    request = {
        "model": "gemini-3.5-flash",
        "config": types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[declared])],
            thinking_config=types.ThinkingConfig(include_thoughts=thoughts_asked),
        ),
    }
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    calls, thoughts = [], []
    with sdk:
        while True:
            if streamed:
                answer = list(
                    sdk.models.generate_content_stream(contents=send(contents), **request)
                )
                parts = [part for piece in answer for part in piece.candidates[0].content.parts]
                content = types.Content(role="model", parts=parts)
            else:
                answer = sdk.models.generate_content(contents=send(contents), **request)
                content = answer.candidates[0].content
            contents.append(content)
            made = [part.function_call for part in content.parts if part.function_call]
            calls.append(len(made))
            thoughts.append("".join(part.text for part in content.parts if part.thought))
            if not made:
                text = "".join(
                    part.text for part in content.parts if part.text and not part.thought
                )
                return Ended(text, calls, thoughts, read(answer, streamed=streamed))
            results = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"result": get_weather(**call.args)}
                    )
                )
                for call in made
            ]
            contents.append(types.Content(role="user", parts=results))


@STREAMED
@pytest.mark.parametrize("asked", [True, False], ids=["shown", "hidden"])
def test_gemini(emulator, asked, streamed):
    """A loop of Gemini's goes through with the content that the SDK gave, signatures as bytes."""
    check(gemini_loop(emulator, thoughts_asked=asked, streamed=streamed), emulator, shown=asked)


@STREAMED
@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (
            None,
            r"Function call is missing a thought_signature in functionCall parts.*`default_api:get_weather`",
        ),
        (b"forged", "Corrupted thought signature"),
    ],
    ids=["dropped", "forged"],
)
def test_gemini_refused(emulator, signature, words, streamed):
    """Calls without their signature, or with another, are refused."""

    def send(contents):
        return [
            content.model_copy(
                update={
                    "parts": [
                        part.model_copy(update={"thought_signature": signature})
                        if part.thought_signature
                        else part
                        for part in content.parts
                    ]
                }
            )
            for content in contents
        ]

    with pytest.raises(genai.errors.ClientError, match=words) as caught:
        gemini_loop(emulator, streamed=streamed, send=send)

    assert (400, "INVALID_ARGUMENT") == (caught.value.code, caught.value.status)
    assert 2 == emulator.taken()


# ---- Mistral ---------------------------------------------------------------------------------------


def mistral_loop(emulator, *, streamed=False, send=unchanged) -> Ended:
    request = {
        "model": "mistral-small-latest",
        "reasoning_effort": "high",
        "tools": [FUNCTION],
    }
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with mistral.Mistral(api_key="dummy", server_url=f"{emulator.url}/mistral") as sdk:
        while True:
            if streamed:
                with sdk.chat.stream(messages=send(messages), **request) as stream:
                    answer = list(stream)
                chunks, made = [], []
                for event in answer:
                    delta = event.data.choices[0].delta
                    content = delta.content or []
                    if isinstance(content, str):
                        content = [mistral.models.TextChunk(text=content)]
                    chunks += content
                    made += delta.tool_calls or []
                message = mistral.models.AssistantMessage(content=chunks, tool_calls=made or None)
            else:
                answer = sdk.chat.complete(messages=send(messages), **request)
                message = answer.choices[0].message
                chunks, made = message.content, message.tool_calls or []
                if isinstance(chunks, str):
                    chunks = [mistral.models.TextChunk(text=chunks)]
            messages.append(message)
            calls.append(len(made))
            thoughts.append(
                "".join(
                    inner.text
                    for chunk in chunks
                    if chunk.type == "thinking"
                    for inner in chunk.thinking
                )
            )
            if not made:
                text = "".join(chunk.text for chunk in chunks if chunk.type == "text")
                return Ended(text, calls, thoughts, read(answer, streamed=streamed))
            messages += [
                {
                    "role": "tool",
                    "name": call.function.name,
                    "tool_call_id": call.id,
                    "content": weather_of(call.function.arguments),
                }
                for call in made
            ]


@STREAMED
def test_mistral(emulator, streamed):
    """A loop of Mistral's goes through with the message that the SDK gave, thinking chunks included."""
    check(mistral_loop(emulator, streamed=streamed), emulator)


# ---- Cohere ----------------------------------------------------------------------------------------


def message_of_events(events):
    """The message that the events of Cohere's stream make, put together by hand."""
    content, calls = {}, {}
    for event in events:
        match event.type:
            case "content-start":
                content[event.index] = event.delta.message.content.model_dump(exclude_none=True)
            case "content-delta":
                for member, text in event.delta.message.content.model_dump(
                    exclude_none=True
                ).items():
                    content[event.index][member] += text
            case "tool-call-start":
                calls[event.index] = event.delta.message.tool_calls
            case "tool-call-delta":
                calls[
                    event.index
                ].function.arguments += event.delta.message.tool_calls.function.arguments
    return cohere.AssistantMessageResponse(
        content=[content[index] for index in sorted(content)] or None,
        tool_calls=[calls[index] for index in sorted(calls)] or None,
    )


def cohere_loop(emulator, *, streamed=False, send=unchanged) -> Ended:
    request = {"model": "command-a-reasoning-08-2025", "tools": [FUNCTION]}
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with cohere.ClientV2(api_key="dummy", base_url=f"{emulator.url}/cohere") as sdk:
        while True:
            if streamed:
                answer = list(sdk.chat_stream(messages=send(messages), **request))
                message = message_of_events(answer)
            else:
                answer = sdk.chat(messages=send(messages), **request)
                message = answer.message
            messages.append(message)
            content, made = message.content or [], message.tool_calls or []
            calls.append(len(made))
            thoughts.append(
                "".join(block.thinking for block in content if block.type == "thinking")
            )
            if not made:
                text = "".join(block.text for block in content if block.type == "text")
                return Ended(text, calls, thoughts, read(answer, streamed=streamed))
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": weather_of(call.function.arguments),
                }
                for call in made
            ]


@STREAMED
def test_cohere(emulator, streamed):
    """A loop of Cohere's goes through with the message that the SDK gave."""
    check(cohere_loop(emulator, streamed=streamed), emulator)


# ---- Ollama ----------------------------------------------------------------------------------------


def ollama_loop(emulator, *, streamed=False, send=unchanged) -> Ended:
    request = {"model": "qwen3", "think": True, "tools": [FUNCTION]}
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with ollama.Client(host=f"{emulator.url}/ollama") as sdk:
        while True:
            if streamed:
                answer = list(sdk.chat(messages=send(messages), stream=True, **request))
                message = ollama.Message(
                    role="assistant",
                    thinking="".join(piece.message.thinking or "" for piece in answer),
                    content="".join(piece.message.content or "" for piece in answer),
                    tool_calls=[
                        call for piece in answer for call in piece.message.tool_calls or ()
                    ],
                )
            else:
                answer = sdk.chat(messages=send(messages), **request)
                message = answer.message
            messages.append(message)
            made = message.tool_calls or []
            calls.append(len(made))
            thoughts.append(message.thinking or "")
            if not made:
                return Ended(message.content, calls, thoughts, read(answer, streamed=streamed))
            messages += [
                {
                    "role": "tool",
                    "tool_name": call.function.name,
                    "content": get_weather(**call.function.arguments),
                }
                for call in made
            ]


@STREAMED
def test_ollama(emulator, streamed):
    """A loop of Ollama's goes through with the message that the SDK gave."""
    check(ollama_loop(emulator, streamed=streamed), emulator)
