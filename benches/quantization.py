"""Recall of coarse vectors whose best candidates are scored again by the half-precision ones.

    python benches/quantization.py QUESTIONS INDEX... [--json FILE]

The rows are the vectors of indexes of the same embedder, the queries the questions of a JSON-lines
file (`query` or `question`), embedded by it. Recall is the share of the exact 20 nearest rows among
the first 20 of the candidates after they are scored again. `int8` has one scale for all rows; a
single bit is the sign of each number, `centred` after the mean of all rows was subtracted. The
query is not rounded.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from harness import write_results
from numpy.typing import NDArray

import crx
from crx.ingest.embed import Situated
from crx.ingest.embed_pending import vector_key
from crx.ingest.embedding_prefix import embedding_prefix

TOP = 20
CANDIDATES = (20, 50, 150, 500, 1000)
Rows = NDArray[np.float32]


def read_vectors(index: crx.Index) -> Rows:
    """Return the distinct vectors of an index."""
    store, embedder = index.store, index.embedder
    found: dict[bytes, bytes] = {}
    after = 0
    while rows := store.chunks(np.arange(after + 1, after + 1001)):
        texts = [Situated(embedding_prefix(row.outline, row.context), row.text) for row in rows]
        keys = [vector_key(embedder, text) for text in texts]
        vectors = zip(keys, store.vectors(keys), strict=True)
        found |= {key: data for key, data in vectors if data is not None}
        after += 1000
    data = b"".join(found.values())
    return np.frombuffer(data, "<f2").reshape(-1, embedder.dimensions).astype(np.float32)


def recalls(scores: Rows, rows: Rows, queries: Rows) -> dict[str, float]:
    """Return recall@20 by the number of candidates that the coarse scores (q, n) choose."""
    exact = queries @ rows.T
    nearest = [set(np.argpartition(-each, TOP)[:TOP].tolist()) for each in exact]
    found = {}
    for count in CANDIDATES:
        chosen = np.argpartition(-scores, count, axis=1)[:, :count]
        kept = [
            set(picked[np.argsort(-each[picked])[:TOP]].tolist())
            for picked, each in zip(chosen, exact, strict=True)
        ]
        hits = sum(len(a & b) for a, b in zip(kept, nearest, strict=True))
        found[str(count)] = hits / (TOP * len(queries))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("indexes", nargs="+", type=Path)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    parts = []
    for folder in arguments.indexes:
        with crx.open(folder, create=False) as index:
            parts.append(read_vectors(index))
            embedder = index.embedder
    rows = np.concatenate(parts)
    lines = map(json.loads, arguments.questions.read_text(encoding="utf-8").splitlines())
    texts = [line.get("query") or line["question"] for line in lines]
    queries = embedder.embed(texts, query=True)
    scale = 127 / np.abs(rows).max()
    coarse = {
        "int8": np.round(rows * scale),
        "1 bit": np.where(rows > 0, 1, -1),
        "1 bit, centred": np.where(rows > rows.mean(axis=0), 1, -1),
    }
    figures: dict[str, object] = {"rows": len(rows), "queries": len(queries)}
    for name, each in coarse.items():
        figures[name] = recalls(queries @ each.astype(np.float32).T, rows, queries)
        print(name, figures[name])
    if arguments.json:
        benchmark = f"recall@20 of coarse vectors, {embedder.fingerprint}"
        write_results(arguments.json, benchmark=benchmark, rounds=1, figures=figures)


if __name__ == "__main__":
    main()
