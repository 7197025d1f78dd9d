"""A turn of the model that a client keeps in pieces: google-genai's chat has a content for each piece of a stream, and results without ids."""

import pytest

from gateway.harness import BEHIND, Served
from gateway.witness import Witness

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
