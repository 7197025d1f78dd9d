"""Anthropic's Messages API, also in the envelopes of Bedrock and Vertex."""
