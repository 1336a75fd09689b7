"""Workers that are actors of a Ray cluster."""
