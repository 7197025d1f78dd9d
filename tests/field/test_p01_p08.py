"""P01 to P08: the second request of a tool loop, and what each host requires in it."""

import json
import re

import httpx2
import pytest

import innervoice as iv
from field.situations import completion, noted
from field.witness import (
    LOOP,
    TOOL,
    Witness,
    answer_calls,
    client_of,
    frames_of,
    get_weather,
    stored,
    turns_of,
)
from innervoice.bridges import sdk
from innervoice.emulator import Emulator

CLAUDE, GEMINI = "anthropic/claude-sonnet-4-5", "gemini/gemini-3.5-flash"
DEEPSEEK, KIMI = "deepseek/deepseek-v4-pro", "moonshot/kimi-k3"


def blocks_of_stream(raw):
    """The content of a streamed Messages API response."""
    blocks = []
    for frame in frames_of(raw):
        if frame["type"] == "content_block_start":
            blocks.append(dict(frame["content_block"]))
        if frame["type"] != "content_block_delta":
            continue
        block, delta = blocks[frame["index"]], frame["delta"]
        for name in ("thinking", "signature", "text"):
            block[name] = block[name] + delta[name] if name in delta else block.get(name)
        block["input"] = (block.get("input") or "") + delta.get("partial_json", "")
    made = [{name: value for name, value in block.items() if value} for block in blocks]
    calls = [block for block in made if block["type"] == "tool_use"]
    for block in calls:
        block["input"] = json.loads(block["input"])
    return made


@pytest.mark.parametrize("behave", ["", "pieces=3", "redact, pieces=3"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p01_a_tool_loop_that_was_a_file_in_between(behave, stream, tmp_path):
    """P01. A Claude turn that was stored as JSON is sent back with its tool result, byte for byte.

    Elsewhere: a library flattens the turn, and the second request is refused because the turn starts with the tool call
    (https://github.com/anomalyco/opencode/issues/3077, https://github.com/openai/openai-agents-python/issues/678).
    Here: every part keeps its original block, so the next body has the content that the API sent, in the same order.
    Seen failing: TurnRules.without_loose_ends dropping leading thinking as well; Origin.block left out by to_json.
    """
    witness = Witness()
    file = tmp_path / "history.json"
    settings = {"tools": [TOOL], "reasoning": "high"}
    first = client_of(witness, behave).ask(CLAUDE, LOOP, stream=stream, **settings)
    file.write_bytes(iv.to_json([iv.user(LOOP), first.message]))

    history = iv.from_json(file.read_bytes())
    history += answer_calls(history[-1])
    assert "tool_calls" == client_of(witness).ask(CLAUDE, history, **settings).status
    raw = witness.answered[0]
    received = blocks_of_stream(raw) if stream else json.loads(raw)["content"]
    (turn,) = turns_of(witness.sent[1])
    assert len(received) >= 3
    assert json.dumps(received) == json.dumps(turn["content"])


SIGNED = [
    {"text": "Planning.", "thought": True},
    {"text": "Let me look.", "thoughtSignature": "c2lnbmVkIHRleHQ="},
    {"functionCall": {"id": "f1", "name": "get_weather", "args": {"city": "Paris"}}, "thoughtSignature": "c2lnbmVkIGNhbGw="},
    {"functionCall": {"id": "f2", "name": "get_weather", "args": {"city": "Rome"}}},
    {"inlineData": {"mimeType": "image/png", "data": "aW1hZ2U="}, "thoughtSignature": "c2lnbmVkIGltYWdl"},
    {"text": "", "thoughtSignature": "c2lnbmVkIG5vdGhpbmc="},
]  # fmt: skip


@pytest.mark.parametrize("provider", ["gemini", "vertex"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p02_gemini_signs_calls_texts_images_and_nothing(provider, stream):
    """P02. A signature is sent back on the part that Gemini signed, whatever kind of part it is.

    Elsewhere: the tool call is sent back without its thought_signature, and the request is refused
    (https://github.com/langgenius/dify-official-plugins/issues/2088, https://github.com/AstrBotDevs/AstrBot/issues/9217).
    Here: a signature stays on its part, complete or streamed, including an empty text and an image.
    Seen failing: GeminiReader dropping parts whose text is empty.
    """
    pieces = [[part] for part in SIGNED] if stream else [SIGNED]
    chunks = [{"candidates": [{"content": {"role": "model", "parts": part}}]} for part in pieces]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    raw = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks) if stream else json.dumps(chunks[0])  # fmt: skip
    turn = iv.decode(raw, provider=provider, model="gemini-3-pro").message

    history = stored([iv.user("x"), turn, iv.tool_result("f1", "1"), iv.tool_result("f2", "2")])
    wire = iv.encode(iv.Request(f"{provider}/gemini-3-pro", history))
    assert SIGNED == turns_of(wire.body)[0]["parts"]


@pytest.mark.parametrize("model", [GEMINI, "vertex/gemini-3-pro", "openrouter/google/gemini-3-pro"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p02_gemini_by_every_road(model, stream):
    """P02. A tool loop with Gemini works through each API: natively, in OpenAI's format, and through OpenRouter.

    Elsewhere: OpenAI-compatible endpoints lose the signature (https://github.com/lbjlaq/Antigravity-Manager/issues/3202).
    Here: Google's OpenAI endpoint has it in extra_content, OpenRouter in reasoning_details; both are sent back.
    Seen failing: the writer of chat leaving extra_content out.
    """
    chat = client_of(Emulator()).conversation(model, tools=[get_weather], stream=stream)
    assert "Paris: sunny. Rome: sunny. Oslo: sunny." == chat.ask(LOOP).text

    google = {"google": {"thought_signature": "c2lnbmVkIGNhbGw="}}
    call = {"id": "f1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": google}  # fmt: skip
    body = completion(None, finish="tool_calls", tool_calls=[call], extra_content=google)
    turn = iv.decode(body, provider="gemini", model="gemini-3-pro").message
    history = stored([iv.user("x"), turn, iv.tool_result("f1", "1")])
    wire = iv.encode(iv.Request("gemini/gemini-3-pro", history, dialect="openai-chat"))
    (sent,) = turns_of(wire.body)
    assert google == sent["extra_content"]
    assert call == sent["tool_calls"][0]


def test_p03_parallel_calls_of_which_one_is_signed():
    """P03. Of two parallel calls only the first is signed; they are sent back like that, without a warning.

    Elsewhere: the second call gets a copy of the signature, or the placeholder and a false warning
    (https://github.com/vercel/ai/pull/17620, https://github.com/google/adk-go/pull/764).
    Here: a signature belongs to its own part; the other call stays unsigned.
    Seen failing: TurnRules._signed stamping a call whose sibling is signed.
    """
    witness = Witness()
    chat = client_of(witness).conversation(GEMINI, tools=[get_weather])
    chat.ask(LOOP)
    received = json.loads(witness.answered[0])["candidates"][0]["content"]["parts"]
    (sent,) = turns_of(witness.sent[1])

    assert [True, False] == ["thoughtSignature" in part for part in received if "functionCall" in part]  # fmt: skip
    assert received == sent["parts"]
    assert "signature_filled" not in noted(chat.responses[1])


def test_p03_a_step_that_nobody_signed():
    """P03. In a step of another model the first call gets the documented placeholder, and only in the current turn.

    Elsewhere: all calls of all turns get the placeholder, or none (https://github.com/trpc-group/trpc-agent-go/pull/1894).
    Here: rule H4 fills one call for each step since the last user message, with a note.
    Seen failing: TurnRules.with_skip_values without the start of the current turn.
    """
    witness = Witness()
    client = client_of(witness)
    chat = client.conversation(CLAUDE, tools=[get_weather], reasoning="high")
    chat.ask(LOOP)
    loop = stored(chat.history[:-1])
    response = client.ask(GEMINI, loop, tools=[TOOL])

    skip = "skip_thought_signature_validator"
    steps = [turn["parts"] for turn in turns_of(witness.sent[-1])]
    assert [[skip, None], [skip]] == [
        [part.get("thoughtSignature") for part in parts] for parts in steps
    ]
    assert "signature_filled" in noted(response)
    client.ask(GEMINI, [*chat.history, iv.user("And 2 + 2?")], tools=[TOOL])
    assert skip not in json.dumps(witness.sent[-1])


FALLBACKS = [
    "openai/gpt-5.6", CLAUDE, DEEPSEEK, "mistral/mistral-small-latest", "groq/openai/gpt-oss-120b",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", GEMINI,
]  # fmt: skip
SMUGGLED = "call_1__thought__" + "Q0FF+/" * 700


@pytest.mark.parametrize("fallback", FALLBACKS)
@pytest.mark.parametrize("given", [None, SMUGGLED], ids=["without an id", "with a smuggled one"])
def test_p04_ids_that_every_provider_takes(fallback, given):
    """P04. A Gemini call has a short id without hidden state, which every other provider accepts as a fallback.

    Elsewhere: the signature is part of the id; other providers refuse its length, and clients that shorten it break it
    (https://github.com/BerriAI/litellm/issues/37849, https://github.com/BerriAI/litellm/issues/41534).
    Here: a call without an id is numbered; an id that the target refuses is replaced in the request, and kept in the history.
    Seen failing: with_taken_ids giving the ids back as they are.
    """
    call = {"name": "get_weather", "args": {"city": "Oslo"}, **({"id": given} if given else {})}
    part = {"functionCall": call, "thoughtSignature": "c2lnbmVkIGNhbGw="}
    body = {"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}
    turn = iv.decode(body, provider="antigravity", model="gemini-3-pro", dialect="gemini").message
    history = stored([iv.user("The weather in Oslo?"), turn, *answer_calls(turn)])
    witness = Witness()
    assert "Oslo: sunny." == client_of(witness).ask(fallback, history, tools=[TOOL]).text

    text = json.dumps(witness.sent[-1])
    ids = re.findall(r'"(?:id|call_id|tool_call_id|tool_use_id|toolUseId)": "([^"]*)"', text)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found) for found in ids)
    assert "Q0FF" not in text
    assert given is None or given == history[1].tool_calls[0].id


def test_p04_a_client_that_returns_id_name_and_arguments_only():
    """P04. A program that keeps only id, name and arguments gets the signature restored in its next request.

    Elsewhere: the client drops extra_content, and the signature is lost (https://github.com/sierra-research/tau2-bench/issues/559).
    Here: the transport for the official SDKs remembers the turn and restores the signature. It does not share its memory between
    processes.
    Seen failing: Relay.remember doing nothing.
    """
    google = {"google": {"thought_signature": "c2lnbmVkIGNhbGw="}}
    call = {"id": "f1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    asked = []

    def answer(request):
        asked.append(json.loads(request.content))
        signed = {**call, "extra_content": google}
        return httpx2.Response(200, json=completion(None, finish="tool_calls", tool_calls=[signed]))

    url = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
    first = {"role": "user", "content": "x"}
    kept = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "f1", "content": "1"}
    with sdk.client("gemini", transport=httpx2.MockTransport(answer)) as http:
        for messages in ([first], [first, kept, result]):
            http.post(url, json={"model": "gemini-3-pro", "messages": messages})

    assert [{**call, "extra_content": google}] == asked[1]["messages"][1]["tool_calls"]


def test_p05_deepseek_gets_its_reasoning_back_in_every_later_request():
    """P05. DeepSeek gets reasoning_content back on every turn with tool calls, even if thinking was never requested.

    Elsewhere: the request after the first tool call is refused, with thinking on by default
    (https://github.com/n8n-io/n8n/issues/29119, https://github.com/langchain-ai/langchainjs/issues/10883).
    Here: the field is part of the turn and is sent back with its original text.
    Seen failing: ReasoningRules.fitted dropping every field of a chat host.
    """
    witness = Witness()
    chat = client_of(witness).conversation(DEEPSEEK, tools=[get_weather])
    chat.ask(LOOP)
    chat.ask("And the weather in Lima?")

    thoughts = [response.thinking for response in chat.responses]
    for body in witness.sent[1:]:
        sent = [turn["reasoning_content"] for turn in turns_of(body)]
        assert thoughts[: len(sent)] == sent


def test_p05_reasoning_that_a_front_end_has_lost():
    """P05. If the reasoning is lost, the field is sent empty, with the note reasoning_filled.

    Elsewhere: libraries silently send a single space, or fail (https://github.com/openai/codex/issues/24500).
    Here: no text is made up, the turn is accepted, and the note says what was filled.
    Seen failing: TurnRules.with_field returning the parts unchanged.
    """
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}  # fmt: skip
    kept = [
        {"role": "user", "content": "The weather in Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Oslo: sunny"},
    ]
    history = list(iv.decode_request({"model": "x", "messages": kept}, "openai-chat").messages)
    witness = Witness()
    response = client_of(witness).ask(DEEPSEEK, history, tools=[TOOL])

    assert "Oslo: sunny." == response.text
    assert [""] == [turn["reasoning_content"] for turn in turns_of(witness.sent[0])]
    assert "reasoning_filled" in noted(response)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_p06_no_reliance_on_what_the_server_remembers(keep):
    """P06. A host without memory between requests accepts every resumed and every shortened history.

    Elsewhere: a warm cache hides the missing field, and the same history fails after a pause or a compaction
    (https://github.com/esengine/DeepSeek-Reasonix/pull/4022, https://github.com/mnfst/llm-gateway/pull/2859).
    Here: every request has everything that the strict rule requires; in the test each one goes to a new server.
    Seen failing: TurnRules.with_field filling, and ReasoningRules.fitted sending, only in the latest turn.
    """
    chat = client_of(Emulator()).conversation(DEEPSEEK, tools=[get_weather])
    for question in (LOOP, "And the weather in Lima?", "What is 2 + 2?"):
        chat.ask(question)
    for end in range(1, len(chat.history) + 1):
        resumed = iv.trim(stored(chat.history[:end]), keep=keep)
        if resumed[-1].role == "assistant":
            resumed.append(iv.user("Go on, the weather in Bern?"))
        witness = Witness()
        client_of(witness).ask(DEEPSEEK, resumed, tools=[TOOL])
        called = [turn for turn in turns_of(witness.sent[0]) if "tool_calls" in turn]
        assert all(turn["reasoning_content"] for turn in called)


def test_p07_kimi_with_a_turn_that_no_model_made():
    """P07. Kimi accepts a synthetic tool turn among real ones, and the real ones keep their reasoning.

    Elsewhere: "reasoning_content is missing in assistant tool call message at index N", in every later request
    (https://github.com/anomalyco/opencode/issues/10996, https://github.com/mastra-ai/mastra/issues/12592).
    Here: only the synthetic turn gets an empty field, by rule H3.
    Seen failing: TurnRules.with_field returning the parts unchanged.
    """
    witness = Witness()
    client = client_of(witness)
    chat = client.conversation(KIMI, tools=[get_weather])
    chat.ask("The weather in Paris?")
    made_up = iv.Message("assistant", (iv.ToolCall("mine:1", "get_weather", '{"city": "Oslo"}'),))
    history = [*stored(chat.history), iv.user("The weather in Oslo?"), made_up, iv.tool_result("mine:1", "Oslo: fog")]  # fmt: skip
    response = client.ask(KIMI, history, tools=[TOOL])

    assert "Oslo: fog." == response.text
    real = [turn.thinking for turn in chat.history if turn.role == "assistant"]
    assert [*real, ""] == [turn["reasoning_content"] for turn in turns_of(witness.sent[-1])]
    assert "reasoning_filled" in noted(response)


# What of a turn may leave for each host beside role, content and calls, and where the reasoning is then.
CONTRACTS = {
    DEEPSEEK: {"reasoning_content"},
    "cerebras/gpt-oss-120b": {"reasoning"},
    "cerebras/zai-glm-4.7": set(),
    "groq/openai/gpt-oss-120b": {"reasoning"},
    "fireworks/accounts/fireworks/models/glm-5": {"reasoning_content"},
    "mistral/mistral-small-latest": set(),
    "openrouter/anthropic/claude-sonnet-4.5": {"reasoning_details"},
    "xai/grok-4.5": set(),
}


@pytest.mark.parametrize("target", CONTRACTS)
def test_p08_each_host_gets_the_field_it_takes(target):
    """P08. A history with turns of eight hosts is sent to each of them with the field that it accepts, and no other.

    Elsewhere: strict hosts return 400 or 422 for a field that another host requires
    (https://github.com/QwenLM/qwen-code/issues/11045, https://github.com/agentjido/req_llm/issues/772).
    Here: a row of data says which field a host accepts; its own reasoning goes there, other reasoning stays in the history.
    Seen failing: Replay.returned returning the part as it is; ReasoningRules.is_home always true.
    """
    history = []
    for host in CONTRACTS:
        chat = client_of(Emulator()).conversation(host, tools=[get_weather], reasoning="high")
        chat.ask("The weather in Paris?")
        history += stored(chat.history)
    witness = Witness()
    dialect = "openai-chat" if target.startswith("xai") else None
    response = client_of(witness).ask(target, [*history, iv.user("What is 2 + 2?")], dialect=dialect, tools=[TOOL], reasoning="high")  # fmt: skip

    assert "2 + 2 = 4." == response.text
    turns = turns_of(witness.sent[0])
    extra = [set(turn) - {"role", "content", "tool_calls"} for turn in turns]
    own = extra[2 * list(CONTRACTS).index(target) :][:2]
    assert [CONTRACTS[target]] * 2 == own
    filled = {"reasoning_content"} if target == DEEPSEEK else set()
    assert all(keys <= filled for keys in extra if keys not in own)
    if target.startswith(("mistral", "cerebras/zai")):
        held = json.dumps([turn["content"] for turn in turns])
        assert 2 == held.count('"type": "thinking"' if "mistral" in target else "<think>")
