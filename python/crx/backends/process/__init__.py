"""Models in child processes: messages, time limits, restarts."""
