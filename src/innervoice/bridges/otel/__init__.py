"""OpenTelemetry: requests and responses as attributes of spans, in the GenAI vocabulary or in OpenInference's.

    request, response ──► genai, openinference: plain dicts, without dependencies ──► spans: emitted around a client

Message content is left out unless it is switched on; signatures, encrypted reasoning and keys are always left out.
"""

from innervoice.bridges.otel.genai import (
    content_attributes,
    input_messages,
    openinference_attributes,
    output_messages,
    request_attributes,
    response_attributes,
)
from innervoice.bridges.otel.traced import instrument

__all__ = [
    "content_attributes",
    "input_messages",
    "instrument",
    "openinference_attributes",
    "output_messages",
    "request_attributes",
    "response_attributes",
]
