"""Documents into an index: discover, read, split, embed, write."""
