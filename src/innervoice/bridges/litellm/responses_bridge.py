"""Which models use a Responses API: programs check this before they name a model `<provider>/responses/<model>`."""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.providers import TWO_DIALECTS, resolve_model
from innervoice.errors import InnervoiceError

__all__ = ["ProviderConfigManager", "responses_api_bridge_check"]


class ProviderConfigManager:
    """litellm's registry of providers; here only for Responses APIs."""

    @staticmethod
    def get_provider_responses_api_config(provider: Any, model: str | None = None) -> str | None:
        """The host with a Responses API, None if the provider has none."""
        try:
            host = resolve_model(model or "any", str(getattr(provider, "value", provider))).host
        except InnervoiceError:
            return None
        return host if host in TWO_DIALECTS else None


def responses_api_bridge_check(
    model: str, custom_llm_provider: str, **_: Any
) -> tuple[dict[str, Any], str]:
    """`{"mode": "responses"}` or `{"mode": "chat"}`, and the model without the prefix."""
    target = resolve_model(model, custom_llm_provider)
    mode = "responses" if target.dialect() == "openai-responses" else "chat"
    return {"mode": mode}, target.model
