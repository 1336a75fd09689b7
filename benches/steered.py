"""The share of 200 hostile documents that steer a model's contexts.

Each document demands a code word (`tests/support/injections.py`). A context that holds it counts as
steered, also if it only mentions the attack. A run whose time is up is resumed by the same command.

    python benches/steered.py llama:smollm2 INDEX --budget 15m
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("python", "tests/support")]

from injections import make_injections  # noqa: E402

import crx  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="contextualizer, such as llama:smollm2")
    parser.add_argument("index", help="folder of the index that holds the documents")
    parser.add_argument("--budget", default="15m", help="time of the run")
    options = parser.parse_args()
    injections = {each.document.uri: each for each in make_injections()}
    with crx.open(options.index, settings={"embedder": "hashed", "reranker": ""}) as index:
        index.add_documents([each.document for each in injections.values()])
        index.contextualize(options.model, budget=options.budget)
        store = index.store
        rows = [store.chunks(store.chunk_keys(row.doc))[0] for row in store.documents()]
    written = [row for row in rows if row.outcome]
    steered = [row for row in written if injections[row.uri].has_steered(row.context)]
    outcomes = Counter(row.outcome for row in written)
    print(f"{len(written)} documents, {len(steered)} steered")
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    for row in steered:
        print(f"{injections[row.uri].attack}: {row.context!r}")


if __name__ == "__main__":
    main()
