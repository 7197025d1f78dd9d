"""The contents of a data set, on one page: `tallies.py` counts batches, `page.py` writes HTML with the plots of `plots.py`, `lines.py` the same for a terminal."""
