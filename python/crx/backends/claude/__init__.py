"""Claude: contexts and answers through the vendor's SDK."""
