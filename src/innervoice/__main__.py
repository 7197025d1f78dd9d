"""`python -m innervoice` is the command line."""

from innervoice.cli import main

main()
