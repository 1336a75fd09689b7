"""The commands `crx serve` and `crx mcp`."""
