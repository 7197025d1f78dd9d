"""OpenAI's Chat Completions and everything that calls itself compatible with it."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import CACHE_BREAKPOINT, OPENAI_SETTINGS, Code, Dialect
from innervoice.wire.json_access import parsed

__all__ = ["DIALECT", "turn_of"]


# The answer of Cloudflare's own models, in place of choices.
_OWN = {"response", "reasoning_content", "tool_calls", "usage", "finish_reason", "p"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return "choices" in value or ("response" in value and _is_cloudflare(value))


def _is_cloudflare(value: dict[str, Any]) -> bool:
    """Whether `response` is the text itself, and not an answer of another kind in a log or a batch file."""
    answer = value["response"]
    if isinstance(answer, str) and answer.lstrip()[:1] not in ("{", "["):
        return value.keys().isdisjoint(("done", "type", "custom_id", "key"))
    if not value.keys() <= _OWN:
        return False
    # In JSON mode the answer is JSON, as a text or as it is.
    held = parsed(answer) if isinstance(answer, str) else answer
    is_answer = isinstance(held, dict) and not held.keys().isdisjoint(("choices", "candidates"))
    return not is_answer and (isinstance(answer, str) or "usage" in value or "tool_calls" in value)


def turn_of(body: dict[str, Any]) -> list[Any]:
    """The message of the first choice, without empty members."""
    message = body["choices"][0]["message"]
    return [
        {key: item for key, item in message.items() if item is not None or key == "content"},
    ]


# Members of vLLM, SGLang, llama.cpp, OpenRouter, Mistral, Ollama, NVIDIA and others (their documentation and recorded requests, read 2026-11-17).
_EXTENSIONS = frozenset(
    {
        "add_generation_prompt", "add_special_tokens", "bad_words", "cache_prompt", "chat_template", "chat_template_args",
        "chat_template_kwargs", "clear_thinking", "continue_final_message", "do_sample", "documents", "echo", "enable_thinking", "extra_body", "grammar",
        "guided_choice", "guided_decoding_backend", "guided_grammar", "guided_json", "guided_regex", "ignore_eos", "include_reasoning",
        "include_stop_str_in_output", "keep_alive", "length_penalty", "min_p", "min_tokens", "mirostat", "mm_processor_kwargs", "models",
        "num_ctx", "nvext", "options", "plugins", "preset", "priority", "prompt_mode", "provider", "random_seed", "reasoning",
        "reasoning_budget", "reasoning_format", "reasoning_split", "regex", "repetition_penalty", "route", "safe_prompt", "search_settings",
        "separate_reasoning", "session_id", "skip_special_tokens", "spaces_between_special_tokens", "stop_token_ids",
        "stream_reasoning", "structured_outputs", "thinking", "thinking_budget", "thinking_budget_tokens", "thinking_token_budget", "tool_stream", "top_a",
        "top_k", "transforms", "truncate_prompt_tokens", "typical_p", "usage", "use_beam_search",
    }
)  # fmt: skip


DIALECT = Dialect(
    name="openai-chat",
    package=__name__,
    effort_path=("configuration_update", "reasoning", "effort"),
    effort_off=True,
    file_references=("file_id",),
    open_tools=True,
    open_files=True,
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    free_form_hosts=("openai", "azure"),
    places={
        name: (name,)
        for name in ("seed", "presence_penalty", "frequency_penalty", "verbosity", *OPENAI_SETTINGS)
    },
    part_places={
        "text": CACHE_BREAKPOINT,
        "image": {"detail": ("image_url", "detail"), **CACHE_BREAKPOINT},
        "document": CACHE_BREAKPOINT,
    },
    message_members=frozenset({"prefix"}),
    format_members=frozenset({"name", "description", "strict"}),
    endpoints={"GET /models": "models", "GET /models/{model}": "model"},
    home="openai",
    extensions=_EXTENSIONS,
    path="/chat/completions",
    closing=b"data: [DONE]\n\n",
    last_mark=b"[DONE]",
    id_start="chatcmpl-",
    inline_reasoning=True,
    looks_like=_looks_like,
    turn_of=turn_of,
    thinks_visibly=True,
    seals=("signature", "data", "thought_signature"),
    reasoning_blocks=(
        "thinking",
        "reasoning",
        "reasoning.text",
        "reasoning.encrypted",
        "reasoning.summary",
    ),
    reasoning_members=("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"),
    limit_names=("max_tokens", "max_completion_tokens"),
    is_local=True,
    code=Code(
        batches="batch:API",
        reader="read:ChatReader",
        answer_writer="answer:ChatWriter",
        grammar="grammar:ChatGrammar",
        replay="replay:REPLAY",
    ),
)
