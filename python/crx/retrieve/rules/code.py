"""Rule of source code: what definitions, paths and kinds of files say of the candidates.

The formulas are those of the core's module `code`. Where the ten best candidates are no source
code, the order stays, and no other candidate is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.config import Settings
from crx.retrieve.ports import Keys
from crx.retrieve.search_state import Search
from crx.types import LEGS, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOrder:
    """How much definitions, paths and kinds of files count in code; see `config.Settings`.

    Of packages in twelve languages, 100 candidates found fewer files than 150 (nDCG@10 .816
    against .820), 200 hardly more (.821). The `best` candidates tell whether there is source code.
    A name that is used everywhere is defined in a chunk that has it once: of a name in the query,
    definitions among the `deepest` chunks of BM25 are candidates, too.
    """

    name: ClassVar[str] = "code"
    reads: int = 150
    best: int = 10
    deepest: int = 1_000
    definition: float
    names: float
    path: float
    aside: float
    prose: float
    file: float

    @staticmethod
    def of(settings: Settings) -> CodeOrder:
        """Return the rule with the values of some settings."""
        return CodeOrder(
            definition=settings.rank_code_definition,
            names=settings.rank_code_names,
            path=settings.rank_code_path,
            aside=settings.rank_code_aside,
            prose=settings.rank_code_prose,
            file=settings.rank_code_file,
        )

    def applies(self, search: Search) -> bool:
        """Return whether one of the best candidates is source code.

        A search of one leg shows the ranking of that leg.
        """
        if set(search.request.legs) != set(LEGS):
            return False
        best = search.rows.read(search.ranking.keys[: self.best].tolist()).values()
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
            path=self.path,
            aside=self.aside,
            prose=self.prose,
            file=self.file,
        )
        ordered = Ranking(keys[order], scores)
        return search._replace(ranking=ordered, rankings={**search.rankings, self.name: ordered})

    def _add_definitions(self, search: Search) -> tuple[Keys, NDArray[np.float32]]:
        """Return the candidates, and behind them other chunks that define a name of the query."""
        keys, scores = search.ranking.keys, search.ranking.scores
        bm25 = search.rankings.get("bm25")
        if bm25 is None or len(bm25.keys) < search.parameters.weights.bm25_depth:
            return keys, scores
        known = {*keys.tolist(), *search.dropped}
        added: dict[int, None] = {}
        for name in _native.query_symbols(search.query):
            found, _ = search.legs.lexical.search(
                name, k=self.deepest, langs=search.searcher.langs, weights=(1.0, 0.0, 0.0)
            )
            further = [key for key in found.tolist() if key not in known]
            rows = search.rows.read(further)
            given = [(row.uri, row.text) for row in rows.values()]
            defining = _native.defining(given, name)
            pairs = zip(rows, defining, strict=True)
            added |= dict.fromkeys(key for key, is_defining in pairs if is_defining)
        if not added:
            return keys, scores
        lowest = np.full(len(added), scores.min(), np.float32)
        return np.append(keys, np.array([*added], np.int64)), np.append(scores, lowest)
