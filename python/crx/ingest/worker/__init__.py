"""Reading of files in a worker process with limits, for formats that are not plain text."""
