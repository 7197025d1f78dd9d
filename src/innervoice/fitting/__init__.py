"""A request -> the same request with settings that its target accepts."""
