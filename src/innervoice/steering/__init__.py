"""Steering a running answer: watching its thought, and going on from what has arrived; without I/O."""
