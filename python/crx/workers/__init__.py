"""Pools of workers that embed while an index is made: local processes, or actors of Ray."""
