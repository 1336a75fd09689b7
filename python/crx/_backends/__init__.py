"""Model runtimes, one module or package each, imported when used."""
