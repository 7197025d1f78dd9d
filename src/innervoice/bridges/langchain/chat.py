"""A LangChain chat model that asks every provider, and loses nothing of what they answer.

model = ChatInnervoice(model="anthropic/claude-opus-5-5", reasoning="high")
answer = model.invoke("What is 15 * 23?")
answer.content_blocks       # reasoning, text and calls in their order, seals in their extras
model.invoke([..., answer, ...], model="deepseek/deepseek-v4-pro")    # and back again, unharmed
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, PrivateAttr, SecretStr, field_validator

from innervoice.bridges.langchain.ai_message import AIMessageChunker, answer_message
from innervoice.bridges.langchain.history import to_innervoice
from innervoice.bridges.langchain.structured import Method, structured, usual_method
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Response
from innervoice.catalog.targets import names_of
from innervoice.client.aio import AsyncClient
from innervoice.client.sync import Client

__all__ = ["ChatInnervoice"]

_SETTINGS = (
    "reasoning", "max_tokens", "temperature", "top_p", "stop", "dialect", "mode", "foreign", "store", "extra",
)  # fmt: skip


class ChatInnervoice(BaseChatModel):
    """Asks any provider that innervoice knows; its answers keep their reasoning and their seals.

    `model` is `provider/model`; a call with `model=` asks another one, and without a provider another one of the same
    provider. A key is that of the model's provider; without one, each provider's own variables of the environment are
    asked. `client` and `async_client` are clients of innervoice to send with, with keys and addresses of their own. `content`
    is always a list of LangChain's standard blocks, whatever `output_version` says.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    model: str
    reasoning: Any = None
    """An effort, a budget, False, or whatever else `innervoice.Reasoning` takes."""
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: list[str] | None = None
    dialect: str | None = None
    mode: str | None = None
    foreign: str | None = None
    store: bool | None = None
    extra: dict[str, Any] | None = None
    """Members that are merged into the body of a request."""
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
        """Refuses a wrong setting at once, and keeps one that can be stored."""
        setting = Reasoning.from_any(value)
        if not isinstance(value, Reasoning) or setting is None:
            return value
        named = {"effort": setting.effort, "budget": setting.budget, "show": setting.show}
        return {name: item for name, item in named.items() if item is not None}

    # ---- what LangChain asks of a model ----------------------------------------------------------

    @property
    def _llm_type(self) -> str:
        return "innervoice"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        named = {name: getattr(self, name) for name in (*_SETTINGS, "base_url")}
        told = {name: value for name, value in named.items() if value is not None}
        return {"model": self.model, **told}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        params = super()._get_ls_params(stop=stop, **kwargs)
        provider, name = names_of(None, self._named(kwargs.get("model")))
        return {**params, "ls_provider": provider or "innervoice", "ls_model_name": name}

    # ---- asking ----------------------------------------------------------------------------------

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
                    yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        client = self._async()
        if client is None:
            async for made in super()._astream(messages, stop, run_manager, **kwargs):
                yield made
            return
        model, fields = self._request(stop, kwargs)
        chunks = AIMessageChunker(names_of(None, model)[0])
        async with client.stream(model, to_innervoice(messages), **fields) as events:
            async for event in events:
                chunk = chunks.feed(event)
                if chunk is not None:
                    yield ChatGenerationChunk(message=chunk)

    def _request(self, stop: list[str] | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Who is asked, and the fields of the request."""
        own = {name: getattr(self, name) for name in _SETTINGS}
        told = {name: value for name, value in given.items() if name not in ("model", "stream")}
        fields = {**own, "stop": stop if stop is not None else self.stop or None, **told}
        known = {name: value for name, value in fields.items() if value is not None}
        return self._named(given.get("model")), known

    def _named(self, model: str | None) -> str:
        """A model that was asked for in a call; without a provider it is one of the same provider."""
        provider, _ = names_of(None, self.model)
        if not model or names_of(None, model)[0] or provider is None:
            return model or self.model
        return f"{provider}/{model}"

    # ---- clients ---------------------------------------------------------------------------------

    def _sync(self) -> Any:
        if self.client is not None:
            return self.client
        if "sync" not in self._own_clients:
            # Of two threads that come here at once, one wins; the other's client has no connections yet.
            self._own_clients.setdefault("sync", Client(**self._connection()))
        return self._own_clients["sync"]

    def _async(self) -> Any:
        """An async client for the running loop, or None if one was given that is not async."""
        if self.async_client is not None or self.client is not None:
            return self.async_client
        if self._own_async_clients is None:
            # Connections belong to a loop, and programs run several, one after another.
            self._own_async_clients = WeakKeyDictionary()
        loop = asyncio.get_running_loop()
        if loop not in self._own_async_clients:
            self._own_async_clients[loop] = AsyncClient(**self._connection())
        return self._own_async_clients[loop]

    def _connection(self) -> dict[str, Any]:
        """What a client of our own is made with."""
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
        """The model with tools: functions, classes, LangChain's tools, or a provider's own dicts."""
        made = [_tool(tool, strict=strict) for tool in tools]
        choice = _choice(tool_choice)
        if choice is not None:
            kwargs["tool_choice"] = choice
        return self.bind(tools=made, **kwargs)

    def with_structured_output(
        self,
        schema: dict[str, Any] | type,
        *,
        include_raw: bool = False,
        method: Method | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, Any]:
        """The model with answers that are objects of a schema.

        Usually it is made to call a tool, and where that cannot be had its answer is held to the schema. Some models do not
        reason while they are forced, which the notes say; `method="json_schema"` lets them, where the host knows schemas.
        """
        if method is None:
            method = usual_method(self.model, reasoning=self.reasoning, dialect=self.dialect)
        return structured(
            self, schema, method=method, include_raw=include_raw, strict=strict, **kwargs
        )


def _result(response: Response) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=answer_message(response))])


def _tool(tool: Any, *, strict: bool | None) -> dict[str, Any]:
    """A tool in OpenAI's form, or a provider's own, which passes through."""
    if isinstance(tool, dict):
        own_kind = tool.get("type") not in (None, "function", "object")
        if own_kind or "input_schema" in tool or isinstance(tool.get("function"), dict):
            return tool
    made: dict[str, Any] = convert_to_openai_tool(tool, strict=strict)
    return made


def _choice(choice: Any) -> Any:
    """A choice in LangChain's words, in ours."""
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
