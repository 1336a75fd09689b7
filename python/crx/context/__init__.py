"""Contexts: the outline, prompts, validation, the cache, runs and estimates."""
