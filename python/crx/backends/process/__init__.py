"""A model in a child process: messages, time limits, restarts."""
