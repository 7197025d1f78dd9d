"""The plain OpenAI SDK with hosts whose reasoning it does not support, with and without the transport."""

import asyncio
import gzip
import importlib
import json
from types import SimpleNamespace

import httpx2
import pytest

from innervoice.bridges import sdk
from innervoice.bridges.sdk import Relay

openai = pytest.importorskip("openai")

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo?"
HOSTS = [
    ("deepseek", "deepseek-v4-pro"),
    ("moonshot", "kimi-k3"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("groq", "openai/gpt-oss-120b"),
    ("minimax", "MiniMax-M2"),
    ("vllm", "qwen3-8b"),
]


def connect(server, provider, **settings):
    return openai.OpenAI(
        base_url=server.base_url(provider), api_key="any", max_retries=0, **settings
    )


def careless(message):
    """The members that an agent without reasoning support keeps."""
    kept = {"role": "assistant", "content": message["content"]}
    if message["tool_calls"]:
        kept["tool_calls"] = message["tool_calls"]
    return kept


def whole(client, model, messages):
    message = client.chat.completions.create(model=model, messages=messages, tools=[TOOL]).choices[0].message  # fmt: skip
    calls = [
        call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls or []
    ]
    thought = getattr(message, "reasoning_content", None) or ""
    return {"content": message.content, "tool_calls": calls, "thought": thought}


def streamed(client, model, messages):
    text, thought, calls = "", "", {}
    for chunk in client.chat.completions.create(model=model, messages=messages, tools=[TOOL], stream=True):  # fmt: skip
        if not chunk.choices:
            continue
        delta = chunk.choices[0].delta
        text += delta.content or ""
        thought += getattr(delta, "reasoning_content", None) or ""
        for piece in delta.tool_calls or []:
            call = calls.setdefault(piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})  # fmt: skip
            call["id"] += piece.id or ""
            call["function"]["name"] += piece.function.name or ""
            call["function"]["arguments"] += piece.function.arguments or ""
    return {"content": text or None, "tool_calls": list(calls.values()), "thought": thought}


def agent(turn, client, model, question=QUESTION, keep=careless):
    """A three-turn tool loop that keeps role, content and calls, and nothing else."""
    messages = [{"role": "user", "content": question}]
    thoughts = []
    for _ in range(6):
        message = turn(client, model, messages)
        thoughts.append(message["thought"])
        messages.append(keep(message))
        if not message["tool_calls"]:
            return message["content"], thoughts, messages
        for call in message["tool_calls"]:
            city = json.loads(call["function"]["arguments"])["city"]
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": f"{city}: sunny"}
            )
    raise AssertionError("the loop does not end")


turns = pytest.mark.parametrize("turn", [whole, streamed])


@turns
@pytest.mark.parametrize(("provider", "model"), HOSTS[:2])
def test_without_it_the_second_turn_is_refused(emulator, provider, model, turn):
    with connect(emulator, provider) as client, pytest.raises(openai.BadRequestError, match="reasoning_content"):  # fmt: skip
        agent(turn, client, model)


@turns
@pytest.mark.parametrize(("provider", "model"), HOSTS)
def test_with_it_the_loop_goes_through(emulator, provider, model, turn):
    with connect(emulator, provider, http_client=sdk.client(provider)) as client:
        text, thoughts, _ = agent(turn, client, model)
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == text
    assert all("The user asks" in thought for thought in thoughts)


@turns
def test_markup_leaves_the_text(emulator, turn):
    """MiniMax M2 writes its reasoning into the content; it is sent back there, and the agent never sees it."""
    with connect(emulator, "minimax", http_client=sdk.client("minimax")) as client:
        text, thoughts, messages = agent(turn, client, "MiniMax-M2")
    assert "<think>" not in json.dumps(messages)
    assert thoughts[-1]
    with connect(emulator, "minimax") as client:
        text, thoughts, _ = agent(turn, client, "MiniMax-M2")
    assert text.startswith("<think>")
    assert "" == thoughts[-1]


@turns
def test_a_history_that_was_never_seen(emulator, turn):
    """After a restart of the program, the required field is sent empty."""
    with connect(emulator, "deepseek", http_client=sdk.client("deepseek")) as client:
        *_, messages = agent(turn, client, "deepseek-v4-pro")
    more = [*messages, {"role": "user", "content": "And the weather in Lima?"}]
    with connect(emulator, "deepseek", http_client=sdk.client("deepseek")) as client:
        assert turn(client, "deepseek-v4-pro", more)["tool_calls"]


def test_clients_may_share_what_they_saw(emulator):
    relay = Relay("openrouter")
    model = "anthropic/claude-sonnet-4.5"
    messages = [{"role": "user", "content": "The weather in Paris?"}]
    with connect(emulator, "openrouter", http_client=sdk.client(relay=relay)) as client:
        message = whole(client, model, messages)
    messages += [careless(message), {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"}]  # fmt: skip
    sent = json.loads(relay.outgoing("http://x/chat/completions", json.dumps({"model": model, "messages": messages}).encode(), "Bearer any"))  # fmt: skip
    assert sent["messages"][1]["reasoning_details"][0]["signature"]


def test_async(emulator):
    async def run():
        http = sdk.async_client("deepseek")
        client = openai.AsyncOpenAI(base_url=emulator.base_url("deepseek"), api_key="any", http_client=http, max_retries=0)  # fmt: skip
        async with client:
            messages = [{"role": "user", "content": "The weather in Paris?"}]
            answer = await client.chat.completions.create(model="deepseek-v4-pro", messages=messages, tools=[TOOL])  # fmt: skip
            message = answer.choices[0].message
            call = message.tool_calls[0]
            messages.append(
                {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]}
            )
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "Paris: fog"})
            text = ""
            stream = await client.chat.completions.create(model="deepseek-v4-pro", messages=messages, tools=[TOOL], stream=True)  # fmt: skip
            async for chunk in stream:
                if chunk.choices:
                    text += chunk.choices[0].delta.content or ""
            return message.reasoning_content, text

    thought, text = asyncio.run(run())
    assert "The user asks" in thought
    assert "Paris: fog." == text


def test_other_requests_pass_untouched(emulator):
    """Responses, models, errors: nothing is changed."""
    with connect(emulator, "openai", http_client=sdk.client("openai")) as client:
        answer = client.responses.create(model="gpt-5.6", input="What is 2 + 2?")
        assert "2 + 2 = 4." == answer.output_text
        with pytest.raises(openai.BadRequestError, match="max_completion_tokens"):
            client.chat.completions.create(model="gpt-5.6", messages=[{"role": "user", "content": "x"}], max_tokens=5)  # fmt: skip


# ---- reasoning that was kept without its seals -----------------------------------------------------


class Recording(httpx2.HTTPTransport):
    """A transport that records the bodies that reach the host."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def handle_request(self, request):
        self.bodies.append(json.loads(request.read()))
        return super().handle_request(request)


def kept_fields(field):
    """A turn of an agent that keeps one reasoning field."""

    def keep(message):
        return {**careless(message), field: message["thought"]}

    return keep


@turns
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_seals_that_the_program_dropped_come_back(emulator, turn, field):
    """A program that keeps the text of the reasoning gets its signatures restored; the text stays where it is."""
    inner = Recording()
    with connect(emulator, "openrouter", http_client=sdk.client("openrouter", transport=inner)) as client:  # fmt: skip
        agent(turn, client, HOSTS[2][1], keep=kept_fields(field))
    sent = [item for item in inner.bodies[-1]["messages"] if item["role"] == "assistant"]

    assert 2 == len(sent)
    assert all(item["reasoning_details"][0]["signature"] for item in sent)
    assert all("The user asks" in item[field] for item in sent)


def test_edited_reasoning_stays_edited(emulator):
    """Signatures do not fit another text, so they are not restored."""
    inner = Recording()
    with connect(emulator, "openrouter", http_client=sdk.client("openrouter", transport=inner)) as client:  # fmt: skip
        message = whole(client, HOSTS[2][1], [{"role": "user", "content": "The weather in Paris?"}])
        edited = {**careless(message), "reasoning": "I was told what to think."}
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sun"}
        with pytest.raises(openai.BadRequestError, match="signature"):
            whole(client, HOSTS[2][1], [{"role": "user", "content": "The weather in Paris?"}, edited, result])  # fmt: skip

    assert edited == inner.bodies[-1]["messages"][1]


# ---- what the program sees of the response ---------------------------------------------------------


@pytest.mark.parametrize("library", ["httpx2", "httpx"])
def test_raw_responses(emulator, library):
    """A raw response has the parts that it has without the transport."""
    messages = [{"role": "user", "content": "What is 2 + 2?"}]
    seen = []
    for http_client in (importlib.import_module(library).Client(), sdk.client("deepseek", library=library)):  # fmt: skip
        with http_client:
            client = connect(emulator, "deepseek", http_client=http_client)
            raw = client.chat.completions.with_raw_response.create(model="deepseek-v4-pro", messages=messages)  # fmt: skip
            response = raw.http_response
            assert "2 + 2 = 4." == raw.parse().choices[0].message.content
            assert raw.elapsed.total_seconds() > 0
            assert response.num_bytes_downloaded == len(response.content)
            seen.append((raw.http_version, raw.status_code, response.reason_phrase, response.history, str(response.request.url), response.request.headers["accept-encoding"], sorted(response.extensions), sorted(raw.headers)))  # fmt: skip

    assert seen[0] == seen[1]


@pytest.mark.parametrize("library", ["httpx2", "httpx"])
def test_raw_streams(emulator, library):
    messages = [{"role": "user", "content": "What is 2 + 2?"}]
    seen = []
    for http_client in (importlib.import_module(library).Client(), sdk.client("deepseek", library=library)):  # fmt: skip
        with http_client:
            client = connect(emulator, "deepseek", http_client=http_client)
            with client.chat.completions.with_streaming_response.create(model="deepseek-v4-pro", messages=messages, stream=True) as raw:  # fmt: skip
                lines = list(raw.iter_lines())
            response = raw.http_response
            assert raw.elapsed.total_seconds() > 0
            assert response.num_bytes_downloaded
            assert "data: [DONE]" in lines
            seen.append((raw.http_version, raw.status_code, sorted(response.extensions), sorted(raw.headers)))  # fmt: skip

    assert seen[0] == seen[1]


def test_raw_async_responses(emulator):
    async def run():
        http = sdk.async_client("deepseek")
        async with openai.AsyncOpenAI(base_url=emulator.base_url("deepseek"), api_key="any", http_client=http) as client:  # fmt: skip
            raw = await client.chat.completions.with_raw_response.create(model="deepseek-v4-pro", messages=[{"role": "user", "content": "What is 2 + 2?"}])  # fmt: skip
            return raw.elapsed, raw.http_version, raw.parse().choices[0].message.content

    elapsed, version, text = asyncio.run(run())
    assert elapsed.total_seconds() > 0
    assert ("HTTP/1.1", "2 + 2 = 4.") == (version, text)


def test_headers():
    """Two cookies stay two headers, and the length is that of the rewritten body."""

    def reply(_):
        headers = [("set-cookie", "a=1"), ("set-cookie", "b=2"), ("content-type", "application/json")]  # fmt: skip
        body = (
            b'{"choices": [{"message": {"role": "assistant", "content": "A", "reasoning": "R"}}]}'
        )
        return httpx2.Response(200, headers=headers, content=body)

    with sdk.client("deepseek", transport=httpx2.MockTransport(reply)) as http:
        answer = http.post("https://host.test/chat/completions", json={"messages": []})

    assert ["a=1", "b=2"] == answer.headers.get_list("set-cookie")
    assert "R" == answer.json()["choices"][0]["message"]["reasoning_content"]
    assert [str(len(answer.content))] == answer.headers.get_list("content-length")


def test_a_compressed_stream(emulator):
    """A host that compresses although it was asked not to."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "<think>R</think>A"}}]}
    body = gzip.compress(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=body))
    with sdk.client("vllm", transport=inner) as http:
        answer = http.post("https://host.test/chat/completions", json={"model": "qwen3-8b", "messages": [], "stream": True})  # fmt: skip

    assert {"reasoning_content": "R", "content": "A"} == deltas(answer.text)


def deltas(body):
    """The texts of a stream, by field."""
    joined = {}
    for line in body.splitlines():
        if line.startswith("data: {"):
            for name, piece in json.loads(line[6:])["choices"][0]["delta"].items():
                joined[name] = joined.get(name, "") + piece
    return joined


def test_deltas_keep_their_members():
    """A delta gets no content that it did not have, and keeps the host's own reasoning fields."""
    given = [
        {"role": "assistant", "content": ""},
        {
            "reasoning": "R",
            "reasoning_details": [{"type": "reasoning.text", "text": "R", "index": 0}],
        },
        {"content": None, "reasoning": "S"},
        {"content": "A"},
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "c",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                }
            ]
        },
        {},
    ]
    stream = Relay("openrouter").stream("https://x/chat/completions", "m", request_body=b"{}")
    passed = b"".join(stream.feed(f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()) for delta in given)  # fmt: skip
    seen = [json.loads(line[6:])["choices"][0]["delta"] for line in passed.decode().splitlines() if line]  # fmt: skip
    bare = [{name: value for name, value in delta.items() if name != "reasoning_content"} for delta in seen]  # fmt: skip

    assert given == bare
    assert "R" == seen[1]["reasoning_content"]


def until_finish(client, model, messages):
    """A turn of an agent that stops reading at `finish_reason`."""
    read = []
    with client.chat.completions.create(model=model, messages=messages, tools=[TOOL], stream=True) as stream:  # fmt: skip
        for chunk in stream:
            read.append(chunk)
            if chunk.choices and chunk.choices[0].finish_reason:
                break
    create = lambda **_: iter(read)  # noqa: E731 - stands in for the client
    return streamed(SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create))), model, messages)  # fmt: skip


@pytest.mark.parametrize(("provider", "model"), HOSTS[:3])
def test_a_stream_that_is_left_at_its_finish_chunk(emulator, provider, model):
    inner = Recording()
    with connect(emulator, provider, http_client=sdk.client(provider, transport=inner)) as client:
        text, thoughts, _ = agent(until_finish, client, model)
    sent = [item for item in inner.bodies[-1]["messages"] if item["role"] == "assistant"]

    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == text
    assert all(json.dumps(thought.strip())[1:-1] in json.dumps(item) for thought, item in zip(thoughts, sent, strict=False))  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "refusal": "No."},
        {"content": ""},
        {"content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("streamed", [False, True])
def test_messages_without_text_stay_as_they_are(message, streamed):
    """Null, "" and nothing are three things, and a refusal is not content."""
    relay, url = Relay("openrouter"), "https://x/chat/completions"
    if streamed:
        chunk = json.dumps({"choices": [{"index": 0, "delta": message}]})
        line = relay.stream(url, "m", request_body=b"{}").feed(f"data: {chunk}\n\n".encode())
        passed = json.loads(line.removeprefix(b"data: "))["choices"][0]["delta"]
    else:
        body = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", **message}}]})
        passed = json.loads(relay.incoming(url, "m", body.encode(), request_body=b"{}"))["choices"][0]["message"]  # fmt: skip
        assert "assistant" == passed.pop("role")

    assert message == passed
