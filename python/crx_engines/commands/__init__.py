"""The command `crx copy`."""
