"""Files of every format that these tests open, made here: the kind of each reader -> names -> bytes."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import innervoice as iv
from sources.langchain_messages import as_constructor, conversation
from sources.test_transcripts import Session, calls, codex, file_of, gave, poisoned, thinks
from wire.fixtures import ANSWERS
from wire.streams import sse

__all__ = ["CHAT", "CLAUDE", "SAMPLES", "claude_session", "codex_session", "har_of", "lines", "post"]  # fmt: skip

CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "model": "glm-4.7",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 9},
}  # fmt: skip
CLAUDE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-6",
    "content": [
        {"type": "thinking", "thinking": "A greeting.", "signature": "c2VhbA=="},
        {"type": "text", "text": "Hello."},
    ],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 9},
}
GEMINI = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "A greeting.", "thought": True}, {"text": "Hello."}]},
            "finishReason": "STOP",
        }
    ]
}  # fmt: skip
ASKED = {"model": "glm-4.7", "messages": [{"role": "user", "content": "Hi there"}]}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hi there"}]}]}
LATE = {"code": "batch_expired", "message": "This request could not be executed in time."}


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def claude_session() -> Session:
    """An edited prompt, parallel calls, an injected turn, an error of the API, a compaction, and a title."""
    session = Session()
    first = session.says("Paint the shed.")
    session.answers("msg_0", {"type": "text", "text": "Which colour?"})
    session.last[False] = first
    # The user went back and said something else.
    session.line("user", message={"role": "user", "content": "Injected."}, isMeta=True)
    session.answers("msg_1", thinks("Two rooms."))
    one = session.answers("msg_1", calls("toolu_1"))
    session.answers("msg_1", calls("toolu_2"))
    two = session.last[False]
    session.last[False] = one
    session.says(gave("toolu_1"))
    session.last[False] = two
    session.says(gave("toolu_2"))
    session.line("assistant", message={"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]}, isApiErrorMessage=True, error="overloaded")  # fmt: skip
    session.answers("msg_2", {"type": "text", "text": "Painted."})
    session.lines[-1]["message"] |= {"stop_reason": "end_turn", "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 12}}  # fmt: skip
    before = session.last[False]
    session.last[False] = None
    session.line(
        "system", subtype="compact_boundary", content="Compacted", logicalParentUuid=before
    )
    session.line("user", message={"role": "user", "content": "So far: a shed."}, isCompactSummary=True)  # fmt: skip
    session.answers("msg_3", {"type": "text", "text": "On we go."})
    session.lines.append({"type": "ai-title", "aiTitle": "A shed in two colours", "sessionId": "5a1d"})  # fmt: skip
    return session


def codex_session() -> list[dict[str, Any]]:
    def line(kind: str, second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-11-20T10:00:{second:02}.000Z", "type": kind, "payload": payload}

    def counted(second: int, total: int, **used: int) -> dict[str, Any]:
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": used}
        return line("event_msg", second, type="token_count", info=info)

    def said(second: int, role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return line("response_item", second, type="message", role=role, content=content)

    used = {"input_tokens": 50, "cached_input_tokens": 20, "output_tokens": 30, "reasoning_output_tokens": 10}  # fmt: skip
    return [
        line("session_meta", 0, id="s", cwd="/home/me/shed", model_provider="openai", git={"branch": "main"}, base_instructions={"text": "Be brief."}),
        said(0, "user", "<environment_context>\n<cwd>/home/me/shed</cwd>"),
        line("turn_context", 1, model="gpt-5.6", effort="high", summary="auto"),
        said(1, "user", "Paint it."),
        line("response_item", 4, type="reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "Red."}], encrypted_content="c2VhbA=="),
        line("response_item", 5, type="function_call", call_id="call_1", name="shell", arguments="{}"),
        counted(5, 80, **used),
        counted(5, 80, **used),
        line("response_item", 6, type="function_call_output", call_id="call_1", output="done"),
        said(9, "assistant", "It is red."),
        counted(9, 160, **used),
        line("event_msg", 10, type="error", message="stream disconnected"),
        line("compacted", 11, message="", replacement_history=[
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Paint it."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Summary: it is red."}]},
        ]),
        said(12, "user", "Now blue."),
        said(14, "assistant", "Blu"),
        line("event_msg", 15, type="turn_aborted", reason="interrupted"),
    ]  # fmt: skip


def post(
    body: Any, answer: bytes, *, url: str = "https://api.z.ai/v1/chat/completions?key=sk-secret", status: int = 200, encoded: bool = False, second: int = 0
) -> dict[str, Any]:  # fmt: skip
    content = {"text": answer.decode("utf-8", "replace")}
    if encoded:
        content = {"text": b64encode(answer).decode(), "encoding": "base64"}
    secret = [{"name": "Authorization", "value": "Bearer sk-secret"}]
    cookies = [{"name": "session", "value": "sk-secret"}]
    return {
        "startedDateTime": f"2026-11-20T10:00:{second:02}.000Z",
        "time": 1500,
        "request": {"method": "POST", "url": url, "headers": secret, "cookies": cookies, "postData": {"mimeType": "application/json", "text": json.dumps(body)}},
        "response": {"status": status, "headers": secret, "cookies": cookies, "content": content},
    }  # fmt: skip


def har_of(*entries: dict[str, Any]) -> bytes:
    log = {"version": "1.2", "creator": {"name": "a browser", "version": "1"}, "entries": entries}
    return json.dumps({"log": log}, indent=1).encode()


def _stream() -> bytes:
    chunk = {"id": "c1", "model": "glm-4.7", "choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "A gre"}}]}  # fmt: skip
    more = {"id": "c1", "model": "glm-4.7", "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}  # fmt: skip
    return sse(chunk, more)


PAGE = {
    "startedDateTime": "2026-11-20T10:00:00.000Z",
    "time": 3,
    "request": {"method": "GET", "url": "https://example.org/"},
    "response": {"status": 200, "content": {"text": "<html>"}},
}
SECOND = {**ASKED, "messages": [*ASKED["messages"], {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Bye"}]}  # fmt: skip

BATCHES = {
    "openai": lines({"id": "b", "custom_id": "one", "response": {"status_code": 200, "request_id": "r", "body": CHAT}, "error": None}, {"id": "b", "custom_id": "two", "response": None, "error": LATE}),
    "azure": lines({"custom_id": "one", "response": {"body": CHAT, "status_code": 200}, "error": None}, {"custom_id": "two", "response": {"status_code": 400, "body": {"error": {"message": "No."}}}, "error": None}),
    "anthropic": lines({"custom_id": "one", "result": {"type": "succeeded", "message": CLAUDE}}, {"custom_id": "two", "result": {"type": "expired"}}),
    "gemini": lines({"key": "one", "response": GEMINI}, {"key": "two", "error": {"code": 3, "message": "No."}}),
    "vertex": lines({"request": CONTENTS, "status": "", "response": GEMINI, "processed_time": "2026-11-20T10:00:00Z"}, {"request": CONTENTS, "status": "No.", "response": {}}),
    "bedrock": lines({"recordId": "one", "modelInput": ASKED, "modelOutput": CLAUDE}, {"recordId": "two", "modelInput": ASKED, "error": {"errorCode": 400, "errorMessage": "No."}}),
    "input of openai": lines({"custom_id": "one", "method": "POST", "url": "/v1/chat/completions", "body": ASKED}, {"custom_id": "two", "method": "POST", "url": "/v1/responses", "body": {"model": "m", "input": "Hi there"}}),
    "input of anthropic": lines({"custom_id": "one", "params": ASKED}, {"custom_id": "two", "params": ASKED}),
    "input of gemini": lines({"key": "one", "request": CONTENTS}, {"key": "two", "request": CONTENTS}),
    "input of vertex": lines({"request": CONTENTS}, {"request": CONTENTS}),
    "input of bedrock": lines({"recordId": "one", "modelInput": ASKED}, {"recordId": "two", "modelInput": ASKED}),
}  # fmt: skip

SPENT = {
    "request_id": "chatcmpl-1", "call_type": "acompletion", "api_key": "sk-hash", "spend": 0.25, "total_tokens": 16, "prompt_tokens": 7,
    "completion_tokens": 9, "startTime": "2026-11-20T10:00:00.000Z", "endTime": "2026-11-20T10:00:02.500Z", "model": "openai/glm-4.7", "model_group": "glm",
    "custom_llm_provider": "openai", "messages": {}, "response": {}, "proxy_server_request": {}, "status": "success",
}  # fmt: skip
PAYLOAD = {
    "id": "p1", "trace_id": "t", "call_type": "acompletion", "response_cost": 0.5, "status": "success", "startTime": 1795168800.0, "endTime": 1795168803.0,
    "model": "glm-4.7", "model_group": "big", "custom_llm_provider": "openai", "messages": ASKED["messages"], "response": CHAT, "error_str": None,
    "model_parameters": {"reasoning_effort": "high"}, "metadata": {}, "hidden_params": {"additional_headers": {"x-litellm-attempted-fallbacks": 1}},
}  # fmt: skip
FAILED = {**PAYLOAD, "id": "p2", "status": "failure", "response": {}, "error_str": "litellm.RateLimitError", "error_information": {"error_class": "RateLimitError", "error_code": "429", "error_message": "Slow down."}}  # fmt: skip

ANSWER = iv.decode(CLAUDE)
OWN = [iv.user("Hi there"), ANSWER, iv.user("Bye")]
SAVED = {"type": "innervoice.conversation", "version": 1, "model": "anthropic/claude-opus-4-6", "system": "Be brief.", "messages": json.loads(iv.to_json([iv.user("Hi there"), ANSWER.message]))}  # fmt: skip

SAMPLES: dict[str, dict[str, bytes]] = {
    "claude-code": {"a session": claude_session().data, "a poisoned session": poisoned().data},
    "codex": {"a session": file_of(codex_session()), "an old session": file_of(codex())},
    "har": {
        "a recording": har_of(PAGE, post(ASKED, _stream()), post(SECOND, json.dumps(CHAT).encode(), encoded=True, second=5)),
    },
    "batch": BATCHES,
    "litellm": {
        "spend logs": json.dumps([SPENT, {**SPENT, "request_id": "x", "messages": ASKED["messages"], "response": CHAT}]).encode(),
        "payloads": lines(PAYLOAD, FAILED),
        "a page of the proxy": json.dumps({"data": [SPENT], "total": 1}).encode(),
    },
    "stored": {
        "a history": iv.to_json(OWN),
        "a message": iv.to_json(iv.user("Hi there")),
        "a response": iv.to_json(ANSWER),
        "responses": iv.to_json(ANSWER) + b"\n" + iv.to_json(ANSWER) + b"\n",
        "turns": b"".join(iv.to_json(item) + b"\n" for item in OWN),
        "a saved conversation": json.dumps(SAVED).encode(),
        "a list": json.dumps(SECOND["messages"]).encode(),
        "a request": json.dumps(SECOND, indent=1).encode(),
        "requests": lines(ASKED, SECOND),
        "messages": lines(*SECOND["messages"]),
        "contents": json.dumps(CONTENTS).encode(),
        "langchain": json.dumps({"messages": conversation(as_constructor)}).encode(),
    },
    "captured": {
        **{f"{answer.name}, whole": json.dumps(answer.whole).encode() for answer in ANSWERS},
        **{f"{answer.name}, streamed": answer.stream for answer in ANSWERS},
        "bodies": lines(*(answer.whole for answer in ANSWERS)),
        "wrapped bodies": lines(*({"request": {}, "response": answer.whole} for answer in ANSWERS)),
        "an error": json.dumps({"error": {"message": "No.", "type": "overloaded"}}).encode(),
    },
}  # fmt: skip
