"""Rule of source code: what definitions, paths and kinds of files say of the candidates.

The formulas are those of the core's module `code`. Where the ten best candidates are no source
code, the order stays, and no other candidate is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crx import _native
from crx.config import Settings
from crx.retrieve.search_state import Search
from crx.types import LEGS, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOrder:
    """How much definitions, paths and kinds of files count in code; see `config.Settings`.

    Of packages in twelve languages, 100 candidates found fewer files than 150 (nDCG@10 .816
    against .820), 200 hardly more (.821). The `best` candidates tell whether there is source code.
    """

    name: ClassVar[str] = "code"
    reads: int = 150
    best: int = 10
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
            definition=settings.code_definition,
            names=settings.code_names,
            path=settings.code_path,
            aside=settings.code_aside,
            prose=settings.code_prose,
            file=settings.code_file,
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
        keys, scores = search.ranking.keys, search.ranking.scores
        rows = search.rows.read(keys.tolist())
        # A chunk that was removed from the store since the legs were searched is no candidate.
        stored = np.array([key in rows for key in keys.tolist()], bool)
        keys, scores = keys[stored], scores[stored]
        given = [
            (rows[key].doc, rows[key].uri, rows[key].kind, rows[key].text) for key in keys.tolist()
        ]
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
