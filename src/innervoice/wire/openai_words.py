"""How OpenAI refuses the shape of a request, in Chat Completions and in Responses.

The texts follow openai/openai-python 3146, pydantic-ai's recordings and teabranch/open-responses-server 41 (read 2026-11-16).
"""

from __future__ import annotations

from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import quoted
from innervoice.wire.shapes import Misfit, bracketed, type_name

__all__ = ["openai_worded", "unsupported_image"]

_TYPES = {
    "string": "a string", "number": "a decimal", "integer": "an integer", "boolean": "a boolean", "list": "an array",
    "object": "an object", "null": "null",
}  # fmt: skip


def openai_worded(misfit: Misfit) -> Refusal:
    """The refusal for a place where a body differs from its shape."""
    place = bracketed(misfit.path)
    match misfit.what:
        case "unknown":
            text, code = f"Unknown parameter: '{place}'.", "unknown_parameter"
        case "missing" | "untagged":
            text, code = f"Missing required parameter: '{place}'.", "missing_required_parameter"
        case "type":
            wanted = " or ".join(_TYPES[name] for name in misfit.expected)
            several = "one of " if len(misfit.expected) > 1 else ""
            type_here = _TYPES[type_name(misfit.value)]
            text = f"Invalid type for '{place}': expected {several}{wanted}, but got {type_here} instead."
            code = "invalid_type"
        case _:
            supported = quoted(list(misfit.expected))
            text = f"Invalid value: '{str(misfit.value)[:100]}'. Supported values are: {supported}."
            code = "invalid_value"
    return Refusal(text=text, code=code, param=place)


def unsupported_image(place: str) -> Refusal:
    """The refusal of an image whose type the API does not accept."""
    text = (
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
        "['png', 'jpeg', 'gif', 'webp']."
    )
    return Refusal(text=text, code="invalid_image_format", param=place)
