"""OpenTelemetry: requests and responses as attributes of spans, in the GenAI vocabulary or in OpenInference's.

    request, response ──► genai, openinference: plain dicts, which need nothing ──► spans: emitted around a client

Content is off unless it is asked for; seals and keys are in none of it, ever.
"""

from innervoice.bridges.otel.genai import (
    content_attributes,
    input_messages,
    output_messages,
    request_attributes,
    response_attributes,
)
from innervoice.bridges.otel.openinference import openinference_attributes
from innervoice.bridges.otel.spans import instrument

__all__ = [
    "content_attributes",
    "input_messages",
    "instrument",
    "openinference_attributes",
    "output_messages",
    "request_attributes",
    "response_attributes",
]
