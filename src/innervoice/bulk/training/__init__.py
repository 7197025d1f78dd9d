"""Rows -> the examples that trainers read: `targets.py` has the trainers and model families, `forms.py` the shapes, `checks.py` reads the examples back."""
