"""Rule of time: newer documents rank higher among those that match about as well.

The score of a candidate is multiplied by `1 + weight * 0.5 ** (age / half_life)`, so that no age
changes it by more than the weight. Ages count from the newest candidate and not from today: an
archive keeps its order as it grows old, and the same index gives the same answer every day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import ClassVar, NamedTuple

import numpy as np
import orjson

from crx.config import Settings
from crx.retrieve.rows import DocumentRow
from crx.retrieve.search_state import EMPTY, Search
from crx.types import Ranking

_DAY_S = 86_400.0
_YEARS = range(1000, 10_000)
# Years and months alone, which `datetime.fromisoformat` does not read.
_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")


class _BoostedRanking(NamedTuple):
    """A ranking after the boost.

    `ages` holds the candidates that have a time, the newest first, with the share by which the
    score of each was raised. `notes` are warnings of one line each.
    """

    ranking: Ranking
    ages: Ranking
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recency:
    """How much time counts; see `config.Settings`.

    `field` is the field of the metadata that holds the date; "" is the time of the file.
    """

    name: ClassVar[str] = "recency"
    reads: int
    weight: float
    half_life_days: float
    field: str

    @staticmethod
    def of(settings: Settings) -> Recency | None:
        """Return the rule with the values of some settings, None if time does not count."""
        if not settings.rank_recency_weight:
            return None
        return Recency(
            reads=settings.rank_fusion_depth,
            weight=settings.rank_recency_weight,
            half_life_days=settings.rank_recency_days,
            field=settings.rank_recency_field,
        )

    def applies(self, search: Search) -> bool:
        """Return True: which documents are newer is seen when they are read."""
        return True

    def apply(self, search: Search) -> Search:
        """Return the search with the scores of newer documents raised."""
        rows = search.rows.read(search.ranking.keys.tolist())
        read = search.searcher.documents.document_by_id
        documents = {doc: read(doc) for doc in {row.doc for row in rows.values()}}
        found = {
            key: _document_time(document, self.field)
            for key, row in rows.items()
            if (document := documents[row.doc]) is not None
        }
        times = {key: time for key, time in found.items() if time is not None}
        boosted = boost_recent(search.ranking, times, self)
        rankings = {**search.rankings, self.name: boosted.ages}
        search = search._replace(ranking=boosted.ranking, rankings=rankings)
        return search.noting(*boosted.notes)


def boost_recent(ranking: Ranking, times: Mapping[int, float], recency: Recency) -> _BoostedRanking:
    """Return the ranking with scores raised by age; `times` are seconds by key.

    A key without a time keeps its score, as does one whose score is not above 0. Equal scores keep
    their order.
    """
    dated = [key for key in ranking.keys.tolist() if key in times]
    if not dated:
        return _BoostedRanking(ranking, EMPTY, _describe_undated(ranking, 0, recency))
    newest = max(times[key] for key in dated)
    shares = {
        key: recency.weight * 0.5 ** ((newest - times[key]) / _DAY_S / recency.half_life_days)
        for key in dated
    }
    factors = np.array([1 + shares.get(key, 0.0) for key in ranking.keys.tolist()], np.float32)
    scores = np.where(ranking.scores > 0, ranking.scores * factors, ranking.scores)
    order = np.argsort(-scores, kind="stable")
    by_age = sorted(dated, key=lambda key: (-times[key], key))
    ages = Ranking(
        np.array(by_age, np.int64), np.array([shares[key] for key in by_age], np.float32)
    )
    boosted = Ranking(ranking.keys[order], scores[order].astype(np.float32))
    return _BoostedRanking(boosted, ages, _describe_undated(ranking, len(dated), recency))


def _document_time(row: DocumentRow, field: str) -> float | None:
    """Return the time of a document in seconds since 1970, None if it has none."""
    if field:
        return parse_time(orjson.loads(row.metadata).get(field))
    return row.source_mtime_ns / 1e9 if row.source_mtime_ns else None


def parse_time(value: object) -> float | None:
    """Return a date, a date with a time, a year or seconds since 1970 in seconds, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _seconds(datetime(int(value), 1, 1)) if value in _YEARS else float(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if partial := _PARTIAL.fullmatch(text):
        text = f"{partial[1]}-{partial[2] or '01'}-01"
    try:
        return _seconds(datetime.fromisoformat(text.replace("Z", "+00:00")))
    except ValueError:
        return None


def _seconds(moment: datetime) -> float:
    known = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return known.timestamp()


def _describe_undated(ranking: Ranking, dated: int, recency: Recency) -> tuple[str, ...]:
    total = len(ranking.keys)
    if dated == total:
        return ()
    where = f"a date in the field {recency.field}" if recency.field else "the time of a file"
    return (f"recency: {total - dated} of {total} candidates do not have {where}",)
