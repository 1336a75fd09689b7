"""The resident server: searches over HTTP, for programs, pages and models."""
