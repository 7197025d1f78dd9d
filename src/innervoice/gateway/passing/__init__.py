"""Requests and WebSockets that are passed on to a provider as they came."""
