"""Endpoints with the requests and answers of other products, so that their clients can use crx."""
