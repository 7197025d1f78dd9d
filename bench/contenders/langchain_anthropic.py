"""LangChain on the SDK of Anthropic."""

from __future__ import annotations

from langchain_anthropic import ChatAnthropic

from contenders import CROWD, Jobs
from contenders.langchain import chat_jobs


def jobs(base: str) -> Jobs:
    """Messages."""
    model, crowd = (
        ChatAnthropic(model="claude-opus-5-5", api_key="k", base_url=url, max_tokens=4000)
        for url in (f"{base}/anthropic", f"{base}/anthropic{CROWD}")
    )
    return chat_jobs("anthropic", model, crowd)
