"""The router."""

__all__: list[str] = []
