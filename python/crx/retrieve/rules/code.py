"""Rule of source code: what definitions, paths and kinds of files say of the candidates.

The formulas are those of the core's module `code`. Where the ten best candidates are no source
code, the order stays, and no other candidate is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.config import Settings
from crx.retrieve.parameters import DEEPEST
from crx.retrieve.ports import Keys
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.types import LEGS, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOrder:
    """How much definitions, paths and kinds of files count in code; `rust/code/mod.rs` ranks.

    Names of definitions and of files have one weight, as have tests and prose: with .35 instead of
    .3 for those of files, nDCG@10 of 687 questions was .0006 [-.0017, .0031] lower.
    It reads as many candidates as a leg gives: of packages in twelve languages, 100 found fewer
    files than 150 (nDCG@10 .816 against .820), 200 hardly more (.821).
    A name that is used everywhere is defined in a chunk that has it once: of a name in the query,
    definitions among the `DEEPEST` chunks of BM25 are candidates, too, if none is one yet. Where
    one was looked for all the same, nDCG@10 of 687 questions was .0005 [.0000, .0017] higher, and a
    search took a quarter longer.
    """

    name: ClassVar[str] = "code"
    reads: int
    definition: float
    names: float
    aside: float
    file: float

    @staticmethod
    def of(settings: Settings) -> CodeOrder:
        """Return the rule with the values of some settings."""
        return CodeOrder(
            reads=settings.rank_fusion_depth,
            definition=settings.rank_code_definition,
            names=settings.rank_code_names,
            aside=settings.rank_code_aside,
            file=settings.rank_code_file,
        )

    def applies(self, search: Search) -> bool:
        """Return whether one of the best candidates is source code.

        A search of one leg shows the ranking of that leg.
        """
        if set(search.request.legs) != set(LEGS):
            return False
        best = search.rows.read(search.ranking.keys[: _native.BEST].tolist()).values()
        return any(row.kind == "code" for row in best)

    def apply(self, search: Search) -> Search:
        """Return the search with its candidates in the order for source code."""
        keys, scores = self._add_definitions(search)
        rows = search.rows.read(keys.tolist())
        # A chunk that was removed from the store since the legs were searched is no candidate.
        stored = np.array([key in rows for key in keys.tolist()], bool)
        keys, scores = keys[stored], scores[stored]
        found = [rows[key] for key in keys.tolist()]
        given = [(row.doc, row.uri, row.kind, row.text) for row in found]
        order, scores = _native.rank_code(
            search.query,
            given,
            scores,
            definition=self.definition,
            names=self.names,
            path=self.names,
            aside=self.aside,
            prose=self.aside,
            file=self.file,
        )
        ordered = Ranking(keys[order], scores)
        return search._replace(ranking=ordered, rankings={**search.rankings, self.name: ordered})

    def _add_definitions(self, search: Search) -> tuple[Keys, NDArray[np.float32]]:
        """Return the candidates, and behind them chunks that define a name of the query.

        A name that a candidate defines is looked for no further, unless it is in a test.
        """
        keys, scores = search.ranking.keys, search.ranking.scores
        bm25 = search.rankings.get("bm25")
        if bm25 is None or len(bm25.keys) < search.parameters.weights.depth:
            return keys, scores
        added = dict.fromkeys(
            key
            for name in _native.query_symbols(search.query)
            if not self._is_defined(search, name)
            for key in self._find_definitions(search, name)
        )
        if not added:
            return keys, scores
        lowest = np.full(len(added), scores.min(), np.float32)
        return np.append(keys, np.array([*added], np.int64)), np.append(scores, lowest)

    def _is_defined(self, search: Search, name: str) -> bool:
        """Return whether a candidate that is no test, example or document defines a name."""
        keys = search.ranking.keys.tolist()
        rows = search.rows.read(keys)
        aside = find_aside(rows)
        defining = self._defining(search, name, keys)
        return any(rows[key].kind == "code" and not aside[key] for key in defining)

    def _find_definitions(self, search: Search, name: str) -> list[int]:
        """Return the chunks that define a name, of the first batch that has some."""
        found, _ = search.legs.lexical.search(
            name, k=DEEPEST, langs=search.searcher.langs, weights=(1.0, 0.0, 0.0)
        )
        known = {*search.ranking.keys.tolist(), *search.dropped}
        further = [key for key in found.tolist() if key not in known]
        batches = (further[at : at + self.reads] for at in range(0, len(further), self.reads))
        defining = (self._defining(search, name, batch) for batch in batches)
        return next(filter(None, defining), [])

    def _defining(self, search: Search, name: str, keys: Sequence[int]) -> list[int]:
        """Return those of some chunks that define a name as a function or a type."""
        rows = search.rows.read(keys)
        declared = _native.declarations([(row.uri, row.text) for row in rows.values()], name)
        return [
            key
            for key, each in zip(rows, declared, strict=True)
            if each == _native.Declaration.DEFINITION
        ]


def find_aside(rows: Mapping[int, ChunkRow]) -> dict[int, bool]:
    """Return whether each chunk is of a test, an example, vendored or generated code."""
    return dict(zip(rows, _native.aside([row.uri for row in rows.values()]), strict=True))
