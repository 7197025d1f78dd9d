"""Programs that keep role, content and tool_calls of a message, and nothing else: their turns are found again."""

import asyncio
import json

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS, results, through_json

TARGETS = {
    "enabled": (
        "anthropic/claude-sonnet-4-5",
        {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000},
    ),
    "redacted": (
        "anthropic/claude-sonnet-4-5",
        {
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "max_tokens": 4000,
            "behaviour": "redact",
        },
    ),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-3-pro", {"reasoning_effort": "low"}),
    "openai": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {"reasoning_effort": "high"}),
    "kimi": ("moonshot/kimi-k2-thinking", {}),
    "bedrock": (
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        {"reasoning_effort": "low"},
    ),
    "openrouter": ("openrouter/anthropic/claude-opus-5", {"reasoning_effort": "low"}),
}
HOWS = ["whole", "streamed", "awaited", "awaited-streamed"]
STEPS = {"role": "user", "content": "What is the weather in Paris and London, then the weather in Rome?"}  # fmt: skip
SETTINGS = ("thinking", "reasoning", "reasoning_effort", "output_config", "generationConfig", "additionalModelRequestFields")  # fmt: skip
"""The members of a body that switch reasoning on."""


def reduced(message):
    """The members that a program without reasoning support keeps."""
    calls = [
        {"id": call["id"], "type": "function", "function": dict(call["function"])}
        for call in message["tool_calls"] or ()
    ]
    kept = {"role": "assistant", "content": message["content"]}
    return {**kept, "tool_calls": calls} if calls else kept


def reserialized(message):
    """The same for a program that parses arguments and serializes them again, and writes None for what it lost."""
    kept = reduced(message)
    for call in kept.get("tool_calls", ()):
        arguments = json.loads(call["function"]["arguments"])
        call["function"]["arguments"] = json.dumps(arguments, indent=1)
    return {**kept, "thinking_blocks": None, "reasoning_content": None, "provider_specific_fields": None}  # fmt: skip


def unsealed(message):
    """The same for a program that keeps the text of the reasoning."""
    return {**reduced(message), "reasoning_content": message.get("reasoning_content")}


def split(history):
    """A history in which each call is a turn of its own, followed by its result."""
    found = {item["tool_call_id"]: item for item in history if item["role"] == "tool"}
    made = []
    for item in history:
        if item["role"] == "tool":
            continue
        if not item.get("tool_calls"):
            made.append(item)
            continue
        for number, call in enumerate(item["tool_calls"]):
            head = item if number == 0 else {"role": "assistant"}
            made += [{**head, "tool_calls": [call]}, found[call["id"]]]
    return made


def loop(line, model, options, *, how="whole", kept=reduced, sent=list):
    """Runs a tool loop with a reduced history; returns the responses and the bodies that were sent."""
    history, answers, start = [STEPS], [], len(line.emulator.bodies)
    for _ in range(6):
        answers.append(line.whole(model, sent(history), how=how, tools=TOOLS, **options))
        message = answers[-1].choices[0].message.model_dump()
        history = through_json([*history, kept(message), *results(message)])
        if not message["tool_calls"]:
            return history, answers, line.emulator.bodies[start:]
    raise AssertionError("the loop did not end")


def texts(value):
    """All strings in a body."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def seals(response):
    """The seals of a response."""
    return [text for text in texts(response.choices[0].message.model_dump()["provider_specific_fields"]) if len(text) > 60 and " " not in text]  # fmt: skip


def thoughts(response):
    """What must be in the next request: the seals, or without seals the text of the reasoning."""
    return seals(response) or [response.choices[0].message.reasoning_content]


def notes(response):
    return [note for note in response._hidden_params["notes"] if note.startswith("messages:")]


@pytest.fixture(params=TARGETS)
def target(request):
    """A model and its reasoning setting."""
    return TARGETS[request.param]


@pytest.mark.parametrize("kept", [reduced, reserialized, unsealed])
@pytest.mark.parametrize("how", HOWS)
def test_a_reduced_history(line, target, how, kept):
    """Each request has the reasoning of every turn before it, and thinking stays on."""
    model, options = target
    _, answers, bodies = loop(line, model, options, how=how, kept=kept)

    assert "sunny in Rome" in answers[-1].choices[0].message.content
    assert len(answers) == 3
    for body, before in zip(bodies[1:], (answers[:1], answers[:2]), strict=True):
        assert {thought for answer in before for thought in thoughts(answer)} <= set(texts(body))
        assert {name: bodies[0].get(name) for name in SETTINGS} == {name: body.get(name) for name in SETTINGS}  # fmt: skip


def test_what_was_restored_is_visible(line):
    _, answers, _ = loop(line, *TARGETS["enabled"])
    stream = line.ask("anthropic/claude-sonnet-4-5", [SUM], stream=True)

    assert [[], ["messages: the reasoning of 1 earlier turn, which the program left out, was restored"]] == [*map(notes, answers[:2])]  # fmt: skip
    assert "2 earlier turns" in notes(answers[2])[0]
    assert [] == notes(stream)


@pytest.mark.parametrize("how", ["whole", "streamed"])
def test_turns_that_were_split(line, target, how):
    """The OpenAI Agents SDK sends each call as a turn of its own; the calls are sent as one turn again."""
    model, options = target
    _, answers, bodies = loop(line, model, options, how=how, sent=split)

    assert "sunny in Rome" in answers[-1].choices[0].message.content
    assert set(thoughts(answers[0])) <= set(texts(bodies[2]))
    if model.startswith("anthropic"):
        roles = [message["role"] for message in bodies[1]["messages"]]
        assert ["user", "assistant", "user"] == roles


def renamed(history):
    """A history in which a program gave the calls ids of its own."""
    text = json.dumps(history)
    for number, call in enumerate(
        call for item in history for call in item.get("tool_calls") or ()
    ):
        text = text.replace(call["id"], f"mine_{number}")
    return json.loads(text)


def test_calls_with_other_ids(line, target):
    """Reasoning is restored, and calls and results have the ids of the provider again."""
    model, options = target
    _, answers, bodies = loop(line, model, options, sent=renamed)

    assert {thought for answer in answers[:2] for thought in thoughts(answer)} <= set(
        texts(bodies[2])
    )
    assert "mine_" not in json.dumps(bodies[2])
    assert "sunny in Rome" in answers[-1].choices[0].message.content


@pytest.mark.parametrize("other", [{"api_key": "another"}, {"extra_headers": {"X-Api-Key": "two"}}], ids=["key", "header"])  # fmt: skip
def test_callers_never_get_the_turns_of_others(line, target, other):
    """The same history with other credentials: nothing is restored."""
    model, options = target
    history, answers, _ = loop(line, model, options)
    line.ask(model, history[:4], tools=TOOLS, **{**options, "behaviour": None, **other})
    restored = set(texts(line.body))
    line.ask(model, history[:4], tools=TOOLS, **{**options, "behaviour": None})

    assert not {*thoughts(answers[0])} & restored
    assert {*thoughts(answers[0])} <= {*texts(line.body)}


def test_another_base_url_is_another_caller(line):
    model, options = TARGETS["deepseek"]
    history, answers, _ = loop(line, model, options)
    base = line.addresses["deepseek"].replace("http://emulator", "http://other")
    line.ask(model, history[:4], tools=TOOLS, api_base=base, **options)

    assert answers[0].choices[0].message.reasoning_content not in texts(line.body)


def test_keys_of_the_environment(line, monkeypatch):
    """Without `api_key` the key of the environment identifies the caller."""
    model, options = TARGETS["deepseek"]
    first = None
    for key in ("one", "two"):
        monkeypatch.setenv("DEEPSEEK_API_KEY", key)
        first = first or line.ask(model, [STEPS], tools=TOOLS, api_key=None, **options)
        message = first.choices[0].message.model_dump()
        history = [STEPS, reduced(message), *results(message)]
        line.ask(model, history, tools=TOOLS, api_key=None, **options)
        assert (message["reasoning_content"] in texts(line.body)) is (key == "one")


@pytest.mark.parametrize("member", ["thinking_blocks", "reasoning_content", "content"])
def test_what_the_program_sends_wins(line, member):
    """Members that the program kept and edited are sent, not the remembered ones."""
    edited = {
        "thinking_blocks": [{"type": "thinking", "thinking": "Mine.", "signature": "s" * 80}],
        "reasoning_content": "Mine.",
        "content": "Mine.",
    }[member]
    model = "deepseek/deepseek-v4" if member == "reasoning_content" else "anthropic/claude-opus-4"
    first = line.ask(model, [STEPS], tools=TOOLS, reasoning_effort="low")
    message = first.choices[0].message.model_dump()
    history = [STEPS, {**reduced(message), member: edited}, *results(message)]
    try:
        line.ask(model, history, tools=TOOLS, reasoning_effort="low")
    except line.module.BadRequestError:
        assert member == "thinking_blocks"  # the emulator knows its signatures
    sent = texts(line.emulator.bodies[1])

    assert "Mine." in sent
    assert (message["reasoning_content"] in sent) is (member == "content")


def test_a_program_that_keeps_everything(line, target):
    """Nothing is restored, and what is sent does not depend on the memory."""
    model, options = target
    _, answers, bodies = loop(line, model, options, kept=lambda message: message)
    line.module.remember_turns = False
    try:
        _, _, without = loop(line, model, options, kept=lambda message: message)
    finally:
        line.module.remember_turns = True

    assert [[], [], []] == [*map(notes, answers)]
    assert [*map(shape, bodies)] == [*map(shape, without)]


def shape(value):
    """A body without its random ids and seals."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "..." if isinstance(value, str) and (len(value) > 60 or "_" in value) else value


def test_remembering_can_be_switched_off(line, monkeypatch):
    model, options = TARGETS["deepseek"]
    monkeypatch.setattr(line.module, "remember_turns", False)
    _, answers, bodies = loop(line, model, options)

    assert answers[0].choices[0].message.reasoning_content not in texts(bodies[1])


@pytest.mark.parametrize("awaited", [False, True])
def test_a_stream_that_is_left_at_its_finish_chunk(line, target, awaited):
    """A program that stops reading at `finish_reason` has its turn remembered."""
    model, options = target

    async def chunks():
        options_ = line.options(model, **options)
        stream = await line.module.acompletion(messages=[STEPS], tools=TOOLS, stream=True, **options_)  # fmt: skip
        read = []
        async for chunk in stream:
            read.append(chunk)
            if chunk.choices[0].finish_reason:
                await stream.aclose()
                return read
        raise AssertionError("no finish chunk")

    if awaited:
        read = asyncio.run(chunks())
    else:
        stream, read = line.ask(model, [STEPS], tools=TOOLS, stream=True, **options), []
        for chunk in stream:
            read.append(chunk)
            if chunk.choices[0].finish_reason:
                break
    first = line.module.stream_chunk_builder(read)
    message = first.choices[0].message.model_dump()
    line.ask(model, [STEPS, reduced(message), *results(message)], tools=TOOLS, **options)

    assert set(thoughts(first)) <= set(texts(line.body))


def test_signatures_in_the_form_of_geminis_compatible_api(line, monkeypatch):
    """`extra_content.google.thought_signature` of a call is sent as the signature of its part."""
    model, options = TARGETS["gemini"]
    first = line.ask(model, [QUESTION], tools=TOOLS, **options)
    message = first.choices[0].message.model_dump()
    kept = reduced(message)
    for call, own in zip(kept["tool_calls"], message["tool_calls"], strict=True):
        if fields := own.get("provider_specific_fields"):
            call["extra_content"] = {"google": fields}
    monkeypatch.setattr(line.module, "remember_turns", False)
    line.ask(model, [QUESTION, kept, *results(message)], tools=TOOLS, **options)
    signed = [part.get("thoughtSignature") for part in line.body["contents"][1]["parts"]]

    assert signed[0] == message["tool_calls"][0]["provider_specific_fields"]["thought_signature"]
    assert "extra_content" not in json.dumps(line.body)


@pytest.mark.parametrize("lost", [0, 1])
def test_the_skip_value_is_not_a_signature(line, lost):
    """The OpenAI Agents SDK writes Gemini's skip value on calls without a signature; each call is sent as it came."""
    model, options = TARGETS["gemini"]
    first = line.ask(model, [QUESTION], tools=TOOLS, **options)
    message = first.choices[0].message.model_dump()
    kept = reduced(message)
    kept["tool_calls"][0]["extra_content"] = {"google": message["tool_calls"][0]["provider_specific_fields"]}  # fmt: skip
    for call in kept["tool_calls"][lost:]:
        call["provider_specific_fields"] = {"thought_signature": "skip_thought_signature_validator"}
    line.ask(model, [QUESTION, kept, *results(message)], tools=TOOLS, **options)

    assert set(seals(first)) <= set(texts(line.body))
    assert "skip_thought" not in json.dumps(line.body)


def test_blocks_that_the_program_kept(line):
    """They are those of the stored turn, which knows what they are bound to: a change before them leaves them out, unrefused."""
    model, options = TARGETS["adaptive"]
    first = line.ask(model, [QUESTION], tools=TOOLS, **options).choices[0].message.model_dump()
    kept = {**reduced(first), "thinking_blocks": first["thinking_blocks"]}
    history = through_json([QUESTION, kept, *results(first)])

    line.ask(model, history, tools=TOOLS, **options)
    assert first["thinking_blocks"][0]["signature"] in texts(line.body)

    sent = len(line.emulator.bodies)
    line.ask(model, [{"role": "system", "content": "Now be brief."}, *history], tools=TOOLS, **options)  # fmt: skip
    assert first["thinking_blocks"][0]["signature"] not in texts(line.body)
    assert len(line.emulator.bodies) == sent + 1
