"""Bridges to what people use already; each is imported by its own name and loads nothing for the others."""
