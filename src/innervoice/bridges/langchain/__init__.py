"""LangChain: a chat model for every provider, and its messages to and from ours.

    part of an answer ──► blocks ──► answers ──► AIMessage, chunks ──► ... ──► history ──► messages to send

Importing this loads langchain-core; nothing else of innervoice does.
"""

from innervoice.bridges.langchain.chat import ChatInnervoice
from innervoice.bridges.langchain.history import from_innervoice, read, to_innervoice

__all__ = ["ChatInnervoice", "from_innervoice", "read", "to_innervoice"]
