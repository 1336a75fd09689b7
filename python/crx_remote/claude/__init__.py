"""Contexts and answers from Claude, through the vendor's SDK."""
