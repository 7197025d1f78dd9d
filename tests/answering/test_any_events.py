"""Any events that a decoder can give, written in every dialect: a legal stream that says the same."""

import json
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.origin import Markup, Origin
from innervoice.frames.sniff import AnyFraming
from innervoice.inline.marks import SettledPlace
from innervoice.wire.dialects import DIALECTS, dialect_named

SEALS = {"sealed": lambda part: "c2VhbA==", "plain": None}
# Not "error": where the model failed and said nothing, dialects differ in whether that is an answer.
REASONS = ("stop", "length", "tool_calls", "content_filter", "refusal", "pause", None)
USAGE = iv.Usage(input_tokens=5, output_tokens=4, reasoning_tokens=1)

# ---- events --------------------------------------------------------------------------------------

PIECES = st.lists(st.text(alphabet='ab \n.<{"🙂', min_size=1, max_size=5), max_size=4)
ARGUMENTS = st.sampled_from(
    [
        "",
        "{}",
        '{"a": 1}',
        '{"city": "Köln"}',
        ' {"a": [1, "}"]}',
        '{"cut": "of',
        "free text",
        "[1]",
    ]
)
CUSTOM = Origin(dialect="openai-responses", block={"type": "custom_tool_call"})


@dataclass
class Plan:
    """A part that is to come: its beginning, its text in pieces, and how it ends."""

    begun: iv.Part | None
    kind: str
    pieces: list[str]
    complete: bool = True
    name: str = ""
    whole: iv.Part | None = None
    came: list[str] = field(default_factory=list)

    def delta(self, index, text):
        self.came.append(text)
        kinds = {"text": iv.TextDelta, "thinking": iv.ThinkingDelta, "tool_call": iv.ToolCallDelta}
        return kinds[self.kind](index, text)

    def ended(self):
        text = "".join(self.came)
        match self.begun:
            case iv.ToolCall(id=call_id, origin=origin):
                if origin:
                    call = {"id": "ctc_1", "call_id": call_id, "name": self.name, "input": text}
                    origin = origin.replace(block={**origin.block, **call})
                return iv.ToolCall(call_id, self.name, text, self.complete, origin)
            case iv.Thinking(form=form, origin=origin):
                shown = form if text else "hidden"
                return iv.Thinking(text, shown, self.complete, origin)
            case iv.Text(origin=origin):
                return iv.Text(text, self.complete, origin)
        return self.whole


@st.composite
def plans(draw, number):
    kind = draw(st.sampled_from(["text", "thinking", "tool_call", "text", "thinking", "other"]))
    complete = draw(st.booleans())
    if kind == "text":
        return Plan(iv.Text("", complete=False), kind, draw(PIECES), complete)
    if kind == "thinking":
        begun = iv.Thinking("", draw(st.sampled_from(["full", "summary"])), complete=False)
        return Plan(begun, kind, draw(PIECES), complete)
    if kind == "tool_call":
        text = draw(ARGUMENTS)
        at = draw(st.integers(0, len(text)))
        named = draw(st.sampled_from(["look_up", "look_up", ""]))
        origin = CUSTOM if text == "free text" and draw(st.booleans()) else None
        begun = iv.ToolCall(f"call_{number}", named, complete=False, origin=origin)
        pieces = [piece for piece in (text[:at], text[at:]) if piece]
        return Plan(begun, kind, pieces, complete, "look_up")
    foreign = Origin(dialect=draw(st.sampled_from(["mcp", *DIALECTS])))
    others = (
        iv.Opaque({"type": "unknown", "text": "a"}, origin=Origin(dialect="mcp")),
        iv.Opaque({"type": "web_search_call"}, origin=Origin(dialect="openai-responses")),
        iv.Media("image/png", "aGk=", origin=foreign),
        iv.Thinking("", "hidden", origin=foreign),
    )
    whole = draw(st.sampled_from(others))
    return Plan(None, whole.type, [], whole=whole)


@st.composite
def answers(draw, *, recasts=True):
    """Events, and with each what is settled."""
    waiting = [draw(plans(number)) for number in range(draw(st.integers(0, 5)))]
    parts: list[Plan] = []
    is_open: list[bool] = []
    events: list[iv.Event] = []
    recast = None  # the number of the event, and what is settled before it
    while waiting or any(is_open):
        moves = ["start"] * bool(waiting) + [n for n, still in enumerate(is_open) if still]
        moves += ["usage", "heartbeat"] if draw(st.integers(0, 9)) == 0 else []
        move = draw(st.sampled_from(moves))
        if recasts and recast is None and draw(st.integers(0, 9)) == 0:
            made = draw(recastings(parts, is_open))
            if made:
                event, settled = made
                recast = (len(events), settled)
                events.append(event)
                continue
        if move == "start":
            plan = waiting.pop(0)
            events.append(iv.PartStart(len(parts), plan.kind, plan.begun))
            parts.append(plan)
            is_open.append(True)
        elif move == "usage":
            events.append(iv.UsageUpdate(USAGE))
        elif move == "heartbeat":
            events.append(iv.Heartbeat())
        elif parts[move].pieces:
            events.append(parts[move].delta(move, parts[move].pieces.pop(0)))
        else:
            events.append(iv.PartEnd(move, parts[move].ended()))
            is_open[move] = False
    bounds = [
        recast[1] if recast and number < recast[0] else None for number in range(len(events) + 1)
    ]
    return [*events, *draw(endings(events))], bounds


@st.composite
def recastings(draw, parts, is_open):
    """A text that turns out to be something else: a `Recast` of the last parts, and the place up to which nothing changes."""
    at = len(parts)
    while at and parts[at - 1].kind in ("text", "thinking") and parts[at - 1].begun:
        at -= 1
    if at == len(parts) or sum(is_open[at:]) > 1 or any(is_open[at:-1]):
        return None
    at = draw(st.integers(at, len(parts) - 1))
    if any(is_open[at:-1]):
        return None
    text = "".join("".join(plan.came) for plan in parts[at:])
    cut = draw(st.integers(0, len(text)))
    goes_on = is_open[-1]
    first = iv.Thinking(text[:cut], origin=Origin(markup=(Markup(0, "<think>"),)))
    if same := draw(st.booleans()):
        first = iv.Text(text[:cut])
    last = draw(st.sampled_from([iv.Text, iv.Thinking]))(text[cut:], complete=not goes_on)
    pieces = parts[-1].pieces
    known = "".join(parts[at].came) if same and parts[at].kind == "text" else ""
    settled = SettledPlace(at, draw(st.integers(0, min(cut, len(known)))))
    begun = last.replace(text="")
    parts[at:] = [
        Plan(first.replace(text=""), first.type, [], came=[first.text]),
        Plan(begun, last.type, pieces, came=[last.text]),
    ]
    is_open[at:] = [False, goes_on]
    return iv.Recast(at, (first, last)), settled


@st.composite
def endings(draw, events):
    """The last event: a `Finish` with all of it, or none."""
    so_far = iv.fold(events)
    if draw(st.integers(0, 5)) == 0:
        return []
    error = iv.Failure(type="overloaded_error", message="busy") if draw(st.integers(0, 7)) == 0 else None  # fmt: skip
    reason = draw(st.sampled_from(REASONS))
    ended = draw(st.integers(0, 5)) > 0 and error is None
    usage = draw(st.sampled_from([USAGE, iv.Usage()]))
    return [iv.Finish(so_far.replace(ended=ended, finish_reason=reason, usage=usage, error=error))]


# ---- what a client gets --------------------------------------------------------------------------


def write(dialect, events, bounds=None, seal=None):
    encoder = iv.StreamEncoder(dialect, "m", seal=seal)
    settled = bounds or [None] * len(events)
    data = [encoder.feed(event, place) for event, place in zip(events, settled, strict=False)]
    return b"".join([*data, encoder.finish()]), encoder


def frames_of(data):
    framing = AnyFraming()
    return [*framing.feed(data), *framing.finish()]


def complaints(dialect, data):
    return [str(found) for found in dialect_named(dialect).grammar().check(frames_of(data))]


def squeezed(text):
    return "".join((text or "").split())


def arguments_of(call):
    try:
        value = json.loads(call.arguments or "{}")
    except ValueError:
        value = call.arguments
    return value if isinstance(value, dict) else {"input": value}


def said(response):
    """What a response says, white space aside: parts that were set apart are not always where they were."""
    return {
        "text": squeezed(response.text),
        "thinking": squeezed(response.thinking),
        "calls": [(call.name, arguments_of(call)) for call in response.tool_calls],
        "interrupted": response.status == "interrupted",
    }


def check_said(came, written):
    """What was written says the same. Of an answer that broke off, no incomplete call is closed, and what would stand behind it is not sent."""
    if came.status != "interrupted" or all(call.complete for call in came.tool_calls):
        assert said(came) == said(written)
        return
    before, behind = said(came), said(written)
    assert behind["interrupted"]
    assert before["text"].startswith(behind["text"])
    assert before["thinking"].startswith(behind["thinking"])
    whole = [(call.name, arguments_of(call)) for call in came.tool_calls if call.complete or is_object(call)]  # fmt: skip
    for call in written.tool_calls:
        assert not call.complete or (call.name, arguments_of(call)) in whole


def is_object(call):
    """Whether a call is whole by its arguments: another part may have ended it before the answer broke off."""
    try:
        return isinstance(json.loads(call.arguments), dict)
    except ValueError:
        return False


def read(dialect, data):
    return iv.fold(iv.decode_stream([data], dialect=dialect, inline="off"))


MANY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("seal", SEALS)
@MANY
@given(answer=answers())
def test_written_streams_are_legal_and_say_the_same(dialect, seal, answer):
    events, bounds = answer
    data, _ = write(dialect, events, bounds, SEALS[seal])

    assert [] == complaints(dialect, data)
    check_said(iv.fold(events), read(dialect, data))


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(answer=answers())
def test_body_says_what_the_stream_says(dialect, answer):
    """A whole answer is its events: what a client folds from the stream is what the body has."""
    events, bounds = answer
    data, encoder = write(dialect, events, bounds)
    streamed = read(dialect, data)
    assume(streamed.status != "interrupted")  # a server answers with an error then, not with a body

    assert said(streamed) == said(iv.decode(encoder.body, dialect=dialect, inline="off"))


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(answer=answers(), source=st.sampled_from(DIALECTS))
def test_streams_of_every_dialect_go_on_in_every_other(dialect, source, answer):
    """Parts with blocks and seals of a dialect, as its decoder gives them, are written in the same and in every other."""
    written, _ = write(source, *answer, SEALS["sealed"])
    events = list(iv.decode_stream([written], dialect=source, inline="off"))
    data, _ = write(dialect, events)

    assert [] == complaints(dialect, data)
    check_said(events[-1].response, read(dialect, data))


TORN = [
    iv.PartStart(0, "thinking", None),
    iv.ThinkingDelta(0, "rea"),
    iv.PartStart(1, "text", None),
    iv.TextDelta(1, "ans"),
    iv.ThinkingDelta(0, "soning"),
    iv.TextDelta(1, "wer"),
    iv.PartEnd(0, iv.Thinking("reasoning")),
    iv.PartEnd(1, iv.Text("answer")),
]


@pytest.mark.parametrize("dialect", ["openai-chat", "ollama"])
def test_fields_are_not_torn(dialect):
    """Where text and reasoning are fields, a piece of one does not set the next of the other apart."""
    response = read(dialect, write(dialect, TORN)[0])

    assert ("reasoning", "answer") == (response.thinking, response.text)


@pytest.mark.parametrize("dialect", DIALECTS)
@MANY
@given(texts=st.lists(st.tuples(st.sampled_from([iv.Text, iv.Thinking]), st.text("a \n.🙂", min_size=1, max_size=4)), max_size=5))  # fmt: skip
def test_white_space_of_parts_in_a_row(dialect, texts):
    """Parts that come one after the other read exactly as they did; blank reasoning beside other reasoning may not."""
    assume(all(kind is iv.Text or text.strip() for kind, text in texts))
    response = iv.Response(parts=tuple(kind(text) for kind, text in texts), ended=True)
    written = read(dialect, write(dialect, [iv.Finish(response)])[0])

    assert (response.text, response.thinking) == (written.text, written.thinking)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_before_a_recast_is_not_repeated(dialect):
    """What was settled before a recast, and is in it, is neither sent nor kept twice."""
    whole = iv.Response(parts=(iv.Text("four"), iv.Text("")), ended=True, finish_reason="stop")
    events = [
        iv.PartStart(0, "text", None),
        iv.TextDelta(0, "fo"),
        iv.TextDelta(0, "ur"),
        iv.Recast(0, (iv.Text("four"), iv.Text("", complete=False))),
        iv.PartEnd(1, iv.Text("")),
        iv.Finish(whole),
    ]
    data, encoder = write(dialect, events, [SettledPlace(0, 1)] * 3 + [None] * 3)

    assert "four" == read(dialect, data).text
    assert "four" == iv.decode(encoder.body, dialect=dialect, inline="off").text
