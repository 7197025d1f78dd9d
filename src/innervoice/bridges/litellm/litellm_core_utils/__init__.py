"""The modules of litellm's core whose names programs import."""

from typing import NoReturn

from innervoice.bridges.litellm.litellm_core_utils import (
    get_llm_provider_logic as get_llm_provider_logic,
)
from innervoice.bridges.litellm.litellm_core_utils import (
    get_supported_openai_params as get_supported_openai_params,
)
from innervoice.bridges.litellm.litellm_core_utils import streaming_handler as streaming_handler
from innervoice.bridges.litellm.litellm_core_utils import token_counter as token_counter
from innervoice.bridges.litellm.unsupported import missing


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
