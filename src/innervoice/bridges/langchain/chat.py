"""A LangChain chat model for every provider, which keeps reasoning and seals.

model = ChatInnervoice(model="anthropic/claude-opus-5-5", reasoning="high")
answer = model.invoke("What is 15 * 23?")
answer.content_blocks       # reasoning, text and tool calls in order, seals in their extras
model.invoke([..., answer, ...], model="deepseek/deepseek-v4-pro")    # another provider; the seals survive the detour
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, PrivateAttr, SecretStr, field_validator

from innervoice.bridges.langchain.ai_message import (
    AIMessageChunker,
    StreamedGeneration,
    answer_message,
)
from innervoice.bridges.langchain.history import to_innervoice
from innervoice.bridges.langchain.structured import (
    Method,
    StructuredMethod,
    structured,
    usual_method,
)
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Response
from innervoice.catalog.targets import names_of
from innervoice.client.aio import AsyncClient
from innervoice.client.sync import Client

if TYPE_CHECKING:
    from langchain_core.language_models import ModelProfile
from importlib import import_module

from innervoice.canon.target import Target
from innervoice.catalog.targets import resolved
from innervoice.errors import UsageError
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:  # langchain-core 1.0 has no profiles yet
    from langchain_core.language_models import ModelProfile
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolResult
from innervoice.canon.request import Request
from innervoice.errors import InnervoiceError
from innervoice.planning.plan import planned

__all__ = ["ChatInnervoice", "count_message_tokens", "count_tokens", "profile_of", "token_ids"]

_SETTINGS = (
    "reasoning", "max_tokens", "temperature", "top_p", "stop", "dialect", "mode", "foreign", "store", "extra",
)  # fmt: skip


class ChatInnervoice(BaseChatModel):
    """A chat model for any provider that innervoice supports; its messages keep their reasoning and their seals.

    `model` is `provider/model`. `invoke(..., model=...)` uses another model, of the same provider if it has no prefix. `api_key`
    is the key of the model's provider; without it the provider's environment variables are read. `client` and `async_client`
    are innervoice clients to use instead, with their own keys and base URLs. `content` is always a list of LangChain's standard
    blocks, whatever `output_version` says.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    model: str
    reasoning: Any = None
    """An effort, a budget, False, or anything else that `innervoice.Reasoning` accepts."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] | None = None
    dialect: str | None = None
    mode: str | None = None
    foreign: str | None = None
    store: bool | None = None
    extra: dict[str, Any] | None = None
    """Members to merge into the request body."""
    api_key: SecretStr | None = None
    base_url: str | None = None
    base_urls: Any = None
    default_headers: dict[str, str] | None = Field(default=None, exclude=True, repr=False)
    timeout: float | None = 600.0
    max_retries: int = 2
    scope: str | None = None
    streaming: bool = False
    client: Any = Field(default=None, exclude=True, repr=False)
    async_client: Any = Field(default=None, exclude=True, repr=False)

    _own_clients: dict[str, Client] = PrivateAttr(default_factory=dict)
    _own_async_clients: Any = PrivateAttr(default=None)

    @field_validator("reasoning")
    @classmethod
    def _check_reasoning(cls, value: Any) -> Any:
        """Rejects an invalid setting at once, and keeps a serializable one."""
        setting = Reasoning.from_any(value)
        if not isinstance(value, Reasoning) or setting is None:
            return value
        fields = {"effort": setting.effort, "budget": setting.budget, "show": setting.show}
        return {name: item for name, item in fields.items() if item is not None}

    # ---- hooks of BaseChatModel ------------------------------------------------------------------

    @property
    def _llm_type(self) -> str:
        return "innervoice"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in (*_SETTINGS, "base_url")}
        present = {name: value for name, value in settings.items() if value is not None}
        return {"model": self.model, **present}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        params = super()._get_ls_params(stop=stop, **kwargs)
        provider, name = names_of(None, self._model_id(kwargs.get("model")))
        return {**params, "ls_provider": provider or "innervoice", "ls_model_name": name}

    def _resolve_model_profile(self) -> ModelProfile | None:
        return profile_of(self.model, self.dialect)

    # ---- token counts ----------------------------------------------------------------------------

    def get_token_ids(self, text: str) -> list[int]:
        """The tokens of a text, by `custom_get_token_ids` or tiktoken; raises `UsageError` without either."""
        if self.custom_get_token_ids is not None:
            ids: list[int] = self.custom_get_token_ids(text)
            return ids
        return token_ids(self.model, text)

    def get_num_tokens(self, text: str) -> int:
        """The number of tokens of a text: exact for OpenAI's models with tiktoken, otherwise an estimate."""
        if self.custom_get_token_ids is not None:
            return len(self.custom_get_token_ids(text))
        return count_tokens(self.model, text)

    def get_num_tokens_from_messages(
        self, messages: list[BaseMessage], tools: Sequence[Any] | None = None
    ) -> int:
        """The number of tokens of messages and tools; reasoning is counted where it is sent back to the model."""
        if self.custom_get_token_ids is not None:
            return int(super().get_num_tokens_from_messages(messages, tools))
        declared = [_tool(tool, strict=None) for tool in tools or ()]
        return count_message_tokens(self.model, to_innervoice(messages), declared)

    # ---- requests --------------------------------------------------------------------------------

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        model, fields = self._request(stop, kwargs)
        return _result(self._sync().ask(model, to_innervoice(messages), **fields))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        client = self._async()
        if client is None:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        model, fields = self._request(stop, kwargs)
        return _result(await client.ask(model, to_innervoice(messages), **fields))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        model, fields = self._request(stop, kwargs)
        chunks = AIMessageChunker(names_of(None, model)[0])
        with self._sync().stream(model, to_innervoice(messages), **fields) as events:
            for event in events:
                chunk = chunks.feed(event)
                if chunk is not None:
                    yield StreamedGeneration(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        client = self._async()
        if client is None:
            async for generation in super()._astream(messages, stop, run_manager, **kwargs):
                yield generation
            return
        model, fields = self._request(stop, kwargs)
        chunks = AIMessageChunker(names_of(None, model)[0])
        async with client.stream(model, to_innervoice(messages), **fields) as events:
            async for event in events:
                chunk = chunks.feed(event)
                if chunk is not None:
                    yield StreamedGeneration(message=chunk)

    def _request(
        self, stop: list[str] | None, arguments: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """The model id and the fields of a request."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        passed = {
            name: value for name, value in arguments.items() if name not in ("model", "stream")
        }
        fields = {**settings, "stop": stop if stop is not None else self.stop or None, **passed}
        request_fields = {name: value for name, value in fields.items() if value is not None}
        return self._model_id(arguments.get("model")), request_fields

    def _model_id(self, model: str | None) -> str:
        """The model id of a call; a name without a provider belongs to the provider of `self.model`."""
        provider, _ = names_of(None, self.model)
        if not model or names_of(None, model)[0] or provider is None:
            return model or self.model
        return f"{provider}/{model}"

    # ---- clients ---------------------------------------------------------------------------------

    def _sync(self) -> Any:
        if self.client is not None:
            return self.client
        if "sync" not in self._own_clients:
            # If two threads get here at once, one client wins; the other has no connections yet.
            self._own_clients.setdefault("sync", Client(**self._connection()))
        return self._own_clients["sync"]

    def _async(self) -> Any:
        """An async client for the running loop; None if only a sync client was passed."""
        if self.async_client is not None or self.client is not None:
            return self.async_client
        if self._own_async_clients is None:
            # Connections belong to an event loop, and a program may run several, one after another.
            self._own_async_clients = WeakKeyDictionary()
        loop = asyncio.get_running_loop()
        if loop not in self._own_async_clients:
            self._own_async_clients[loop] = AsyncClient(**self._connection())
        return self._own_async_clients[loop]

    def _connection(self) -> dict[str, Any]:
        """The arguments of our own client."""
        key = self.api_key.get_secret_value() if self.api_key else None
        provider, _ = names_of(None, self.model)
        return {
            "keys": {provider: key} if key and provider else None,
            "api_key": key if not provider else None,
            "base_url": self.base_url,
            "base_urls": self.base_urls,
            "headers": self.default_headers,
            "timeout": self.timeout,
            "retries": self.max_retries,
            "scope": self.scope,
        }

    # ---- tools and schemas -----------------------------------------------------------------------

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: Any = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools: functions, classes, LangChain tools, or a provider's own dicts."""
        declared = [_tool(tool, strict=strict) for tool in tools]
        choice = _choice(tool_choice)
        if choice is not None:
            kwargs["tool_choice"] = choice
        return self.bind(tools=declared, **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: Method | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """The model with responses parsed into objects of a schema.

        By default the model is forced to call a tool. If it cannot be forced, or would not do the reasoning that `reasoning` requests,
        its response must match the schema; if the host has no response schemas, the system prompt asks for the call. With
        `method="function_calling"` the call is always forced, and a note says if reasoning was switched off for it.
        """
        if method is None:
            reasoning = kwargs.get("reasoning", self.reasoning)
            chosen = usual_method(self.model, reasoning=reasoning, dialect=self.dialect)
        else:
            chosen = StructuredMethod(method)
        return structured(
            self, schema, method=chosen, include_raw=include_raw, strict=strict, **kwargs
        )


def _result(response: Response) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=answer_message(response))])


def _tool(tool: Any, *, strict: bool | None) -> dict[str, Any]:
    """A tool in OpenAI's form; a provider's own tool is returned unchanged."""
    if isinstance(tool, dict):
        own_kind = tool.get("type") not in (None, "function", "object")
        if own_kind or "input_schema" in tool or isinstance(tool.get("function"), dict):
            return tool
    declaration: dict[str, Any] = convert_to_openai_tool(tool, strict=strict)
    return declaration


def _choice(choice: Any) -> Any:
    """LangChain's tool choice -> ours."""
    match choice:
        case None | False:
            return None
        case True | "any":
            return "required"
        case {"type": "function", "function": {"name": str(name)}}:
            return name
        case {"type": "tool", "name": str(name)}:
            return name
        case _:
            return choice


# ---- A model id -> LangChain's `ModelProfile`: the limits and abilities of the model.
#
# Our catalog has what the provider's API accepts; the limits and abilities of a model come from the table of the litellm bridge. A
# member that is in neither is left out.


def profile_of(model: str, dialect: str | None = None) -> ModelProfile | None:
    """The profile of a model; None if its provider is unknown."""
    try:
        target = resolved(model, dialect)
    except UsageError:
        return None
    facts = _facts(target)
    profile = {
        "text_inputs": True,
        "text_outputs": True,
        "max_input_tokens": facts.get("max_input_tokens"),
        "max_output_tokens": facts.get("max_output_tokens") or target.row.max_output,
        "temperature": "temperature" not in target.row.refuses_always,
        **_files(target, facts),
        **_reasoning(target, facts),
        **_tools(target, facts),
    }
    # langchain-core warns of members that its version does not have.
    declared = import_module("langchain_core.language_models").ModelProfile.__annotations__
    return {
        name: value for name, value in profile.items() if value is not None and name in declared
    }


def _facts(target: Target) -> dict[str, Any]:
    """The model's row of the table, an empty dict if it has none."""
    models = import_module("innervoice.bridges.litellm.models")
    entry = models.entry_of(target.model, target.provider)
    return dict(entry[1]) if entry else {}


def _supports(facts: dict[str, Any], ability: str) -> bool | None:
    """Whether the model has an ability; the table lists those that it has."""
    return bool(facts.get(f"supports_{ability}")) if facts else None


def _files(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    """Files that both the model and its API accept; also in tool results, because they are moved where an API requires it."""
    accepts = dialect_named(target.dialect).files.ACCEPTS
    images = _supports(facts, "vision") and "image" in accepts
    documents = _supports(facts, "pdf_input") and "pdf" in accepts
    return {
        "image_inputs": images,
        "image_url_inputs": images and "url" in accepts.get("image", ()),
        "image_tool_message": images,
        "pdf_inputs": documents,
        "pdf_tool_message": documents,
        "audio_inputs": _supports(facts, "audio_input") and "audio" in accepts,
        "attachment": images or documents,
    }


def _reasoning(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    row = target.row
    if not target.is_known or row.guess:
        return {"reasoning_output": _supports(facts, "reasoning")}
    reasons = row.control != "none" or row.default != "none"
    return {
        "reasoning_output": reasons,
        "reasoning_effort_levels": list(row.efforts) if reasons and row.efforts else None,
        "reasoning_effort_default": row.default if row.efforts and row.default != "on" else None,
    }


def _tools(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    dialect = dialect_named(target.dialect)
    formats = (target.host.formats if target.host else ()) or dialect.formats
    calls = _supports(facts, "function_calling")
    # A model that refuses a forced call while it reasons accepts it if its reasoning can be switched off.
    forced = target.row.forced_tools or target.row.off in ("value", "omit")
    return {
        "tool_calling": calls,
        "tool_choice": calls and forced and "tool_choice" not in dialect.lacks,
        "tool_call_streaming": calls,
        "structured_output": "json_schema" in formats,
    }


# ---- Messages and tools -> token counts, without a tokenizer of our own.
#
# tiktoken is used if it is installed and its vocabulary is on this machine; otherwise the number is an estimate. LangChain's own default
# would download GPT-2's vocabulary with transformers.


def count_tokens(model: str, text: str) -> int:
    """The number of tokens of a text."""
    return int(_tokens().token_counter(model, text=text))


def count_message_tokens(model: str, messages: Sequence[Message], tools: Sequence[Any]) -> int:
    """The number of tokens of messages and tools; reasoning is counted where it is sent back to the model."""
    try:
        sent: Sequence[Message] = planned(Request(model, tuple(messages))).plan.messages
    except InnervoiceError:  # part of a conversation
        sent = messages
    dumped = [_dumped(message) for message in sent]
    return int(_tokens().token_counter(model, messages=dumped, tools=list(tools) or None))


def token_ids(model: str, text: str) -> list[int]:
    """The tokens of a text; needs tiktoken."""
    try:
        return list(_tokens().encode(model, text))
    except NotImplementedError:
        raise UsageError(
            "get_token_ids needs tiktoken and its vocabulary on this machine; get_num_tokens estimates"
            " without them, and custom_get_token_ids= takes another tokenizer"
        ) from None


def _tokens() -> Any:
    return import_module("innervoice.bridges.litellm.tokens")


def _dumped(message: Message) -> dict[str, Any]:
    """A message in the form of the counter: OpenAI's."""
    calls = [
        {"function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    content = [block for part in message.parts for block in _blocks(part)]
    return {"role": message.role, "content": content, "tool_calls": calls}


def _blocks(part: Part | str) -> list[dict[str, Any]]:
    match part:
        case str():
            return [{"type": "text", "text": part}]
        case Text():
            return [{"type": "text", "text": part.text}]
        case Thinking():
            return [{"type": "thinking", "thinking": part.text}]
        case Media():
            return [{"type": "image"}]
        case ToolResult():
            return [block for item in part.content for block in _blocks(item)]
        case _:
            return []
