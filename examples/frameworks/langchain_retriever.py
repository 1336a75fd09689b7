"""Search an index through LangChain: a retriever, and a reranker behind it."""

import tempfile
from pathlib import Path

import crx
from crx_serve.integrations.langchain import CrxReranker, CrxRetriever

AGREEMENTS = Path(__file__).parents[1] / "agreements"
QUERY = "within how many days is an invoice paid?"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"embedder": "hashed", "chunk_chars": 160}
        with crx.open(Path(folder) / "agreements.crx", settings=settings) as index:
            index.add(AGREEMENTS)
            # `prompt | model` would follow; without one, the documents are printed.
            retriever = CrxRetriever(index=index, k=5)
            documents = CrxReranker(reranker="overlap", top_n=1).compress_documents(
                retriever.invoke(QUERY), QUERY
            )
        for document in documents:
            first, last = document.metadata["lines"]
            name = Path(document.metadata["source"]).name
            print(f"{name}, lines {first}-{last}")
            print(document.page_content.strip())


if __name__ == "__main__":
    main()
