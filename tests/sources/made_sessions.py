"""Files as agents, inspect_ai, services and exporters of OpenTelemetry write them, with content made up for the tests."""

import json
import sqlite3
import zipfile
from io import BytesIO

SEAL = "U0VBTC1vZi10aGUtbWFrZXI="
AT = 1_793_527_200.0
"""2026-11-01T10:00:00Z"""


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


# ---- Gemini CLI ------------------------------------------------------------------------------------


def stamp(second):
    return f"2026-11-01T10:00:{second:02}.000Z"


GEMINI_HEAD = {
    "sessionId": "5e551011-aaaa", "projectHash": "hash", "startTime": stamp(0), "lastUpdated": stamp(9), "kind": "main",
}  # fmt: skip
GEMINI_TOKENS = {"input": 100, "output": 20, "cached": 40, "thoughts": 30, "tool": 5, "total": 155}
GEMINI_CALL = {
    "id": "call_1", "name": "list_directory", "args": {"path": "."}, "status": "success", "timestamp": stamp(3),
    "result": [{"functionResponse": {"id": "call_1", "name": "list_directory", "response": {"output": "a.txt"}}}],
}  # fmt: skip
GEMINI_QUESTION = {
    "id": "u1",
    "timestamp": stamp(1),
    "type": "user",
    "content": [{"text": "Which files are here?"}],
}
GEMINI_STEP = {
    "id": "g1", "timestamp": stamp(2), "type": "gemini", "content": "I look.", "model": "gemini-3-pro-preview", "tokens": GEMINI_TOKENS,
    "thoughts": [
        {"subject": "Listing", "description": "The folder must be listed.", "timestamp": stamp(2)},
        {"subject": "Tool", "description": "There is a tool for it.", "timestamp": stamp(2)},
    ],
    "toolCalls": [GEMINI_CALL],
}  # fmt: skip
GEMINI_ANSWER = {
    "id": "g2", "timestamp": stamp(4), "type": "gemini", "content": "One file: a.txt.", "model": "gemini-3-pro-preview",
    "thoughts": [{"subject": "Answering", "description": "There is one.", "timestamp": stamp(4)}], "tokens": None,
}  # fmt: skip


def gemini_lines(*more):
    """A session since 0.58; a message is written again when its calls are run."""
    early = {**GEMINI_STEP, "toolCalls": [{**GEMINI_CALL, "status": "executing", "result": None}]}
    changed = {"$set": {"lastUpdated": stamp(5)}}
    return lines(GEMINI_HEAD, GEMINI_QUESTION, early, changed, GEMINI_STEP, GEMINI_ANSWER, *more)


def gemini_object():
    """A session before 0.58."""
    messages = [GEMINI_QUESTION, GEMINI_STEP, GEMINI_ANSWER]
    return json.dumps({**GEMINI_HEAD, "messages": messages}, indent=2).encode()


# ---- opencode --------------------------------------------------------------------------------------

SESSION = {"id": "ses_1", "slug": "quick-fox", "version": "1.18.33", "projectID": "p", "directory": "/w", "title": "Count files", "time": {"created": 1793527200000, "updated": 1793527209000}}  # fmt: skip
CHILD = {**SESSION, "id": "ses_2", "parentID": "ses_1", "title": "Explore (subagent)"}


def asked(name, text, second=1):
    info = {"id": name, "sessionID": "ses_1", "role": "user", "time": {"created": 1793527200000 + second * 1000}, "agent": "build", "model": {"providerID": "anthropic", "modelID": "claude-opus-5-5"}}  # fmt: skip
    return {"info": info, "parts": [{"id": f"{name}_p1", "type": "text", "text": text}]}


def answered(name, parts, *, provider="anthropic", model="claude-opus-5-5", second=2, **info):
    tokens = {
        "total": 185,
        "input": 60,
        "output": 20,
        "reasoning": 30,
        "cache": {"read": 50, "write": 25},
    }
    known = {
        "id": name, "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "providerID": provider, "modelID": model, "mode": "build", "agent": "build",
        "time": {"created": 1793527200000 + second * 1000, "completed": 1793527202500 + second * 1000}, "cost": 0.1, "tokens": tokens, "finish": "tool-calls", **info,
    }  # fmt: skip
    listed = [{"id": f"{name}_p{number}", **part} for number, part in enumerate(parts)]
    return {"info": known, "parts": listed}


def ran(name, tool="list", output="a.txt", **more):
    state = {"status": "completed", "input": {"path": "."}, "output": output, "title": "", "metadata": {}, "time": {"start": 1793527203000, "end": 1793527204000}}  # fmt: skip
    return {"type": "tool", "callID": name, "tool": tool, "state": state, **more}


CLAUDE_PARTS = [
    {"type": "step-start", "snapshot": "abc"},
    {"type": "reasoning", "text": "First look.", "metadata": {"anthropic": {"signature": SEAL}}, "time": {"start": 1, "end": 2}},
    ran("toolu_1"),
    {"type": "reasoning", "text": "", "metadata": {"anthropic": {"redactedData": SEAL}}, "time": {"start": 3, "end": 4}},
    {"type": "text", "text": "I will count."},
    ran("toolu_2", "count", "1"),
    {"type": "step-finish", "reason": "tool-calls", "cost": 0.1, "tokens": {"total": 185, "input": 60, "output": 20, "reasoning": 30, "cache": {"read": 50, "write": 25}}},
    {"type": "patch", "hash": "x", "files": []},
]  # fmt: skip
OPENAI_PARTS = [
    {"type": "step-start"},
    {"type": "reasoning", "text": "**One**", "metadata": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": SEAL}}, "time": {"start": 1}},
    {"type": "reasoning", "text": "**Two**", "metadata": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": SEAL}}, "time": {"start": 2}},
    {"type": "text", "text": "There is one.", "metadata": {"openai": {"itemId": "msg_9"}}},
    {"type": "step-finish", "reason": "stop", "cost": 0.1, "tokens": {"input": 10, "output": 40, "reasoning": 30, "cache": {"read": 0, "write": 0}}},
]  # fmt: skip
OPENCODE_MESSAGES = [
    asked("msg_1", "How many files?"),
    answered("msg_2", CLAUDE_PARTS),
    answered("msg_3", OPENAI_PARTS, provider="openai", model="gpt-5.6", second=6, finish="stop"),
]


def opencode_export(messages=OPENCODE_MESSAGES, session=SESSION):
    return json.dumps({"info": session, "messages": messages}, indent=2).encode()


def opencode_database(
    path, messages=OPENCODE_MESSAGES, sessions=(SESSION, CHILD), revert=None, mode="DELETE"
):
    """The connection is given back open, as opencode holds it; the child has one message."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.executescript(
        "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, title text, version text, revert text, model text, time_created integer);"
        "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);"
        "CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);"
    )
    for session in sessions:
        row = (session["id"], "p", session.get("parentID"), session["title"], "1.18.33", json.dumps(revert), json.dumps({"id": "claude-opus-5-5"}), session["time"]["created"])  # fmt: skip
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    store_messages(connection, "ses_1", messages)
    if CHILD in sessions:
        child = {
            **asked("msg_c1", "Look around."),
            "parts": [{"id": "c_p", "type": "text", "text": "Look around."}],
        }
        store_messages(connection, "ses_2", [child])
    connection.commit()
    return connection


def store_messages(connection, session, messages):
    for message in messages:
        info = {
            name: value
            for name, value in message["info"].items()
            if name not in ("id", "sessionID")
        }
        name = message["info"]["id"]
        connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (name, session, info["time"]["created"], json.dumps(info)))  # fmt: skip
        for part in message["parts"]:
            data = {key: value for key, value in part.items() if key != "id"}
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (part["id"], name, session, json.dumps(data)))  # fmt: skip


def opencode_tree(folder, *, oldest=False):
    """The files of a version before 1.2; gives that of the session."""
    sessions = folder / "session" / "info" if oldest else folder / "session" / "project"
    root = folder / "session" if oldest else folder
    for session in (SESSION, CHILD):
        write(sessions / f"{session['id']}.json", session)
    for session, messages in (
        ("ses_1", OPENCODE_MESSAGES),
        ("ses_2", [asked("msg_c1", "Look around.")]),
    ):
        for message in messages:
            name = message["info"]["id"]
            write(root / "message" / session / f"{name}.json", message["info"])
            for part in message["parts"]:
                held = root / "part" / session / name if oldest else root / "part" / name
                write(held / f"{part['id']}.json", part)
    return sessions / "ses_1.json"


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


# ---- inspect_ai ------------------------------------------------------------------------------------

EVAL = {"eval_id": "e", "run_id": "r", "created": "2026-11-01T10:00:00+00:00", "task": "arithmetic", "model": "anthropic/claude-opus-5-5"}  # fmt: skip
USAGE = {"input_tokens": 10, "output_tokens": 25, "total_tokens": 75, "input_tokens_cache_write": 0, "input_tokens_cache_read": 40, "reasoning_tokens": 15}  # fmt: skip


def model_event(
    name, *, usage=USAGE, reason="tool_calls", model="anthropic/claude-opus-5-5", **more
):
    message = {"id": name, "role": "assistant", "content": "attachment://0"}
    output = {"model": "claude-opus-5-5", "choices": [{"message": message, "stop_reason": reason}], "usage": usage, "time": 2.5}  # fmt: skip
    tool = {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {}},
    }
    return {"event": "model", "model": model, "timestamp": "2026-11-01T10:00:00+00:00", "completed": "2026-11-01T10:00:03+00:00", "input": [], "tools": [tool], "config": {"max_tokens": 500, "reasoning_effort": "high"}, "output": output, **more}  # fmt: skip


def sample(epoch=1, **more):
    messages = [
        {"id": "m0", "role": "system", "content": "Be exact."},
        {"id": "m1", "role": "user", "content": "attachment://long", "source": "input"},
        {
            "id": "m2", "role": "assistant", "model": "claude-opus-5-5", "source": "generate",
            "content": [
                {"type": "reasoning", "reasoning": "I should add.", "signature": SEAL},
                {"type": "reasoning", "reasoning": SEAL, "redacted": True},
                {"type": "text", "text": "Adding."},
            ],
            "tool_calls": [{"id": "toolu_1", "function": "add", "arguments": {"a": 2, "b": 2}}],
        },
        {"id": "m3", "role": "tool", "content": "4", "tool_call_id": "toolu_1", "function": "add"},
        {"id": "m4", "role": "assistant", "content": "It is 4.", "model": "claude-opus-5-5"},
    ]  # fmt: skip
    events = [{"event": "sample_init"}, model_event("m2"), model_event("m4", reason="stop")]
    return {"id": "add-1", "epoch": epoch, "input": "What is 2 + 2?", "target": "4", "messages": messages, "events": events, "attachments": {"long": "What is 2 + 2?"}, **more}  # fmt: skip


def inspect_zip(samples=None, compression=zipfile.ZIP_DEFLATED, **files):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": EVAL}))
        for one in samples or (sample(1), sample(2)):
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        summaries = [{"id": "add-1", "epoch": 1, "input": "What is 2 + 2?"}]
        archive.writestr("summaries.json", json.dumps(summaries))
        archive.writestr(
            "header.json", json.dumps({"version": 2, "status": "success", "eval": EVAL})
        )
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def inspect_json(samples=None, **more):
    log = {
        "version": 2,
        "status": "success",
        "eval": EVAL,
        "samples": samples or [sample(1), sample(2)],
        **more,
    }
    return json.dumps(log, indent=2).encode()


# ---- OpenTelemetry ---------------------------------------------------------------------------------


def any_value(value):
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": attributes(value)}}
        case _:
            return {"stringValue": value}


def attributes(members):
    return [{"key": name, "value": any_value(value)} for name, value in members.items()]


def span(name, members, *, parent=None, second=0, took=2, trace="t" * 32, events=(), status=None):
    start = int((AT + second) * 1e9)
    made = {
        "traceId": trace, "spanId": name, "name": name, "kind": 3, "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + int(took * 1e9)), "attributes": attributes(members),
        "events": [{"timeUnixNano": str(start), "name": event, "attributes": attributes(about)} for event, about in events],
    }  # fmt: skip
    return {
        **made,
        **({"parentSpanId": parent} if parent else {}),
        **({"status": status} if status else {}),
    }


def otlp(*spans):
    resource = {"attributes": attributes({"service.name": "app"})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "lib"}, "spans": list(spans)}]}]}  # fmt: skip


REQUEST = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-opus-5-5", "gen_ai.response.model": "claude-opus-5-5"}  # fmt: skip


def text(words):
    return {"type": "text", "content": words}


def said(role, *parts):
    return {"role": role, "parts": list(parts)}


def request_span(name, asked, *answer, finish="stop", members=None, **more):
    content = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([said("assistant", *answer)])}  # fmt: skip
    counts = {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 20, "gen_ai.usage.reasoning.output_tokens": 15, "gen_ai.response.finish_reasons": [finish]}  # fmt: skip
    return span(name, {**REQUEST, **content, **counts, **(members or {})}, **more)


CALL = {"type": "tool_call", "id": "call_1", "name": "clock", "arguments": {"zone": "UTC"}}
RESULT = {"type": "tool_call_response", "id": "call_1", "response": "10:40"}
THOUGHT = {"type": "reasoning", "content": "The clock knows."}


def otlp_newer():
    """Two steps of one conversation: the second repeats the first, without its reasoning."""
    question = said("user", text("When do they meet?"))
    first = request_span("a", [question], THOUGHT, CALL, finish="tool_call")
    history = [question, said("assistant", CALL), said("tool", RESULT)]
    second = request_span("b", history, text("At 10:40."), second=5)
    return json.dumps(otlp(first, second)).encode()


# ---- pi, Copilot CLI, Cline: as they wrote them against the emulator, shortened -----------------------


def pi_session():
    """A thought, a call, its result and an answer; a question that the user took back; the system prompt, and what changed in it."""

    def message(name, parent, second, **members):
        return {"type": "message", "id": name, "parentId": parent, "timestamp": stamp(second), "message": members}  # fmt: skip

    usage = {"input": 60, "output": 23, "cacheRead": 40, "cacheWrite": 0, "totalTokens": 163, "cost": {"total": 0.01}, "reasoning": 9}  # fmt: skip
    model = {"api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5-5", "usage": usage}  # fmt: skip
    thought = {"type": "thinking", "thinking": "I read it.", "thinkingSignature": SEAL}
    call = {"type": "toolCall", "id": "toolu_1", "name": "bash", "arguments": {"command": "cat a.txt"}}  # fmt: skip
    return lines(
        {"type": "session", "version": 3, "id": "s1", "timestamp": stamp(0), "cwd": "/home/u/shop"},
        {"type": "model_change", "id": "m0", "parentId": None, "timestamp": stamp(0), "provider": "anthropic", "modelId": "claude-opus-5-5"},
        message("p1", "m0", 1, role="system", content="", sections={"preamble": "You are at home in a terminal.", "cwd": "/home/u/shop"}, toolsAdded=[{"name": "bash", "parameters": {}}]),
        message("m1", "p1", 1, role="user", content=[{"type": "text", "text": "Something else"}]),
        message("p2", "p1", 2, role="system", content=[{"type": "text", "text": "Be brief."}], sections={"skills": "You can sail.", "cwd": None}),
        message("p3", "p2", 2, role="system", content="", toolsRemoved=[{"name": "write"}]),
        message("m2", "p3", 2, role="user", content=[{"type": "text", "text": "Show me the file a.txt"}]),
        message("m3", "m2", 4, role="assistant", content=[thought, call], stopReason="toolUse", **model),
        message("m4", "m3", 5, role="toolResult", toolCallId="toolu_1", toolName="bash", content=[{"type": "text", "text": "hello file"}], isError=False),
        message("m5", "m4", 7, role="assistant", content=[{"type": "text", "text": "It says hello."}], stopReason="stop", **model),
    )  # fmt: skip


def copilot_session():
    """The same, with a system prompt, tokens and a subagent."""

    def event(kind, second, **data):
        return {"type": kind, "data": data, "id": f"e{second}", "timestamp": stamp(second), "parentId": None}  # fmt: skip

    usage = {"model": "claude-opus-5-5", "inputTokens": 100, "outputTokens": 23, "cacheReadTokens": 40, "reasoningTokens": 9, "duration": 108, "modelProvider": "anthropic"}  # fmt: skip
    blocks = {"provider": "anthropic-messages", "blocks": [{"type": "thinking", "thinking": "", "signature": SEAL}]}  # fmt: skip
    call = {"toolCallId": "toolu_1", "name": "bash", "arguments": {"command": "cat a.txt"}, "type": "function"}  # fmt: skip
    return lines(
        event("session.start", 0, sessionId="s1", version=1, copilotVersion="1.0.102", context={"cwd": "/home/u/shop"}),
        event("user.message", 1, content="Show me the file a.txt", transformedContent="<current_datetime>x</current_datetime>\n\nShow me the file a.txt"),
        event("system.message", 2, role="system", content="You are a terminal assistant."),
        event("session.usage_record", 3, usage=usage),
        event("assistant.message", 4, model="claude-opus-5-5", content="", toolRequests=[call], reasoningText="I read it.", reasoningOpaque=SEAL, reasoningBlocks=blocks, apiCallId="msg_1"),
        event("tool.execution_start", 5, toolCallId="toolu_1", toolName="bash"),
        event("user.message", 5, content="Look around.", parentToolCallId="toolu_9"),
        event("assistant.message", 5, model="claude-opus-5-5", content="Seen.", toolRequests=[], parentToolCallId="toolu_9"),
        event("tool.execution_complete", 6, toolCallId="toolu_1", success=True, result={"content": "hello file"}),
        event("assistant.message", 7, model="claude-opus-5-5", content="It says hello.", toolRequests=[], apiCallId="msg_2"),
    )  # fmt: skip


def cline_session():
    """The same; seals are not stored, and a message of the program stands in the user's name."""
    about = {"modelInfo": {"id": "claude-opus-5-5", "provider": "anthropic"}, "metrics": {"inputTokens": 100, "outputTokens": 23, "cacheReadTokens": 40, "cost": 0.01}}  # fmt: skip
    at = int(AT * 1000)
    query = {"query": "cat a.txt", "result": "hello file", "success": True}
    messages = [
        {"id": "1", "role": "user", "content": [{"type": "text", "text": '<user_input mode="act">Show me the file a.txt</user_input>'}], "ts": at},
        {"id": "2", "role": "user", "content": [{"type": "text", "text": "[SYSTEM] This run is not complete yet."}], "ts": at + 1000},
        {"id": "3", "role": "assistant", "content": [{"type": "thinking", "thinking": "I read it."}, {"type": "tool_use", "id": "toolu_1", "name": "run_commands", "input": {"commands": ["cat a.txt"]}}], "ts": at + 3000, **about},
        {"id": "4", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "name": "run_commands", "content": [query]}], "ts": at + 4000},
        {"id": "5", "role": "assistant", "content": [{"type": "text", "text": "It says hello."}], "ts": at + 6000, **about},
        {"id": "error_6", "role": "assistant", "content": [{"type": "text", "text": "Cannot connect."}], "ts": at + 7000, "metadata": {"displayOnly": True, "displayRole": "error"}},
    ]  # fmt: skip
    return json.dumps({"version": 1, "agent": "lead", "sessionId": "s1", "messages": messages, "system_prompt": "You are Cline."}, indent=2).encode()  # fmt: skip


# ---- Langfuse and LangSmith --------------------------------------------------------------------------

_ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Show me the file a.txt"}]  # fmt: skip
_CALLED = {
    "role": "assistant", "content": "", "reasoning_content": "I read it.",
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "cat a.txt"}'}}],
}  # fmt: skip
_RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "hello file"}


def langfuse_trace():
    """A trace with a span and two generations, the second of which goes on from the first."""

    def generation(name, second, request, answer):
        return {
            "id": name, "traceId": "t1", "type": "GENERATION", "name": "chat", "model": "deepseek-v4-pro", "startTime": stamp(second), "endTime": stamp(second + 2),
            "input": json.dumps(request), "output": json.dumps(answer), "level": "DEFAULT", "calculatedTotalCost": 0.02,
            "usageDetails": {"input": 60, "input_cached_tokens": 40, "output": 14, "output_reasoning_tokens": 9, "total": 123},
        }  # fmt: skip

    span = {"id": "o0", "traceId": "t1", "type": "SPAN", "name": "agent", "startTime": stamp(0), "endTime": stamp(9)}  # fmt: skip
    last = {"role": "assistant", "content": "It says hello."}
    calls = [generation("o2", 5, [*_ASKED, _CALLED, _RESULT], last), generation("o1", 1, _ASKED, _CALLED)]  # fmt: skip
    return json.dumps({"id": "t1", "name": "agent", "observations": [span, *calls], "scores": []}).encode()  # fmt: skip


def langsmith_runs():
    """Runs of a chain: two of the model, as LangChain records them, and one of a tool."""

    def said(kind, **members):
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": members}  # fmt: skip

    def run(name, second, messages, answer):
        return {
            "id": name, "trace_id": "t1", "run_type": "llm", "name": "ChatAnthropic", "start_time": stamp(second), "end_time": stamp(second + 2),
            "inputs": {"messages": [messages]}, "outputs": {"generations": [[{"text": "", "message": answer}]]}, "prompt_tokens": 100, "completion_tokens": 23,
            "extra": {"metadata": {"ls_provider": "anthropic", "ls_model_name": "claude-opus-5-5"}}, "total_cost": "0.02",
        }  # fmt: skip

    call = {"name": "bash", "args": {"command": "cat a.txt"}, "id": "toolu_1", "type": "tool_call"}
    thinks = [{"type": "thinking", "thinking": "I read it.", "signature": SEAL}, {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "cat a.txt"}}]  # fmt: skip
    asked = [said("SystemMessage", content="Be brief."), said("HumanMessage", content="Show me the file a.txt")]  # fmt: skip
    called = said("AIMessage", content=thinks, tool_calls=[call], response_metadata={"model_provider": "anthropic", "model_name": "claude-opus-5-5"})  # fmt: skip
    result = said("ToolMessage", content="hello file", tool_call_id="toolu_1")
    tool = {"id": "r2", "trace_id": "t1", "run_type": "tool", "name": "bash", "inputs": {"input": "x"}, "outputs": {"output": "y"}}  # fmt: skip
    return lines(run("r1", 1, asked, called), tool, run("r3", 5, [*asked, called, result], said("AIMessage", content="It says hello.")))  # fmt: skip


MADE = {
    "pi": pi_session,
    "copilot-cli": copilot_session,
    "cline": cline_session,
    "langfuse": langfuse_trace,
    "langsmith": langsmith_runs,
    "gemini-cli": gemini_lines,
    "opencode": opencode_export,
    "inspect": inspect_json,
    "otel": otlp_newer,
}
"""For each format, what makes a file of it."""
