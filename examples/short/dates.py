"""Dicts with metadata and dates, found by day."""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import crx

NOTES: list[dict[str, str | date]] = [
    {"id": "1", "text": "The dredger budget was passed.", "date": date(2024, 5, 31)},
    {"id": "2", "text": "The dredger budget was refused.", "date": date(2023, 11, 2)},
]

with TemporaryDirectory() as folder, crx.open(Path(folder) / "notes.crx") as index:
    index.add_documents(
        crx.Document(f"note:{note['id']}", str(note["text"]), metadata={"date": note["date"]})
        for note in NOTES
    )
    for passage in index.search("dredger budget", where={"date": {">=": date(2024, 1, 1)}}):
        print(passage.uri, passage.text)
