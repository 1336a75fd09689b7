"""Archives of 7-Zip."""
