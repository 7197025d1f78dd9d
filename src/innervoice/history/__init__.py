"""What of a conversation goes to a target, and why."""
