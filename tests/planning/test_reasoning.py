"""What becomes of each piece of reasoning: rules H1, H2, H3, H5 and H7."""

import pytest

import innervoice as iv
from planning.turns import calling, claude, decided, field, item, talk, thought


def test_unsigned_thinking_is_never_sent():
    """P13: a block without a signature, whatever cut it off."""
    message = iv.decode(
        {
            "type": "message",
            "id": "m",
            "content": [
                {"type": "thinking", "thinking": "R", "signature": ""},
                {"type": "text", "text": "A"},
            ],
            "stop_reason": "end_turn",
        },
        provider="anthropic",
        model="claude-opus-4-6",
    ).message
    wire = iv.encode(iv.Request("anthropic/claude-opus-4-6", [iv.user("x"), message, iv.user("y")]))
    assert [{"type": "text", "text": "A"}] == wire.body["messages"][1]["content"]
    assert "thinking_omitted" in {note.code for note in wire.notes}


OPUS = "anthropic/claude-opus-4-6"
TEXT = iv.Text("A")
KEPT = (1, 0, "thinking", "kept", "H1", None)


def omitted(rule, note="thinking_omitted"):
    return (1, 0, "thinking", "omitted", rule, note)


def why(history, target, **settings):
    return iv.plan(history, target, **settings).decisions[0].why


@pytest.mark.parametrize(
    ("part", "target", "expected"),
    [
        (claude(), OPUS, KEPT),
        (claude(complete=False), OPUS, omitted("H1")),
        (claude(signature=""), OPUS, omitted("H1")),
        (claude(), "openai/gpt-5.6", omitted("H2")),
        (item(encrypted_content="E"), "openai/gpt-5.6", KEPT),
        (item(), "openai/gpt-5.6", omitted("H5")),
        (item(encrypted_content="E"), OPUS, omitted("H2")),
        (field("groq", "openai/gpt-oss-120b", name="reasoning"), "groq/openai/gpt-oss-120b", KEPT),
        (field("deepseek", "deepseek-v4-pro"), "deepseek/deepseek-v4-pro", KEPT),
        (field("openai", "o1"), "openai/o1", omitted("H3")),
        (field("deepseek", "deepseek-v4-pro"), "moonshot/kimi-k3", omitted("H2")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_piece(part, target, expected):
    dialect = "openai-chat" if target == "openai/o1" else None
    assert [expected] == decided(talk(part, TEXT), target, dialect=dialect)


def test_converse_is_claude_too():
    """P13: there the signature stands deeper."""
    target = "bedrock/us.anthropic.claude-sonnet-4-5-v1:0"
    for signature, expected in (("s", KEPT), ("", omitted("H1"))):
        block = {"reasoningContent": {"reasoningText": {"text": "R", "signature": signature}}}
        part = thought("bedrock", "us.anthropic.claude-sonnet-4-5-v1:0", "bedrock-converse", block)
        assert [expected] == decided(talk(part, TEXT), target)


def test_redacted_thinking_has_no_signature_and_goes_back():
    block = {"type": "redacted_thinking", "data": "D"}
    part = thought("anthropic", "claude-opus-4-6", "anthropic", block, "")
    assert [KEPT] == decided(talk(part, TEXT), OPUS)


def test_a_stored_item_needs_no_encrypted_content():
    """H5: with store the host looks it up; elsewhere readable content is enough."""
    assert [KEPT] == decided(talk(item(), TEXT), "openai/gpt-5.6", store=True)
    block = {"type": "reasoning", "id": "rs_1", "summary": []}
    readable = {**block, "content": [{"type": "reasoning_text", "text": "R"}]}
    for held, expected in ((readable, KEPT), (block, omitted("H5"))):
        part = thought("xai", "grok-4.5", "openai-responses", held)
        assert [expected] == decided(talk(part, TEXT), "xai/grok-4.5", dialect="openai-responses")


def test_an_item_goes_back_by_its_seal():
    """OpenAI refuses what is readable of an item, beside its encrypted content."""
    part = item(encrypted_content="E", content=[{"type": "reasoning_text", "text": "R"}])
    sent = iv.plan(talk(part, TEXT), "openai/gpt-5.6").messages[1].parts[0].origin.block
    assert {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"} == sent


def test_inline_reasoning_stays_in_its_text():
    message = iv.split("<think>R</think>A", model="qwq-32b").message
    origin = {"provider": "minimax", "model": "minimax-m2", "dialect": "openai-chat"}
    parts = [
        part.replace(origin=(part.origin or iv.Origin()).replace(**origin))
        for part in message.parts
    ]
    planned = iv.plan(talk(*parts), "minimax/minimax-m2")
    assert [("kept", "H1")] == [(item.action, item.rule) for item in planned.decisions]
    assert tuple(parts) == planned.messages[1].parts


@pytest.mark.parametrize(
    ("target", "provider", "model", "name", "expected"),
    [
        ("deepseek/deepseek-v4-pro", "deepseek", "deepseek-v4-pro", "reasoning", {"reasoning_content": "R"}),
        ("groq/openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b", "reasoning_content", {"reasoning": "R"}),
        ("openrouter/deepseek/deepseek-v4-pro", "openrouter", "deepseek/deepseek-v4-pro", "reasoning", {"reasoning": "R"}),
        ("vllm/gpt-oss-20b", "vllm", "gpt-oss-20b", "reasoning", {"reasoning": "R"}),
    ],
)  # fmt: skip
def test_it_goes_back_in_the_field_of_its_host(target, provider, model, name, expected):
    (_, turn, _) = iv.plan(talk(field(provider, model, name=name), TEXT), target).messages
    assert expected == turn.parts[0].origin.block


def test_tags_for_a_host_that_wants_them():
    part = field("minimax", "minimax-m2")
    (_, turn, _) = iv.plan(talk(part, TEXT), "minimax/minimax-m2").messages
    assert (iv.Text, "<think>R</think>\n") == (type(turn.parts[0]), turn.parts[0].text)
    assert None is turn.parts[0].origin.block


def test_a_block_with_a_type_is_left_alone():
    """OpenRouter's details are blocks, and go back as they came."""
    block = {"type": "reasoning.text", "text": "R"}
    part = thought("deepseek", "deepseek-v4-pro", "openai-chat", block)
    assert part == iv.plan(talk(part, TEXT), "deepseek/deepseek-v4-pro").messages[1].parts[0]


class TestWhose:
    """H2: the sentence names where the reasoning came from, as far as it is known."""

    @pytest.mark.parametrize(
        ("provider", "model", "words"),
        [
            ("anthropic", "claude-opus-4-6", "anthropic/claude-opus-4-6"),
            (None, "claude-opus-4-6", "claude-opus-4-6"),
            (None, None, "nobody"),
        ],
    )
    def test_the_sentence(self, provider, model, words):
        history = talk(thought(provider, model, "anthropic", {"type": "thinking"}), TEXT)
        said = why(history, "openai/gpt-5.6")
        assert words in said or (words == "nobody" and "anthropic" not in said)
        assert "None" not in said

    def test_without_an_origin(self):
        assert [omitted("H2")] == decided(talk(iv.Thinking("R"), TEXT), OPUS)
        assert "None" not in why(talk(iv.Thinking("R"), TEXT), OPUS)

    def test_another_account(self):
        """Reasoning that another account sealed cannot be read."""
        history = talk(claude(scope="theirs"), TEXT)
        assert "theirs" in why(history, OPUS, scope="ours")
        assert [omitted("H2")] == decided(history, OPUS, scope="ours")
        for scope in ("theirs", None):
            assert [KEPT] == decided(history, OPUS, scope=scope)
        assert [KEPT] == decided(talk(claude(), TEXT), OPUS, scope="ours")
        assert "anthropic/" in why(history, "openai/gpt-5.6", scope="theirs")


class TestForeignText:
    """H2: reasoning of another model as labelled text, where the caller asks for it."""

    def test_as_text(self):
        history = talk(claude(text="Because."), TEXT)
        planned = iv.plan(history, "openai/gpt-5.6", foreign="text")
        assert ("Because." in planned.messages[1].text) is True
        assert "Reasoning" in planned.messages[1].text
        expected = (1, 0, "thinking", "converted", "H2", "thinking_as_text")
        assert [expected] == decided(history, "openai/gpt-5.6", foreign="text")

    def test_nothing_to_show(self):
        history = talk(claude(text=" "), TEXT)
        assert [omitted("H2")] == decided(history, "openai/gpt-5.6", foreign="text")

    def test_not_to_claude(self):
        history = talk(field("deepseek", "deepseek-v4-pro"), TEXT)
        with pytest.raises(iv.RuleError, match="foreign_text_refused"):
            iv.plan(history, OPUS, foreign="text")


class TestBound:
    """H7: a block whose prefix is not the one it was made with."""

    def test_refused(self):
        history = talk(claude(model="claude-opus-5-5", prefix="a.b.0.c"), TEXT)
        expected = omitted("H7", "prefix_changed")
        assert [expected] == decided(history, "anthropic/claude-opus-5-5")

    def test_dropped_by_the_host(self):
        """The newest OpenAI models take it and do not read it."""
        part = item(model="gpt-6.1-sol", encrypted_content="E")
        part = part.replace(origin=part.origin.replace(prefix="a.b.0.c"))
        expected = (1, 0, "thinking", "kept", "H7", "prefix_changed")
        assert [expected] == decided(talk(part, TEXT), "openai/gpt-6.1-sol")

    def test_not_bound(self):
        assert [KEPT] == decided(talk(claude(prefix="a.b.0.c"), TEXT), OPUS)

    def test_without_a_prefix(self):
        history = talk(claude(model="claude-opus-5-5"), TEXT)
        assert [KEPT] == decided(history, "anthropic/claude-opus-5-5")

    def test_the_prefix_it_was_made_with(self):
        made = iv.plan([iv.user("x")], "anthropic/claude-opus-5-5").prefix
        history = talk(claude(model="claude-opus-5-5", prefix=made), TEXT)
        assert [KEPT] == decided(history, "anthropic/claude-opus-5-5")


class TestMissing:
    """H3: a turn of an open tool loop that has lost its reasoning is noted."""

    MISSING = ((1, None, "message", "kept", "H3", "reasoning_missing"),)

    def loop(self, provider, model, dialect, *parts):
        origin = iv.Origin(dialect=dialect, provider=provider, model=model)
        call = iv.ToolCall("a", "f", "{}", origin=origin)
        turn = iv.Message("assistant", (*parts, call))
        return [iv.user("x"), turn, iv.tool_result("a", "1")]

    def test_lost(self):
        loop = self.loop("groq", "openai/gpt-oss-120b", "openai-chat")
        assert [*self.MISSING] == decided(loop, "groq/openai/gpt-oss-120b")

    def test_not_lost(self):
        target = "groq/openai/gpt-oss-120b"
        part = field("groq", "openai/gpt-oss-120b", name="reasoning")
        assert [KEPT] == decided(self.loop("groq", "openai/gpt-oss-120b", "openai-chat", part), target)  # fmt: skip
        assert [] == decided(calling(), target)  # written by hand
        assert [] == decided(self.loop("xai", "grok-4.5", "openai-chat"), target)

    def test_only_the_open_loop(self):
        loop = self.loop("groq", "openai/gpt-oss-120b", "openai-chat")
        assert [] == decided([*loop, iv.user("more")], "groq/openai/gpt-oss-120b")
        assert [] == decided(talk(TEXT), "groq/openai/gpt-oss-120b")

    def test_models_that_may_call_without_a_thought(self):
        loop = self.loop("openai", "gpt-5.6", "openai-responses")
        assert [] == decided(loop, "openai/gpt-5.6")

    def test_a_field_that_is_filled_is_not_missing(self):
        """DeepSeek wants it, and gets it empty; Z.AI only does better with it."""
        deepseek = self.loop("deepseek", "deepseek-v4-pro", "openai-chat")
        assert ["reasoning_filled"] == [row[5] for row in decided(deepseek, "deepseek/deepseek-v4-pro")]  # fmt: skip
        zai = self.loop("zai", "glm-4.6", "openai-chat")
        assert [*self.MISSING] == decided(zai, "zai/glm-4.6")

    def test_gemini_and_claude_have_rules_of_their_own(self):
        for provider, model, dialect in (
            ("gemini", "gemini-3-flash-preview", "gemini"),
            ("anthropic", "claude-sonnet-4-5", "anthropic"),
        ):
            loop = self.loop(provider, model, dialect)
            assert "reasoning_missing" not in {row[5] for row in decided(loop, f"{provider}/{model}")}  # fmt: skip

    def test_while_it_does_not_reason(self):
        loop = self.loop("cohere", "command-a-reasoning-08-2025", "cohere")
        target = "cohere/command-a-reasoning-08-2025"
        assert [*self.MISSING] == decided(loop, target)
        assert [] == decided(loop, target, reasoning="none")
