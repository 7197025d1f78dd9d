"""The contents of a data set, on one page: `tallies.py` counts batches, `page.py` writes HTML with plots, and the same as lines for a terminal."""
