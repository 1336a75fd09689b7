"""Coverage of the answers by passages under a budget of tokens: `auto` against fixed windows.

All methods use the same hits, the best 150 of the fusion. `auto` is `widen` under the
budget. A fixed window takes the hits best first, each with its neighbours, if the chunks that are
not taken yet fit into the rest of the budget; a hit that does not fit is skipped. A window of 0 is
the top chunks. Tokens that windows share count once, and no chunk is cut. The figure is the mean
share of a question's gold characters in the passages (`crx_evaluate.metrics.coverage`), in percent.

Run: python benches/passages.py FOLDER INDEX [--budgets 1000,2000,4000]

FOLDER is a question set, INDEX an index of it: `crx eval FOLDER --index INDEX` makes one.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from harness import commit

import crx
from crx.retrieve._legs.leg_search import search_legs
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.hits import read_hits
from crx.retrieve.ports import DocumentReader
from crx.retrieve.request import SearchRequest
from crx.retrieve.search import run_steps
from crx.retrieve.search_state import Step, start_search
from crx.retrieve.widen import widen
from crx.types import LEGS, Hit
from crx_evaluate.datasets import GoldSpan, read_set
from crx_evaluate.metrics import coverage

DEPTH = 150
WINDOWS = (0, 1, 2, 3, 5)
STEPS: list[tuple[str, Step]] = [
    ("retrieve", search_legs),
    ("fuse", fuse_legs),
    ("hits", read_hits),
]

Method = Callable[[list[Hit], int], list[GoldSpan]]
Layout = list[list[int]]


def choose_passages(hits: list[Hit], budget: int, *, documents: DocumentReader) -> list[GoldSpan]:
    found = widen(hits, documents=documents, window="auto", budget_tokens=budget, window_tokens=0)
    assert len(found) == 1 or sum(each.tokens for each in found) <= budget
    return [GoldSpan(each.uri, each.start, each.end) for each in found]


def take_windows(
    hits: list[Hit], budget: int, *, layouts: dict[str, Layout], window: int
) -> list[GoldSpan]:
    taken: set[tuple[str, int]] = set()
    for hit in hits:
        layout = layouts[hit.uri]
        around = range(max(0, hit.ordinal - window), min(len(layout), hit.ordinal + window + 1))
        fresh = {(hit.uri, at) for at in around} - taken
        tokens = sum(layout[at][3] - layout[at][2] for _, at in fresh)
        if tokens <= budget:
            taken |= fresh
            budget -= tokens
    return [GoldSpan(uri, *layouts[uri][at][:2]) for uri, at in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--budgets", default="1000,2000,4000")
    given = parser.parse_args()
    budgets = [int(each) for each in given.budgets.split(",")]
    questions = read_set(given.folder)
    with crx.open(given.index, create=False) as index, index.searcher() as searcher:
        parameters = index.search_models.parameters(LEGS, has_vectors=True, rerank=False)
        rows = index.store.documents()
        layouts = {row.uri: index.store.layout(row.doc).tolist() for row in rows}
        methods: dict[str, Method] = {"auto": partial(choose_passages, documents=index.store)}
        methods |= {
            f"window {n}": partial(take_windows, layouts=layouts, window=n) for n in WINDOWS
        }
        shares = np.zeros((len(methods), len(budgets)))
        for query in questions.queries:
            request = SearchRequest(query=query.text, k=DEPTH)
            search = start_search(request, parameters=parameters, searcher=searcher)
            hits = list(run_steps(search, STEPS).hits)
            shares += [
                [coverage(method(hits, b), query.gold) for b in budgets]
                for method in methods.values()
            ]
    print(f"{questions.name}, {len(questions.queries)} questions, {platform.machine()}, ", end="")
    print(f"commit {commit()}\n")
    print("| gold characters in the passages, % |", *(f"{budget:,} tokens |" for budget in budgets))
    print("|---|" + "---:|" * len(budgets))
    for name, row in zip(methods, 100 * shares / len(questions.queries), strict=True):
        print(f"| {name} |", *(f"{share:.1f} |" for share in row))


if __name__ == "__main__":
    main()
