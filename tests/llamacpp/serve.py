"""Runs llama.cpp's own server in this process, until its standard input ends: `serve.py MODEL FORMAT`. Prints its address."""

import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 4096
parameters.use_jinja = True
parameters.endpoint_props = True
parameters.offline = True
if sys.argv[2] == "none":
    parameters.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)  # noqa: T201 - its parent reads it
sys.stdin.read()
