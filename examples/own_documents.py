"""Index records that are not files, and filter a search by their metadata."""

import tempfile
from pathlib import Path

import crx

TICKETS = [
    ("T-17", 2023, "printing", "Printing hangs on A3. The spooler waits for a tray."),
    ("T-18", 2024, "printing", "Printing in colour comes out grey on the second floor."),
    ("T-19", 2024, "network", "The printer is not found after the network was renumbered."),
]


def main() -> None:
    documents = [
        crx.Document(uri=f"ticket:{key}", text=text, metadata={"year": year, "area": area})
        for key, year, area, text in TICKETS
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        crx.open(Path(folder) / "tickets.crx", settings={"embedder": "hashed"}) as index,
    ):
        index.add_documents(documents)
        found = index.search("printing problem", where={"year": {">=": 2024}, "area": "printing"})
        for passage in found:
            print(passage.uri, passage.text)


if __name__ == "__main__":
    main()
