"""Tool loops as users of the SDKs write them, against the emulator: OpenAI's two APIs."""

import pytest

import innervoice as iv
from sdk.loops import (
    FUNCTION,
    NAME,
    QUESTION,
    SCHEMA,
    STREAMED,
    Ended,
    check,
    read,
    unchanged,
    weather_of,
)

openai = pytest.importorskip("openai")


# ---- Chat Completions ------------------------------------------------------------------------------

HOSTS = {
    "deepseek": ("/deepseek", {"model": "deepseek-v4-pro"}),
    "moonshot": ("/moonshot/v1", {"model": "kimi-k3"}),
    "openai": ("/openai/v1", {"model": "gpt-5.1", "reasoning_effort": "medium"}),
}


def openai_client(emulator, path):
    return openai.OpenAI(api_key="dummy", base_url=f"{emulator.url}{path}", max_retries=0)


def message_of_chunks(chunks):
    """The message that the chunks of a stream make, put together by hand, reasoning included."""
    message = {"role": "assistant", "content": ""}
    calls = {}
    for chunk in chunks:
        for choice in chunk.choices:
            delta = choice.delta
            message["content"] += delta.content or ""
            if thought := getattr(delta, "reasoning_content", None):
                message["reasoning_content"] = message.get("reasoning_content", "") + thought
            for piece in delta.tool_calls or ():
                call = calls.setdefault(
                    piece.index,
                    {"id": piece.id, "type": "function", "function": {"name": "", "arguments": ""}},
                )
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return openai.types.chat.ChatCompletionMessage.model_validate(message)


def chat_loop(emulator, host, *, streamed=False, send=unchanged) -> Ended:
    path, options = HOSTS[host]
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with openai_client(emulator, path) as sdk:
        while True:
            request = {"messages": send(messages), "tools": [FUNCTION], **options}
            if streamed:
                answer = list(sdk.chat.completions.create(**request, stream=True))
                message = message_of_chunks(answer)
            else:
                answer = sdk.chat.completions.create(**request)
                message = answer.choices[0].message
            messages.append(message)
            made = message.tool_calls or []
            calls.append(len(made))
            thoughts.append(getattr(message, "reasoning_content", None) or "")
            if not made:
                return Ended(message.content, calls, thoughts, read(answer, streamed=streamed))
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": weather_of(call.function.arguments),
                }
                for call in made
            ]


@STREAMED
@pytest.mark.parametrize("host", HOSTS)
def test_chat(emulator, host, streamed):
    """A loop of chat goes through with the message that the SDK gave; OpenAI's shows no reasoning."""
    check(chat_loop(emulator, host, streamed=streamed), emulator, shown=host != "openai")


def without_reasoning(messages):
    """The turns as clients write them that know nothing of reasoning."""
    return [
        message
        if isinstance(message, dict)
        else {"role": "assistant", "content": message.content, "tool_calls": message.tool_calls}
        for message in messages
    ]


@STREAMED
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("deepseek", "The reasoning_content in the thinking mode must be passed back to the API"),
        (
            "moonshot",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
        ),
    ],
)
def test_chat_refused(emulator, host, words, streamed):
    """Reasoning that was dropped is refused by hosts that want it back."""
    with pytest.raises(openai.BadRequestError, match=words):
        chat_loop(emulator, host, streamed=streamed, send=without_reasoning)

    assert 2 == emulator.taken()


def chat_chunks(emulator, behaviour, **options):
    messages = [{"role": "user", "content": QUESTION}]
    with openai_client(emulator, "/deepseek") as sdk:
        yield from sdk.chat.completions.create(
            model=f"deepseek-v4-pro+{behaviour}", messages=messages, stream=True, **options
        )


def test_chat_fails_in_stream(emulator):
    """An error in the middle of a stream is raised behind the chunks that came before it."""
    seen = []
    with pytest.raises(openai.APIError, match="overloaded"):
        seen.extend(chat_chunks(emulator, "fail"))

    assert 3 == len(seen)


def test_chat_is_overloaded(emulator):
    """A request that is refused for the load of the host is an error of the server."""
    with pytest.raises(openai.InternalServerError, match="overloaded") as caught:
        list(chat_chunks(emulator, "fail=0"))

    assert 503 == caught.value.status_code


def test_chat_cut_stream(emulator):
    """A stream without an end just ends for the SDK; we say that it has none."""
    chunks = list(chat_chunks(emulator, "cut=4"))
    response = iv.fold(iv.decode_stream(chunks))
    thought = "".join(chunk.choices[0].delta.reasoning_content for chunk in chunks[1:])

    assert [None] * 4 == [chunk.choices[0].finish_reason for chunk in chunks]
    assert (False, thought) == (response.ended, response.thinking)


def test_chat_counts(emulator):
    """The chunk without a choice, which has the counts, comes for those who ask for it."""
    silent = list(chat_chunks(emulator, ""))
    asked = list(chat_chunks(emulator, "", stream_options={"include_usage": True}))

    assert all(chunk.choices for chunk in silent)
    assert ([], True) == (asked[-1].choices, asked[-1].usage.completion_tokens > 0)


# ---- Responses -------------------------------------------------------------------------------------

RESPONSES = {
    "model": "gpt-5.6",
    "reasoning": {"effort": "medium", "summary": "auto"},
    "tools": [
        {
            "type": "function",
            "name": NAME,
            "description": "Weather.",
            "parameters": SCHEMA,
            "strict": True,
        }
    ],
}


def responses_loop(emulator, *, store, streamed=False, send=unchanged) -> Ended:
    request = {**RESPONSES, "store": store}
    if not store:
        request["include"] = ["reasoning.encrypted_content"]
    items = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with openai_client(emulator, "/openai/v1") as sdk:
        while True:
            if streamed:
                with sdk.responses.stream(input=send(items), **request) as stream:
                    answer = stream.get_final_response()
            else:
                answer = sdk.responses.create(input=send(items), **request)
            made = [item for item in answer.output if item.type == "function_call"]
            calls.append(len(made))
            thoughts.append(
                "".join(
                    entry.text
                    for item in answer.output
                    if item.type == "reasoning"
                    for entry in item.summary
                )
            )
            if not made:
                return Ended(answer.output_text, calls, thoughts, iv.decode(answer))
            results = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": weather_of(call.arguments),
                }
                for call in made
            ]
            if store:
                request["previous_response_id"], items = answer.id, results
            else:
                items += [*answer.output, *results]


@STREAMED
@pytest.mark.parametrize("store", [False, True], ids=["encrypted", "stored"])
def test_responses(emulator, store, streamed):
    """A loop of Responses goes through, with its items sent back or with those that the server holds."""
    check(responses_loop(emulator, store=store, streamed=streamed), emulator)


def items_changed(items, change):
    """The items, with each that the model made replaced by what a change makes of it."""
    return [new for item in items for new in ([item] if isinstance(item, dict) else change(item))]


def with_altered_content(item):
    if item.type != "reasoning":
        return [item]
    head, tail = item.encrypted_content[:40], item.encrypted_content[41:]
    return [item.model_copy(update={"encrypted_content": f"{head}_{tail}"})]


@STREAMED
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (
            with_altered_content,
            "invalid_encrypted_content",
            "The encrypted content for item rs_[0-9a-f]+ could not be verified",
        ),
        (
            lambda item: [] if item.type == "reasoning" else [item],
            None,
            "of type 'function_call' was provided without its required 'reasoning' item: 'rs_",
        ),
        (
            lambda item: [] if item.type == "function_call" else [item],
            None,
            "of type 'reasoning' was provided without its required following item",
        ),
    ],
    ids=["altered", "dropped", "alone"],
)
def test_responses_refused(emulator, change, code, words, streamed):
    """Reasoning that was altered, dropped or left alone is refused."""
    with pytest.raises(openai.BadRequestError, match=words) as caught:
        responses_loop(
            emulator,
            store=False,
            streamed=streamed,
            send=lambda items: items_changed(items, change),
        )

    assert code == caught.value.code
    assert 2 == emulator.taken()


def test_responses_not_stored(emulator):
    """What was not stored cannot be gone on with, nor referred to."""
    with openai_client(emulator, "/openai/v1") as sdk:
        first = sdk.responses.create(input="Hello.", store=False, **RESPONSES)
        with pytest.raises(openai.BadRequestError, match="not found") as caught:
            sdk.responses.create(input="Go on.", previous_response_id=first.id, **RESPONSES)
        bare = first.output[0].model_copy(update={"encrypted_content": None})
        with pytest.raises(openai.NotFoundError, match="Items are not persisted"):
            sdk.responses.create(input=[bare, *first.output[1:]], store=False, **RESPONSES)

    assert "previous_response_not_found" == caught.value.code
