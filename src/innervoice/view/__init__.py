"""The viewer: a local page that shows what a model thought, what it cost, and what became of it.

All decisions are made here, in Python; the page in `assets/` draws the rows it gets.
"""
