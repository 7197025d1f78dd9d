"""Where sealed items are kept: in memory, in a file, in Redis, in PostgreSQL."""
