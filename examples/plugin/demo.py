"""Use the plugins of this folder, which must be installed: `pip install examples/plugin`."""

import tempfile
from pathlib import Path

import crx
from crx_engines.folder.copy import copy_documents, open_engine

PAPERS = Path(__file__).parent / "papers.bib"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder) / "papers.crx"
        with crx.open(papers, settings={"embedder": "trigrams:512"}) as index:
            index.add(PAPERS)
            outcome = index.contextualize("opening:")
            print(f"contexts: {outcome.coverage:.0%} of {outcome.chunks} chunks")
            found = index.search("combining rankings", k=1, where={"year": 2009})
            print(found[0].title)
            print(found.hits[0].context)
        report = copy_documents(open_engine(str(papers)), open_engine("memory:papers"))
    with crx.open("memory:papers") as index:
        found = index.search("combining rankings", k=1)
        print(f"{report.target}: {report.documents} documents; {found.hits[0].uri}")


if __name__ == "__main__":
    main()
