"""What an operator sees and runs: the server and its processes, the state on disk, metrics, the journal, the request log and its viewer."""
