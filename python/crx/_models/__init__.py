"""Installed models: how they are listed, found, added, verified and removed."""
