"""What readers of each dialect must get right, one case each."""

import json

import pytest

import innervoice as iv
from wire.streams import ndjson, sse


def chat(message: dict, reason: str | None = "stop", **more) -> iv.Response:
    hints = {key: more.pop(key) for key in ("provider", "model", "inline") if key in more}
    return iv.decode(
        {"choices": [{"index": 0, "message": message, "finish_reason": reason}], **more}, **hints
    )


def chat_stream(*deltas: dict, reason: str | None = "stop", **hints) -> iv.Response:
    chunks = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return iv.fold(iv.decode_stream([sse(*chunks)], **hints))


def codes(response: iv.Response) -> set[str]:
    return {note.code for note in response.notes}


class TestChat:
    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking_content"])
    def test_any_name_of_the_field(self, field):
        response = chat({"content": "A", field: "R"})
        assert ("R", "A", {field: "R"}) == (
            response.thinking,
            response.text,
            response.parts[0].origin.block,
        )

    def test_an_empty_field_does_not_hide_another(self):
        assert "x" == chat({"content": "A", "reasoning_content": "", "reasoning": "x"}).thinking
        assert (
            "x"
            == chat_stream({"reasoning_content": "", "reasoning": "x"}, {"content": "A"}).thinking
        )

    def test_the_same_in_two_fields_appears_once(self):
        response = chat({"content": "A", "reasoning_content": "same", "reasoning": "same"})
        assert "same" == response.thinking
        assert "field_repeated" in codes(response)

    def test_a_mirror_in_every_delta_appears_once(self):
        response = chat_stream(
            *({"reasoning_content": piece, "reasoning": piece} for piece in ("a ", "b", "")),
            {"content": "A"},
        )
        assert "a b" == response.thinking

    def test_two_fields_that_differ(self):
        response = chat({"content": "A", "reasoning_content": "one", "reasoning": "two"})
        assert "one" == response.thinking
        assert "fields_differ" in codes(response)

    def test_only_reasoning_is_an_empty_answer(self):
        """P38: never promoted."""
        response = chat({"content": None, "reasoning_content": "The answer is 4."})
        assert ("", "The answer is 4.", "empty") == (
            response.text,
            response.thinking,
            response.status,
        )
        assert "answer_in_reasoning" in codes(response)

    def test_budget_exhausted(self):
        assert (
            "budget_exhausted" == chat({"content": "", "reasoning_content": "R"}, "length").status
        )

    def test_one_part_however_deltas_alternate(self):
        response = chat_stream(
            {"reasoning": "a"}, {"content": "1"}, {"reasoning": "b"}, {"content": "2"}
        )
        assert [("thinking", "ab"), ("text", "12")] == [
            (part.type, part.text) for part in response.parts
        ]

    def test_the_field_is_never_split(self):
        response = chat({"content": "A", "reasoning": "<think>R</think>"}, provider="groq")
        assert "<think>R</think>" == response.thinking

    def test_cumulative_deltas(self):
        """MiniMax M3 repeats all that came in every delta."""
        pieces = [
            "The user asks for the weather",
            "The user asks for the weather in Rome.",
            "The user asks for the weather in Rome. So.",
        ]
        response = chat_stream(
            *(
                {"reasoning_details": [{"type": "reasoning.text", "text": piece, "index": 0}]}
                for piece in pieces
            )
        )
        assert pieces[-1] == response.thinking
        assert "cumulative_deltas" in codes(response)

    def test_a_repeated_sentence_is_no_snapshot(self):
        sentence = "Let me check this once more. "
        assert sentence * 3 == chat_stream(*[{"reasoning_content": sentence}] * 3).thinking

    def test_repeated_words_are_no_snapshots(self):
        assert (
            "hahaha"
            == chat_stream({"reasoning": "ha"}, {"reasoning": "ha"}, {"reasoning": "ha"}).thinking
        )

    def test_refusal(self):
        response = chat({"content": None, "refusal": "I cannot."})
        assert ("I cannot.", "refused", "refusal") == (
            response.text,
            response.status,
            response.finish_reason,
        )

    def test_call_without_id(self):
        calls = [{"id": "", "type": "function", "function": {"name": "f", "arguments": "{}"}}] * 2
        response = chat({"tool_calls": calls}, "tool_calls")
        ids = [call.id for call in response.tool_calls]
        assert len(set(ids)) == 2
        assert all(ids)
        assert all(call.origin.invented == ("id",) for call in response.tool_calls)

    def test_parallel_calls_with_one_index(self):
        """Some hosts number every call 0; a new id is a new call."""
        first, second = (
            {"index": 0, "id": f"call_{letter}", "function": {"name": "f", "arguments": "{}"}}
            for letter in "ab"
        )
        response = chat_stream(
            {"tool_calls": [first]}, {"tool_calls": [second]}, reason="tool_calls"
        )
        assert ["call_a", "call_b"] == [call.id for call in response.tool_calls]

    def test_thought_signature_on_a_call(self):
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "sig"}},
        }
        for response in (
            chat({"tool_calls": [call]}),
            chat_stream({"tool_calls": [{"index": 0, **call}]}),
        ):
            origin = response.tool_calls[0].origin
            assert call["extra_content"] == origin.block["extra_content"]
            assert ("extra_content.google.thought_signature",) == origin.seals

    def test_details_by_type_and_index(self):
        details = [
            {"type": "reasoning.summary", "summary": "S", "index": 0},
            {"type": "reasoning.encrypted", "data": "blob", "id": "rs_1", "index": 0},
            {"type": "reasoning.text", "text": "T", "signature": None, "index": 1},
            {"type": "reasoning.server_tool_call", "tool_name": "x"},
        ]
        response = chat({"content": "A", "reasoning": "ST", "reasoning_details": details})
        assert [("summary", "S"), ("hidden", ""), ("full", "T")] == [
            (part.form, part.text) for part in response.parts if part.type == "thinking"
        ]
        assert details[:3] == [part.origin.block for part in response.parts[:3]]
        assert "opaque" == response.parts[3].type

    def test_details_without_an_index(self):
        """In a stream they go on with the last entry of their type; in a whole message each is one."""
        pieces = [
            {"type": "reasoning.text", "text": text} for text in ("Rome ", "is in ", "Italy.")
        ]
        streamed = chat_stream(*({"reasoning_details": [piece]} for piece in pieces))
        whole = chat({"content": "A", "reasoning_details": pieces})
        assert ["Rome is in Italy."] == [part.text for part in streamed.parts]
        assert ["Rome ", "is in ", "Italy.", "A"] == [part.text for part in whole.parts]

    def test_details_that_only_sign(self):
        response = chat(
            {
                "content": "A",
                "reasoning": None,
                "reasoning_details": [{"type": "reasoning.text", "signature": "sig", "index": 0}],
            }
        )
        assert ("hidden", ("signature",)) == (
            response.parts[0].form,
            response.parts[0].origin.seals,
        )

    def test_empty_details_are_not_absent(self):
        """I12: some models want [] back."""
        assert (
            []
            == chat({"content": "A", "reasoning_details": []}).message.origin.block[
                "reasoning_details"
            ]
        )
        assert None is chat({"content": "A"}).message.origin.block

    def test_content_lists(self):
        summary = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "R", "signature": "sig"}],
        }
        response = chat(
            {
                "content": [
                    summary,
                    {"type": "text", "text": "A"},
                    {"type": "image_url", "image_url": {"url": "x"}},
                ]
            },
            provider="databricks",
        )
        assert ("R", "A", "summary") == (response.thinking, response.text, response.parts[0].form)
        assert ("summary.0.signature",) == response.parts[0].origin.seals
        assert "opaque" == response.parts[2].type

    @pytest.mark.parametrize("value", [{"a": 1}, 3, ["x"], True])
    def test_odd_reasoning_is_kept(self, value):
        """P37"""
        response = chat({"content": "A", "reasoning_content": value})
        assert "A" == response.text
        assert {"reasoning_content": value} in [
            part.value for part in response.parts if part.type == "opaque"
        ]
        assert "odd_value" in codes(response)

    def test_several_choices(self):
        choices = [
            {
                "index": number,
                "message": {"content": text, "reasoning": "R" + text},
                "finish_reason": "stop",
            }
            for number, text in enumerate("AB")
        ]
        response = iv.decode({"choices": choices})
        assert ("A", ["B"], ["RB"]) == (
            response.text,
            [other.text for other in response.alternatives],
            [other.thinking for other in response.alternatives],
        )

    def test_cloudflare(self):
        assert (
            "A"
            == iv.decode(
                {"result": {"response": "A", "usage": {}}, "success": True}, provider="cloudflare"
            ).text
        )
        assert (
            "AB"
            == iv.fold(
                iv.decode_stream(
                    [sse({"response": "A"}, {"response": "B"}, done=True)], provider="cloudflare"
                )
            ).text
        )
        assert (
            "R"
            == iv.decode(
                {"result": {"choices": [{"message": {"content": None, "reasoning_content": "R"}}]}},
                provider="cloudflare",
            ).thinking
        )

    def test_half_a_character_in_each_delta(self):
        """A provider that cuts an emoji between two deltas sends its halves."""
        halves = b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00!"},"finish_reason":"stop"}]}\n\n'
        assert "😀!" == iv.fold(iv.decode_stream([halves])).text

    @pytest.mark.parametrize(
        ("usage", "counts"),
        [
            (
                {
                    "prompt_tokens": 12,
                    "completion_tokens": 1,
                    "total_tokens": 241,
                    "completion_tokens_details": {"reasoning_tokens": 228},
                },
                (12, 229, 228, 241),
            ),
            (
                {
                    "prompt_tokens": 9,
                    "completion_tokens": 400,
                    "total_tokens": 409,
                    "completion_tokens_details": {"reasoning_tokens": 192},
                },
                (9, 400, 192, 409),
            ),
            (
                {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109},
                (35, 74, None, 109),
            ),
            ({"prompt_tokens": 5, "completion_tokens": 7, "reasoning_tokens": 3}, (5, 7, 3, 12)),
            ({"prompt_tokens": None, "completion_tokens": 7}, (None, 7, None, None)),
            ({"prompt_tokens": "5", "completion_tokens": True}, (None, None, None, None)),
        ],
    )
    def test_usage(self, usage, counts):
        """I10: reasoning is part of the output, and the numbers add up."""
        got = chat({"content": "A"}, usage=usage).usage
        assert counts == (
            got.input_tokens,
            got.output_tokens,
            got.reasoning_tokens,
            got.total_tokens,
        )


class TestInline:
    def test_found_and_noted(self):
        response = chat({"content": "<think>R</think>A"}, provider="huggingface")
        assert ("R", "A") == (response.thinking, response.text)
        assert "inline_thinking" in codes(response)
        assert "<think>R</think>A" == iv.restore(response.parts)

    def test_off_for_hosts_that_separate(self):
        """S10, P52"""
        text = "A <think>R</think>B"
        assert text == chat({"content": text}, provider="deepseek").text
        assert text == chat({"content": text}, provider="huggingface", inline="off").text
        assert "A B" == chat({"content": text}, provider="deepseek", inline="on").text

    def test_the_head_is_looked_at_everywhere(self):
        """S10: a closed block before the answer is thinking, unless the search is off."""
        text = "<think>R</think>A"
        assert "A" == chat({"content": text}, provider="deepseek").text
        assert text == chat({"content": text}, provider="deepseek", inline="off").text

    def test_a_card_that_leaks(self):
        body = {
            "output": {"message": {"content": [{"text": "B <thinking>R</thinking>A"}]}},
            "stopReason": "end_turn",
        }
        assert "B A" == iv.decode(body, provider="bedrock", model="us.amazon.nova-micro-v1:0").text
        assert (
            "B <thinking>R</thinking>A"
            == iv.decode(body, provider="bedrock", model="us.anthropic.claude-sonnet-4-5-v1:0").text
        )

    def test_the_same_in_field_and_text(self):
        """P33: the field is kept, the copy dropped, and the content can still be written back."""
        for response in (
            chat(
                {"content": "<think>R one</think>A", "reasoning_content": "R  one"},
                provider="minimax",
            ),
            chat_stream(
                {"content": "<think>R ", "reasoning_content": "R "},
                {"content": "one</think>A", "reasoning_content": "one"},
                provider="minimax",
            ),
        ):
            assert "A" == response.text
            assert response.thinking.replace("  ", " ") == "R one"
            assert "inline_repeated" in codes(response)
            assert "<think>R one</think>A" == iv.restore(
                part for part in response.parts if part.type == "text"
            )

    def test_different_in_field_and_text(self):
        response = chat({"content": "<think>more</think>A", "reasoning": "first"}, provider="groq")
        assert ("first\n\nmore", "A") == (response.thinking, response.text)

    def test_card_prefix_is_off_with_a_field(self):
        response = chat_stream(
            {"reasoning": "R"}, {"content": "The answer."}, provider="sglang", model="qwq-32b"
        )
        assert ("R", "The answer.") == (response.thinking, response.text)

    def test_prefix_open_in_a_stream_that_is_cut(self):
        response = chat_stream(
            {"content": "Still thinking"}, reason=None, provider="sglang", model="qwq-32b"
        )
        assert ("Still thinking", "", "interrupted") == (
            response.thinking,
            response.text,
            response.status,
        )

    def test_unknown_models_have_two_names(self):
        text = "<reasoning>x</reasoning>A"
        assert text == chat({"content": text}, model="somebody/model-7b").text
        assert "A" == chat({"content": text}, model="somebody/model-7b", inline="all").text

    def test_a_recast_keeps_the_calls_behind_it(self):
        call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
        deltas = [
            {"content": "The tag <think>"},
            {"content": " opens"},
            {"tool_calls": [call]},
            {"content": "."},
        ]
        response = chat_stream(*deltas, provider="sglang")
        assert ["text", "tool_call"] == [part.type for part in response.parts]
        assert "The tag <think> opens." == response.text


class TestAnthropic:
    def message(self, *content, **more):
        return iv.decode(
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "content": list(content),
                "stop_reason": "end_turn",
                **more,
            }
        )

    def test_empty_thinking_with_a_signature_is_a_block(self):
        (part,) = self.message({"type": "thinking", "thinking": "", "signature": "sig"}).parts
        assert ("hidden", "", ("signature",)) == (part.form, part.text, part.origin.seals)

    def test_unknown_blocks_are_kept_in_place(self):
        blocks = [
            {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
            {"type": "text", "text": "A"},
            {"type": "new_thing", "x": [None]},
        ]
        response = self.message(*blocks)
        assert ["opaque", "text", "opaque"] == [part.type for part in response.parts]
        assert [blocks[0], blocks[2]] == [
            part.value for part in response.parts if part.type == "opaque"
        ]

    @pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "new_tool_use"])
    def test_the_streamed_input_of_an_opaque_call_is_the_whole_one(self, kind):
        value = {"command": "echo 1", "more": [1, 2]}
        call = {"type": kind, "id": "s", "name": "run", "input": {}}
        pieces = ['{"comm', 'and": "echo 1", ', '"more": [1, 2]}']
        stream = sse(
            {"type": "message_start", "message": {"id": "m", "type": "message"}},
            {"type": "content_block_start", "index": 0, "content_block": call},
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in pieces
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )

        (streamed,) = iv.decode(stream, provider="anthropic").parts

        assert {**call, "input": value} == streamed.value
        assert self.message({**call, "input": value}).parts[0].value == streamed.value

    def test_interleaved(self):
        thought = {"type": "thinking", "thinking": "b", "signature": "s2"}
        response = self.message(
            {"type": "thinking", "thinking": "a", "signature": "s1"},
            {"type": "text", "text": "1"},
            thought,
            {"type": "text", "text": "2"},
        )
        assert ["a", "1", "b", "2"] == [part.text for part in response.parts]
        assert "1\n\n2" == response.text

    @pytest.mark.parametrize(
        ("reason", "finish"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("pause_turn", "pause"),
            ("refusal", "refusal"),
            ("new", None),
        ],
    )
    def test_finish_reasons(self, reason, finish):
        response = self.message({"type": "text", "text": "A"}, stop_reason=reason)
        assert (finish, reason) == (response.finish_reason, response.wire_finish_reason)

    def test_a_second_generation_spliced_in(self):
        start = {"type": "message_start", "message": {"id": "a", "content": []}}
        again = {"type": "message_start", "message": {"id": "b", "content": []}}
        assert (
            "spliced"
            == iv.fold(iv.decode_stream([sse(start, again)], provider="anthropic")).error.type
        )
        assert None is iv.fold(iv.decode_stream([sse(start, start)], provider="anthropic")).error

    def test_a_second_generation_is_not_counted(self):
        """What the one that was spliced in cost is no cost of this answer."""
        starts = [
            {"type": "message_start", "message": {"id": name, "usage": {"input_tokens": count}}}
            for name, count in (("a", 5), ("b", 777))
        ]
        response = iv.fold(iv.decode_stream([sse(*starts)], provider="anthropic"))
        assert 5 == response.usage.input_tokens

    def test_a_block_without_its_stop_is_not_sealed(self):
        events = [
            {"type": "message_start", "message": {"id": "a", "content": []}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "thinking", "thinking": "", "signature": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": "R"},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "signature_delta", "signature": "half"},
            },
        ]
        (part,) = iv.fold(iv.decode_stream([sse(*events)])).parts
        assert ("R", False, ()) == (part.text, part.complete, part.origin.seals)

    STREAM = (
        {"type": "message_start", "message": {"id": "a", "content": []}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "R", "signature": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "first"},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "whole"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )

    def test_a_signature_is_assigned(self):
        """Seen failing: a second `signature_delta` appended to the first."""
        (part,) = iv.fold(iv.decode_stream([sse(*self.STREAM)])).parts
        assert "whole" == part.origin.block["signature"]
        assert ("signature",) == part.origin.seals

    def test_a_stop_reason_does_not_end_a_stream(self):
        """Seen failing: `message_delta` ending the answer, so that one cut off before `message_stop` counted as whole."""
        whole = iv.fold(iv.decode_stream([sse(*self.STREAM)]))
        cut = iv.fold(iv.decode_stream([sse(*self.STREAM[:-1])]))
        assert (True, "stop") == (whole.ended, whole.finish_reason)
        assert (False, "stop", "interrupted") == (cut.ended, cut.finish_reason, cut.status)

    def test_invoke_model_envelope(self):
        from base64 import b64encode

        from wire.streams import aws

        events = [
            {"type": "message_start", "message": {"id": "a", "content": []}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "A"},
            },
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ]
        stream = aws(
            *(
                ("chunk", {"bytes": b64encode(json.dumps(event).encode()).decode(), "p": "ab"})
                for event in events
            )
        )
        response = iv.fold(iv.decode_stream([stream], provider="bedrock"))
        assert ("A", "answered") == (response.text, response.status)

    def test_usage_with_cache(self):
        usage = self.message(
            usage={
                "input_tokens": 10,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 5,
                "output_tokens": 7,
            }
        ).usage
        assert (115, 7, 100, 122, None) == (
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
            usage.total_tokens,
            usage.reasoning_tokens,
        )


class TestGemini:
    def parts(self, *parts, reason="STOP", **more):
        return iv.decode(
            {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}], **more},
            provider="gemini",
        )

    def test_the_flag_decides_never_the_signature(self):
        """P34"""
        response = self.parts(
            {"text": "A", "thoughtSignature": "sig"},
            {"text": "R", "thought": True},
            {"text": "B", "thought": False},
        )
        assert ("R", "AB") == (response.thinking, response.text.replace("\n\n", ""))

    def test_signatures_stay_on_their_part(self):
        parts = [
            {"text": "A"},
            {"text": "", "thoughtSignature": "sig"},
            {"executableCode": {"code": "1"}, "thoughtSignature": "code"},
        ]
        response = self.parts(*parts)
        assert [None, parts[1]] == [part.origin.block for part in response.parts[:2]]
        assert parts[2] == response.parts[2].value

    def test_parallel_calls_signed_once(self):
        signed = {
            "functionCall": {"name": "f", "args": {"b": 1, "a": 2}},
            "thoughtSignature": "sig",
        }
        response = self.parts(signed, {"functionCall": {"name": "g"}})
        first, second = response.tool_calls
        assert (('{"b":1,"a":2}', ("thoughtSignature",)), ("{}", ())) == (
            (first.arguments, first.origin.seals),
            (second.arguments, second.origin.seals),
        )
        assert first.id != second.id
        assert "tool_calls" == response.finish_reason

    def test_no_parts_at_all(self):
        response = iv.decode(
            {
                "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
                "usageMetadata": {
                    "promptTokenCount": 5,
                    "thoughtsTokenCount": 9,
                    "totalTokenCount": 14,
                },
            }
        )
        assert ("budget_exhausted", 9, 14) == (
            response.status,
            response.usage.reasoning_tokens,
            response.usage.total_tokens,
        )

    def test_blocked_prompt(self):
        response = iv.decode({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}})
        assert ("content_filter", "SAFETY") == (response.finish_reason, response.wire_finish_reason)

    def test_streamed_arguments(self):
        def chunk(call, **more):
            return {"candidates": [{"content": {"parts": [{"functionCall": call, **more}]}}]}

        chunks = [
            chunk({"name": "f", "willContinue": True}, thoughtSignature="sig"),
            chunk(
                {
                    "partialArgs": [
                        {"jsonPath": "$.city", "stringValue": "Ro", "willContinue": True}
                    ],
                    "willContinue": True,
                }
            ),
            chunk(
                {
                    "partialArgs": [
                        {"jsonPath": "$.city", "stringValue": "me"},
                        {"jsonPath": "$.days[0].n", "numberValue": 2},
                    ],
                    "willContinue": True,
                }
            ),
            chunk({}),
            {"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]},
        ]
        response = iv.fold(iv.decode_stream([sse(*chunks)], provider="vertex"))
        (call,) = response.tool_calls
        assert ("f", {"city": "Rome", "days": [{"n": 2}]}, ("thoughtSignature",)) == (
            call.name,
            json.loads(call.arguments),
            call.origin.seals,
        )

    def test_usage_of_a_stream_is_the_last_of_each(self):
        chunks = [
            {
                "candidates": [{"content": {"parts": [{"text": "A"}]}}],
                "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 9},
            },
            {
                "candidates": [{"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"candidatesTokenCount": 2, "thoughtsTokenCount": 11},
            },
        ]
        usage = iv.fold(iv.decode_stream([sse(*chunks)])).usage
        assert (5, 13, 11, 18) == (
            usage.input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.total_tokens,
        )

    @pytest.mark.parametrize(
        ("reason", "finish"),
        [
            ("SAFETY", "content_filter"),
            ("RECITATION", "content_filter"),
            ("MALFORMED_FUNCTION_CALL", "error"),
            ("OTHER", "error"),
            ("CONTINUATION", "pause"),
        ],
    )
    def test_finish_reasons(self, reason, finish):
        assert finish == self.parts({"text": "A"}, reason=reason).finish_reason

    def test_a_stream_as_a_json_array(self):
        chunks = [
            {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]}
            for text, reason in (("A", None), ("B", "STOP"))
        ]
        assert (
            "AB"
            == iv.fold(
                iv.decode_stream([json.dumps(chunks, indent=1).encode()], provider="gemini")
            ).text
        )


class TestResponses:
    def whole(self, *output, **more):
        return iv.decode(
            {
                "object": "response",
                "id": "r",
                "status": "completed",
                "output": list(output),
                **more,
            },
            provider="openai",
        )

    def test_entries_are_parts_of_one_item(self):
        item = {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": "a"},
                {"type": "summary_text", "text": "b"},
            ],
            "encrypted_content": "blob",
        }
        response = self.whole(item)
        assert [("a", "summary", "rs_1"), ("b", "summary", "rs_1")] == [
            (part.text, part.form, part.origin.item) for part in response.parts
        ]
        assert "a\n\nb" == response.thinking
        assert item == response.parts[0].origin.block

    def test_an_item_without_entries_is_one_hidden_part(self):
        (part,) = self.whole(
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}
        ).parts
        assert ("hidden", "", ("id", "encrypted_content")) == (
            part.form,
            part.text,
            part.origin.seals,
        )

    def test_raw_reasoning(self):
        response = self.whole(
            {
                "type": "reasoning",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "R"}],
            }
        )
        assert ("R", "full") == (response.thinking, response.parts[0].form)

    def test_calls_and_other_items(self):
        call = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"}
        response = self.whole(
            {"type": "web_search_call", "id": "w"}, call, {"type": "shell_call", "call_id": "s"}
        )
        assert ["opaque", "tool_call", "opaque"] == [part.type for part in response.parts]
        assert "select 1" == response.tool_calls[0].arguments

    def test_incomplete(self):
        response = self.whole(
            {"type": "reasoning", "summary": []},
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        )
        assert ("length", "budget_exhausted") == (response.finish_reason, response.status)

    def test_refusal(self):
        response = self.whole(
            {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
        )
        assert ("No.", "refused") == (response.text, response.status)

    def events(self, *events):
        return iv.fold(iv.decode_stream([sse(*events)], provider="openai"))

    def test_the_seal_of_done_without_a_last_word(self):
        response = self.events(
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {
                    "type": "reasoning",
                    "id": "rs",
                    "summary": [],
                    "encrypted_content": "part",
                },
            },
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {
                    "type": "reasoning",
                    "id": "rs",
                    "summary": [],
                    "encrypted_content": "done",
                },
            },
            {
                "type": "response.completed",
                "response": {"id": "r", "status": "completed", "output": None},
            },
        )
        assert "done" == response.parts[0].origin.block["encrypted_content"]

    def test_a_cut_stream_has_no_seal_of_added(self):
        response = self.events(
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {
                    "type": "reasoning",
                    "id": "rs",
                    "summary": [],
                    "encrypted_content": "part",
                },
            }
        )
        assert b"part" not in iv.to_json(response).replace(b"parts", b"")

    def test_items_stand_where_they_began(self):
        """OpenRouter ends the reasoning after the message."""
        item = {"type": "reasoning", "id": "rs", "summary": []}
        message = {"type": "message", "content": [{"type": "output_text", "text": "A"}]}
        response = self.events(
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {
                "type": "response.output_item.added",
                "output_index": 1,
                "item": {**message, "content": []},
            },
            {
                "type": "response.output_text.delta",
                "output_index": 1,
                "content_index": 0,
                "delta": "A",
            },
            {"type": "response.output_item.done", "output_index": 1, "item": message},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {
                "type": "response.completed",
                "response": {"status": "completed", "output": [item, message]},
            },
        )
        assert ["thinking", "text"] == [part.type for part in response.parts]

    def test_only_the_last_word(self):
        """A server that sends no deltas still gives its answer."""
        message = {"type": "message", "content": [{"type": "output_text", "text": "A"}]}
        assert (
            "A"
            == self.events(
                {
                    "type": "response.completed",
                    "response": {"status": "completed", "output": [message]},
                }
            ).text
        )

    def test_failed(self):
        response = self.events(
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "error": {"code": "server_error", "message": "No."},
                    "output": [],
                },
            }
        )
        assert ("interrupted", "No.") == (response.status, response.error.message)


class TestOthers:
    def test_ollama_error_line(self):
        response = iv.fold(
            iv.decode_stream(
                [ndjson({"message": {"content": "So "}, "done": False}, {"error": "boom"})],
                provider="ollama",
            )
        )
        assert ("So ", "boom", "interrupted") == (
            response.text,
            response.error.message,
            response.status,
        )

    def test_ollama_without_the_end(self):
        assert (
            "interrupted"
            == iv.fold(
                iv.decode_stream(
                    [ndjson({"message": {"content": "So "}, "done": False})], provider="ollama"
                )
            ).status
        )

    def test_cohere_plan(self):
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        response = iv.decode(
            {
                "id": "1",
                "message": {"tool_plan": "I will call f.", "tool_calls": [call]},
                "finish_reason": "TOOL_CALL",
            },
            provider="cohere",
        )
        assert ("I will call f.", "f") == (response.thinking, response.tool_calls[0].name)

    def test_converse_text_before_reasoning(self):
        """DeepSeek R1 on Bedrock: wire order is kept."""
        blocks = [{"text": "A"}, {"reasoningContent": {"reasoningText": {"text": "R"}}}]
        response = iv.decode(
            {"output": {"message": {"content": blocks}}, "stopReason": "end_turn"},
            provider="bedrock",
        )
        assert ["text", "thinking"] == [part.type for part in response.parts]

    def test_converse_from_boto3(self):
        """boto3 gives events as dicts under their name, and blobs as bytes."""
        events = [
            {"messageStart": {"role": "assistant"}},
            {
                "contentBlockDelta": {
                    "contentBlockIndex": 0,
                    "delta": {"reasoningContent": {"redactedContent": b"secret"}},
                }
            },
            {"contentBlockStop": {"contentBlockIndex": 0}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "A"}}},
            {"contentBlockStop": {"contentBlockIndex": 1}},
            {"messageStop": {"stopReason": "end_turn"}},
            {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 2}}},
        ]
        response = iv.fold(iv.decode_stream(events))
        assert ("A", "answered", 3) == (response.text, response.status, response.usage.total_tokens)
        assert "c2VjcmV0" == response.parts[0].origin.block["reasoningContent"]["redactedContent"]

    def test_mistral_string_and_list(self):
        assert (
            "A"
            == iv.decode(
                {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]},
                provider="mistral",
            ).text
        )
        empty = {"type": "thinking", "thinking": []}
        response = chat_stream(
            {"content": ""}, {"content": [empty]}, {"content": "A"}, provider="mistral"
        )
        assert (None, "A") == (response.thinking, response.text)


def test_names():
    """A provider is split off a model's name only where nobody named one, and it is known."""
    body = {"choices": [{"message": {"content": "A"}}]}
    assert ("groq", "A") == (
        iv.decode(body, model="groq/qwen3-32b").provider,
        iv.decode(body, model="groq/qwen3-32b").text,
    )
    assert None is iv.decode(body, model="deepseek-ai/DeepSeek-R1").provider
    assert "moonshot" == iv.decode(body, provider="kimi").provider
    assert "nobody" == iv.decode(body, provider="nobody").provider
    assert "acct-1" == iv.decode(body, scope="acct-1").parts[0].origin.scope


class Dumps:
    """Stands for an SDK's object."""

    def __init__(self, value):
        self._value = value

    def model_dump(self, **options):
        return self._value


def test_sdk_objects():
    response = iv.decode(
        Dumps(
            {
                "choices": [
                    {"message": {"content": "A", "reasoning_content": "R"}, "finish_reason": "stop"}
                ]
            }
        )
    )
    assert ("R", "A") == (response.thinking, response.text)
    chunks = [
        Dumps({"choices": [{"index": 0, "delta": {"content": letter}, "finish_reason": None}]})
        for letter in "AB"
    ]
    assert "AB" == iv.fold(iv.decode_stream(chunks)).text


class Message:
    """Stands for LangChain's AIMessage."""

    def __init__(self, content, additional_kwargs=None, tool_calls=None):
        self.content = content
        self.additional_kwargs = additional_kwargs or {}
        self.tool_calls = tool_calls or []
        self.response_metadata = {"model_name": "m"}
        self.usage_metadata = {
            "input_tokens": 1,
            "output_tokens": 2,
            "output_token_details": {"reasoning": 1},
        }


def test_langchain_messages():
    call = {"id": "c", "name": "f", "args": {"a": 1}}
    field = iv.decode(Message("A", {"reasoning_content": "R"}, [call]))
    blocks = iv.decode(
        Message(
            [
                {"type": "thinking", "thinking": "R", "signature": "sig"},
                {"type": "text", "text": "A"},
            ],
            None,
            [call],
        )
    )
    standard = iv.decode(
        Message(
            [
                {"type": "reasoning", "reasoning": "R", "extras": {"signature": "sig"}},
                {"type": "text", "text": "A"},
            ]
        )
    )
    for response in (field, blocks, standard):
        assert ("R", "A") == (response.thinking, response.text)
    assert [("f", '{"a":1}')] == [(call.name, call.arguments) for call in blocks.tool_calls]
    assert ("signature",) == blocks.parts[0].origin.seals == standard.parts[0].origin.seals
