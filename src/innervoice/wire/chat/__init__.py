"""OpenAI's Chat Completions and everything that calls itself compatible with it."""
