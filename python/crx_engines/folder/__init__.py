"""Index folders as engines: one of them, several searched as one, and copies."""
