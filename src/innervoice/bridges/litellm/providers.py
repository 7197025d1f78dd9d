"""A model's name as litellm writes it -> who answers, by litellm's name and by ours.

`provider/model` is split at the first slash if the head is a provider. A bare name goes to the provider it is registered
with in `model_cost`, else to the one whose models are named so.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from innervoice.bridges.litellm.errors import BadRequestError
from innervoice.bridges.litellm.flags import flag
from innervoice.catalog.lookup import all_hosts, dialect_at, host_of, model_row_of

__all__ = [
    "PROVIDERS",
    "TWO_DIALECTS",
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
    "vertex_ai": "vertex",
    "vertex_ai_beta": "vertex",
}
"""litellm's names of providers where they are not among ours."""

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
"""Whose a bare name is, the first pattern that fits."""

TWO_DIALECTS = ("openai", "azure", "xai")
"""Hosts whose usual dialect is Responses, and which speak chat, too."""
_AT_HOME = ("openai.com", "openai.azure.com")
# What litellm lets one say about the road to Bedrock; there is one here.
_BEDROCK_ROADS = ("converse/", "converse_like/", "invoke/")


class ResolvedModel(NamedTuple):
    """Who is asked, for which model."""

    provider: str
    """litellm's name of the provider."""
    model: str
    """The model's name as its host spells it."""
    host: str | None
    """The id of our row for the host; None if we have none."""

    def dialect(self, *, chat: bool = False) -> str:
        """The dialect to ask in; `chat` says that something is asked for which only chat can say."""
        host = host_of(self.host or "custom")
        usual = dialect_at(host, self.model) if host else "openai-chat"
        if self.host not in TWO_DIALECTS:
            return usual
        # Models that reason keep their reasoning over turns in Responses alone; for the others chat takes more parameters.
        row = model_row_of(self.model, self.host, usual)
        reasons = row is not None and not row.guess and row.control != "none"
        return usual if reasons and not chat else "openai-chat"


def resolve_model(
    model: str, provider: str | None = None, api_base: str | None = None
) -> ResolvedModel:
    """Who is asked; raises litellm's error for a name that says nothing."""
    if not isinstance(model, str) or not model:
        raise _unknown(model)
    head, slash, rest = model.partition("/")
    if provider:
        name = rest if slash and head.lower() == provider.lower() else model
    elif slash and _host_of(head) is not None:
        provider, name = head, rest
    else:
        provider, name = _bare(model), model
    if provider is None and slash and api_base:
        # litellm knows more providers than we do; one that speaks OpenAI's chat is asked at the address given.
        provider, name = head, rest
    if provider is None:
        raise _unknown(model)
    host = _host_of(provider)
    if host == "openai" and api_base and not _is_home(api_base) and _is_strange(name):
        host = "custom"
    for road in _BEDROCK_ROADS if host == "bedrock" else ():
        name = name.removeprefix(road)
    return ResolvedModel(provider, name, host)


def get_llm_provider(
    model: str,
    custom_llm_provider: str | None = None,
    api_base: str | None = None,
    api_key: str | None = None,
    litellm_params: Any = None,  # noqa: ARG001 - litellm's signature
) -> tuple[str, str, str | None, str | None]:
    """The model's name, its provider, and the key and the address that were passed."""
    found = resolve_model(model, custom_llm_provider, api_base)
    return found.model, found.provider, api_key, api_base


def provider_list() -> list[str]:
    """The providers that are known here, by litellm's names and by ours."""
    return sorted({*PROVIDERS, *(host.id for host in all_hosts())})


def _host_of(provider: str) -> str | None:
    host = host_of(PROVIDERS.get(provider.lower(), provider))
    return host.id if host else None


def _bare(model: str) -> str | None:
    entry = flag("model_cost").get(model)
    told = entry.get("litellm_provider") if isinstance(entry, dict) else None
    if isinstance(told, str) and told:
        return told
    lowered = model.lower()
    return next((who for pattern, who in _BARE if fnmatchcase(lowered, pattern)), None)


def _is_home(api_base: str) -> bool:
    return (urlsplit(api_base).hostname or "").endswith(_AT_HOME)


def _is_strange(model: str) -> bool:
    """Whether a name is none of OpenAI's, so that another server behind its API is meant."""
    row = model_row_of(model, "openai", "openai-responses")
    return row is None or row.guess


def _unknown(model: Any) -> BadRequestError:
    text = (
        "LLM Provider NOT provided. Pass in the LLM provider you are trying to call."
        f" You passed model={model}. Write it as 'provider/model', as 'anthropic/claude-opus-5-5'"
    )
    return BadRequestError(text, model, "")
