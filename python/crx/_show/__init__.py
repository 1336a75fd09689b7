"""What is shown of passages: excerpts, rows, lines, locations, files, copies."""
