"""Rank of the definitions of names in manuals, with and without the rule of definitions.

The questions are the terms and the options that man pages and HTML manuals define, as `crx eval
init --from structure` finds them; one that several documents define is asked for with the name of
its document (`split --lines`). The answer is the beginning of the definition. Words alone, without
the reranker.

The patterns of the rule were chosen on man pages of Debian (`/usr/share/man`, 200 of each of the
sections 1, 5 and 8). The manuals of apache2-doc, postfix-doc and python3.11-doc report.

Run: python benches/definitions.py FOLDER [--questions 160]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import crx
from crx._index.handle import Index
from crx_evaluate import GoldSpan, difference
from crx_evaluate.questions import read_documents
from crx_evaluate.structure.candidates import LOOKED_UP, choose, drop_ambiguous
from crx_evaluate.structure.make import find_candidates

RULE = "definitions"
DEPTH = 20
SEED = 7


def reciprocal_rank(index: Index, query: str, gold: Sequence[GoldSpan], without: str) -> float:
    """Return 1 / the rank of the first hit that covers half of a span, 0 below `DEPTH`."""
    leave_out = [without] * bool(without)
    found = index.search(query, k=DEPTH, window=0, rerank=False, without=leave_out)
    for rank, hit in enumerate(found.hits, start=1):
        for span in gold:
            covered = min(hit.end, span.end) - max(hit.start, span.start)
            if span.doc_id == hit.uri and 2 * covered >= span.end - span.start:
                return 1 / rank
    return 0.0


def describe(name: str, with_rule: NDArray[np.float64], without: NDArray[np.float64]) -> str:
    """Return the figures of some questions, with paired 95% intervals."""
    first = difference((with_rule == 1).astype(float), (without == 1).astype(float))
    mrr = difference(with_rule, without)
    return (
        f"{name} {len(without)}: first {np.mean(without == 1):.1%} -> {np.mean(with_rule == 1):.1%}"
        f" {100 * first.mean:+.1f} [{100 * first.low:+.1f}, {100 * first.high:+.1f}]; MRR "
        f"{without.mean():.3f} -> {with_rule.mean():.3f} {100 * mrr.mean:+.1f} "
        f"[{100 * mrr.low:+.1f}, {100 * mrr.high:+.1f}]"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=160)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        crx.open(Path(folder) / "index.crx", settings={"embedder": "none"}) as index,
    ):
        index.add(given.folder.resolve())
        documents = {each.uri: each for each in read_documents(index.store)}
        found = [each for each in find_candidates(documents, []) if each.kind in LOOKED_UP]
        chosen = choose(drop_ambiguous(found), seed=SEED)
        asked = ((each.query, spans) for each in chosen if (spans := each.answers()))
        questions = list(islice(asked, given.questions))
        ranks = np.array(
            [
                [reciprocal_rank(index, *question, without) for without in ("", RULE)]
                for question in questions
            ]
        )
    several = np.array([" " in query for query, _ in questions])
    for name, those in (("one word", ~several), ("with the document", several)):
        print(describe(name, ranks[those, 0], ranks[those, 1]))


if __name__ == "__main__":
    main()
