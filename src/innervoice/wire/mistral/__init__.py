"""Mistral's chat API: Chat Completions with chunks of thinking."""
