"""A model name as litellm writes it -> the provider (litellm's name), the model, and our host id.

`provider/model` is split at the first slash if the prefix is a provider. A name without a prefix belongs to the provider it is
registered with in `model_cost`, or else to the first provider whose naming pattern it matches.
"""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Required
from urllib.parse import urlsplit

from innervoice.bridges.litellm.content_types import TypedDict
from innervoice.bridges.litellm.errors import BadRequestError
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.types.llms.openai import (
    ChatCompletionToolCallChunk,
    ChatCompletionUsageBlock,
)
from innervoice.catalog.lookup import all_hosts, dialect_at, host_of, is_served, model_row_of

__all__ = [
    "PROVIDERS",
    "TWO_DIALECTS",
    "CostPerToken",
    "GenericStreamingChunk",
    "LlmProviders",
    "ModelInfo",
    "ResolvedModel",
    "get_llm_provider",
    "provider_list",
    "resolve_model",
]

PROVIDERS: dict[str, str] = {
    "anthropic_text": "anthropic",
    "azure_ai": "azure",
    "azure_text": "azure",
    "bedrock_converse": "bedrock",
    "bedrock_mantle": "bedrock-mantle",
    "cohere_chat": "cohere",
    "custom_openai": "custom",
    "fireworks_ai": "fireworks",
    "github_copilot": "github-copilot",
    "hosted_vllm": "vllm",
    "litellm_proxy": "custom",
    "llamafile": "llamacpp",
    "lm_studio": "lmstudio",
    "nvidia_nim": "nvidia",
    "ollama_chat": "ollama",
    "openai_like": "custom",
    "text-completion-openai": "openai",
    "together_ai": "together",
    "vercel_ai_gateway": "vercel",
    "vertex_ai": "vertex",
    "vertex_ai_beta": "vertex",
}
"""litellm's provider names that differ from our host ids."""

_BARE: tuple[tuple[str, str], ...] = (
    ("ft:*", "openai"),
    ("gpt-*", "openai"),
    ("chatgpt-*", "openai"),
    ("codex-*", "openai"),
    ("o[1345]", "openai"),
    ("o[1345]-*", "openai"),
    ("claude-*", "anthropic"),
    ("gemini-*", "vertex_ai"),
    ("anthropic.*", "bedrock"),
    ("*.anthropic.*", "bedrock"),
    ("amazon.*", "bedrock"),
    ("*.amazon.*", "bedrock"),
    ("meta.llama*", "bedrock"),
    ("*.meta.llama*", "bedrock"),
    ("mistral.*", "bedrock"),
    ("deepseek.*", "bedrock"),
    ("cohere.command*", "bedrock"),
    ("qwen.*", "bedrock"),
    ("moonshot.*", "bedrock"),
)
"""The provider of a name without a prefix, by the first matching pattern."""

TWO_DIALECTS = ("openai", "azure", "xai")
"""Hosts whose default dialect is Responses and which also support chat completions."""
_OPENAI_HOSTS = ("openai.com", "openai.azure.com")
_RESPONSES = "responses/"
_APIS: dict[tuple[str, str], str] = {
    ("bedrock", "converse/"): "bedrock",
    ("bedrock", "converse_like/"): "bedrock",
    ("bedrock", "invoke/"): "bedrock-invoke",
    ("watsonx", "deployment/"): "watsonx-deployment",
}
"""A host and how a model name begins there, where litellm lets it choose an API -> the host with that API."""


class ResolvedModel(NamedTuple):
    """A model and the provider that serves it."""

    provider: str
    """litellm's name for the provider."""
    model: str
    """The model name as the host spells it."""
    host: str | None
    """Our host id; None for a provider without a row in hosts.toml."""
    responses: bool = False
    """Whether the name asks for the Responses API."""

    def dialect(self, *, chat: bool = False) -> str:
        """The dialect to send; `chat` says that the request has parameters that only chat completions supports."""
        host = host_of(self.host or "custom")
        usual = dialect_at(host, self.model) if host else "openai-chat"
        if self.host not in TWO_DIALECTS:
            return usual
        # Reasoning models keep reasoning across turns only in Responses; for other models chat supports more parameters.
        row = model_row_of(self.model, self.host, usual)
        reasons = row is not None and not row.guess and row.control != "none"
        return usual if (reasons or self.responses) and not chat else "openai-chat"


def resolve_model(
    model: str, provider: str | None = None, api_base: str | None = None
) -> ResolvedModel:
    """The provider and model of a name; raises litellm's `BadRequestError` for a name without a recognizable provider."""
    if not isinstance(model, str) or not model:
        raise _unknown(model)
    head, slash, rest = model.partition("/")
    if provider:
        name = rest if slash and head.lower() == provider.lower() else model
    elif slash and (_host_of(head) is not None or _is_custom(head)):
        provider, name = head, rest
    else:
        provider, name = _bare(model), model
    if provider is None and slash and api_base:
        # litellm has more providers than we do; send OpenAI chat completions to the base URL that was passed.
        provider, name = head, rest
    if provider is None:
        raise _unknown(model)
    host = _host_of(provider)
    if host == "openai" and api_base and not _is_openai_url(api_base) and _is_foreign_model(name):
        host = "custom"
    host, name = _at_api(host, name)
    responses = host in TWO_DIALECTS and name.startswith(_RESPONSES)
    name = name.removeprefix(_RESPONSES) if responses else name
    return ResolvedModel(provider, name, host, responses)


def get_llm_provider(
    model: str,
    custom_llm_provider: str | None = None,
    api_base: str | None = None,
    api_key: str | None = None,
    litellm_params: Any = None,  # noqa: ARG001 - litellm's signature
) -> tuple[str, str, str | None, str | None]:
    """The model name, its provider, and the API key and base URL that were passed."""
    resolved = resolve_model(model, custom_llm_provider, api_base)
    return resolved.model, resolved.provider, api_key, api_base


def provider_list() -> list[str]:
    """All supported providers, by litellm's names and by our host ids."""
    return sorted({*PROVIDERS, *(host.id for host in all_hosts())})


def _host_of(provider: str) -> str | None:
    host = host_of(PROVIDERS.get(provider.lower(), provider))
    return host.id if host else None


def _at_api(host: str | None, model: str) -> tuple[str | None, str]:
    """The host with the API that a name asks for, and the name without that; Converse for families whose InvokeModel we do not have."""
    for (name_here, prefix), other in _APIS.items():
        if host == name_here and model.startswith(prefix):
            name = model.removeprefix(prefix)
            row = host_of(other)
            return (other if row and is_served(name, row) else host), name
    return host, model


def _is_custom(provider: str) -> bool:
    """Whether a program registered this provider itself."""
    return any(entry["provider"] == provider for entry in flag("custom_provider_map") or ())


def _bare(model: str) -> str | None:
    entry = flag("model_cost").get(model)
    registered = entry.get("litellm_provider") if isinstance(entry, dict) else None
    if isinstance(registered, str) and registered:
        return registered
    lowered = model.lower()
    return next((provider for pattern, provider in _BARE if fnmatchcase(lowered, pattern)), None)


def _is_openai_url(api_base: str) -> bool:
    return (urlsplit(api_base).hostname or "").endswith(_OPENAI_HOSTS)


def _is_foreign_model(model: str) -> bool:
    """Whether a name is not an OpenAI model, so that another server with OpenAI's API is assumed."""
    row = model_row_of(model, "openai", "openai-responses")
    return row is None or row.guess


def _unknown(model: Any) -> BadRequestError:
    text = (
        "LLM Provider NOT provided. Pass in the LLM provider you are trying to call."
        f" You passed model={model}. Write it as 'provider/model', for example 'anthropic/claude-opus-5-5'"
    )
    return BadRequestError(text, model, "")


# ---- Types about providers and models that programs import from `litellm.types.utils`.


# The members are data, which mypy cannot see.
LlmProviders = Enum(  # type: ignore[misc]
    "LlmProviders",
    {name.upper().replace("-", "_"): name for name in provider_list()},
    type=str,
    module=__name__,
)


class CostPerToken(TypedDict, total=False):
    """Prices in dollars per token."""

    input_cost_per_token: Required[float]
    output_cost_per_token: Required[float]
    cache_read_input_token_cost: float
    cache_creation_input_token_cost: float


class ModelInfo(TypedDict, total=False):
    """A result of `get_model_info`; it has more members than these."""

    key: Required[str]
    max_tokens: Required[int | None]
    max_input_tokens: Required[int | None]
    max_output_tokens: Required[int | None]
    input_cost_per_token: Required[float | None]
    output_cost_per_token: Required[float | None]
    litellm_provider: Required[str | None]
    mode: Required[str | None]
    supported_openai_params: Required[list[str] | None]
    supports_vision: bool | None
    supports_function_calling: bool | None
    supports_response_schema: bool | None
    supports_reasoning: bool | None
    supports_prompt_caching: bool | None


class GenericStreamingChunk(TypedDict, total=False):
    """A chunk of your own provider (`CustomLLM`)."""

    text: Required[str]
    tool_use: ChatCompletionToolCallChunk | None
    is_finished: Required[bool]
    finish_reason: Required[str]
    usage: Required[ChatCompletionUsageBlock | None]
    index: int
    provider_specific_fields: dict[str, Any] | None
