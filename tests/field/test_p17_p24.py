"""P17 to P24: parts that are dropped, refused, paired or empty when a history is sent again."""

import json
from itertools import pairwise

import pytest

import innervoice as iv
from field.situations import completion, noted
from field.witness import (  # fmt: skip
    LOOP,
    TOOL,
    Witness,
    changed,
    client_of,
    get_weather,
    stored,
    turns_of,
)
from innervoice.emulator import Emulator, Reply

CLAUDE, GPT, DEEPSEEK = (
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-5.6",
    "deepseek/deepseek-v4-pro",
)
BEDROCK = "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"
CLAUDES = [CLAUDE, "anthropic/claude-opus-5-5", BEDROCK, "vertex/claude-opus-4-6@20260101", "openrouter/anthropic/claude-sonnet-4.5"]  # fmt: skip


def unsigned_turn():
    block = {"type": "thinking", "thinking": "Secret plan.", "signature": ""}
    content = [block, {"type": "text", "text": "Hi."}]
    body = {"type": "message", "content": content, "stop_reason": "end_turn"}
    return iv.decode(body, provider="anthropic", model="claude-sonnet-4-5").message


@pytest.mark.parametrize("target", CLAUDES)
def test_p17_foreign_reasoning_never_becomes_text_for_claude(target):
    """P17. Reasoning of other models and unsigned reasoning is left out for Claude on every host; sending it as text is an error.

    Elsewhere: unsigned thinking becomes tagged text, which Claude refuses and other models imitate
    (https://github.com/can1357/oh-my-pi/issues/7241, https://github.com/open-webui/open-webui/issues/23339).
    Here: it is omitted by default; labelled text is an option, but not for Claude (rule H2).
    Seen failing: ReasoningRules._abroad turning readable reasoning into text by default, and without its exception for Claude.
    """
    foreign = client_of(Emulator()).ask(DEEPSEEK, "What is 2 + 2?").message
    for turn in (foreign, unsigned_turn()):
        history = [iv.user("x"), *stored([turn]), iv.user("What is 3 + 3?")]
        witness = Witness()
        response = client_of(witness).ask(target, history, reasoning="high", max_tokens=9000)
        body = json.dumps(witness.sent[0])
        assert "3 + 3 = 6." == response.text
        assert "thinking_omitted" in noted(response)
        assert not any(words in body for words in ("Secret plan", "The user asks", "<think"))
    with pytest.raises(iv.RuleError, match="foreign_text_refused"):
        iv.encode(iv.Request(target, [iv.user("x"), foreign, iv.user("y")], foreign="text"))


def test_p17_labelled_text_is_an_explicit_wish():
    """P17. Reasoning of other models is sent as labelled text only on request, and with a note.

    Elsewhere: it is converted to text deliberately, without a request (https://github.com/open-webui/open-webui/issues/23339).
    Here: foreign="text" does it for models other than Claude, with a note; the default is to leave it out.
    Seen failing: Request.foreign being "text" by default.
    """
    foreign = client_of(Emulator()).ask(DEEPSEEK, "What is 2 + 2?").message
    request = iv.Request(GPT, [iv.user("x"), foreign, iv.user("y")])
    asked = iv.encode(request.replace(foreign="text"))

    assert "The user asks" not in json.dumps(iv.encode(request).body)
    assert "[Reasoning of an earlier turn]" in json.dumps(asked.body)
    assert "thinking_as_text" in noted(asked)


class Stubborn(Witness):
    """A host that refuses every signature."""

    def reply(self, method, path, headers, body):
        super().reply(method, path, headers, body)
        text = "messages.1.content.0: Invalid `signature` in `thinking` block"
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
        return Reply(400, "application/json", iter([json.dumps(error).encode()]))


def three_turns(client, model):
    history = []
    for number in (1, 2, 3):
        history.append(iv.user(f"What is {number} + {number}?"))
        history.append(client.ask(model, history, reasoning="high", max_tokens=9000).message)
    return history


@pytest.mark.parametrize("model", [CLAUDE, BEDROCK])
@pytest.mark.parametrize(
    "lost", [False, True], ids=["all were sent", "behind one that is not sent"]
)
def test_p18_one_retry_with_the_smallest_removal(model, lost):
    """P18. After a refused signature the client retries once, without the thinking of the turn named in the error, and adds a note.

    Elsewhere: the same body is sent again, or all thinking and the setting are removed, or the session stays unusable
    (https://github.com/NousResearch/hermes-agent/issues/24401, https://github.com/anthropics/anthropic-sdk-python/issues/1598).
    Here: the position in the error is looked up in the sent request, and only that turn's thinking is left out of the retry.
    Seen failing: recover counting the turns of the history instead of those that were sent; recover removing all thinking.
    """
    witness = Witness()
    client = client_of(witness)
    history = three_turns(client, model)

    def forge(block):
        inner = block["reasoningContent"]["reasoningText"] if "reasoningContent" in block else block
        inner["signature"] = "forged"

    history[3] = changed(history[3], forge)
    if lost:
        cut = iv.Message("assistant", (iv.Thinking("Interrupted", complete=False),))
        history = [iv.user("Hello"), cut, *history]
    before = len(witness.sent)
    response = client.ask(model, [*stored(history), iv.user("What is 4 + 4?")], reasoning="high", max_tokens=9000)  # fmt: skip

    assert "4 + 4 = 8." == response.text
    assert "recovered_after_refusal" in noted(response)
    tries = [
        ["ignature" in json.dumps(turn) for turn in turns_of(body)]
        for body in witness.sent[before:]
    ]
    assert [[True, True, True], [True, False, True]] == tries


@pytest.mark.parametrize(("mode", "tries"), [("clamp", 2), ("strict", 1)])
def test_p18_no_more_than_one_retry_and_none_in_strict(mode, tries):
    """P18. If the host still refuses, there is no second retry, and in mode strict no retry at all.

    Elsewhere: retries although the caller wanted strict errors, and retries with the same body
    (https://github.com/aaif-goose/goose/pull/11836).
    Here: the error has the provider's message, and the retry has a different body.
    Seen failing: recover ignoring the mode; Exchange.refused recovering again and again.
    """
    history = [*three_turns(client_of(Emulator()), CLAUDE), iv.user("What is 4 + 4?")]
    server = Stubborn()
    with pytest.raises(iv.BadRequestError, match="Invalid `signature`"):
        client_of(server).ask(CLAUDE, history, reasoning=4000, max_tokens=9000, mode=mode)
    assert tries == len({json.dumps(body) for body in server.sent}) == len(server.sent)


def gpt_loop(store):
    witness = Witness()
    setting = iv.Reasoning("high", show="summary")
    chat = client_of(witness).conversation(GPT, tools=[get_weather], reasoning=setting, store=store)
    chat.ask(LOOP)
    return witness, stored(chat.history)


def edited(turn, order):
    return turn.replace(parts=tuple(turn.parts[number] for number in order))


UNSENT, BARE = "thinking_omitted", "item_id_dropped"
# Which message the application edits, which of its parts are left, and what is said without a store and with one.
ITEM_EDITS = {
    "its calls were removed": (1, [0], {UNSENT}, {UNSENT}),
    "its reasoning was removed": (1, [1, 2], set(), {BARE}),
    "its reasoning was moved behind": (1, [1, 2, 0], {UNSENT}, {UNSENT, BARE}),
    "its reasoning was moved between": (1, [1, 0, 2], set(), {BARE}),
    "the message was removed": (6, [0], {UNSENT}, {UNSENT}),
    "the reasoning of the message was removed": (6, [1], set(), {BARE}),
    "the reasoning was put behind the message": (6, [1, 0], {UNSENT}, {UNSENT, BARE}),
}


@pytest.mark.parametrize("store", [False, True], ids=["nothing stored", "stored"])
@pytest.mark.parametrize("edit", ITEM_EDITS)
def test_p19_only_whole_groups_of_items_are_sent(edit, store):
    """P19. If an application removed or moved items, only complete groups are sent, and a note says what was left out.

    Elsewhere: a reasoning item without its following item, or an item without its required reasoning, is refused
    (https://github.com/vercel/ai/issues/7099, https://github.com/continuedev/continue/issues/12620).
    Here: reasoning without a following item is left out; an item without its reasoning is sent without its id (rule H5).
    Seen failing: TurnRules.without_loose_ends, and TurnRules.without_lost_ids, returning the parts unchanged.
    """
    witness, history = gpt_loop(store)
    number, order, *said = ITEM_EDITS[edit]
    history[number] = edited(history[number], order)
    if edit == "its calls were removed":
        del history[2:4]
    response = client_of(witness).ask(GPT, [*history, iv.user("What is 2 + 2?")], tools=[TOOL], store=store)  # fmt: skip

    assert "2 + 2 = 4." == response.text
    items = witness.sent[-1]["input"]
    for at, item in enumerate(items):
        if item.get("type") == "reasoning":
            assert items[at + 1]["type"] in ("function_call", "message")
    assert said[store] == noted(response) & {UNSENT, BARE}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_p20_nothing_is_looked_up_when_nothing_is_stored(stream):
    """P20. With store=False encrypted reasoning is requested, and items are sent inline without ids.

    Elsewhere: "Item with id rs_... not found", because ids are sent without the encrypted content
    (https://github.com/vercel/ai/issues/7543, https://github.com/openai/openai-agents-python/pull/2068).
    Here: this is the default; in the test each request goes to a new server.
    Seen failing: the Responses writer keeping ids; encode without its include.
    """
    history = [iv.user(LOOP)]
    for _ in range(3):
        witness = Witness()
        turn = client_of(witness).ask(GPT, stored(history), tools=[TOOL], stream=stream).message
        body = witness.sent[0]
        assert (False, ["reasoning.encrypted_content"]) == (body["store"], body["include"])
        assert not any(
            "id" in item or item.get("type") == "item_reference" for item in body["input"]
        )
        sealed = [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]  # fmt: skip
        assert len(sealed) == sum(message.role == "assistant" for message in history)
        history += [turn, *(iv.tool_result(call.id, "sun") for call in turn.tool_calls)]
    assert "sun. sun. sun." == history[-1].text


def test_p21_encrypted_content_of_another_account():
    """P21. Reasoning of one account is not sent from another; if the account is unknown, the client retries once without it.

    Elsewhere: with account pools and load balancers the request reaches the wrong account, and the session is lost
    (https://github.com/openai/codex/issues/8145, https://github.com/Wei-Shaw/sub2api/issues/3038).
    Here: the scope is part of the origin; after a refusal the reasoning is left out of the request (rule H8), and stays in the
    history with its summary.
    Seen failing: is_home without its comparison of scopes; recover not knowing invalid_encrypted_content.
    """
    witness = Witness()
    setting = iv.Reasoning("high", show="summary")
    one = client_of(witness, api_key="key of a", scope="a")
    turn = one.ask(GPT, "What is 2 + 2?", reasoning=setting).message
    history = stored([iv.user("What is 2 + 2?"), turn, iv.user("What is 3 + 3?")])

    other = client_of(witness, api_key="key of b", scope="b").ask(GPT, history)
    assert ("3 + 3 = 6.", 2) == (other.text, len(witness.sent))
    assert "encrypted_content" not in json.dumps(witness.sent[1]["input"])
    unaware = client_of(witness, api_key="key of b").ask(GPT, history)
    assert ("3 + 3 = 6.", [200, 200, 400, 200]) == (unaware.text, witness.statuses)
    assert "recovered_after_refusal" in noted(unaware)
    assert "Computed" in history[1].thinking
    assert "3 + 3 = 6." == one.ask(GPT, history).text
    assert "encrypted_content" in json.dumps(witness.sent[-1]["input"])


def test_p22_readable_text_is_no_encrypted_content():
    """P22. Readable reasoning is never sent as encrypted_content, and encrypted content never as text.

    Elsewhere: the error text shows the summary itself as "encrypted content"
    (https://github.com/Wei-Shaw/sub2api/issues/2863, https://github.com/edison7009/EchoBird/issues/255).
    Here: text is the text of a part, encrypted content a member of its block; no code converts one into the other.
    Seen failing: the Responses writer making an item with encrypted_content of any thinking.
    """
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Readable."}]}  # fmt: skip
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}  # fmt: skip
    body = {"object": "response", "status": "completed", "output": [item, said]}
    bare = iv.decode(body, provider="openai", model="gpt-5.6").message
    sealed = {**item, "encrypted_content": "b3BhcXVlLWJsb2I="}
    whole = iv.decode({**body, "output": [sealed, said]}, provider="openai", model="gpt-5.6")
    foreign = client_of(Emulator()).ask(DEEPSEEK, "What is 2 + 2?").message
    own = iv.assistant([iv.Thinking("Handmade."), iv.Text("A")])

    for turn in (bare, foreign, own):
        for store in (False, True):
            history = stored([iv.user("x"), turn, iv.user("y")])
            for model in (GPT, "xai/grok-4.5", "azure/gpt-5.6"):
                wire = iv.encode(iv.Request(model, history, store=store))
                assert "encrypted_content" not in json.dumps(wire.body["input"])
    assert "Readable." == whole.thinking
    assert "b3BhcXVlLWJsb2I=" not in "".join(str(part) + getattr(part, "text", "") for part in whole.parts)  # fmt: skip


EMPTY = {
    "openai/gpt-5.6": {"object": "response", "status": "completed", "output": [
        {"type": "reasoning", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A", "annotations": []}]},
    ]},
    CLAUDE: {"type": "message", "stop_reason": "end_turn", "content": [
        {"type": "thinking", "thinking": "", "signature": "c2ln"}, {"type": "text", "text": "A"},
    ]},
    "openrouter/openai/gpt-5.6": completion("A", reasoning_details=[]),
    BEDROCK: {"output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}, {"text": "A"},
    ]}}, "stopReason": "end_turn"},
}  # fmt: skip


@pytest.mark.parametrize("model", EMPTY)
def test_p23_fields_that_are_there_and_empty(model):
    """P23. An empty summary, empty thinking and an empty list of details survive storage and are sent back unchanged.

    Elsewhere: serializers omit empty members, and the item is refused or misread
    (https://github.com/newo-ether/Agora/issues/141).
    Here: blocks are stored exactly as received; absent, null, "" and [] are different.
    Seen failing: Reader.origin leaving empty members out of a block; the writer of chat without reasoning_details.
    """
    provider, _, name = model.partition("/")
    body = EMPTY[model]
    turn = iv.decode(body, provider=provider, model=name).message
    wire = iv.encode(iv.Request(model, stored([iv.user("x"), turn, iv.user("y")])))

    sent = turns_of(wire.body)[0] if "input" not in wire.body else wire.body["input"][1:-1]
    if "output" in body and "message" in body["output"]:
        assert body["output"]["message"]["content"] == sent["content"]
    elif "output" in body:
        assert body["output"] == sent
    elif "content" in body:
        assert body["content"] == sent["content"]
    else:
        assert [] == sent["reasoning_details"]


def test_p23_a_ciphertext_that_comes_in_two_events():
    """P23. If a stream sends encrypted content several times, the last value is kept.

    Elsewhere: both values are joined, and the result cannot be decrypted (https://github.com/newo-ether/Agora/issues/141).
    Here: the last value of an item counts, and encrypted content is never joined.
    Seen failing: ResponsesReader._start keeping encrypted_content, and Item.finish adding to it.
    """
    reasoning, said = EMPTY[GPT]["output"]
    sealed = [{**reasoning, "id": "rs_1", "encrypted_content": seal} for seal in ("YWE=", "YmI=", "Y2M=")]  # fmt: skip
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": sealed[0]},
        {"type": "response.output_item.done", "output_index": 0, "item": sealed[1]},
        {"type": "response.output_item.done", "output_index": 1, "item": said},
        {"type": "response.completed", "response": {"status": "completed", "output": [sealed[2], said]}},
    ]  # fmt: skip
    for end in (3, 4):
        raw = "".join(f"data: {json.dumps(event)}\n\n" for event in events[:end])
        response = iv.fold(iv.decode_stream([raw], provider="openai", model="gpt-5.6"))
        history = stored([iv.user("x"), response.message, iv.user("y")])
        items = iv.encode(iv.Request(GPT, history)).body["input"]
        assert [["YmI=", "Y2M="][end - 3]] == [
            i["encrypted_content"] for i in items if "summary" in i
        ]


HOSTS = [
    CLAUDE, GPT, "gemini/gemini-3.5-flash", DEEPSEEK, "mistral/mistral-small-latest", BEDROCK, "groq/openai/gpt-oss-120b",
    "cohere/command-a-reasoning-08-2025", "ollama/qwen3", "minimax/MiniMax-M2", "vllm/qwen3-8b",
]  # fmt: skip


@pytest.mark.parametrize("target", HOSTS)
@pytest.mark.parametrize("source", [CLAUDE, DEEPSEEK, "minimax/MiniMax-M2", GPT])
def test_p24_a_turn_of_which_nothing_is_left(source, target):
    """P24. A turn with nothing but dropped reasoning is left out: roles still alternate, and nothing empty is sent.

    Elsewhere: its content becomes an empty list, and the request is refused (https://github.com/genkit-ai/genkit-dart/pull/400).
    Here: the turn stays in the history; in the request the user messages around it are joined, with a note.
    Seen failing: TurnRules.with_results keeping turns without parts; encode not joining the messages of the user; Planner
    sending the blank text that stood behind markup.
    """
    witness = Witness()
    settings = {"reasoning": "high", "max_tokens": 9000}
    silent = client_of(witness, "silent").ask(source, "What is 2 + 2?", **settings)
    assert silent.status == "empty"
    history = stored([iv.user("What is 2 + 2?"), silent.message, iv.user("What is 3 + 3?")])
    response = client_of(witness).ask(target, history, **settings)

    assert response.text.endswith("3 + 3 = 6.")
    body = witness.sent[-1]
    messages = body.get("messages") or body.get("contents") or body["input"]
    roles = [message.get("role") for message in messages]
    assert all(one != other for one, other in pairwise(roles))
    for message in messages:
        content = message.get("content", message.get("parts"))
        texts = (
            [content] if isinstance(content, str) else [item.get("text", "-") for item in content]
        )
        held = message.keys() - {"role", "content", "parts", "type"}
        assert held or any(text.strip() for text in texts)
    if source != target:
        assert ["user"] == roles
        assert "turn_removed" in noted(response)


@pytest.mark.parametrize("target", ["openai/gpt-5.6", CLAUDE, "gemini/gemini-2.5-flash"])
def test_p23_members_of_items_that_nobody_reads(target):
    """P23. Members of items that are no reasoning (`phase`, `namespace`, `status`) are sent back, or a note names them.

    Elsewhere: an item loses small members on its way through a library, and nobody is told
    (https://github.com/newo-ether/Agora/issues/141).
    Here: they go back to their API unchanged; another API gets those that it has as well, and notes name the others.
    Seen failing: moved_members returning nothing; Responses' writer dropping members of an item.
    """
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hm."}],
    }
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    items = [
        {"type": "message", "role": "user", "content": "Look."},
        {**said, "phase": "commentary", "status": "incomplete"},
        {**call, "namespace": "files"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    body = {"model": "m", "input": items, "store": False}
    request = iv.decode_request(body, dialect="openai-responses")
    wire = iv.encode(request.replace(model=target, dialect=None))
    named = {note.detail for note in wire.notes if note.code == "extra_dropped"}

    if target == "openai/gpt-5.6":
        assert items[1:3] == wire.body["input"][1:3]
        assert set() == named
    else:
        assert {"phase", "status", "namespace"} == named
