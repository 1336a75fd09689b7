"""Models in child processes: retries and restarts."""
