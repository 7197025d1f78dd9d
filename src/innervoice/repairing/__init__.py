"""Repairs histories and session files in the form in which another program stores them."""
