"""Batches: a file of requests, answered by a provider's batch API within a day and at half the price.

requests.py   lines in our vocabulary -> bodies of the provider's API
state.py      what is known to have happened, in a file beside the input
submission.py creates batches, asks for their status, collects results, repeats what expired or failed
rows.py       results -> the rows of `innervoice.bulk`
estimate.py   what it may cost
"""

from innervoice.batch.estimate import Estimate, estimate
from innervoice.batch.requests import RequestDefaults
from innervoice.batch.rows import write_rows
from innervoice.batch.state import Part, State
from innervoice.batch.submission import Submission, Tally

__all__ = [
    "Estimate",
    "Part",
    "RequestDefaults",
    "State",
    "Submission",
    "Tally",
    "estimate",
    "write_rows",
]
