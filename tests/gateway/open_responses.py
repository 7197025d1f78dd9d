"""What Open Responses requires of a response and of its events, as data, and the check of them.

After the specification at https://www.openresponses.org and the schema of its repository (read 2026-11-17). A shape maps the names of
members to what they must be: a word for a type, with `?` behind it if null is allowed; a set for an enumeration; a list for a list of one
kind; another shape; a function that finds the shape of a value. A name that ends in `?` may be missing.
"""

import json

__all__ = ["EVENTS", "ITEMS", "events_of", "problems_of_response", "problems_of_stream"]

_TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict}
_STATUS = {"in_progress", "completed", "incomplete"}


def _by_type(shapes):
    def chosen(value):
        kind = value.get("type") if isinstance(value, dict) else None
        return shapes.get(kind, f"one of {sorted(shapes)}")

    return chosen


def _citation(kind):
    return {"type": {kind}, "url": "string", "start_index": "integer", "end_index": "integer", "title": "string"}  # fmt: skip


_LOGPROB = {"token": "string", "logprob": "number", "bytes": ["integer"], "top_logprobs": ["object"]}  # fmt: skip
PARTS = {
    "input_text": {"type": {"input_text"}, "text": "string"},
    "output_text": {"type": {"output_text"}, "text": "string", "annotations": [_by_type({"url_citation": _citation("url_citation")})], "logprobs?": [_LOGPROB]},
    "text": {"type": {"text"}, "text": "string"},
    "summary_text": {"type": {"summary_text"}, "text": "string"},
    "reasoning_text": {"type": {"reasoning_text"}, "text": "string"},
    "refusal": {"type": {"refusal"}, "refusal": "string"},
    "input_image": {"type": {"input_image"}, "image_url": "string?", "detail": {"low", "high", "auto"}},
    "input_file": {"type": {"input_file"}, "filename?": "string", "file_url?": "string"},
    "input_video": {"type": {"input_video"}, "video_url": "string"},
}  # fmt: skip
_PART = _by_type(PARTS)
ITEMS = {
    "message": {
        "type": {"message"}, "id": "string", "status": _STATUS, "role": {"user", "assistant", "system", "developer"}, "content": [_PART],
        "phase?": {"commentary", "final_answer"},
    },
    "function_call": {
        "type": {"function_call"}, "id": "string", "call_id": "string", "name": "string", "arguments": "string", "status": _STATUS,
    },
    "function_call_output": {
        "type": {"function_call_output"}, "id": "string", "call_id": "string", "status": _STATUS,
        "output": lambda value: "string" if isinstance(value, str) else [_PART],
    },
    "reasoning": {
        "type": {"reasoning"}, "id": "string", "summary": [_PART], "content?": [_PART], "encrypted_content?": "string",
    },
    "compaction": {"type": {"compaction"}, "id": "string", "encrypted_content": "string", "created_by?": "string"},
    # OpenAI's own; other kinds of items are allowed, with a type and an id.
    "custom_tool_call": {"type": {"custom_tool_call"}, "id": "string", "call_id": "string", "name": "string", "input": "string"},
}  # fmt: skip
_ITEM = _by_type(ITEMS)
_CHOICES = {"none", "auto", "required"}


def _tool_choice(value):
    if not isinstance(value, dict):
        return _CHOICES
    if value.get("type") == "allowed_tools":
        return {"type": {"allowed_tools"}, "tools": [{"type": {"function"}, "name?": "string"}], "mode": _CHOICES}  # fmt: skip
    return {"type": {"function", "custom"}, "name?": "string"}


_FORMATS = {
    "text": {"type": {"text"}},
    "json_object": {"type": {"json_object"}},
    "json_schema": {"type": {"json_schema"}, "name": "string", "description": "string?", "schema": "object?", "strict": "boolean"},
}  # fmt: skip
_TOOL = {"type": {"function"}, "name": "string", "description": "string?", "parameters": "object?", "strict": "boolean?"}  # fmt: skip
_USAGE = {
    "input_tokens": "integer", "output_tokens": "integer", "total_tokens": "integer",
    "input_tokens_details": {"cached_tokens": "integer"}, "output_tokens_details": {"reasoning_tokens": "integer"},
}  # fmt: skip
RESPONSE = {
    "id": "string", "object": {"response"}, "created_at": "integer", "completed_at": "integer?",
    "status": {"queued", "in_progress", "completed", "incomplete", "failed", "cancelled"},
    "incomplete_details": lambda value: None if value is None else {"reason": "string"},
    "model": "string", "previous_response_id": "string?", "instructions": "string?", "output": [_ITEM],
    "error": lambda value: None if value is None else {"code": "string", "message": "string"},
    "tools": [_TOOL], "tool_choice": _tool_choice, "truncation": {"auto", "disabled"}, "parallel_tool_calls": "boolean",
    "text": {"format": _by_type(_FORMATS), "verbosity?": {"low", "medium", "high"}},
    "top_p": "number", "presence_penalty": "number", "frequency_penalty": "number", "top_logprobs": "integer", "temperature": "number",
    "reasoning": lambda value: None if value is None else {
        "effort": lambda word: None if word is None else {"none", "minimal", "low", "medium", "high", "xhigh"},
        "summary": lambda word: None if word is None else {"concise", "detailed", "auto"},
    },
    "usage": lambda value: None if value is None else _USAGE,
    "max_output_tokens": "integer?", "max_tool_calls": "integer?", "store": "boolean", "background": "boolean",
    "service_tier": "string", "metadata": "object", "safety_identifier": "string?", "prompt_cache_key": "string?", "user": "string?",
}  # fmt: skip

_OF_ITEM = {"item_id": "string", "output_index": "integer"}
_OF_CONTENT = {**_OF_ITEM, "content_index": "integer"}
_OF_SUMMARY = {**_OF_ITEM, "summary_index": "integer"}
_SNAPSHOTS = ("created", "queued", "in_progress", "completed", "failed", "incomplete")
_ADDED_ITEM = {"output_index": "integer", "item": _ITEM}
EVENTS = {
    **{f"response.{name}": {"response": RESPONSE} for name in _SNAPSHOTS},
    "response.output_item.added": _ADDED_ITEM,
    "response.output_item.done": _ADDED_ITEM,
    "response.content_part.added": {**_OF_CONTENT, "part": _PART},
    "response.content_part.done": {**_OF_CONTENT, "part": _PART},
    "response.output_text.delta": {**_OF_CONTENT, "delta": "string", "logprobs?": [_LOGPROB]},
    "response.output_text.done": {**_OF_CONTENT, "text": "string", "logprobs?": [_LOGPROB]},
    "response.refusal.delta": {**_OF_CONTENT, "delta": "string"},
    "response.refusal.done": {**_OF_CONTENT, "refusal": "string"},
    # `response.reasoning.delta` in Open Responses; OpenAI's name is the one that clients know.
    "response.reasoning_text.delta": {**_OF_CONTENT, "delta": "string"},
    "response.reasoning_text.done": {**_OF_CONTENT, "text": "string"},
    "response.reasoning_summary_part.added": {**_OF_SUMMARY, "part": _PART},
    "response.reasoning_summary_part.done": {**_OF_SUMMARY, "part": _PART},
    "response.reasoning_summary_text.delta": {**_OF_SUMMARY, "delta": "string"},
    "response.reasoning_summary_text.done": {**_OF_SUMMARY, "text": "string"},
    "response.output_text.annotation.added": {**_OF_CONTENT, "annotation_index": "integer", "annotation": "object?"},
    "response.function_call_arguments.delta": {**_OF_ITEM, "delta": "string"},
    "response.function_call_arguments.done": {**_OF_ITEM, "arguments": "string"},
    "response.custom_tool_call_input.delta": {**_OF_ITEM, "delta": "string"},
    "response.custom_tool_call_input.done": {**_OF_ITEM, "input": "string"},
    "error": {"error": {"type": "string", "code": "string?", "message": "string", "param": "string?"}},
}  # fmt: skip
_LAST = ("response.completed", "response.failed", "response.incomplete", "error")


def _problems(value, shape, place):
    if callable(shape):
        shape = shape(value)
    if shape is None:
        return
    if isinstance(shape, str):
        yield from _of_type(value, shape, place)
    elif isinstance(shape, set):
        if value not in shape:
            yield f"{place} is {value!r}, not one of {sorted(shape)}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{place} is not a list"
            return
        for number, one in enumerate(value):
            yield from _problems(one, shape[0], f"{place}[{number}]")
    else:
        yield from _of_members(value, shape, place)


def _of_type(value, word, place):
    kind = _TYPES.get(word.rstrip("?"))
    if kind is None:
        yield f"{place} is {value!r}, not {word}"
    elif value is None and word.endswith("?"):
        return
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{place} is {value!r}, not {word}"


def _of_members(value, shape, place):
    if not isinstance(value, dict):
        yield f"{place} is {value!r}, not an object"
        return
    for name, inner in shape.items():
        bare = name.rstrip("?")
        if bare in value:
            yield from _problems(value[bare], inner, f"{place}.{bare}")
        elif bare == name:
            yield f"{place}.{name} is missing"


def problems_of_response(response):
    """What is wrong with a response object."""
    found = list(_problems(response, RESPONSE, "response"))
    if found:
        return found
    status = response["status"]
    if (status == "completed") != (response["completed_at"] is not None):
        found.append(f"completed_at is {response['completed_at']} of a response that is {status}")
    if (status == "incomplete") != (response["incomplete_details"] is not None):
        found.append(f"incomplete_details of a response that is {status}")
    if (status == "failed") != (response["error"] is not None):
        found.append(f"error of a response that is {status}")
    return found


def events_of(body):
    """The events of a stream, and the problems of its frames."""
    events, found = [], []
    for frame in body.decode().replace("\r\n", "\n").split("\n\n"):
        lines = [line for line in frame.split("\n") if line and not line.startswith(":")]
        names = [line[6:].strip() for line in lines if line.startswith("event:")]
        data = "".join(line[5:].strip() for line in lines if line.startswith("data:"))
        if not data or data == "[DONE]":
            continue
        event = json.loads(data)
        if names != [event.get("type")]:
            found.append(f"the frame of {event.get('type')} is named {names}")
        events.append(event)
    return events, found


def problems_of_stream(body):
    """What is wrong with a stream: its events, their numbers, their order, and what they add up to."""
    events, found = events_of(body)
    for number, event in enumerate(events):
        kind = event.get("type")
        if kind not in EVENTS:
            found.append(f"unknown event {kind}")
            continue
        found += _problems(event, EVENTS[kind], kind)
        if event.get("sequence_number") != number:
            found.append(f"{kind} has the number {event.get('sequence_number')}, not {number}")
        if "response" in event:
            found += problems_of_response(event["response"])
    kinds = [event.get("type") for event in events]
    if kinds[:1] != ["response.created"] or not {"response.in_progress", "response.queued"} & set(kinds[:2]):  # fmt: skip
        found.append(f"the stream begins with {kinds[:3]}")
    if not kinds or kinds[-1] not in _LAST or any(kind in _LAST for kind in kinds[:-1]):
        found.append(f"the stream ends with {kinds[-2:]}")
    return found or list(_order(events))


def _order(events):
    """What is wrong with the order of valid events."""
    items, open_item, texts = [], None, {}
    for event in events:
        kind = event["type"]
        if kind == "response.output_item.added":
            if open_item is not None or event["output_index"] != len(items):
                yield f"item {event['output_index']} begins after {len(items)} items"
            open_item, texts = event["item"], {}
        elif kind == "response.output_item.done":
            if open_item is None or event["item"]["id"] != open_item["id"]:
                yield f"item {event['item']['id']} ends, and did not begin"
            items.append(event["item"])
            open_item = None
        elif "item_id" in event:
            if open_item is None or event["item_id"] != open_item["id"]:
                yield f"{kind} is of {event['item_id']}, which is not open"
            if event["output_index"] != len(items):
                yield f"{kind} has the index {event['output_index']}, not {len(items)}"
            yield from _of_piece(event, texts)
    yield from _of_end(events[-1], items)


def _of_end(event, items):
    """What is wrong with the last response: its items are those of the events."""
    last = event.get("response")
    if last is None:
        return
    if [item["id"] for item in last["output"]] != [item["id"] for item in items]:
        yield "the items of the response are not those of the events"
    elif event["type"] != "response.failed":
        for item, done in zip(last["output"], items, strict=True):
            if {**item, "encrypted_content": 0} != {**done, "encrypted_content": 0}:
                yield f"the item {item['id']} differs from the one in its event"


def _of_piece(event, texts):
    """What is wrong with an event inside an item: entries begin before their deltas, and texts are the sum of these."""
    kind = event["type"]
    family = kind.rpartition(".")[0]
    place = (event.get("content_index"), event.get("summary_index"))
    if kind.endswith("part.added"):
        if place in texts:
            yield f"{kind} begins entry {place} twice"
        texts[place] = ""
    elif kind.endswith(".delta"):
        is_entry = place != (None, None)
        if is_entry and place not in texts:
            yield f"{kind} comes before its entry"
        texts[place] = texts.get(place, "") + event["delta"]
    elif kind.endswith(".done") and not family.endswith("part"):
        text = next(event[name] for name in ("text", "refusal", "arguments", "input") if name in event)  # fmt: skip
        sent = texts.get(place, "")
        if text != (sent or ("{}" if "arguments" in event else "")):
            yield f"{kind} says {text!r} after deltas of {sent!r}"
