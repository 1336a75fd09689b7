"""Servers that implement the chat completions API."""
