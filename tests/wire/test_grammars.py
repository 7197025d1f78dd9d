"""The grammar of each dialect: what an API sends passes, and everything that is broken is found."""

import ast
import json
from functools import partial
from pathlib import Path

import pytest

import innervoice as iv
from innervoice.frames.frame import Frame
from innervoice.frames.sniff import AnyFraming
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.grammar import Grammar

RESPONSE = iv.Response(
    parts=(
        iv.Thinking("Two cities, so two calls."),
        iv.Text("Let me look."),
        iv.ToolCall("call_1", "weather", '{"city": "Köln"}'),
        iv.ToolCall("call_2", "weather", '{"city": "Bonn"}'),
    ),
    model="m",
    ended=True,
    finish_reason="tool_calls",
    usage=iv.Usage(input_tokens=9, output_tokens=8, reasoning_tokens=3),
)
FAILED = RESPONSE.replace(
    ended=False, finish_reason=None, error=iv.Failure(type="overloaded_error", message="busy")
)


def frames_of(data):
    framing = AnyFraming()
    return [*framing.feed(data), *framing.finish()]


def written(dialect, response=RESPONSE):
    encoder = iv.StreamEncoder(dialect, "m", id="id_1", seal=lambda part: "c2VhbA==")
    return frames_of(encoder.feed(iv.Finish(response)))


def rules_broken(dialect, frames, host=None):
    return [found.rule for found in dialect_named(dialect).grammar(host).check(frames)]


# ---- legal streams -------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("response", [RESPONSE, FAILED, RESPONSE.replace(parts=())])
def test_written_streams_pass(dialect, response):
    """What our own writers send obeys every rule, signs of life included."""
    frames = written(dialect, response)
    signs = frames_of(iv.StreamEncoder(dialect, "m").ping())

    assert [] == rules_broken(dialect, frames)
    assert [] == rules_broken(dialect, [*signs, *frames[:-1], *signs, *frames[-1:]])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tolerances_name_hosts(dialect):
    """A tolerance without a host that needs it would be a rule that nobody obeys."""
    grammar = dialect_named(dialect).grammar

    assert issubclass(grammar, Grammar)
    assert all(hosts for hosts in grammar.tolerates.values())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_complaints_say_where(dialect):
    """A complaint has the number of its frame, and words."""
    broken = [Frame(b"no JSON"), *written(dialect)]
    first = next(iter(dialect_named(dialect).grammar().check(broken)))

    assert "not_json" == first.rule
    assert str(first) == "frame 0: a message is not a JSON object"


# ---- broken streams ------------------------------------------------------------------------------


def kind_of(frame):
    """What a message is called below: by its name or type, or by what it brings."""
    if frame.data == b"[DONE]":
        return "done"
    value = json.loads(frame.data)
    if frame.name or "type" in value:
        return frame.name or value["type"]
    if "choices" in value:
        if not value["choices"]:
            return "usage"
        (choice,) = value["choices"]
        return "reason" if choice["finish_reason"] else next(iter(choice["delta"]))
    if "candidates" in value:
        (candidate,) = value["candidates"]
        return "last" if "finishReason" in candidate else next(iter(candidate["content"]["parts"][0]))  # fmt: skip
    said = [name for name, content in value.get("message", {}).items() if content]
    return "last" if value.get("done") else said[-1]


def place_of(frames, kind, nth):
    return [number for number, frame in enumerate(frames) if kind_of(frame) == kind][nth]


def drop(frames, kind, nth=0):
    del frames[place_of(frames, kind, nth)]


def again(frames, kind, nth=0):
    at = place_of(frames, kind, nth)
    frames.insert(at, frames[at])


def move(frames, kind, to, nth=0):
    frame = frames.pop(place_of(frames, kind, nth))
    frames.insert(to if to >= 0 else len(frames) + 1 + to, frame)


def change(frames, kind, path, value, nth=0):
    at = place_of(frames, kind, nth)
    message = json.loads(frames[at].data)
    *steps, last = path
    target = message
    for step in steps:
        target = target[step]
    if value is None:
        del target[last]
    else:
        target[last] = value
    frames[at] = Frame(json.dumps(message).encode(), frames[at].name, frames[at].failed)


def rename(frames, kind, name):
    at = place_of(frames, kind, 0)
    frames[at] = Frame(frames[at].data, name)


def cut(frames, count):
    del frames[-count:]


DROP, AGAIN, MOVE, CHANGE = (partial(partial, what) for what in (drop, again, move, change))
RENAME, CUT = partial(partial, rename), partial(partial, cut)
BLOCK = "content_block"
CHOICE = ("choices", 0)
CALL = (*CHOICE, "delta", "tool_calls", 0)
PART = ("candidates", 0, "content", "parts", 0)

CHAT = [
    ("no role", DROP(kind="role"), "no_role"),
    ("role twice", AGAIN(kind="role"), "second_role"),
    ("role of another", CHANGE(kind="role", path=(*CHOICE, "delta", "role"), value="user"), "role"),
    ("no index", CHANGE(kind="content", path=(*CHOICE, "index"), value=None), "members"),
    ("another id", CHANGE(kind="content", path=("id",), value="other"), "changed"),
    ("another time", CHANGE(kind="content", path=("created",), value=7), "created"),
    ("whole object", CHANGE(kind="content", path=("object",), value="chat.completion"), "object"),
    ("unknown reason", CHANGE(kind="reason", path=(*CHOICE, "finish_reason"), value="end_turn"), "word"),
    ("reason twice", AGAIN(kind="reason"), "second_reason"),
    ("no [DONE]", DROP(kind="done"), "no_done"),
    ("text behind [DONE]", MOVE(kind="content", to=-1), "after_done"),
    ("early [DONE]", MOVE(kind="done", to=1), "early_done"),
]  # fmt: skip
BROKEN = {
    "anthropic": [
        ("no start", DROP(kind="message_start"), "no_start"),
        ("start twice", AGAIN(kind="message_start"), "second_start"),
        ("two open blocks", DROP(kind=f"{BLOCK}_stop"), "two_open"),
        ("open at the end", DROP(kind=f"{BLOCK}_stop", nth=-1), "unstopped"),
        ("wrong index", CHANGE(kind=f"{BLOCK}_start", path=("index",), value=1), "index"),
        ("delta of another block", CHANGE(kind=f"{BLOCK}_delta", path=("index",), value=3), "not_open"),
        ("delta without a block", DROP(kind=f"{BLOCK}_start"), "not_open"),
        ("delta of another type", CHANGE(kind=f"{BLOCK}_delta", path=("delta",), value={"type": "text_delta", "text": "x"}), "delta"),
        ("signature first", MOVE(kind=f"{BLOCK}_delta", to=3, nth=1), "after_signature"),
        ("text in the start", CHANGE(kind=f"{BLOCK}_start", path=(BLOCK, "text"), value="x", nth=1), "begun"),
        ("call without a name", CHANGE(kind=f"{BLOCK}_start", path=(BLOCK, "name"), value=None, nth=2), "members"),
        ("arguments that are text", CHANGE(kind=f"{BLOCK}_delta", path=("delta", "partial_json"), value="x", nth=3), "arguments"),
        ("stop twice", AGAIN(kind=f"{BLOCK}_stop"), "not_open"),
        ("message_delta twice", AGAIN(kind="message_delta"), "second_reason"),
        ("no message_delta", DROP(kind="message_delta"), "no_message_delta"),
        ("no stop_reason", CHANGE(kind="message_delta", path=("delta", "stop_reason"), value=None), "no_reason"),
        ("no usage", CHANGE(kind="message_delta", path=("usage",), value=None), "usage"),
        ("no usage at the start", CHANGE(kind="message_start", path=("message", "usage"), value={}), "usage"),
        ("content at the start", CHANGE(kind="message_start", path=("message", "content"), value=[{}]), "head"),
        ("no message_stop", DROP(kind="message_stop"), "no_end"),
        ("block behind message_delta", MOVE(kind="message_delta", to=1), "late_block"),
        ("text behind the end", MOVE(kind=f"{BLOCK}_delta", to=-1), "after_end"),
        ("another name", RENAME(kind=f"{BLOCK}_delta", name="delta"), "event_name"),
        ("unknown event", CHANGE(kind=f"{BLOCK}_delta", path=("type",), value="delta"), "unknown_event"),
        ("[DONE]", lambda frames: frames.append(Frame(b"[DONE]")), "done"),
    ],
    "openai-chat": [
        *CHAT,
        ("text behind the reason", MOVE(kind="reason", to=1), "after_reason"),
        ("content that is a list", CHANGE(kind="content", path=(*CHOICE, "delta", "content"), value=["x"]), "content"),
        ("call without a start", DROP(kind="tool_calls"), "members"),
        ("call begins again", AGAIN(kind="tool_calls"), "call_again"),
        ("wrong index of a call", CHANGE(kind="tool_calls", path=(*CALL, "index"), value=1), "call_index"),
        ("call without an id", CHANGE(kind="tool_calls", path=(*CALL, "id"), value=None), "members"),
        ("text behind the usage", MOVE(kind="content", to=-2), "after_usage"),
        ("usage before the reason", MOVE(kind="usage", to=1), "usage_place"),
        ("cut off", CUT(count=3), "no_end"),
        ("usage without counts", CHANGE(kind="usage", path=("usage",), value={"x": 1}), "usage"),
        ("nothing in a chunk", CHANGE(kind="usage", path=("usage",), value=None), "no_choices"),
        ("no reason", DROP(kind="reason"), "no_reason"),
    ],
    "mistral": [
        *CHAT,
        ("chunk of another type", CHANGE(kind="content", path=(*CHOICE, "delta", "content"), value=[{"type": "x"}]), "content"),
        ("call in pieces", AGAIN(kind="content", nth=-1), "call_again"),
        ("cut off", CUT(count=2), "no_end"),
        ("usage without counts", CHANGE(kind="reason", path=("usage",), value={"x": 1}), "usage"),
        ("usage elsewhere", CHANGE(kind="content", path=("usage",), value={"prompt_tokens": 1}), "usage_place"),
    ],
    "openai-responses": [
        ("no created", DROP(kind="response.created"), "order"),
        ("no in_progress", DROP(kind="response.in_progress"), "no_start"),
        ("number left out", DROP(kind="response.output_text.delta"), "sequence"),
        ("item not added", DROP(kind="response.output_item.added"), "not_open"),
        ("item not done", DROP(kind="response.output_item.done"), "two_items"),
        ("last item not done", DROP(kind="response.output_item.done", nth=-1), "unstopped"),
        ("changed item id", CHANGE(kind="response.output_text.delta", path=("item_id",), value="x"), "item_id"),
        ("changed id when done", CHANGE(kind="response.output_item.done", path=("item", "id"), value="x"), "item_id"),
        ("wrong output_index", CHANGE(kind="response.output_text.delta", path=("output_index",), value=0), "not_open"),
        ("wrong index of an item", CHANGE(kind="response.output_item.added", path=("output_index",), value=1), "index"),
        ("output at the start", CHANGE(kind="response.created", path=("response", "output"), value=[{}]), "head"),
        ("an id twice", CHANGE(kind="response.output_item.added", path=("item", "id"), value="rs_id_1_0", nth=1), "id_again"),
        ("an item filled", CHANGE(kind="response.output_item.added", path=("item", "content"), value=[{}], nth=1), "begun"),
        ("an entry filled", CHANGE(kind="response.content_part.added", path=("part", "text"), value="x"), "begun"),
        ("entry twice", AGAIN(kind="response.content_part.added"), "two_open"),
        ("wrong index of an entry", CHANGE(kind="response.content_part.added", path=("content_index",), value=1), "entry_index"),
        ("text done twice", AGAIN(kind="response.output_text.done"), "after_text"),
        ("done as something else", CHANGE(kind="response.output_item.done", path=("item", "type"), value="message"), "item_type"),
        ("entry not added", DROP(kind="response.content_part.added"), "not_open"),
        ("entry not done", DROP(kind="response.content_part.done"), "unstopped"),
        ("summary not added", DROP(kind="response.reasoning_summary_part.added"), "not_open"),
        ("wrong summary_index", CHANGE(kind="response.reasoning_summary_text.delta", path=("summary_index",), value=1), "not_open"),
        ("text not done", DROP(kind="response.output_text.done"), "unstopped"),
        ("another text when done", CHANGE(kind="response.output_text.done", path=("text",), value="x"), "text"),
        ("another text in the entry", CHANGE(kind="response.content_part.done", path=("part", "text"), value="x"), "text"),
        ("another text in the item", CHANGE(kind="response.output_item.done", path=("item", "content"), value=[], nth=1), "text"),
        ("arguments not done", DROP(kind="response.function_call_arguments.done"), "unstopped"),
        ("other arguments", CHANGE(kind="response.function_call_arguments.done", path=("arguments",), value="{}"), "text"),
        ("text of reasoning in a message", CHANGE(kind="response.output_text.delta", path=("type",), value="response.reasoning_text.delta"), "delta"),
        ("call without call_id", CHANGE(kind="response.output_item.added", path=("item", "call_id"), value=None, nth=2), "members"),
        ("item missing at the end", CHANGE(kind="response.completed", path=("response", "output"), value=[]), "output"),
        ("another id at the end", CHANGE(kind="response.completed", path=("response", "output", 0, "id"), value="x"), "last_id"),
        ("another item at the end", CHANGE(kind="response.completed", path=("response", "output", 1, "status"), value="x"), "output_item"),
        ("another status", CHANGE(kind="response.completed", path=("response", "status"), value="failed"), "status"),
        ("another response", CHANGE(kind="response.completed", path=("response", "id"), value="x"), "response_id"),
        ("no details of the usage", CHANGE(kind="response.completed", path=("response", "usage", "output_tokens_details"), value=None), "usage"),
        ("no end", DROP(kind="response.completed"), "no_end"),
        ("text behind the end", MOVE(kind="response.output_text.delta", to=-1), "after_end"),
        ("another name", RENAME(kind="response.output_text.delta", name=None), "event_name"),
        ("unknown event", CHANGE(kind="response.output_text.delta", path=("type",), value="response.x.delta"), "unknown_event"),
        ("[DONE]", lambda frames: frames.append(Frame(b"[DONE]")), "done"),
    ],
    "gemini-interactions": [
        ("no created", DROP(kind="interaction.created"), "no_start"),
        ("created twice", AGAIN(kind="interaction.created"), "order"),
        ("ended as it began", CHANGE(kind="interaction.completed", path=("interaction", "status"), value="in_progress"), "status"),
        ("another interaction", CHANGE(kind="interaction.completed", path=("interaction", "id"), value="x"), "changed"),
        ("another interaction in between", CHANGE(kind="interaction.status_update", path=("interaction_id",), value="x"), "changed"),
        ("interaction without an id", CHANGE(kind="interaction.created", path=("interaction", "id"), value=None), "members"),
        ("no counts of thoughts", CHANGE(kind="interaction.completed", path=("interaction", "usage", "total_thought_tokens"), value=None), "usage"),
        ("step not started", DROP(kind="step.start"), "not_open"),
        ("step not stopped", DROP(kind="step.stop"), "two_open"),
        ("last step not stopped", DROP(kind="step.stop", nth=-1), "unstopped"),
        ("wrong index of a step", CHANGE(kind="step.start", path=("index",), value=7), "index"),
        ("wrong index of a delta", CHANGE(kind="step.delta", path=("index",), value=7), "not_open"),
        ("call without an id", CHANGE(kind="step.start", path=("step", "id"), value=None, nth=2), "members"),
        ("call with its arguments", CHANGE(kind="step.start", path=("step", "arguments"), value={"city": "x"}, nth=2), "begun"),
        ("text in a thought", CHANGE(kind="step.delta", path=("delta",), value={"type": "text", "text": "x"}), "delta"),
        ("summary without its content", CHANGE(kind="step.delta", path=("delta", "content"), value="x"), "members"),
        ("empty signature", CHANGE(kind="step.delta", path=("delta", "signature"), value="", nth=1), "seal"),
        ("no end", DROP(kind="interaction.completed"), "no_end"),
        ("text behind the end", MOVE(kind="step.delta", to=-2), "after_end"),
        ("another name", RENAME(kind="step.delta", name=None), "event_name"),
        ("unknown event", CHANGE(kind="step.delta", path=("event_type",), value="step.x"), "unknown_event"),
        ("no [DONE]", DROP(kind="done"), "no_done"),
    ],
    "gemini": [
        ("no reason", CHANGE(kind="last", path=("candidates", 0, "finishReason"), value=None), "no_end"),
        ("no counts at the end", lambda frames: frames.insert(0, drop_counts(frames)), "usage"),
        ("text behind the end", MOVE(kind="text", to=-1), "after_end"),
        ("no candidates", CHANGE(kind="text", path=("candidates",), value=[]), "members"),
        ("another role", CHANGE(kind="text", path=("candidates", 0, "content", "role"), value="user"), "role"),
        ("no parts in the list", CHANGE(kind="text", path=("candidates", 0, "content", "parts"), value=[]), "parts"),
        ("part of another dialect", CHANGE(kind="text", path=PART, value={"type": "text"}), "part"),
        ("two things in a part", CHANGE(kind="functionCall", path=(*PART, "text"), value="x"), "part"),
        ("text that is a number", CHANGE(kind="text", path=(*PART, "text"), value=7), "part"),
        ("empty signature", CHANGE(kind="text", path=(*PART, "thoughtSignature"), value=""), "part"),
        ("call in pieces", CHANGE(kind="functionCall", path=(*PART, "functionCall", "willContinue"), value=True), "partial_call"),
        ("call without a name", CHANGE(kind="functionCall", path=(*PART, "functionCall", "name"), value=None), "partial_call"),
        ("arguments that are text", CHANGE(kind="functionCall", path=(*PART, "functionCall", "args"), value="{}"), "arguments"),
        ("another response", CHANGE(kind="text", path=("responseId",), value="x", nth=1), "changed"),
        ("a named event", RENAME(kind="text", name="text"), "event_name"),
        ("[DONE]", lambda frames: frames.append(Frame(b"[DONE]")), "done"),
    ],
    "bedrock-converse": [
        ("no start", DROP(kind="messageStart"), "no_start"),
        ("start twice", AGAIN(kind="messageStart"), "second_start"),
        ("another role", CHANGE(kind="messageStart", path=("role",), value="user"), "role"),
        ("two open blocks", DROP(kind="contentBlockStop"), "two_open"),
        ("open at the end", DROP(kind="contentBlockStop", nth=-1), "unstopped"),
        ("wrong index", CHANGE(kind="contentBlockStart", path=("contentBlockIndex",), value=1), "index"),
        ("call without a start", DROP(kind="contentBlockStart"), "no_block_start"),
        ("start of a text", CHANGE(kind="contentBlockStart", path=("start",), value={"text": {}}), "start"),
        ("call without a name", CHANGE(kind="contentBlockStart", path=("start", "toolUse", "name"), value=None), "members"),
        ("delta of another kind", CHANGE(kind="contentBlockDelta", path=("delta",), value={"text": "x"}, nth=1), "delta"),
        ("two things in a delta", CHANGE(kind="contentBlockDelta", path=("delta", "text"), value="x"), "delta"),
        ("signature first", MOVE(kind="contentBlockDelta", to=1, nth=1), "after_signature"),
        ("arguments that are text", CHANGE(kind="contentBlockDelta", path=("delta", "toolUse", "input"), value="x", nth=-1), "arguments"),
        ("stop twice", AGAIN(kind="contentBlockStop"), "not_open"),
        ("no messageStop", DROP(kind="messageStop"), "early_metadata"),
        ("messageStop twice", AGAIN(kind="messageStop"), "second_reason"),
        ("block behind messageStop", MOVE(kind="messageStop", to=1), "late_block"),
        ("no metadata", DROP(kind="metadata"), "no_end"),
        ("no counts", CHANGE(kind="metadata", path=("usage", "totalTokens"), value=None), "usage"),
        ("text behind the end", MOVE(kind="contentBlockDelta", to=-1), "after_end"),
        ("unknown event", RENAME(kind="contentBlockDelta", name="delta"), "unknown_event"),
    ],
    "ollama": [
        ("no last line", DROP(kind="last"), "no_end"),
        ("last line twice", AGAIN(kind="last"), "after_end"),
        ("no reason", CHANGE(kind="last", path=("done_reason",), value=None), "members"),
        ("early reason", CHANGE(kind="content", path=("done_reason",), value="stop"), "early_reason"),
        ("early counts", CHANGE(kind="content", path=("eval_count",), value=1), "usage_place"),
        ("no counts but words", CHANGE(kind="last", path=("eval_count",), value="many"), "usage"),
        ("a named line", RENAME(kind="content", name="x"), "event_name"),
        ("no role", CHANGE(kind="content", path=("message", "role"), value=None), "role"),
        ("no content", CHANGE(kind="content", path=("message", "content"), value=None), "members"),
        ("no model", CHANGE(kind="content", path=("model",), value=None), "members"),
        ("another model", CHANGE(kind="content", path=("model",), value="x"), "changed"),
        ("arguments that are text", CHANGE(kind="tool_calls", path=("message", "tool_calls", 0, "function", "arguments"), value="{}"), "members"),
        ("[DONE]", lambda frames: frames.append(Frame(b"[DONE]")), "done"),
    ],
    "cohere": [
        ("no start", DROP(kind="message-start"), "no_start"),
        ("start twice", AGAIN(kind="message-start"), "second_start"),
        ("another role", CHANGE(kind="message-start", path=("delta", "message", "role"), value="user"), "role"),
        ("two open contents", DROP(kind="content-end"), "two_open"),
        ("open at the end", DROP(kind="tool-call-end", nth=-1), "unstopped"),
        ("wrong index", CHANGE(kind="content-start", path=("index",), value=1), "index"),
        ("delta without a start", DROP(kind="tool-call-start"), "not_open"),
        ("delta of another kind", CHANGE(kind="content-delta", path=("delta", "message", "content"), value={"text": "x"}), "members"),
        ("content of another type", CHANGE(kind="content-start", path=("delta", "message", "content", "type"), value="x"), "content"),
        ("call without an id", CHANGE(kind="tool-call-start", path=("delta", "message", "tool_calls", "id"), value=None), "members"),
        ("no end", DROP(kind="message-end"), "no_end"),
        ("unknown reason", CHANGE(kind="message-end", path=("delta", "finish_reason"), value="stop"), "word"),
        ("text behind the end", MOVE(kind="content-delta", to=-2), "after_end"),
        ("no [DONE]", DROP(kind="done"), "no_done"),
        ("another name", RENAME(kind="content-delta", name=None), "event_name"),
        ("unknown event", CHANGE(kind="content-delta", path=("type",), value="x-delta"), "unknown_event"),
    ],
}  # fmt: skip


def drop_counts(frames):
    """Counts in the first message of a stream and none in the last; gives the first."""
    change(frames, "last", ("usageMetadata",), None)
    change(frames, "text", ("usageMetadata",), {"totalTokenCount": 3})
    return frames.pop(0)


CASES = [
    pytest.param(dialect, breaking, rule, id=f"{dialect}-{name}")
    for dialect, rows in BROKEN.items()
    for name, breaking, rule in rows
]


@pytest.mark.parametrize(("dialect", "breaking", "rule"), CASES)
def test_broken_streams_are_found(dialect, breaking, rule):
    frames = written(dialect)
    breaking(frames)

    assert rule in rules_broken(dialect, frames)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_missing_or_repeated_frame_is_found(dialect):
    """Whichever frame is lost or comes twice, something is said, unless it is a piece of a text."""
    frames = written(dialect)
    pieces = {"content", "text", "tool_calls", "reasoning_content", "thinking", "functionCall"}
    pieces |= {
        "content_block_delta",
        "contentBlockDelta",
        "content-delta",
        "tool-call-delta",
        "reasoning_details",
        "step.delta",
    }
    optional = {"usage", "ping", "response.in_progress", "interaction.status_update", *pieces}
    for number, frame in enumerate(frames):
        if kind_of(frame) in optional:
            continue
        assert rules_broken(dialect, [*frames[:number], *frames[number + 1 :]]), kind_of(frame)
        assert rules_broken(dialect, [*frames[: number + 1], *frames[number:]]), kind_of(frame)


def rules_in(path):
    """The names of all rules that a module states."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "").endswith("expect"):
            match node.args:
                case [_, ast.Constant(value=str(rule)), _]:
                    yield rule


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_rule_has_a_stream_that_breaks_it(dialect):
    """A rule that nothing breaks may be one that is never looked at."""
    folder = Path(iv.__file__).parent / "wire" / dialect_named(dialect).folder
    rules = {rule for path in folder.glob("*grammar.py") for rule in rules_in(path)}
    rules |= set(dialect_named(dialect).grammar.tolerates) - {"no_done_after_error"}

    assert set() == rules - {rule for _, _, rule in BROKEN[dialect]}
