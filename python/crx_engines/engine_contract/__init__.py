"""The contract suite of engines, which anyone can run on an engine of their own (see `rules`)."""
