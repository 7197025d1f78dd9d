"""Rows -> the examples that trainers read: `targets.py` has the trainers and model families, `examples.py` the examples and their forms, `checks.py` reads the examples back."""
