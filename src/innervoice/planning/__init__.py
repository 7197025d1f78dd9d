"""Planning a history for a target: what is sent, in which form, and why."""
