"""A drop-in for the chat surface of litellm: `import innervoice.bridges.litellm as litellm`.

    completion(model, messages, ...) ──► calling ──► reading ──► our client ──► writing, chunks ──► ModelResponse, stream
                                          params       (seals back)              showing (seals kept)

Names stand where litellm has them: here, in `exceptions`, `utils`, `types.utils` and `main`. Those modules only repeat names
that are defined elsewhere, so that a class is the same one under whichever name its module was imported. Flags are plain
attributes of this module and are read when they matter; those that switch machinery of litellm's own have no effect.
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
from innervoice.bridges.litellm.types.utils import *
from innervoice.bridges.litellm.unsupported import *
from innervoice.bridges.litellm.utils import *

# ---- what is known of models -----------------------------------------------------------------------

model_cost: dict[str, Any] = known_models()
model_list: list[str] = list(model_cost)
provider_list: list[str] = _provider_list()

# ---- flags that count here -------------------------------------------------------------------------

drop_params: bool = False
"""Leave out parameters that a provider does not have, instead of an error."""
api_key: str | None = None
api_base: str | None = None
openai_key: str | None = None
anthropic_key: str | None = None
num_retries: int | None = None
request_timeout: float | None = None
client_session: Any = None
"""A client of httpx or httpx2 to send with."""
aclient_session: Any = None
"""The same for those who await."""

# ---- flags of litellm's own machinery, without effect ------------------------------------------------

modify_params: bool = False
set_verbose: bool = False
suppress_debug_info: bool = False
telemetry: bool = False
turn_off_message_logging: bool = False
add_function_to_prompt: bool = False
enable_json_schema_validation: bool = False
cache: Any = None
ssl_verify: Any = True
callbacks: list[Any] = []
success_callback: list[Any] = []
failure_callback: list[Any] = []
input_callback: list[Any] = []
