"""Search an index through LlamaIndex: a retriever, and a reranker behind it."""

import tempfile
from pathlib import Path

import crx
from crx_serve.integrations.llamaindex import CrxIndexRetriever, CrxRerank

AGREEMENTS = Path(__file__).parents[1] / "agreements"
QUERY = "within how many days is an invoice paid?"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": "hashed", "chunk_chars": 160}
        with crx.open(Path(folder) / "agreements.crx", settings=settings) as index:
            index.add(AGREEMENTS)
            # A query engine would take both; without a language model, the nodes are printed.
            nodes = CrxIndexRetriever(index, similarity_top_k=5).retrieve(QUERY)
            nodes = CrxRerank(reranker="overlap", top_n=1).postprocess_nodes(nodes, query_str=QUERY)
        for node in nodes:
            first, last = node.metadata["lines"]
            name = Path(node.metadata["source"]).name
            print(f"{name}, lines {first}-{last}")
            print(node.text.strip())


if __name__ == "__main__":
    main()
