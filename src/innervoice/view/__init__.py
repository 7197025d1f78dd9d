"""The viewer: a local page that shows what a model thought, what it cost, and what happened to it.

All decisions are made here, in Python; the page in `assets/` only draws the rows it gets.
"""
