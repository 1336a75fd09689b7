"""Use the plugins of this folder, which must be installed: `pip install examples/plugin`."""

import tempfile
from pathlib import Path

import crx

PAPERS = Path(__file__).parent / "papers.bib"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        crx.open(Path(folder) / "papers.crx", settings={"embedder": "trigrams:512"}) as index,
    ):
        index.add(PAPERS)
        outcome = index.contextualize("opening:")
        print(f"contexts: {outcome.coverage:.0%} of {outcome.chunks} chunks")
        found = index.search("combining rankings", k=1, where={"year": 2009})
        print(found[0].title)
        print(found.hits[0].context)


if __name__ == "__main__":
    main()
