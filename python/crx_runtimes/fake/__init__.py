"""Contexts and answers without a model, for tests and trials."""
