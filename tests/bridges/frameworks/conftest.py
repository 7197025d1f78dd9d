"""Our litellm in place of theirs, the providers on this machine, and no way to any other."""

import os
import socket
from ipaddress import ip_address

import pytest

import innervoice.bridges.litellm
from bridges.frameworks.recorder import MODELS, Recorder
from innervoice.emulator.app import EmulatorServer

_SILENT = {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "MSWEA_SILENT_STARTUP": "1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""How each program is told to report to nobody."""
_SECRET = ("_API_KEY", "_API_BASE", "_BASE_URL", "_AUTH_TOKEN", "_PROXY", "_proxy")


@pytest.fixture(scope="module", autouse=True)
def _takeover(tmp_path_factory):
    """Programs read these variables, and import litellm, when they are first imported: in a test, not before."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.endswith(_SECRET)]:
            patch.delenv(name)
        places = (
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CACHE_HOME",
            "MSWEA_GLOBAL_CONFIG_DIR",
        )
        for name, value in [*_SILENT.items(), *((name, home) for name in places)]:
            patch.setenv(name, value)
        innervoice.bridges.litellm.install()
        yield
        innervoice.bridges.litellm.uninstall()


@pytest.fixture(scope="module")
def _refused():
    """Refuses every address but the loopback, also between tests, when programs report in the background; lists what was refused."""
    refused = []

    def guarded(usual):
        def connect(self, address):
            if isinstance(address, tuple) and not _is_here(address[0]):
                refused.append(address)
                raise ConnectionRefusedError(f"tests use the loopback only, not {address!r}")
            return usual(self, address)

        return connect

    def look_up(host, *others, **options):
        if not _is_here(host):
            refused.append(host)
            raise socket.gaierror(socket.EAI_NONAME, f"tests use the loopback only, not {host!r}")
        return usual_look_up(host, *others, **options)

    usual_look_up = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", look_up)
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        yield refused


@pytest.fixture(autouse=True)
def _loopback_only(_refused):
    """Fails a test whose program wanted another address, even if the program hides the error."""
    yield
    assert [] == _refused


def _is_here(host):
    text = host.decode() if isinstance(host, bytes) else host
    if text in (None, "", "localhost"):
        return True
    try:
        return ip_address(text).is_loopback
    except ValueError:
        return False


@pytest.fixture
def emulated():
    """Starts the providers, with the steps that their model takes, or its own mind."""
    servers = []

    def start(steps=None, **settings):
        recorder = Recorder(steps, **settings)
        servers.append(EmulatorServer(recorder))
        recorder.url = servers[-1].__enter__().url
        return recorder

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture(params=MODELS)
def name(request):
    """A name of `MODELS`."""
    return request.param


@pytest.fixture
def model(name):
    """A model of each provider."""
    return MODELS[name]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streamed(request):
    """How the program asks."""
    return request.param
