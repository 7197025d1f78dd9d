"""Conversations -> session files of agents, with which these go on: a writer for each program, beside its reader.

`carry` in `carrying.py` is the way in; `fitting.py` says what goes along.
"""
