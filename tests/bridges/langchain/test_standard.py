"""LangChain's own standard tests, of the model alone and against the emulator."""

import operator
from functools import reduce

import pytest

from innervoice.emulator import Emulator, emulated_async_client, emulated_client

unit_tests = pytest.importorskip("langchain_tests.unit_tests")
integration_tests = pytest.importorskip("langchain_tests.integration_tests")
httpx = pytest.importorskip("httpx")
bridge = pytest.importorskip("innervoice.bridges.langchain")

NOTHING_COUNTED = {"invoke": [], "stream": []}


class TestUnit(unit_tests.ChatModelUnitTests):
    """The model without a provider."""

    @property
    def chat_model_class(self):
        return bridge.ChatInnervoice

    @property
    def chat_model_params(self):
        return {"model": "anthropic/claude-opus-5-5", "reasoning": "high"}


class Emulated(integration_tests.ChatModelIntegrationTests):
    """The model against the emulator, which calls tools by a word of their names and writes no JSON.

    A file that a dialect does not accept is refused before anything is sent (`file_refused`); the flags say which.
    """

    target = ""
    override = ""

    @property
    def chat_model_class(self):
        return bridge.ChatInnervoice

    @property
    def chat_model_params(self):
        emulator = Emulator()
        return {
            "model": self.target,
            "client": emulated_client(emulator),
            "async_client": emulated_async_client(emulator),
        }

    @property
    def model_override_value(self):
        return self.override

    supports_image_inputs = supports_image_urls = supports_image_tool_message = True
    supports_pdf_inputs = supports_pdf_tool_message = supports_audio_inputs = True
    supports_anthropic_inputs = True
    # The emulator writes no JSON.
    supports_json_mode = False

    @pytest.fixture(autouse=True)
    def _no_downloads(self, monkeypatch):
        """Downloads return placeholder bytes; the emulator does not look at files."""
        monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(200, content=b"data"))
        monkeypatch.setenv("LANGCHAIN_TESTS_USER_AGENT", "innervoice")

    @property
    def supported_usage_metadata_details(self):
        return {"invoke": ["reasoning_output"], "stream": ["reasoning_output"]}

    def invoke_with_reasoning_output(self, *, stream=False):
        model = bridge.ChatInnervoice(**self.chat_model_params, reasoning="high")
        if not stream:
            return model.invoke("What is 15 * 23?")
        return reduce(operator.add, model.stream("What is 15 * 23?"))


class TestAnthropic(Emulated):
    target, override = "anthropic/claude-haiku-4-5", "claude-opus-5-5"
    supports_audio_inputs = False


class TestGemini(Emulated):
    target, override = "gemini/gemini-3-pro-preview", "gemini-2.5-flash"


class TestOpenAI(Emulated):
    target, override = "openai/gpt-5.6", "gpt-5-mini"
    supports_audio_inputs = False


class TestDeepSeek(Emulated):
    target, override = "deepseek/deepseek-v4-pro", "deepseek-v4-flash"


class TestBedrock(Emulated):
    target = "bedrock/us.anthropic.claude-haiku-4-5-v1:0"
    override = "us.anthropic.claude-opus-5-5-v1:0"
    # Converse reports no reasoning tokens and takes images as data only; the emulator ignores its tool choice.
    supported_usage_metadata_details = NOTHING_COUNTED
    supports_image_urls = supports_audio_inputs = has_tool_choice = has_structured_output = False


class TestMistral(Emulated):
    target, override = "mistral/mistral-small-latest", "magistral-medium-latest"
    supported_usage_metadata_details = NOTHING_COUNTED


class TestCohere(Emulated):
    target, override = "cohere/command-a-reasoning-08-2025", "command-a-03-2025"
    supports_audio_inputs = supports_pdf_inputs = supports_pdf_tool_message = False


class TestOllama(Emulated):
    target, override = "ollama/qwen3", "gpt-oss"
    supported_usage_metadata_details = NOTHING_COUNTED
    # Ollama cannot force a tool call, so objects come as JSON, which the emulator does not write.
    has_tool_choice = has_structured_output = False
    supports_image_urls = supports_pdf_tool_message = False
    supports_audio_inputs = supports_pdf_inputs = supports_anthropic_inputs = False


del Emulated  # pytest would collect the base class too
