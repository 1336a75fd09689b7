"""`crx search -i`: passages in a list while one types, with the text of one beside it."""
