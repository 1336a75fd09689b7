"""Readers of formats that few files have, one module a format."""
