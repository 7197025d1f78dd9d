"""Choosing rows for training by what the others are: the best of several answers, near-duplicates, and tasks of test sets."""
