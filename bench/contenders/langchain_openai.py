"""LangChain on the SDK of OpenAI."""

from __future__ import annotations

from langchain_openai import ChatOpenAI

from contenders import CROWD, Jobs
from contenders.langchain import chat_jobs

_OPTIONS: dict[str, dict[str, object]] = {
    "chat": {},
    "tags": {},
    "responses": {"use_responses_api": True, "output_version": "responses/v1"},
}


def jobs(base: str) -> Jobs:
    """Chat and Responses."""
    found: Jobs = {}
    for name, options in _OPTIONS.items():
        model, crowd = (
            ChatOpenAI(model="gpt-5.6", api_key="k", base_url=url, **options)
            for url in (f"{base}/{name}", f"{base}/{name}{CROWD}")
        )
        found |= chat_jobs(name, model, crowd)
    return found
