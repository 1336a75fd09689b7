"""Conversion of old Office documents by LibreOffice, where it is installed."""
