"""A turn of the model that a client keeps in pieces: google-genai's chat has a content for each piece of a stream, and results without ids."""

import json

import pytest

from gateway.harness import BEHIND, Served
from gateway.witness import Witness, reasoning_is_back

CITIES = ("Lisbon", "Oslo")
CONTENTS = [
    {"role": "user", "parts": [{"text": "What is the weather in Lisbon and the weather in Oslo?"}]},
    {"role": "model", "parts": [{"text": "Two cities.", "thought": True}]},
    *(
        {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": city}}}]}
        for city in CITIES
    ),
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "get_weather", "response": {"result": f"{city}: {sky}"}}}
            for city, sky in zip(CITIES, ("sunshine", "rain"), strict=True)
        ],
    },
]  # fmt: skip
TOOLS = [{"functionDeclarations": [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]}]  # fmt: skip


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse"])
@pytest.mark.parametrize("behind", BEHIND)
def test_results_belong_to_the_calls_of_all_pieces(behind, verb):
    served = Served(None, Witness())
    body = {"contents": CONTENTS, "tools": TOOLS}
    reply = served.ask("POST", f"/v1beta/models/{BEHIND[behind]}:{verb}", body)

    assert (200, [200]) == (reply.status, served.upstream.statuses), reply.body[:300]
    text = served.upstream.answers[-1].text
    assert all(f"{city}: {sky}" in text for city, sky in zip(CITIES, ("sunshine", "rain"), strict=True))  # fmt: skip
    codes = {note.code for note in served.reports[-1].notes}
    assert not codes & {"result_filled", "result_repeated"}


@pytest.mark.parametrize("store", [None, "off"])
@pytest.mark.parametrize("behind", BEHIND)
def test_a_streamed_chat_goes_on(behind, store):
    """google-genai's chat sends each piece of a stream as a content; Google refuses its second call, which has no signature."""
    served, headers = Served(None, Witness()), {"x-innervoice-store": store} if store else {}
    path = f"/v1beta/models/{BEHIND[behind]}:streamGenerateContent?alt=sse"
    contents = CONTENTS[:1]
    body = {"contents": contents, "tools": TOOLS, "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"}}}  # fmt: skip
    first = served.ask("POST", path, body, headers)
    chunks = [json.loads(line[6:]) for line in first.body.split(b"\n") if line.startswith(b"data: ")]  # fmt: skip
    pieces = [chunk["candidates"][0]["content"] for chunk in chunks]
    served.ask("POST", path, {**body, "contents": [*contents, *pieces, CONTENTS[-1]]}, headers)

    assert [200, 200] == served.upstream.statuses
    assert "Lisbon: sunshine. Oslo: rain." == served.upstream.answers[-1].text
    assert len(pieces) > 3
    assert reasoning_is_back(served.upstream, summaries=False) > 0


@pytest.mark.parametrize("behind", BEHIND)
def test_results_as_the_ai_sdk_writes_them(behind):
    """Its functionResponse has the name of the function once more, beside the content."""
    served = Served(None, Witness())
    results = [{"functionResponse": {"name": "get_weather", "response": {"name": "get_weather", "content": f"{city}: rain"}}} for city in CITIES]  # fmt: skip
    body = {"contents": [*CONTENTS[:-1], {"role": "user", "parts": results}], "tools": TOOLS}
    served.ask("POST", f"/v1beta/models/{BEHIND[behind]}:generateContent", body)

    assert "Lisbon: rain. Oslo: rain." == served.upstream.answers[-1].text
