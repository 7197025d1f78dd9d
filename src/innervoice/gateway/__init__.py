"""The gateway: a server that speaks every provider's API to programs, and calls any provider for them."""
