"""P33 to P40: reading a response with duplicate fields, flags, defaults and unexpected values."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from field.situations import completion, noted, read_both_ways
from innervoice import show
from innervoice.emulator import emulated_client

VLLM = {"provider": "vllm", "model": "qwen3-8b"}
QUESTION = "What is 15 * 23?"
THOUGHT = "15 * 20 = 300, 15 * 3 = 45."


@pytest.mark.parametrize(
    ("field", "inline", "thinking"),
    [
        (THOUGHT, THOUGHT, THOUGHT),
        (THOUGHT, THOUGHT[:15], THOUGHT),
        (THOUGHT[:15], THOUGHT, THOUGHT),
        ("First by field.", "Then by tag.", "First by field.\n\nThen by tag."),
    ],
    ids=["equal", "the tags hold a beginning", "the field holds a beginning", "different"],
)
def test_p33_tags_and_a_field_with_the_same_thought(field, inline, thinking):
    """P33. The same reasoning in a field and in the text is shown once; different reasoning is shown twice, in order.

    Elsewhere: if a server fills a field and leaves the tags in the text, the reasoning appears twice
    (https://github.com/NVIDIA-NeMo/Guardrails/pull/2316, https://github.com/Kilo-Org/kilo/issues/303).
    Here: equal texts, or a text and its beginning, count once, and nothing of the longer one is lost, with a note; complete and streamed.
    Seen failing: InlineStage.finish dropping nothing; InlineStage.finish dropping the longer text for a shorter field.
    """
    response = read_both_ways(f"<think>{inline}</think>It is 345.", field=field, **VLLM)

    assert "It is 345." == response.text
    assert thinking == response.thinking
    assert ("inline_repeated" in noted(response)) == ("\n\n" not in thinking)
    assert 1 == show.render(response, "plain").count(thinking.split("\n\n")[0].strip())


def test_p33_two_fields_with_the_same_thought():
    """P33. Reasoning that a host sends under two field names is read once.

    Elsewhere: clients add the fields up (https://github.com/Kilo-Org/kilo/issues/303).
    Here: one field is chosen for the whole stream, and the note field_repeated says so.
    Seen failing: ChatReader's choice of a field replaced by reading all of them.
    """
    client = emulated_client(headers={"x-innervoice-emulate": "mirror"})
    with client.stream("vllm/qwen3-8b", QUESTION) as events:
        thought = "".join(events.thinking())

    assert 1 == thought.count("The user asks")
    assert "field_repeated" in noted(events.response)


def test_p34_only_a_flag_makes_a_thought_of_geminis_parts():
    """P34. Only Gemini parts with thought: true are reasoning, whichever parts are signed.

    Elsewhere: a signed part is treated as reasoning, or reasoning is spoken as text
    (https://github.com/livekit/agents/issues/6942, https://github.com/open-webui/open-webui/issues/24537).
    Here: only the flag decides; a signature stays on its part.
    Seen failing: GeminiReader taking every part with a thoughtSignature for a thought.
    """
    parts = [
        {"text": "Plan.", "thought": True},
        {"text": "Signed plan.", "thought": True, "thoughtSignature": "AAAA"},
        {"text": "The answer. ", "thoughtSignature": "BBBB"},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "CCCC"},
        {"text": "Its end."},
    ]
    body = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "modelVersion": "gemini-3.5-flash",
    }
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts
    ] + [{"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}]
    for response in (iv.decode(body), iv.fold(iv.decode_stream(chunks, provider="gemini"))):
        assert "Plan.\n\nSigned plan." == response.thinking
        assert ["The answer. ", "Its end."] == [
            part.text for part in response.parts if part.type == "text"
        ]
        assert ["f"] == [call.name for call in response.tool_calls]


READABLE = [
    ("anthropic/claude-opus-5-5", "thinking", {"type": "adaptive", "display": "summarized"}),
    ("bedrock/us.anthropic.claude-opus-5-5-v1:0", "additionalModelRequestFields", {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}}),
    ("openai/gpt-5.6", "reasoning", {"effort": "high", "summary": "auto"}),
    ("gemini/gemini-3.5-flash", "generationConfig", {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}}),
    ("groq/openai/gpt-oss-120b", "reasoning_format", "parsed"),
    ("openrouter/anthropic/claude-sonnet-4.5", "reasoning", {"effort": "high"}),
    ("xai/grok-4", "reasoning", {"effort": "high"}),
    ("deepseek/deepseek-v4-pro", "thinking", {"type": "enabled"}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "member", "value"), READABLE, ids=[row[0] for row in READABLE])
def test_p35_who_wants_to_read_it_gets_it(model, member, value):
    """P35. A request for visible reasoning sends each provider its own setting, and the text arrives.

    Elsewhere: Claude 4.7 and later show nothing by default, and users believe that thinking is off
    (https://github.com/anomalyco/opencode/issues/25106, https://github.com/stdapi-ai/stdapi.ai/issues/285).
    Here: show= becomes display, summary, includeThoughts or reasoning_format, or nothing where reasoning is always shown.
    Seen failing: Compiler._show giving None for everything.
    """
    asked = iv.Reasoning("high", show="full")
    wire = iv.encode(iv.Request(model, [iv.user(QUESTION)], reasoning=asked))
    response = emulated_client().ask(model, QUESTION, reasoning=asked)

    assert value == wire.body[member]
    assert response.has_thinking
    assert "setting_ignored" not in noted(response)


@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "openai/gpt-5.6"])
def test_p35_withheld_reasoning_is_there(model):
    """P35. Reasoning without visible text is a part of the form "hidden", and is sent back with its signature.

    Elsewhere: blocks without text are dropped as empty (https://github.com/anthropics/claude-code/issues/49708).
    Here: the part has the form "hidden", every output format mentions it, and it is sent back.
    Seen failing: decode leaving out thinking parts without text.
    """
    client, setting = emulated_client(), iv.Reasoning("high", show="hidden")
    response = client.ask(model, QUESTION, reasoning=setting)
    history = iv.from_json(iv.to_json([iv.user(QUESTION), response.message, iv.user("And 2 + 2?")]))

    assert ["hidden"] == [part.form for part in response.parts if part.type == "thinking"]
    assert not response.has_thinking
    assert "hidden" in show.render(response, "plain", "summary").lower()
    assert ["kept"] == [item.action for item in iv.plan(history, model).decisions]
    assert "2 + 2 = 4." == client.ask(model, history, reasoning=setting).text


def test_p36_summaries_keep_their_boundaries():
    """P36. Three summaries are three parts of one item, separated by a blank line, and are sent back as three.

    Elsewhere: they are joined into one paragraph, or into one item that cannot be sent
    (https://github.com/langchain-ai/langchain, fixes under "preserve reasoning item boundaries").
    Here: each entry is a part, and all parts refer to the same item.
    Seen failing: thinking_of joining parts without a blank line; ResponsesReader joining the entries of an item.
    """
    client = emulated_client(headers={"x-innervoice-emulate": "pieces=3"})
    asked = iv.Reasoning("high", show="summary")
    whole = client.ask("openai/gpt-5.6", QUESTION, reasoning=asked)
    with client.stream("openai/gpt-5.6", QUESTION, reasoning=asked) as events:
        streamed = iv.fold(events)

    for response in (whole, streamed):
        thoughts = [part for part in response.parts if part.type == "thinking"]
        assert 3 == len(thoughts)
        assert 1 == len({part.origin.item for part in thoughts})
        assert "\n\n".join(part.text for part in thoughts) == response.thinking
        request = iv.Request("openai/gpt-5.6", [iv.user(QUESTION), response, iv.user("Go on.")])
        items = [
            item for item in iv.encode(request).body["input"] if item.get("type") == "reasoning"
        ]
        assert [[part.text for part in thoughts]] == [
            [entry["text"] for entry in item["summary"]] for item in items
        ]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def _bodies(value):
    """A response of each dialect with this value in place of its reasoning, signatures or token counts."""
    for name in ("reasoning_content", "reasoning", "reasoning_details", "reasoning_text"):
        yield "openai-chat", completion("Hi.", **{name: value})
    yield "openai-chat", {**completion("Hi."), "usage": {"completion_tokens_details": value}}
    for block in (
        {"type": "thinking", "thinking": value, "signature": "x"},
        {"type": "thinking", "thinking": "Hm.", "signature": value},
        {"type": "redacted_thinking", "data": value},
    ):
        text = {"type": "text", "text": "Hi."}
        yield "anthropic", {"type": "message", "role": "assistant", "content": [block, text], "stop_reason": "end_turn", "usage": value}  # fmt: skip
    for item in (
        {"type": "reasoning", "summary": value},
        {"type": "reasoning", "summary": [], "encrypted_content": value, "content": value},
    ):
        text = {"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}
        yield "openai-responses", {"object": "response", "status": "completed", "output": [item, text]}  # fmt: skip
    for part in ({"text": value, "thought": True}, {"text": "Hm.", "thought": value, "thoughtSignature": value}):  # fmt: skip
        content = {"role": "model", "parts": [part, {"text": "Hi."}]}
        yield "gemini", {"candidates": [{"content": content, "finishReason": "STOP"}]}
    yield "ollama", {"message": {"role": "assistant", "content": "Hi.", "thinking": value}, "done": True}  # fmt: skip
    block = {"reasoningContent": value}
    yield "bedrock-converse", {"output": {"message": {"role": "assistant", "content": [block, {"text": "Hi."}]}}, "stopReason": "end_turn"}  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(ANY_JSON)
def test_p37_any_value_in_a_field_of_reasoning(value):
    """P37. Unexpected JSON in place of reasoning, a signature or a count raises no error, and the answer is read.

    Elsewhere: dicts, nulls and missing counts raise in the middle of a response
    (https://github.com/BerriAI/litellm/pull/31654).
    Here: a value of an unexpected type is kept unchanged, noted as odd_value, and survives storage.
    Seen failing: ReasoningFields taking every value for text.
    """
    for dialect, body in _bodies(value):
        response = iv.decode(body, dialect=dialect)
        assert response.text.endswith("Hi.")
        assert isinstance(response.thinking, str | None)
        assert response == iv.from_json(iv.to_json(response))
    odd = {"nobody knows": value}
    for dialect, body in _bodies(odd):
        stored = json.loads(iv.to_json(iv.decode(body, dialect=dialect)))
        assert json.dumps(odd) in json.dumps(stored), dialect


@pytest.mark.parametrize(
    ("model", "fields", "status", "evidence"),
    [
        ("deepseek/deepseek-v4-pro", {"max_tokens": 5}, "budget_exhausted", ("length", None)),
        ("deepseek/deepseek-v4-pro+silent", {}, "empty", ("stop", "answer_in_reasoning")),
        ("vllm/qwen3-8b+inline+unclosed", {}, "stopped_inside_thinking", ("stop", "unclosed_thinking")),
        ("vllm/qwen3-8b+inline", {"max_tokens": 5}, "budget_exhausted", ("length", "unclosed_thinking")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p38_no_answer_has_a_status_with_evidence(model, fields, status, evidence, stream):
    """P38. For a response with reasoning but no text the status says why, and reasoning is not passed off as the answer.

    Elsewhere: the answer is an empty string with finish reason "stop", or the reasoning is returned as the answer
    (https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1602, https://github.com/raullenchai/Rapid-MLX/pull/794).
    Here: the status is budget_exhausted, stopped_inside_thinking, or empty with the note answer_in_reasoning; the reasoning is
    in r.thinking.
    Seen failing: Response.status without its case for length; Decoder._response without the note; text falling back to thinking.
    """
    response = emulated_client().ask(model, QUESTION, stream=stream, **fields)

    assert ("", status) == (response.text, response.status)
    assert response.has_thinking
    assert evidence[0] == response.finish_reason
    assert evidence[1] is None or evidence[1] in noted(response)


def test_p39_stop_strings_beside_reasoning():
    """P39. A stop string for a self-hosted reasoning model gets a warning, and its result has a status.

    Elsewhere: vLLM and SGLang match the string in the reasoning, and the content is null after a few tokens
    (https://github.com/vllm-project/vllm/issues/38499, https://github.com/sgl-project/sglang/pull/33154).
    Here: encode adds the note stop_in_reasoning for such servers; the response is empty with answer_in_reasoning.
    Seen failing: settling without the note.
    """
    asked = {"stop": ["\n\nQuestion:"], "base_url": "http://gpu-1:8000/v1"}
    for host in ("vllm", "sglang", "llamacpp", "ollama", "custom"):
        request = iv.Request(f"{host}/qwen3-8b", [iv.user(QUESTION)], **asked)
        assert "stop_in_reasoning" in noted(iv.encode(request)), host
    for settled in ({"reasoning": False}, {"stop": None}):
        request = iv.Request("vllm/qwen3-8b", [iv.user(QUESTION)], **{**asked, **settled})
        assert "stop_in_reasoning" not in noted(iv.encode(request))
    assert not noted(iv.encode(iv.Request("deepseek/deepseek-v4-pro", [iv.user("x")], stop="\n")))

    response = iv.decode(completion(None, reasoning_content="Let me see:"), **VLLM)
    assert ("", "empty") == (response.text, response.status)
    assert "answer_in_reasoning" in noted(response)


CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
CALLS = [
    (CALL, '{"city":"Paris"}'),
    ("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>", "Paris"),
    ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>", "Paris"),
    ('<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>', '{"city": "Paris"}'),
    ('<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n</invoke>\n</minimax:tool_call>', "Paris"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "argument"), CALLS, ids=["json", "qwen", "glm", "kimi", "minimax"]
)
@pytest.mark.parametrize("model", ["qwen3-8b", "some-model"])
def test_p40_a_call_inside_of_reasoning_is_a_candidate(call, argument, model):
    """P40. A complete tool call in unfinished reasoning is reported with name, arguments and position, and is not run.

    Elsewhere: the loop stops silently, because the call is treated as reasoning
    (https://github.com/QwenLM/qwen-code/issues/6548, https://github.com/openclaw/openclaw/issues/89787).
    Here: the note call_candidate reports it, also if the model's row ends reasoning at such a marker (rule S8).
    Seen failing: call_notes giving nothing.
    """
    hints = {"provider": "vllm", "model": model}
    thought = "I need the weather.\n"
    for response in (
        read_both_ways(f"<think>{thought}{call}", **hints),
        read_both_ways("", field=thought + call, **hints),
        iv.split(f"<think>{thought}{call}"),
    ):
        (candidate,) = (note for note in response.notes if note.code == "call_candidate")
        name, rest = candidate.detail.split(" ", 1)
        inside = rest.endswith("of part 0")
        assert ("get_weather", True) == (name, argument in rest)
        assert f"at character {len(thought) if inside else 0} of part" in rest
        assert () == response.tool_calls
    assert "call_candidate" not in noted(read_both_ways("Rain.", field=thought + call, **hints))
