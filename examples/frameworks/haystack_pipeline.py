"""Search an index in a pipeline of Haystack that is stored as YAML."""

import tempfile
from pathlib import Path

from haystack import Pipeline

import crx
from haystack_integrations.components.retrievers.crx import CrxRetriever

AGREEMENTS = Path(__file__).parents[1] / "agreements"
QUERY = "within how many days is an invoice paid?"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agreements.crx"
        with crx.open(path, settings={"embedder": "hashed", "chunk_chars": 160}) as index:
            index.add(AGREEMENTS)
        pipeline = Pipeline()
        pipeline.add_component("retriever", CrxRetriever(str(path), top_k=1))
        stored = pipeline.dumps()
        found = Pipeline.loads(stored).run({"retriever": {"query": QUERY}})
        for document in found["retriever"]["documents"]:
            first, last = document.meta["lines"]
            name = Path(document.meta["source"]).name
            print(f"{name}, lines {first}-{last}")
            print(document.content.strip())


if __name__ == "__main__":
    main()
