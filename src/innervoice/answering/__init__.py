"""Events -> an answer in any dialect: what a server sends to its client."""
