"""Several choices, free-form tools, and Gemini behind Chat Completions."""

import json

import pytest

import innervoice as iv
from emulator.shapes import BODIES, ask
from innervoice.emulator import Emulator

SAID = [{"role": "user", "content": "What is 2 + 2?"}]


class TestChoices:
    def texts(self, response):
        return [response.text, *(other.text for other in response.alternatives)]

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize(
        ("name", "model"),
        [("openai-chat", "gpt-4o"), ("deepseek", "deepseek-v4-pro"), ("vllm", "qwen3-8b")],
    )
    def test_chat(self, name, model, stream):
        body = {"model": model, "messages": SAID, "n": 3, "stream": stream}
        status, text = ask(name, body)
        assert 200 == status
        response = iv.fold(iv.decode_stream([text.encode()], provider="openai", model=model))
        first, *others = self.texts(response)
        assert "2 + 2 = 4." == first
        assert ["2 + 2 = 4. This is choice 2.", "2 + 2 = 4. This is choice 3."] == others

    def test_the_chunks_of_choices_alternate(self):
        _, text = ask("vllm", {"model": "q", "messages": SAID, "n": 2, "stream": True})
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        indexes = [choice["index"] for line in lines for choice in json.loads(line)["choices"]]
        assert {0, 1} == set(indexes)
        assert indexes != sorted(indexes)

    @pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse"])
    def test_gemini(self, verb):
        body = {**BODIES["gemini"], "generationConfig": {"candidateCount": 2}}
        status, text = ask("gemini", body, path=f"/gemini/v1beta/models/gemini-2.5-flash:{verb}")
        assert 200 == status
        response = iv.fold(iv.decode_stream([text.encode()], provider="gemini"))
        assert ["2 + 2 = 4.", "2 + 2 = 4. This is choice 2."] == self.texts(response)

    def test_ids_of_calls_differ(self):
        body = {**BODIES["vllm"], "messages": [{"role": "user", "content": "The weather?"}], "n": 2}
        choices = json.loads(ask("vllm", body)[1])["choices"]
        ids = {call["id"] for choice in choices for call in choice["message"]["tool_calls"]}
        assert 2 == len(ids)

    @pytest.mark.parametrize(
        ("name", "members", "words"),
        [
            ("openai-chat", {"n": 129}, "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 129 instead."),
            ("openai-chat", {"n": 0}, "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead."),
            ("gemini", {"generationConfig": {"candidateCount": 9}}, "candidateCount value of 9 but the supported range is from 1"),
        ],
    )  # fmt: skip
    def test_too_many(self, name, members, words):
        status, text = ask(name, {**BODIES[name], **members})
        assert 400 == status
        assert words in text


PATCH = {"role": "user", "content": "Please patch the file with 'fix it'."}


class TestFreeFormTools:
    @pytest.mark.parametrize("stream", [False, True])
    def test_responses(self, stream):
        tool = {"type": "custom", "name": "apply_patch", "description": "Patches."}
        body = {"model": "gpt-5.6", "input": [PATCH], "tools": [tool], "stream": stream}
        emulator = Emulator()
        status, text = ask("openai-responses", body, emulator)
        assert 200 == status
        response = iv.fold(iv.decode_stream([text.encode()], provider="openai"))
        (call,) = response.tool_calls
        assert ("apply_patch", "fix it") == (call.name, call.arguments)
        item = call.origin.block
        assert ("custom_tool_call", "fix it") == (item["type"], item["input"])
        # Its output is demanded, also where the server holds the call.
        asked = {**body, "stream": False, "previous_response_id": response.id}
        more = {"role": "user", "content": "And?"}
        status, text = ask("openai-responses", {**asked, "input": [more]}, emulator)
        assert (400, True) == (status, f"No tool output found for custom tool call {call.id}." in text)  # fmt: skip
        output = {"type": "custom_tool_call_output", "call_id": call.id, "output": "patched"}
        status, text = ask("openai-responses", {**asked, "input": [output]}, emulator)
        assert (200, "patched.") == (status, iv.decode(text).text)

    @pytest.mark.parametrize("stream", [False, True])
    def test_chat(self, stream):
        tool = {"type": "custom", "custom": {"name": "apply_patch"}}
        body = {**BODIES["openai-chat"], "messages": [PATCH], "tools": [tool]}
        status, text = ask("openai-chat", {**body, "stream": stream})
        assert 200 == status
        response = iv.fold(iv.decode_stream([text.encode()], provider="openai"))
        (call,) = response.tool_calls
        assert ("apply_patch", "fix it") == (call.name, call.arguments)
        made = {"id": call.id, "type": "custom", "custom": {"name": "apply_patch", "input": "fix it"}}  # fmt: skip
        turn = {"role": "assistant", "content": None, "tool_calls": [made]}
        status, text = ask("openai-chat", {**body, "messages": [PATCH, turn, PATCH]})
        assert (400, True) == (status, "did not have response messages" in text)
        result = {"role": "tool", "tool_call_id": call.id, "content": "patched"}
        status, text = ask("openai-chat", {**body, "messages": [PATCH, turn, result]})
        assert (200, "patched.") == (status, iv.decode(text).text)

    def test_a_script(self):
        steps = [{"call": {"name": "shell", "input": "ls"}}]
        tool = {"type": "custom", "name": "shell"}
        body = {"model": "gpt-5.6", "input": "Look", "tools": [tool]}
        _, text = ask("openai-responses", body, Emulator(script=steps))
        (call,) = iv.decode(text).tool_calls
        assert ("shell", "ls") == (call.name, call.arguments)


PATH = "/gemini/v1beta/openai/chat/completions"
ASKED = {"role": "user", "content": "The weather in Oslo?"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


class TestGeminiBehindChat:
    def ask(self, messages, emulator, model="gemini-3-pro-preview", **more):
        body = {"model": model, "messages": messages, "tools": TOOLS, **more}
        return ask("", body, emulator, PATH)

    @pytest.mark.parametrize("stream", [False, True])
    def test_calls_are_signed(self, stream):
        emulator = Emulator()
        status, text = self.ask([ASKED], emulator, stream=stream)
        assert 200 == status
        response = iv.fold(iv.decode_stream([text.encode()], provider="gemini"))
        (call,) = response.tool_calls
        block = call.origin.block
        assert block["extra_content"]["google"]["thought_signature"]
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        turn = {"role": "assistant", "tool_calls": [block]}
        assert 200 == self.ask([ASKED, turn, result], emulator)[0]
        # Without its signature, with another, and at a model that does not demand one.
        bare = {key: block[key] for key in ("id", "type", "function")}
        forged = {**bare, "extra_content": {"google": {"thought_signature": "aGVsbG8="}}}
        for calls, model, expected in (
            ([bare], "gemini-3-pro-preview", "Function call is missing a thought_signature in functionCall parts."),
            ([forged], "gemini-3-pro-preview", "Corrupted thought signature."),
            ([bare], "gemini-2.5-pro", None),
        ):  # fmt: skip
            history = [ASKED, {"role": "assistant", "tool_calls": calls}, result]
            status, text = self.ask(history, emulator, model)
            if expected is None:
                assert 200 == status, text
                continue
            assert 400 == status
            (error,) = json.loads(text)
            assert expected in error["error"]["message"]
            assert "INVALID_ARGUMENT" == error["error"]["status"]

    def test_unknown_members_in_googles_words(self):
        status, text = self.ask([ASKED], Emulator(), store=False)
        assert 400 == status
        assert 'Invalid JSON payload received. Unknown name "store": Cannot find field.' in json.loads(text)[0]["error"]["message"]  # fmt: skip


def test_responses_repeat_the_request():
    """`store` and other settings are in the answer, whole, streamed and stored."""
    emulator = Emulator()
    body = {**BODIES["openai-responses"], "store": True, "metadata": {"a": "b"}, "temperature": None, "reasoning": {"effort": "low"}}  # fmt: skip
    whole = json.loads(ask("openai-responses", body, emulator)[1])
    assert (True, {"a": "b"}, "low") == (whole["store"], whole["metadata"], whole["reasoning"]["effort"])  # fmt: skip
    stored = json.loads(emulator.reply("GET", f"/openai/v1/responses/{whole['id']}", {}, b"").body)
    assert {"a": "b"} == stored["metadata"]
    _, text = ask("openai-responses", {**body, "store": False, "stream": True}, emulator)
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    echoed = [event["response"]["store"] for event in events if "response" in event]
    assert 3 == len(echoed)
    assert {False} == set(echoed)
