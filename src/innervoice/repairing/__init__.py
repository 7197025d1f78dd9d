"""Repairs of histories and session files in the form that another program keeps them in."""
