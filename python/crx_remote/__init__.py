"""Requests to model services: retries, concurrency, metering, remote jobs."""
