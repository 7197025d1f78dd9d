"""Mistral chat -> canonical events: like other chat hosts, with content that may be a list of chunks."""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.wire.chat.read import ChatReader
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["MistralReader"]


class MistralReader(ChatReader):
    """Reads one completion of Mistral."""

    dialect: ClassVar[str] = "mistral"

    def fail(self, error: Any) -> None:
        """Reads an error; a validation error has a list of details."""
        super().fail(error)
        details = as_list(as_dict(as_dict(error).get("message")).get("detail"))
        texts = [text for entry in details if (text := as_text(as_dict(entry).get("msg")))]
        if texts and self.error and not self.error.message:
            self.error = self.error.replace(message="; ".join(texts))
