"""P25 to P32: order, storage, mix-ups, truncation and prefill of histories; and fields that clients do not support."""

import asyncio
import json
from types import SimpleNamespace

import httpx2
import pytest

import innervoice as iv
from cli.runs import run
from field.situations import completion, frames, noted
from field.witness import LOOP, TOOL, Witness, client_of, get_weather, stored, turns_of
from innervoice import show
from innervoice.bridges import sdk
from innervoice.emulator import Emulator, emulated_async_client

CLAUDE, GPT, GEMINI, DEEPSEEK = (
    "anthropic/claude-opus-4-6",
    "openai/gpt-5.6",
    "gemini/gemini-3.5-flash",
    "deepseek/deepseek-v4-pro",
)
KINDS = ["thinking", "tool_call", "thinking", "tool_call", "thinking", "text"]
INTERLEAVED = {
    CLAUDE: [
        {"type": "thinking", "thinking": "One.", "signature": "MQ=="},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "Two.", "signature": "Mg=="},
        {"type": "tool_use", "id": "b", "name": "f", "input": {"x": 1}},
        {"type": "thinking", "thinking": "Three.", "signature": "Mw=="},
        {"type": "text", "text": "Done."},
    ],
    GPT: [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "One."}], "encrypted_content": "MQ=="},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Two."}], "encrypted_content": "Mg=="},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": '{"x":1}'},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Three."}], "encrypted_content": "Mw=="},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ],
    GEMINI: [
        {"text": "One.", "thought": True},
        {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "MQ=="},
        {"text": "Two.", "thought": True},
        {"functionCall": {"id": "b", "name": "f", "args": {"x": 1}}, "thoughtSignature": "Mg=="},
        {"text": "Three.", "thought": True},
        {"text": "Done.", "thoughtSignature": "Mw=="},
    ],
}  # fmt: skip


@pytest.mark.parametrize("model", INTERLEAVED)
def test_p25_thoughts_between_calls_keep_their_places(model):
    """P25. Three thinking parts between two calls and a text are read, shown and sent back in their original order.

    Elsewhere: the thinking is merged into one part before the text (https://github.com/openai/openai-agents-python/pull/4177,
    https://github.com/Dwsy/agent/issues/44).
    Here: a message is a list of parts, with no separate place for reasoning.
    Seen failing: Response.message sorting its parts by kind, thinking first.
    """
    blocks = INTERLEAVED[model]
    bodies = {
        CLAUDE: {"type": "message", "content": blocks, "stop_reason": "end_turn"},
        GPT: {"object": "response", "status": "completed", "output": blocks},
        GEMINI: {"candidates": [{"content": {"parts": blocks}, "finishReason": "STOP"}]},
    }
    provider, _, name = model.partition("/")
    turn = iv.decode(bodies[model], provider=provider, model=name).message
    history = stored([iv.user("x"), turn, iv.tool_result("a", "1"), iv.tool_result("b", "2")])
    body = iv.encode(iv.Request(model, history)).body

    assert KINDS == [part.type for part in turn.parts]
    shown = show.render(turn, "plain")
    assert sorted(["One.", "Two.", "Three.", "Done."], key=shown.index) == ["One.", "Two.", "Three.", "Done."]  # fmt: skip
    sent = body["input"][1:7] if model == GPT else turns_of(body)[0]
    assert blocks == (sent if model == GPT else sent.get("content", sent.get("parts")))


SEALERS = [CLAUDE, GPT, GEMINI, "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "openrouter/openai/gpt-5.6", "xai/grok-4.5"]  # fmt: skip


@pytest.mark.parametrize("model", SEALERS)
def test_p26_through_a_front_end_and_a_column(model):
    """P26. A history that passes through another program's JSON keeps its signatures; so does the compact form with separate blobs.

    Elsewhere: a message type or a database column has no place for signatures and drops them
    (https://github.com/open-webui/open-webui/issues/27467, https://github.com/CaddyGlow/ccproxy-api/pull/72).
    Here: to_json is plain JSON that includes the blocks; with blobs= long signatures are stored separately and referenced by a
    digest, and a missing one raises an error.
    Seen failing: Origin.block left out by to_json; with_seals leaving the references in place.
    """
    witness = Witness()
    client = client_of(witness)
    chat = client.conversation(model, tools=[get_weather], reasoning="high")
    chat.ask(LOOP)
    blobs = {}
    plain, compact = iv.to_json(chat.history), iv.to_json(chat.history, blobs=blobs)
    through = [json.dumps(json.loads(data), sort_keys=True, indent=1) for data in (plain, compact)]

    assert chat.history == iv.from_json(through[0])
    assert chat.history == iv.from_json(through[1], blobs=dict(blobs))
    assert len(blobs) >= 3
    assert not any(seal in through[1] for seal in blobs.values())
    with pytest.raises(iv.DecodeError, match="stored separately"):
        iv.from_json(compact)
    chat.history = iv.from_json(through[1], blobs=blobs)
    assert "2 + 2 = 4." == chat.ask("What is 2 + 2?").text
    assert 200 == witness.statuses[-1]


CALL = {"id": "f:0", "type": "function", "function": {"name": "f", "arguments": "{}"}}


class Host:
    """An OpenAI-compatible host whose visible turns are all equal; its reasoning depends on the caller's number."""

    def __init__(self):
        self.asked = []

    def __call__(self, request):
        self.asked.append(json.loads(request.content))
        thought = f"Secret {request.headers.get('x-number')}"
        calls = [CALL] if self.asked[-1].get("tools") else None
        members = {"reasoning_content": thought, **({"tool_calls": calls} if calls else {})}
        text = None if calls else "Hello!"
        return httpx2.Response(200, json=completion(text, finish="tool_calls" if calls else "stop", **members))  # fmt: skip

    def ask(self, http, number, messages, key="k", **more):
        headers = {"authorization": f"Bearer {key}", "x-number": number}
        body = {"model": "kimi-k3", "messages": messages, **more}
        http.post("https://api.moonshot.ai/v1/chat/completions", json=body, headers=headers)
        return [m.get("reasoning_content") for m in self.asked[-1]["messages"] if m["role"] == "assistant"]  # fmt: skip


def user(text):
    return {"role": "user", "content": text}


@pytest.mark.parametrize("tools", [[], [{"type": "function"}]], ids=["texts", "calls"])
@pytest.mark.parametrize(
    ("one", "other", "own"),
    [
        (([user("I am Ann."), user("hi")], "k"), ([user("I am Bob."), user("hi")], "k"), True),
        (([user("hi")], "key of Ann"), ([user("hi")], "key of Bob"), True),
        (([user("hi")], "k"), ([user("hi")], "k"), False),
    ],
    ids=["other words before", "another caller", "nothing differs"],
)
def test_p27_two_conversations_that_look_alike(one, other, own, tools):
    """P27. Two conversations with equal text and equal call ids never get each other's reasoning; if nothing differs, the newest is used.

    Elsewhere: caches keyed by visible text or call id return one user's reasoning to another
    (https://github.com/vellum-ai/vellum-assistant/pull/22200, https://github.com/mnfst/llm-gateway/pull/2859).
    Here: the transport for SDKs identifies a turn by its caller, by everything before it, and by its own text or calls. A gateway
    does the same in a store that several machines share, and the owner is part of every digest.
    Seen failing: ConversationDigest without what was said before; without the tenant, together with RecentTurns.get without its comparison; one record for each key.
    """
    host = Host()
    more = {"tools": tools} if tools else {}
    kept = {"role": "assistant", "content": None, "tool_calls": [CALL]} if tools else {"role": "assistant", "content": "Hello!"}  # fmt: skip
    result = [{"role": "tool", "tool_call_id": "f:0", "content": "1"}] if tools else [user("more")]
    with sdk.client("moonshot", transport=httpx2.MockTransport(host)) as http:
        for number, (messages, key) in (("A", one), ("B", other)):
            host.ask(http, number, messages, key, **more)
        for number, (messages, key) in (("A", one), ("B", other)):
            restored = host.ask(http, number, [*messages, kept, *result], key)
            assert [f"Secret {number}" if own else "Secret B"] == restored


def test_p27_conversations_at_the_same_time():
    """P27. Conversations that run in parallel on one client keep their own reasoning.

    Elsewhere: events without a conversation id are mixed up (https://github.com/mnfst/llm-gateway/pull/2339).
    Here: each conversation has its own stream and history; only the connection is shared.
    Seen failing: Talk.history as an attribute of the class.
    """

    async def talk(client, number):
        chat = client.conversation(DEEPSEEK)
        async with chat.stream(f"What is {number} + {number}?") as events:
            async for _ in events:
                await asyncio.sleep(0)
        return chat.history

    async def together():
        async with emulated_async_client() as client:
            return await asyncio.gather(*(talk(client, number) for number in range(8)))

    for number, history in enumerate(asyncio.run(together())):
        assert ["user", "assistant"] == [message.role for message in history]
        assert f"{number} + {number} = {2 * number}" in history[1].thinking


KEEPERS = ["zai/glm-4.7", "groq/openai/gpt-oss-120b", "minimax/MiniMax-M2", "ollama/qwen3", "vllm/qwen3-8b", "alibaba/qwen3.7-max"]  # fmt: skip


@pytest.mark.parametrize("model", KEEPERS)
def test_p28_reasoning_that_a_tool_loop_lost(model):
    """P28. Missing reasoning in a tool loop is reported when the request is built, even if the API would accept it.

    Elsewhere: nothing is refused, but the model repeats itself (https://github.com/RooCodeInc/Roo-Code/issues/10101,
    https://github.com/router-for-me/CLIProxyAPI/issues/5840).
    Here: if the model's row says that it uses reasoning within a loop, encode and lint report a turn without it.
    Seen failing: ReasoningRules.note_missing doing nothing.
    """
    client = client_of(Emulator())
    first = client.ask(model, LOOP, tools=[TOOL], stream=True).message
    results = [iv.tool_result(call.id, "sun") for call in first.tool_calls]
    bare = first.replace(
        parts=tuple(part for part in first.parts if not isinstance(part, iv.Thinking))
    )
    whole, lost = (stored([iv.user(LOOP), turn, *results]) for turn in (first, bare))

    told = {"reasoning_missing", "reasoning_filled"}
    assert not told & noted(iv.encode(iv.Request(model, whole, tools=[TOOL], stream=True)))
    assert told & noted(iv.encode(iv.Request(model, lost, tools=[TOOL], stream=True)))
    problems = [problem for problem in iv.lint(lost, model, stream=True) if problem.code in told]
    assert [1] == [problem.message for problem in problems]
    assert client.ask(model, lost, tools=[TOOL], stream=True).status == "tool_calls"


FLATTENED = {
    CLAUDE: ("anthropic", {"messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]},
    ]}),
    GPT: ("openai-responses", {"input": [
        {"role": "user", "content": "x"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ]}),
}  # fmt: skip


@pytest.mark.parametrize("model", FLATTENED)
def test_p28_a_client_that_dropped_the_blocks(model):
    """P28. A tool loop of a client that drops blocks is accepted by the API, but still reported.

    Elsewhere: the loop continues without its reasoning and repeats itself (https://github.com/RooCodeInc/Roo-Code/issues/10128).
    Here: a turn of unknown origin without reasoning gets the note reasoning_missing.
    Seen failing: ReasoningRules._should_have_thought always false.
    """
    dialect, body = FLATTENED[model]
    history = iv.decode_request({"model": "x", **body}, dialect).messages
    wire = iv.encode(iv.Request(model, history, reasoning="high"))

    assert "reasoning_missing" in noted(wire)
    problems = iv.lint(history, model, reasoning="high")
    assert [("reasoning_missing", "degraded")] == [(p.code, p.severity) for p in problems]
    off = iv.Request(model, history, reasoning="none")
    assert "reasoning_missing" not in noted(iv.encode(off))


CUTTERS = [
    CLAUDE,
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    GEMINI,
    GPT,
    DEEPSEEK,
]


@pytest.mark.parametrize("model", CUTTERS)
def test_p29_a_history_that_was_cut_anywhere(model):
    """P29. A history that is cut anywhere keeps its largest complete part: no reasoning, call or result without its group.

    Elsewhere: compaction sends edited blocks, and trimming separates a call from its result
    (https://github.com/posit-dev/positron/issues/15878, https://github.com/MoonshotAI/kimi-code/pull/836).
    Here: trim cuts only before a user message and drops a group that lost its beginning; the rest is unchanged.
    Seen failing: trim keeping what stands before the first words of the user.
    """
    witness = Witness()
    client = client_of(witness)
    chat = client.conversation(model, tools=[get_weather], reasoning="high", max_tokens=9000)
    for question in (LOOP, "And the weather in Lima?", "What is 2 + 2?"):
        chat.ask(question)
    starts = [n for n, message in enumerate(chat.history) if message.role == "user"]
    for cut in range(len(chat.history)):
        left = iv.trim(stored(chat.history[cut:]), keep=9)
        first = next((number for number in starts if number >= cut), len(chat.history))
        assert chat.history[first:] == left
        response = client.ask(model, [*left, iv.user("What is 3 + 3?")], tools=[TOOL], reasoning="high", max_tokens=9000)  # fmt: skip
        assert "3 + 3 = 6." == response.text
        assert 200 == witness.statuses[-1]


def test_p29_a_summary_that_is_all_thinking():
    """P29. A response with nothing but thinking has no text: its status says so, and on the command line it is an error.

    Elsewhere: memory is overwritten with an empty string (https://github.com/skorokithakis/stavrobot/issues/28).
    Here: r.text is always a string, so it is "" with the status "empty" and a note; `innervoice ask` with a file as output exits
    with 1.
    Seen failing: Response.status calling it answered; the command line without its check.
    """
    response = client_of(Emulator(), "silent").ask(DEEPSEEK, "Summarise: 2 + 2")
    assert ("", "empty") == (response.text, response.status)
    assert "answer_in_reasoning" in noted(response)

    done = run("ask", "Summarise: 2 + 2", "-m", f"{DEEPSEEK}+silent", "--emulate", "--show", "none")
    assert (1, b"") == (done.returncode, done.stdout)
    assert b"no answer" in done.stderr


PREFILLED = [
    "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5-5", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "mistral/mistral-small-latest",
]  # fmt: skip


@pytest.mark.parametrize("model", PREFILLED)
def test_p30_a_history_that_ends_with_the_model(model):
    """P30. A history that ends with an assistant turn, with reasoning on, is refused by a named rule before it is sent.

    Elsewhere: "Assistant response prefill is incompatible with enable_thinking", from the server
    (https://github.com/ggml-org/llama.cpp/issues/20861, https://github.com/ggml-org/llama.cpp/issues/21889); its version of 2026-10-11 accepts it.
    Here: rows say which models accept prefill, and which do not while reasoning; lint reports it and encode raises. A host that
    accepts such a history gets it unchanged.
    Seen failing: FittedRequest.refuses_prefill always false, and without its look at reasoning.
    """
    history = [iv.user("Write a poem."), iv.assistant("Roses are")]
    settings = {"reasoning": "high", "max_tokens": 9000}
    witness = Witness()
    with pytest.raises(iv.RuleError) as refusal:
        client_of(witness).ask(model, history, **settings)

    assert "prefill_refused" == refusal.value.rule
    assert [] == witness.sent
    assert ["prefill_refused"] == [problem.code for problem in iv.lint(history, model, **settings)]
    with pytest.raises(iv.BadRequestError):
        client_of(witness).ask(model, history, mode="passthrough", **settings)
    assert [] == iv.lint(history, "llamacpp/qwen3-8b", **settings)


FIELDS = ["reasoning_content", "reasoning", "reasoning_text", "thinking", "thinking_content"]


@pytest.mark.parametrize("field", FIELDS)
def test_p31_a_field_that_the_client_does_not_know(field):
    """P31. Reasoning is read from any field without a hint, in dicts, SDK objects and LangChain messages.

    Elsewhere: OpenAI-compatible clients drop it, and their maintainers will not change that
    (https://github.com/langchain-ai/langchain/issues/34706, https://github.com/langchain-ai/langchain/issues/35059).
    Here: the format is detected from the shape; tests/sdk checks it with the objects of the official SDKs.
    Seen failing: FIELDS of the chat reader cut down to reasoning_content; json_of not knowing LangChain's messages.
    """
    body = completion("It is 345.", **{field: "15 * 23 = 345"})
    dumped = SimpleNamespace(model_dump=lambda **_: body)
    langchain = SimpleNamespace(content="It is 345.", additional_kwargs={field: "15 * 23 = 345"}, response_metadata={"finish_reason": "stop"})  # fmt: skip
    for given in (body, json.dumps(body), json.dumps(body).encode(), dumped, langchain):
        response = iv.decode(given)
        assert ("It is 345.", "15 * 23 = 345") == (response.text, response.thinking)
        assert "answered" == response.status

    details = [{"type": "reasoning.text", "text": "15 * 23 = 345", "index": 0}]
    assert "15 * 23 = 345" == iv.decode(completion("A", reasoning_details=details)).thinking


@pytest.mark.parametrize("host", ["vllm", "gpustack", "lmstudio"])
@pytest.mark.parametrize("names", [["reasoning_content"], ["reasoning"], ["reasoning", "reasoning_content"]])  # fmt: skip
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p32_a_field_that_was_renamed(host, names, stream):
    """P32. Reasoning under either field name, or under both, is read once and sent back under the name that the host used.

    Elsewhere: a new server version renames the field, and clients silently get nothing
    (https://github.com/vllm-project/vllm/issues/27755, https://github.com/run-llama/llama_index/pull/21220).
    Here: both are read; the name is part of the turn, so an older server gets the older name. In a history of two versions
    each turn keeps its own.
    Seen failing: replay_field = "reasoning" in the rows of vLLM; ReasoningFields adding both fields up.
    """
    deltas = [dict.fromkeys(names, piece) for piece in ("15 * 23", " = 345")]
    whole = completion("It is 345.", **dict.fromkeys(names, "15 * 23 = 345"))
    hints = {"provider": host, "model": "qwen3-8b"}
    response = iv.fold(iv.decode_stream(frames([*deltas, {"content": "It is 345."}]), **hints)) if stream else iv.decode(whole, **hints)  # fmt: skip

    assert ("It is 345.", "15 * 23 = 345") == (response.text, response.thinking)
    assert (len(names) == 2) == ("field_repeated" in noted(response))
    history = stored([iv.user("x"), response.message, iv.user("y")])
    (turn,) = turns_of(iv.encode(iv.Request(f"{host}/qwen3-8b", history)).body)
    (name,) = turn.keys() - {"role", "content"}
    assert name in names
    assert "15 * 23 = 345" == turn[name]
