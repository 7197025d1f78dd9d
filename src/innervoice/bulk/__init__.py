"""Reasoning in data sets: reads rows of any layout, splits, checks and filters them, and writes what trainers take.

A batch is columns of equal length (`bulk/schema.py`); every step is a function of a batch. Arrow is one way in and out, JSON lines another.
"""
