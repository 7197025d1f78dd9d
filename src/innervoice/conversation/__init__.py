"""What a request is part of: its body split once, digests of its conversation, what a turn shows, what is new in it."""
