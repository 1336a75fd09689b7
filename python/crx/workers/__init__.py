"""Pools of workers that embed or write contexts: local processes, or actors of Ray."""
