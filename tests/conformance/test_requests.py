"""Recorded requests that an API accepted: read and written again, they say the same."""

from collections import Counter

import innervoice as iv
from conformance.requests import accepted, differences, in_our_spelling
from shared import SHARED, needs_shared

# Why a body may come back different, by the member that differs; each is a decision.
KNOWN = {
    ".reasoning lost": "the same text was sent in two fields; one is kept",
    ".reasoning_content lost": "a field the host only ignores on that turn, or a second name for it",
    ".id lost": "ids of items mean nothing without store",
    ".include added": "encrypted reasoning is asked for whenever nothing is stored",
    ".reasoning_effort lost": "the host takes another switch",
    ".chat_template_kwargs added": "the host takes another switch",
    ".enable_thinking lost": "the host takes another switch",
    ".reasoning_effort added": "the host takes another switch",
    ".output_config added": "Claude 4.6 is asked by effort; a budget is deprecated there",
    ".thinking": "Claude 4.6 is asked by effort; a budget is deprecated there",
    ".reasoning_config lost": "another name for Claude's thinking at Bedrock",
    ".messages:": "two turns of one role are one",
    ".contents:": "two turns of one role are one",
    ".temperature lost": "refused while it reasons, by the row",
    ".max_": "the limit is written under the name of the row",
    ".content lost": "an empty content",
}


@needs_shared
def test_recorded_requests():
    """Every difference is one that we know and chose."""
    counts: Counter[str] = Counter()
    unknown = []
    for name, exchange in accepted(SHARED / "corpus"):
        request = iv.decode_request(exchange["request_body"], dialect=exchange["dialect"])
        provider = exchange["provider"].split("/")[-1]
        wire = iv.encode(request.replace(model=f"{provider}/{exchange['model']}"))
        sent = in_our_spelling(exchange["request_body"], exchange["dialect"])
        found = list(differences(sent, wire.body))
        counts["equal" if not found else "different"] += 1
        unknown += [(name, why) for why in found if not any(known in why for known in KNOWN)]

    assert [] == unknown
    assert counts["equal"] > 430, counts
