"""TensorZero's embedded gateway as a server: what `patch_openai_client` starts, without a client.

python bench/gateway_tensorzero.py tensorzero.toml        # prints its port
"""

from __future__ import annotations

import os
import sys
import threading

import openai
import tensorzero

output = os.dup(1)
os.dup2(2, 1)  # it logs to the standard output
client = openai.OpenAI(api_key="none")
tensorzero.patch_openai_client(client, config_file=sys.argv[1], async_setup=False)
os.write(output, f"{client.base_url.port}\n".encode())
threading.Event().wait()
