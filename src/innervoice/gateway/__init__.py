"""The gateway: a server that speaks every provider's API to programs, and asks any provider for them."""
