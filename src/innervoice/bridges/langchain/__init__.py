"""LangChain: a chat model for every provider, and conversion between its messages and ours.

    Response, events ──► ai_message ──► AIMessage, AIMessageChunk ──► ... ──► history ──► our messages

Only this package imports langchain-core.
"""

from innervoice.bridges.langchain.chat import ChatInnervoice
from innervoice.bridges.langchain.history import from_innervoice, read, to_innervoice

__all__ = ["ChatInnervoice", "from_innervoice", "read", "to_innervoice"]
