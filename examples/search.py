"""Make an index of a folder and print the passages that answer a query."""

import tempfile
from pathlib import Path

import crx

AGREEMENTS = Path(__file__).parent / "agreements"
QUERY = "interest on late payments by Contoso"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": "hashed", "chunk_chars": 260}
        with crx.open(Path(folder) / "agreements.crx", settings=settings) as index:
            report = index.add(AGREEMENTS)
            print(f"{report.added} documents, {report.chunks} chunks")
            for passage in index.search(QUERY, k=1, window=0):
                print(f"\n{Path(passage.uri).name}:{passage.lines}  {' > '.join(passage.headings)}")
                print(passage.text.strip())


if __name__ == "__main__":
    main()
