"""Every name that programs take from litellm is there, and every other name of litellm says that it is not."""

import importlib
import types

import pytest

from bridges.litellm.talk import real_litellm
from innervoice.bridges import litellm

TOP = "innervoice.bridges.litellm"
# What the litellm modules of these programs import and read, as of November 2026.
USED = {
    "google-adk": {
        "": "acompletion completion ChatCompletionAssistantMessage ChatCompletionAssistantToolCall"
        " ChatCompletionDeveloperMessage ChatCompletionFileObject ChatCompletionImageObject"
        " ChatCompletionImageUrlObject ChatCompletionMessageToolCall ChatCompletionSystemMessage"
        " ChatCompletionTextObject ChatCompletionToolMessage ChatCompletionUserMessage"
        " ChatCompletionVideoObject ChatCompletionVideoUrlObject CustomStreamWrapper Function Message"
        " ModelResponse ModelResponseStream OpenAIMessageContent add_function_to_prompt acreate_file"
        " ChatCompletionToolCallFunctionChunk",
        "types.utils": "Delta ChatCompletionDeltaToolCall",
    },
    "crewai": {
        "": "completion acompletion drop_params suppress_debug_info callbacks success_callback"
        " failure_callback _async_success_callback _async_failure_callback set_verbose"
        " ContextWindowExceededError",
        "litellm_core_utils.get_supported_openai_params": "get_supported_openai_params",
        "types.utils": "ChatCompletionDeltaToolCall Choices Delta Function Message ModelResponse"
        " ModelResponseBase ModelResponseStream StreamingChoices Usage",
        "utils": "supports_response_schema",
        "integrations.custom_logger": "CustomLogger",
        "exceptions": "ContextWindowExceededError",
    },
    "mini-swe-agent": {
        "": "completion responses cost_calculator utils exceptions",
        "cost_calculator": "completion_cost",
        "utils": "register_model",
        "exceptions": "UnsupportedParamsError NotFoundError PermissionDeniedError APIError"
        " ContextWindowExceededError AuthenticationError",
    },
    "openai-agents": {
        "": "acompletion types",
        "types.utils": "Choices ModelResponse Message ChatCompletionMessageToolCall",
        "types.llms.openai": "ChatCompletionAnnotation",
    },
    "smolagents": {"": "completion Router", "router": "Router"},
    "dspy": {
        "": "acompletion completion text_completion atext_completion responses aresponses RetryPolicy"
        " stream_chunk_builder cache telemetry suppress_debug_info supports_function_calling"
        " supports_reasoning supports_response_schema get_supported_openai_params"
        " ContextWindowExceededError BudgetExceededError RouterRateLimitError embedding aembedding"
        " ModelResponse",
        "_logging": "verbose_logger",
    },
    "instructor": {"": "completion acompletion"},
    "langchain-litellm": {
        "": "completion acompletion Router Timeout APIError APIConnectionError RateLimitError"
        " get_model_info get_max_tokens api_key api_base model_cost token_counter modify_params cache"
        " OPENAI_CHAT_COMPLETION_PARAMS get_secret_bool model_alias_map model_fallbacks use_litellm_proxy"
        " get_llm_provider get_optional_params",
        "types.utils": "Delta Usage",
        "utils": "get_llm_provider validate_environment trim_messages ProviderConfigManager"
        " load_credentials_from_list validate_and_fix_thinking_param",
        "main": "responses_api_bridge_check",
        "router": "Router",
    },
    "others": {
        "": "CustomLLM ChatCompletionToolParam ChatCompletionToolParamFunctionChunk ModelInfo"
        " PromptTokensDetails LlmProviders validate_environment trim_messages _turn_on_debug"
        " verbose_logger batch_completion __version__",
        "_logging": "verbose_router_logger _disable_debugging",
        "types.llms.openai": "ResponsesAPIResponse ResponseAPIUsage AllMessageValues",
        "types.completion": "ChatCompletionMessageParam ChatCompletionUserMessageParam",
        "types.router": "RetryPolicy AllowedFailsPolicy",
        "types.utils": "CostPerToken GenericStreamingChunk TextCompletionResponse",
        "llms.custom_llm": "CustomLLM CustomLLMError",
        "main": "completion acompletion",
        "litellm_core_utils.streaming_handler": "CustomStreamWrapper",
        "litellm_core_utils.get_llm_provider_logic": "get_llm_provider",
        "litellm_core_utils.token_counter": "token_counter",
    },
}
CASES = [
    pytest.param(module, name, id=f"{program}: {module or 'litellm'}.{name}")
    for program, modules in USED.items()
    for module, names in modules.items()
    for name in names.split()
]
SUBMODULES = [
    "",
    "_logging",
    "cost_calculator",
    "exceptions",
    "integrations",
    "integrations.custom_logger",
    "litellm_core_utils",
    "litellm_core_utils.get_llm_provider_logic",
    "litellm_core_utils.get_supported_openai_params",
    "litellm_core_utils.streaming_handler",
    "litellm_core_utils.token_counter",
    "llms",
    "llms.custom_llm",
    "main",
    "router",
    "types",
    "types.completion",
    "types.llms",
    "types.llms.openai",
    "types.router",
    "types.utils",
    "utils",
]


def ours(module):
    return importlib.import_module(f"{TOP}.{module}" if module else TOP)


@pytest.mark.parametrize(("module", "name"), CASES)
def test_names_that_programs_use(module, name):
    assert hasattr(ours(module), name)


@pytest.mark.parametrize("module", SUBMODULES)
def test_a_name_that_is_not_there(module):
    """hasattr() is False, getattr() has its default, and the error is one sentence."""
    found = ours(module)
    whole = f"litellm.{module}.nothing_at_all" if module else "litellm.nothing_at_all"

    assert not hasattr(found, "nothing_at_all")
    assert getattr(found, "nothing_at_all", 7) == 7
    with pytest.raises(AttributeError) as caught:
        _ = found.nothing_at_all
    assert f"innervoice's stand-in for litellm has no {whole!r}: " in str(caught.value)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("AnthropicConfig", "completion()"),
        ("RedisCache", "does not cache"),
        ("aget_assistants", "the provider's own SDK"),
        ("groq_key", "api_key="),
        ("proxy_auth", "needs the real litellm"),
        ("open_ai_chat_completion_models", "model_cost"),
        ("langsmith", "a callback of your own"),
    ],
)
def test_the_error_says_what_to_use_instead(name, instead):
    with pytest.raises(AttributeError, match="has no") as caught:
        getattr(litellm, name)
    assert instead in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", SUBMODULES)
def test_every_name_of_the_real_one(module):
    """Each is there, or its error is the sentence; modules and types that litellm merely imports count too."""
    real_litellm()
    theirs = importlib.import_module(f"litellm.{module}" if module else "litellm")
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert names or isinstance(theirs, types.ModuleType)
    for name in names:
        if not hasattr(ours(module), name):
            with pytest.raises(AttributeError, match="innervoice's stand-in for litellm has no"):
                getattr(ours(module), name)


def test_dir_lists_late_names():
    assert {"completion", "ChatCompletionUserMessage", "CustomLLM", "Router"} <= set(dir(litellm))


def test_chat_types_are_dicts():
    message = litellm.ChatCompletionAssistantMessage(
        role="assistant",
        content=None,
        tool_calls=[
            litellm.ChatCompletionAssistantToolCall(
                type="function", id="call_1", function=litellm.Function(name="f", arguments="{}")
            )
        ],
    )
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    made = litellm.ChatCompletionMessageToolCall(
        function=litellm.Function(name="f", arguments="{}")
    )
    assert isinstance(made.function, litellm.types.utils.Function)
    assert message.get("name") is None


@pytest.mark.filterwarnings("ignore")
def test_chat_types_have_the_members_of_litellm():
    """Required and optional ones, for every type that is here."""
    real_litellm()
    theirs = importlib.import_module("litellm.types.llms.openai")
    module = ours("types.llms.openai")
    for name in module.__all__:
        kind = getattr(module, name)
        if hasattr(kind, "__required_keys__"):
            real = getattr(theirs, name)
            assert kind.__required_keys__ >= real.__required_keys__, name
            assert kind.__required_keys__ | kind.__optional_keys__ <= (
                real.__required_keys__ | real.__optional_keys__
            ), name


UNKNOWN = [
    "nothing",
    "my-alias",
    *(f"{provider}/nothing" for provider in ("anthropic", "bedrock", "gemini", "groq", "hosted_vllm", "mistral", "ollama", "openai", "openrouter")),
]  # fmt: skip


@pytest.mark.parametrize("model", UNKNOWN)
def test_an_unknown_model_lists_no_tools(model):
    """Seen failing: tools for a model that `supports_function_calling` does not know."""
    assert "tools" not in (litellm.get_supported_openai_params(model) or ())
    assert not litellm.supports_function_calling(model)


@pytest.mark.parametrize(
    "model", [*litellm.model_cost, "together_ai/moonshotai/Kimi-K3", "deepseek/deepseek-v4", *UNKNOWN]
)  # fmt: skip
def test_the_two_answers_about_tools_agree(model):
    parameters = litellm.get_supported_openai_params(model) or ()
    assert litellm.supports_function_calling(model) is ("tools" in parameters)


@pytest.mark.parametrize(
    ("model", "provider", "mode"),
    [
        ("gpt-5.6", "openai", "responses"),
        ("gpt-4o", "openai", "chat"),
        ("responses/gpt-4o", "openai", "responses"),
        ("claude-opus-5-5", "anthropic", "chat"),
    ],
)
def test_who_goes_to_a_responses_api(model, provider, mode):
    """What langchain-litellm asks."""
    assert mode == litellm.main.responses_api_bridge_check(model, provider)[0]["mode"]
    config = litellm.utils.ProviderConfigManager.get_provider_responses_api_config(provider, model)
    assert (config is not None) == (provider == "openai")


def test_secrets_are_environment_variables(monkeypatch):
    monkeypatch.setenv("SOME_FLAG", "True")
    assert litellm.get_secret_bool("SOME_FLAG") is True
    assert "True" == litellm.get_secret("os.environ/SOME_FLAG")
    assert litellm.get_secret_bool("OTHER_FLAG") is None
    with pytest.raises(NotImplementedError, match="needs the real litellm"):
        litellm.utils.load_credentials_from_list({"litellm_credential_name": "x"})


def test_chunks_are_not_responses():
    """As in litellm, where only the base class is common."""
    chunk, response = litellm.ModelResponseStream(), litellm.ModelResponse()
    base = litellm.types.utils.ModelResponseBase
    assert isinstance(chunk, base)
    assert isinstance(response, base)
    assert not isinstance(chunk, litellm.ModelResponse)
