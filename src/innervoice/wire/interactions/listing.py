"""What the Interactions API says of models; the words for one that it does not have are ours."""

from __future__ import annotations

from innervoice.wire.gemini.listing import model_card, model_list
from innervoice.wire.refusals import Refusal

__all__ = ["NO_MODEL", "UNKNOWN_MODEL", "model_card", "model_list"]

NO_MODEL = Refusal(text="Invalid input at 'model'.")
UNKNOWN_MODEL = Refusal(text="models/{model} was not found.", status=404)
