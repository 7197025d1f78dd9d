"""OpenAI's Responses API and the servers that speak it."""
