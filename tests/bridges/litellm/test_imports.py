"""Which modules an import loads, and that every name is where litellm has it."""

import subprocess
import sys

import pytest

from innervoice.bridges import litellm
from innervoice.emulator.app import EmulatorServer

ROOT = [
    "completion",
    "acompletion",
    "stream_chunk_builder",
    "ModelResponse",
    "CustomStreamWrapper",
    "Choices",
    "Message",
    "Delta",
    "StreamingChoices",
    "Usage",
    "token_counter",
    "get_max_tokens",
    "get_model_info",
    "get_supported_openai_params",
    "supports_vision",
    "supports_pdf_input",
    "supports_function_calling",
    "supports_response_schema",
    "supports_reasoning",
    "cost_per_token",
    "completion_cost",
    "model_cost",
    "register_model",
    "modify_params",
    "drop_params",
    "telemetry",
    "suppress_debug_info",
    "set_verbose",
    "embedding",
    "aembedding",
    "rerank",
    "image_generation",
    "image_edit",
    "image_variation",
    "Router",
    "exceptions",
    "utils",
    "types",
]
ERRORS = [
    "APIError",
    "AuthenticationError",
    "BadRequestError",
    "RateLimitError",
    "Timeout",
    "APIConnectionError",
    "ServiceUnavailableError",
    "BudgetExceededError",
    "InternalServerError",
    "NotFoundError",
    "ContextWindowExceededError",
    "ContentPolicyViolationError",
    "UnsupportedParamsError",
    "PermissionDeniedError",
]


def run(code):
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_names():
    for name in ROOT:
        assert hasattr(litellm, name), name
    for name in ERRORS:
        assert getattr(litellm, name) is getattr(litellm.exceptions, name)
    for name in ("ModelResponse", "Usage", "EmbeddingResponse", "Delta"):
        assert getattr(litellm.types.utils, name) is getattr(litellm, name)
        assert getattr(litellm.utils, name) is getattr(litellm, name)


def test_nobody_else_loads_it():
    """Importing `innervoice` or `innervoice.bridges` does not load the bridge."""
    loaded = run("import sys, innervoice, innervoice.bridges; print(*sys.modules)")
    assert not any(name.startswith("innervoice.bridges.litellm") for name in loaded)


def test_it_loads_little():
    """No HTTP client and no third-party package."""
    loaded = run("import sys, innervoice.bridges.litellm; print(*sys.modules)")
    assert not loaded & {
        "httpx2",
        "httpx",
        "ssl",
        "asyncio",
        "tiktoken",
        "genai_prices",
        "pydantic",
        "litellm",
    }


def test_under_another_name():
    """Code that says `import litellm` can be given this one: classes stay the same whichever way they are reached."""
    found = run(
        "import sys, innervoice.bridges.litellm as ours; sys.modules['litellm'] = ours\n"
        "import litellm, litellm.exceptions, litellm.types.utils\n"
        "from litellm.utils import Delta\n"
        "from litellm.main import completion\n"
        "print(litellm is ours, litellm.exceptions.Timeout is ours.Timeout, Delta is ours.Delta,"
        " litellm.types.utils.Usage is ours.Usage, completion is ours.completion)"
    )
    assert {"True"} == found


@pytest.mark.parametrize(
    "flag", ["modify_params", "drop_params", "telemetry", "suppress_debug_info", "set_verbose"]
)
def test_flags_can_be_set(flag, monkeypatch):
    monkeypatch.setattr(litellm, flag, True)
    assert getattr(litellm, flag) is True


def test_a_program_ends_tidily():
    """The connections that all calls share are closed when it does; an interpreter in its strict mode would complain.

    Seen failing: the pool was nobody's to close.
    """
    message = {"role": "user", "content": "What is 2 + 2?"}
    with EmulatorServer() as server:
        address = server.base_url("deepseek")
        call = f"completion('deepseek/deepseek-v4-pro', [{message}], api_key='k', api_base={address!r})"
        done = subprocess.run(
            [sys.executable, "-I", "-X", "dev", "-c", f"import innervoice.bridges.litellm as it; it.{call}"],
            capture_output=True,
            text=True,
            check=True,
        )  # fmt: skip
    assert "" == done.stderr
