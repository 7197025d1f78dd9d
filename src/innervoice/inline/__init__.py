"""Reasoning written into the text of an answer: the markup, and the machine that splits it out."""
