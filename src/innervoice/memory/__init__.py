"""Remembers the model's turns, and finds them again when a program sends them back without their reasoning."""
