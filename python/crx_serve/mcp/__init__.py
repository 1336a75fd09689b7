"""The Model Context Protocol: search, fetch, list and status as tools of a language model."""
