"""Tool loops as users of the SDKs write them, against the emulator: Claude, at home and through Converse."""

import pytest

import innervoice as iv
from sdk.loops import (
    NAME,
    QUESTION,
    SCHEMA,
    STREAMED,
    Ended,
    check,
    get_weather,
    read,
    unchanged,
)
from sdk.test_bedrock import content_of_events

anthropic = pytest.importorskip("anthropic")
boto3 = pytest.importorskip("boto3")
botocore = pytest.importorskip("botocore.exceptions")
pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")


# ---- Anthropic -------------------------------------------------------------------------------------

SONNET = {"model": "claude-sonnet-4-5", "thinking": {"type": "enabled", "budget_tokens": 2000}}
OPUS = {
    "model": "claude-opus-5-5",
    "thinking": {"type": "adaptive", "display": "summarized"},
    "output_config": {"effort": "high"},
}
SILENT_OPUS = {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}


def claude(emulator):
    return anthropic.Anthropic(api_key="dummy", base_url=f"{emulator.url}/anthropic", max_retries=0)


def claude_loop(emulator, options, *, streamed=False, send=unchanged) -> Ended:
    request = {
        "max_tokens": 4000,
        "tools": [{"name": NAME, "description": "Weather.", "input_schema": SCHEMA}],
        **options,
    }
    messages = [{"role": "user", "content": QUESTION}]
    calls, thoughts = [], []
    with claude(emulator) as sdk:
        while True:
            if streamed:
                with sdk.messages.stream(messages=send(messages), **request) as stream:
                    message = stream.get_final_message()
            else:
                message = sdk.messages.create(messages=send(messages), **request)
            messages.append({"role": "assistant", "content": message.content})
            uses = [block for block in message.content if block.type == "tool_use"]
            calls.append(len(uses))
            thoughts.append(
                "".join(block.thinking for block in message.content if block.type == "thinking")
            )
            if message.stop_reason != "tool_use":
                text = "".join(block.text for block in message.content if block.type == "text")
                return Ended(text, calls, thoughts, iv.decode(message))
            results = [
                {"type": "tool_result", "tool_use_id": use.id, "content": get_weather(**use.input)}
                for use in uses
            ]
            messages.append({"role": "user", "content": results})


@STREAMED
@pytest.mark.parametrize("options", [SONNET, OPUS], ids=["enabled", "adaptive"])
def test_claude(emulator, options, streamed):
    """A loop of Claude's goes through with the content that the SDK gave."""
    check(claude_loop(emulator, options, streamed=streamed), emulator)


@STREAMED
def test_claude_silent(emulator, streamed):
    """Thinking that is not shown still goes back, as a block of nothing but its signature."""
    check(claude_loop(emulator, SILENT_OPUS, streamed=streamed), emulator, shown=False)


@STREAMED
@pytest.mark.parametrize(
    "options",
    [
        {**SONNET, "model": "claude-sonnet-4-5+redact"},
        {**OPUS, "extra_headers": {"x-innervoice-emulate": "redact"}},
    ],
    ids=["by name", "by header"],
)
def test_claude_redacted(emulator, options, streamed):
    """Redacted thinking goes back like any other."""
    ended = claude_loop(emulator, options, streamed=streamed)
    forms = [part.form for part in ended.response.parts if isinstance(part, iv.Thinking)]

    assert ["hidden", "full"] == forms
    check(ended, emulator)


def changed(messages, change, turns=range(1, 9)):
    """The history with each thinking block in these turns replaced by what a change makes of it."""
    return [
        {**message, "content": [new for block in message["content"] for new in change(block)]}
        if message["role"] == "assistant" and number in turns
        else message
        for number, message in enumerate(messages)
    ]


def with_other(**members):
    """A change that gives thinking blocks other members."""
    return lambda block: [block.model_copy(update=members) if block.type == "thinking" else block]


def without_thinking(messages):
    return changed(messages, lambda block: [] if "thinking" in block.type else [block])


def with_edited_thinking(messages):
    return changed(messages, with_other(thinking="I know better."))


def with_forged_signature(messages):
    """Only the first turn has a signature that nobody made, and only when it is not the latest."""
    return changed(messages, with_other(signature="Zm9yZ2Vk"), [1] if len(messages) > 3 else [])


@STREAMED
@pytest.mark.parametrize(
    ("send", "requests", "words"),
    [
        (
            without_thinking,
            2,
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        (with_edited_thinking, 2, "messages.1.content.0: .* cannot be modified"),
        (with_forged_signature, 3, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
)
def test_claude_refused(emulator, send, requests, words, streamed):
    """Thinking that was dropped or edited is refused at once, a forged signature in any turn."""
    with pytest.raises(anthropic.BadRequestError, match=words) as caught:
        claude_loop(emulator, SONNET, send=send, streamed=streamed)

    assert requests == emulator.taken()
    assert "invalid_request_error" == caught.value.type


def test_claude_bound(emulator):
    """Where thinking is bound to what stands before it, a changed beginning is refused."""

    def with_another_question(messages):
        return [{"role": "user", "content": f"{QUESTION} Please."}, *messages[1:]]

    with pytest.raises(anthropic.BadRequestError, match="bound to a different conversation"):
        claude_loop(
            emulator,
            OPUS,
            send=lambda messages: (
                messages if len(messages) == 1 else with_another_question(messages)
            ),
        )


def claude_events(emulator, behaviour):
    request = {**SONNET, "model": f"claude-sonnet-4-5+{behaviour}", "max_tokens": 4000}
    with (
        claude(emulator) as sdk,
        sdk.messages.stream(messages=[{"role": "user", "content": QUESTION}], **request) as stream,
    ):
        yield from stream


def test_claude_fails_in_stream(emulator):
    """An error in the middle of a stream is raised behind the events that came before it."""
    seen = []
    with pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught:
        seen.extend(claude_events(emulator, "fail"))

    assert ["message_start", "content_block_start"] == [event.type for event in seen]
    assert ("overloaded_error", 200) == (caught.value.type, caught.value.status_code)


def test_claude_is_overloaded(emulator):
    """A request that is refused for the load of the host has Anthropic's own status."""
    with pytest.raises(anthropic.OverloadedError, match="Overloaded"):
        list(claude_events(emulator, "fail=0"))


def test_claude_cut_stream(emulator):
    """A stream without an end just ends for the SDK; we say that it has none."""
    events = list(claude_events(emulator, "cut=4"))
    response = iv.fold(iv.decode_stream(events))

    assert "thinking" == events[-1].type
    assert (False, events[-1].snapshot) == (response.ended, response.thinking)


# ---- Bedrock ---------------------------------------------------------------------------------------

CONVERSE = {
    "modelId": "us.anthropic.claude-sonnet-4-5-v1:0",
    "inferenceConfig": {"maxTokens": 4000},
    "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    "toolConfig": {
        "tools": [
            {"toolSpec": {"name": NAME, "description": "Weather.", "inputSchema": {"json": SCHEMA}}}
        ]
    },
}


def bedrock(emulator):
    session = boto3.session.Session(
        aws_access_key_id="dummy", aws_secret_access_key="dummy", region_name="us-east-1"
    )
    return session.client("bedrock-runtime", endpoint_url=f"{emulator.url}/bedrock")


def converse_loop(emulator, *, model=CONVERSE["modelId"], streamed=False, send=unchanged) -> Ended:
    sdk = bedrock(emulator)
    messages = [{"role": "user", "content": [{"text": QUESTION}]}]
    calls, thoughts = [], []
    request = {**CONVERSE, "modelId": model}
    try:
        while True:
            if streamed:
                answer = list(sdk.converse_stream(messages=send(messages), **request)["stream"])
                message = {"role": "assistant", "content": content_of_events(answer)}
                (reason,) = [
                    event["messageStop"]["stopReason"] for event in answer if "messageStop" in event
                ]
            else:
                answer = sdk.converse(messages=send(messages), **request)
                message, reason = answer["output"]["message"], answer["stopReason"]
            messages.append(message)
            uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
            calls.append(len(uses))
            thoughts.append(
                "".join(
                    block["reasoningContent"].get("reasoningText", {}).get("text", "")
                    for block in message["content"]
                    if "reasoningContent" in block
                )
            )
            if reason != "tool_use":
                text = "".join(block.get("text", "") for block in message["content"])
                return Ended(text, calls, thoughts, read(answer, streamed=streamed))
            results = [
                {
                    "toolResult": {
                        "toolUseId": use["toolUseId"],
                        "content": [{"text": get_weather(**use["input"])}],
                    }
                }
                for use in uses
            ]
            messages.append({"role": "user", "content": results})
    finally:
        sdk.close()


@STREAMED
@pytest.mark.parametrize("model", [CONVERSE["modelId"], CONVERSE["modelId"] + "+redact"])
def test_converse(emulator, model, streamed):
    """A loop through Converse goes through with the message that boto3 gave, blobs included."""
    check(converse_loop(emulator, model=model, streamed=streamed), emulator)


def reasoning_changed(messages, change):
    """The history with each reasoning block replaced by what a change makes of its text."""
    return [
        {
            **message,
            "content": [
                new
                for block in message["content"]
                for new in (
                    change(block["reasoningContent"]["reasoningText"])
                    if "reasoningContent" in block
                    else [block]
                )
            ],
        }
        for message in messages
    ]


def with_other_members(**members):
    return lambda text: [{"reasoningContent": {"reasoningText": {**text, **members}}}]


@STREAMED
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: [], "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
        (with_other_members(text="I know better."), "cannot be modified"),
        (
            with_other_members(signature="Zm9yZ2Vk"),
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
    ],
    ids=["dropped", "edited", "forged"],
)
def test_converse_refused(emulator, change, words, streamed):
    """Reasoning that was dropped, edited or forged is refused, in Claude's words within Converse's."""
    with pytest.raises(
        botocore.ClientError, match="The model returned the following errors: "
    ) as caught:
        converse_loop(
            emulator, streamed=streamed, send=lambda messages: reasoning_changed(messages, change)
        )

    assert words in caught.value.response["Error"]["Message"]
    assert "ValidationException" == caught.value.response["Error"]["Code"]
    assert 2 == emulator.taken()
