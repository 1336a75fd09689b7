"""The page of the server: search, documents and answers as HTML that needs no script."""
