"""Numbers of the steps before the rules: those of BM25, of the two legs and of their fusion."""

from __future__ import annotations

from typing import NamedTuple

from crx.config import Settings

# How many chunks a leg gives if those of its depth are too few, as if copies fill them, or a name
# is used everywhere.
DEEPEST = 750


class RankingWeights(NamedTuple):
    """The numbers of BM25, of the outline in it, of the dense leg and of the fusion.

    `config.Settings` says what each does. The outline holds the headings around a chunk and the
    names of its document. If the query names the document of the best chunks, the headings tell
    where the rest of it is answered: from 4 to 8, contracts gained 3 to 4 points at 1 and 2 to 3 at
    5, with contexts and without. If it names none, the outline counts as the text: with 2 instead,
    wiki-en lost 1.1 points at 1, and contracts, the worst set, gained .5 at 20 and .2 at 5. So does
    the context: with .5 and 2, codebases with contexts lost .9 and 1.8 points at 1. The outline of
    source code names what the chunk defines: with 1 instead of 2, codebases lost .5 at 5 and .6 at
    20.
    """

    depth: int
    k1: float
    b: float
    outline_code: float
    outline_named: float
    dense_weight: float
    score_share: float
    rrf_k: float

    @staticmethod
    def of(settings: Settings) -> RankingWeights:
        """Return the numbers of some settings."""
        return RankingWeights(
            depth=settings.rank_fusion_depth,
            k1=settings.rank_bm25_k1,
            b=settings.rank_bm25_b,
            outline_code=settings.rank_outline_code,
            outline_named=settings.rank_outline_named,
            dense_weight=settings.rank_fusion_dense,
            score_share=settings.rank_fusion_score_share,
            rrf_k=settings.rank_fusion_rrf_k,
        )
