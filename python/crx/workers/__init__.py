"""Pools of workers that embed while an index is made."""
