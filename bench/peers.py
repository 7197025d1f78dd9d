"""Who is measured beside us, in which version, and in an environment of its own.

Environments live under a cache folder, one for each line of pins, and are made when they are missing. One that cannot be made
is left out, and said.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


class Peer(NamedTuple):
    """A library as it is measured."""

    title: str
    module: str
    """Its module in `contenders`."""
    pins: tuple[str, ...]
    """What is installed; everything else comes with it."""
    imports: str
    """What a user imports first."""
    first: str
    """The shortest program that gets a response, with the name of its payload."""
    payload: str = "chat"
    folder: str = ""
    """The folder of its environment, if it shares one."""

    @property
    def place(self) -> str:
        """The folder of its environment."""
        return self.folder or self.title


_CHAT = "messages=[{'role': 'user', 'content': 'hi'}]"
_OURS = ("msgspec==0.22.0", "httpx2==2.16.0")

FLOOR = Peer(
    "floor",
    "floor",
    _OURS,
    "msgspec",
    f"import httpx2, msgspec; msgspec.json.decode(httpx2.Client().post(url, json=dict({_CHAT})).content)",
    folder="innervoice",
)
OURS = Peer(
    "innervoice",
    "innervoice",
    _OURS,
    "innervoice",
    "import innervoice; innervoice.Client(base_url=url, keys={'deepseek': 'k'}).ask('deepseek/deepseek-reasoner', 'hi')",
)
OURS_AIOHTTP = Peer(
    "innervoice, aiohttp",
    "innervoice_aiohttp",
    (*_OURS, "aiohttp==3.14.5"),
    "innervoice",
    OURS.first,
    folder="innervoice-aiohttp",
)
OURS_HTTPTOOLS = Peer(
    "innervoice, httptools",
    "innervoice_httptools",
    (*_OURS, "httptools==0.9.0"),
    "innervoice",
    OURS.first,
    folder="innervoice-httptools",
)
VARIANTS = (OURS_AIOHTTP, OURS_HTTPTOOLS)
"""innervoice with other HTTP clients."""
PEERS = (
    Peer(
        "openai",
        "openai",
        ("openai==3.49.0",),
        "openai",
        f"import openai; openai.OpenAI(api_key='k', base_url=url).chat.completions.create(model='m', {_CHAT})",
    ),
    Peer(
        "anthropic",
        "anthropic",
        ("anthropic==2.8.0",),
        "anthropic",
        "import anthropic; anthropic.Anthropic(api_key='k', base_url=url).messages.create("
        f"model='m', max_tokens=9, {_CHAT})",
        "anthropic",
    ),
    Peer(
        "google-genai",
        "google_genai",
        ("google-genai==3.1.0",),
        "google.genai",
        "from google import genai; client = genai.Client(api_key='k', http_options={'base_url': url}); "
        "client.models.generate_content(model='m', contents='hi')",
        "gemini",
    ),
    Peer(
        "litellm",
        "litellm",
        # Newer ones need a certifi that is not everywhere yet; its Responses need mcp.
        ("litellm==1.106.2", "mcp==2.3.0"),
        "litellm",
        "import litellm; litellm.completion(model='deepseek/deepseek-reasoner', api_key='k', "
        f"api_base=url, {_CHAT})",
    ),
    Peer(
        "pydantic-ai-slim",
        "pydantic_ai",
        ("pydantic-ai-slim[anthropic,google,openai]==2.66.0",),
        "pydantic_ai",
        "from pydantic_ai.direct import model_request_sync; "
        "from pydantic_ai.messages import ModelRequest; "
        "from pydantic_ai.models.openai import OpenAIChatModel; "
        "from pydantic_ai.providers.openai import OpenAIProvider; "
        "model_request_sync(OpenAIChatModel('m', provider=OpenAIProvider(base_url=url, "
        "api_key='k')), [ModelRequest.user_text_prompt('hi')])",
    ),
    Peer(
        "any-llm-sdk",
        "any_llm",
        ("any-llm-sdk[gemini]==1.40.2",),
        "any_llm",
        f"import any_llm; any_llm.completion(model='m', provider='deepseek', api_key='k', api_base=url, {_CHAT})",
    ),
    Peer(
        "langchain-openai",
        "langchain_openai",
        ("langchain-openai==1.7.3",),
        "langchain_openai",
        "from langchain_openai import ChatOpenAI; ChatOpenAI(model='m', api_key='k', base_url=url).invoke('hi')",
    ),
    Peer(
        "langchain-anthropic",
        "langchain_anthropic",
        ("langchain-anthropic==1.7.7",),
        "langchain_anthropic",
        "from langchain_anthropic import ChatAnthropic; "
        "ChatAnthropic(model='m', api_key='k', base_url=url, max_tokens=9).invoke('hi')",
        "anthropic",
    ),
    Peer(
        "arcllm-sdk",
        "arcllm",
        ("arcllm-sdk==0.4.6",),
        "arcllm",
        f"import arcllm; arcllm.completion(model='deepseek/deepseek-reasoner', api_key='k', api_base=url, {_CHAT})",
    ),
)


class Environments:
    """The environments of the peers, under one folder."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._uv = Path(sys.executable).with_name("uv")

    def python(self, peer: Peer) -> Path:
        """The Python of a peer."""
        return self._cache / peer.place / "bin" / "python"

    def make(self, peer: Peer) -> str | None:
        """Creates an environment unless it is up to date; returns the reason if that fails."""
        folder = self._cache / peer.place
        stamp = folder / ".pins"
        pins = "\n".join(peer.pins)
        if stamp.is_file() and stamp.read_text("utf-8") == pins:
            return None
        shutil.rmtree(folder, ignore_errors=True)
        python = str(self.python(peer))
        for command in (
            ["venv", "--quiet", "--python", sys.executable, str(folder)],
            ["pip", "install", "--quiet", "--python", python, *peer.pins],
        ):
            done = subprocess.run(
                [str(self._uv), *command], capture_output=True, text=True, check=False
            )
            if done.returncode:
                shutil.rmtree(folder, ignore_errors=True)
                return _last_line(done.stderr)
        stamp.write_text(pins, "utf-8")
        return None

    def size(self, peer: Peer) -> tuple[int, int]:
        """The installed bytes and packages, without compiled bytecode."""
        packages = next((self._cache / peer.place / "lib").glob("python*/site-packages"))
        count = len(list(packages.glob("*.dist-info")))
        size = _bytes_of(packages)
        if peer is OURS:
            return size + _bytes_of(SOURCE / "innervoice"), count + 1
        return size, count


def _bytes_of(folder: Path) -> int:
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )


def _last_line(text: str) -> str:
    """The reason of a failure, in one line and without paths."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "it could not be installed"
