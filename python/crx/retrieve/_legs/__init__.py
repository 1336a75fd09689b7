"""Searches of the two legs, and for a pattern."""
