"""A drop-in for the chat surface of litellm: `import innervoice.bridges.litellm as litellm`.

    completion(model, messages, ...) ──► arguments ──► message_fields ──► our client ──► to_litellm, chunks ──► ModelResponse, stream
                                          params        (seals read)                     message_fields (seals written)

`install()` puts it in litellm's place for programs that cannot be changed: `import litellm` then finds this package.

Names can be imported from where litellm has them: from here, `exceptions`, `utils`, `types.utils` and `main`. Those modules only
re-export names that are defined elsewhere, so a class is the same object whichever module it is imported from. Flags are plain
attributes of this module and are read on every call; flags for features that only litellm has are accepted and have no effect.
Names that few programs need are loaded when they are first read (`late_names`); a name of litellm that is not here is an
AttributeError that says what to use instead.
"""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm import exceptions as exceptions
from innervoice.bridges.litellm import types as types
from innervoice.bridges.litellm import utils as utils
from innervoice.bridges.litellm.connections import (
    close_litellm_async_clients as close_litellm_async_clients,
)
from innervoice.bridges.litellm.errors import *
from innervoice.bridges.litellm.main import *
from innervoice.bridges.litellm.models import known_models
from innervoice.bridges.litellm.providers import provider_list as _provider_list
from innervoice.bridges.litellm.takeover import VERSION, late_name, late_names
from innervoice.bridges.litellm.takeover import install as install
from innervoice.bridges.litellm.takeover import uninstall as uninstall
from innervoice.bridges.litellm.types.utils import *
from innervoice.bridges.litellm.unsupported import *
from innervoice.bridges.litellm.utils import *

# After the stars: litellm has two classes of this name, and this one at the top.
from innervoice.bridges.litellm.types.llms.openai import Function as Function  # type: ignore[assignment]  # isort: skip

__version__ = VERSION

# ---- models ------------------------------------------------------------------------------------------

model_cost: dict[str, Any] = known_models()
model_list: list[str] = list(model_cost)
provider_list: list[str] = _provider_list()

# ---- flags that have an effect -----------------------------------------------------------------------

drop_params: bool = False
"""Drop parameters that the provider does not support instead of raising an error."""
api_key: str | None = None
api_base: str | None = None
openai_key: str | None = None
anthropic_key: str | None = None
num_retries: int | None = None
request_timeout: float | None = None
remember_turns: bool = True
"""Remember the turns of this process, and restore the reasoning that a program left out of its messages."""
client_session: Any = None
"""An httpx or httpx2 client to send requests with."""
aclient_session: Any = None
"""The same for `acompletion`."""
custom_provider_map: list[dict[str, Any]] = []
"""Providers of your own: `{"provider": name, "custom_handler": an instance of CustomLLM}`."""
fallbacks: list[Any] | None = None
"""Models to try after an error, for calls that pass none."""
model_fallbacks: list[Any] | None = None
"""The older name of `fallbacks`."""
context_window_fallbacks: list[Any] | None = None
"""`[{model: [others]}]`: what to try if the messages are too long for a model."""
content_policy_fallbacks: list[Any] | None = None
"""The same for refusals by a content policy."""
model_alias_map: dict[str, str] = {}
"""Names that stand for other models."""
callbacks: list[Any] = []
"""Instances of `CustomLogger`, or functions, that are called for every call."""
success_callback: list[Any] = []
failure_callback: list[Any] = []
input_callback: list[Any] = []
_async_success_callback: list[Any] = []
"""Callbacks for `acompletion` only."""
_async_failure_callback: list[Any] = []
_async_input_callback: list[Any] = []

# ---- flags without an effect -------------------------------------------------------------------------

modify_params: bool = False
set_verbose: bool = False
suppress_debug_info: bool = False
telemetry: bool = False
turn_off_message_logging: bool = False
add_function_to_prompt: bool = False
enable_json_schema_validation: bool = False
include_cost_in_streaming_usage: bool = False
return_response_headers: bool = False
disable_token_counter: bool = False
cache: Any = None
use_litellm_proxy: bool = False
ssl_verify: Any = True
service_callback: list[Any] = []


def __getattr__(name: str) -> Any:
    return late_name(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *late_names()})
