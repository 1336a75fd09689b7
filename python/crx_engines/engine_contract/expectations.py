"""Comparisons of what an engine gives with what it should give."""

from __future__ import annotations

from crx.types import Ranking
from crx_engines.engine.protocol import EngineSnapshot, FoundChunk, Saturation, StoredDocument

# What another order of adding up may change of a score.
_TOLERANCE = 1e-4


class BrokenRule(AssertionError):
    """An engine breaks a rule of the contract, which the message names."""


def expect(fact: str, found: object, expected: object) -> None:
    """Raise `BrokenRule` unless what was found is what was expected."""
    if found != expected:
        raise BrokenRule(f"{fact}: {found!r} instead of {expected!r}")


def expect_ranking(
    fact: str,
    found: Ranking,
    expected: Ranking,
    *,
    snapshots: tuple[EngineSnapshot, EngineSnapshot],
) -> None:
    """Compare rankings of two engines, whose keys differ; equal scores may be in another order."""
    one, other = (
        {
            (row.uri, row.ordinal): float(score)
            for row, score in zip(rows_of(snapshot, ranking), ranking.scores, strict=True)
        }
        for snapshot, ranking in zip(snapshots, (found, expected), strict=True)
    )
    expect(f"{fact}: chunks", set(one), set(other))
    for chunk, score in one.items():
        if abs(score - other[chunk]) > _TOLERANCE:
            raise BrokenRule(f"{fact}: {chunk} scores {score} instead of {other[chunk]}")


def rows_of(snapshot: EngineSnapshot, ranking: Ranking) -> list[FoundChunk]:
    """Return the chunks of a ranking."""
    return list(snapshot.rows(ranking.keys.tolist()))


def all_keys(snapshot: EngineSnapshot) -> list[int]:
    """Return the keys of the chunks that hold one of the words of the documents."""
    words = [("the", 1.0), ("index", 1.0), ("whale", 1.0), ("legs", 1.0), ("地震", 1.0)]
    found = snapshot.sparse_topk(words, k=100, saturation=Saturation(), where=None)
    keys: list[int] = found.keys.tolist()
    return keys


def digest_or_none(document: StoredDocument | None) -> bytes | None:
    """Return the digest of a document, None for none."""
    return None if document is None else document.digest()
