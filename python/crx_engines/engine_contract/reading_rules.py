"""Rules of reads, each checked on snapshots of the same documents in an engine and in a folder."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from crx_engines.engine.protocol import Conditions, EngineSnapshot, Saturation
from crx_engines.engine_contract.expectations import (
    BrokenRule,
    all_keys,
    digest_or_none,
    expect,
    expect_ranking,
)
from crx_engines.engine_contract.sample_documents import make_documents, make_vector

_QUERIES = (
    [("index", 1.5), ("search", 0.5)],
    [("whale", 1.0)],
    [("the", 0.25), ("server", 2.0), ("nosuchterm", 1.0)],
)
_SATURATIONS = (
    Saturation(),
    Saturation(k1=0.9, b=0.4, weights=(1.0, 2.0, 0.5)),
    Saturation(weights=(1.0, 0.0, 1.0)),
)
_FILTERS: tuple[dict[str, Any] | None, ...] = (
    None,
    {"lang": "zh"},
    {"year": {">=": 2011, "<": 2013}},
    {"year": 2012.0},
    {"tags": ["n1", "n2"]},
    {"tags": {"!=": "n0"}},
    {"draft": True, "title": {"prefix": "N"}},
    {"uri": "notes/*"},
    {"source": "notes/[0-9].md"},
    {"uri": {"glob": "**#part"}},
    {"uri": {"glob": "*.md"}},
    {"uri": {"!=": "notes/*"}},
    {"title": {"<": "Note 2"}},
    {"title": {"glob": ["*1", "*3"]}},
    {"from": {"glob": "**[oO]la**"}},
    {"from": {"!=": "**ola**"}},
    {"type": ["memo", "text"]},
    {"type": {"!=": "markdown"}},
    {"absent": {"!=": 1}},
    {"absent": 1},
)
_INVALID: tuple[dict[str, Any], ...] = (
    {"year": {}},
    {"year": {"~": 1}},
    {"year": {"<": True}},
    {"uri": "notes/[a"},
    {"year": None},
    {"title": {"glob": []}},
    {"title": {"glob": ["*", 1]}},
)


def statistics_are_sums(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Statistics are sums over the documents."""
    stats, wanted = found.stats(), expected.stats()
    expect("statistics", replace(stats, version=0), replace(wanted, version=0))


def frequencies_are_exact(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """doc_freqs counts chunks by fields of positive weight."""
    terms = ["the", "index", "whale", "寺庙", "note", "nosuchterm"]
    for saturation in _SATURATIONS:
        freqs = found.doc_freqs(terms, saturation=saturation)
        expect(f"{terms}, {saturation}", freqs, expected.doc_freqs(terms, saturation=saturation))


def dense_rankings_agree(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """dense_topk ranks by inner products with vectors."""
    query = make_vector(b"query").astype(np.float32)
    for where in _FILTERS:
        for k in (3, 100):
            rankings = (each.dense_topk(query, k=k, where=where) for each in (found, expected))
            expect_ranking(f"k={k}, where={where}", *rankings, snapshots=(found, expected))


def sparse_rankings_agree(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """sparse_topk ranks by inner products with saturations."""
    for weights in _QUERIES:
        for saturation in _SATURATIONS:
            for where in _FILTERS:
                rankings = [
                    each.sparse_topk(weights, k=100, saturation=saturation, where=where)
                    for each in (found, expected)
                ]
                fact = f"{weights}, {saturation}, where={where}"
                expect_ranking(fact, *rankings, snapshots=(found, expected))


def unknown_terms_find_nothing(found: EngineSnapshot, _: EngineSnapshot) -> None:
    """A chunk without any of the terms is in no ranking."""
    for weights in ([], [("nosuchterm", 1.0)]):
        ranking = found.sparse_topk(weights, k=5, saturation=Saturation(), where=None)
        expect(f"{weights}", ranking.keys.tolist(), [])


def rankings_are_in_order(found: EngineSnapshot, _: EngineSnapshot) -> None:
    """Larger scores are first, equal ones by key."""
    query = make_vector(b"query").astype(np.float32)
    rankings = [found.dense_topk(query, k=100, where=None)]
    for weights in _QUERIES:
        rankings.append(found.sparse_topk(weights, k=100, saturation=Saturation(), where=None))
    for ranking in rankings:
        pairs = list(zip((-ranking.scores).tolist(), ranking.keys.tolist(), strict=True))
        expect("(-score, key)", pairs, sorted(pairs))


def filters_agree(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """A filter selects what it selects of a folder."""
    for where in _FILTERS:
        wanted = expected.digests(where=where)
        expect(f"documents where {where}", set(found.digests(where=where)), set(wanted))
        if where is not None:
            expect(f"a document where {where}", found.has_document(where=where), bool(wanted))


def invalid_filters_are_refused(found: EngineSnapshot, _: EngineSnapshot) -> None:
    """A filter that is not valid raises ValueError."""
    query = make_vector(b"query").astype(np.float32)
    calls: tuple[Callable[[Conditions], object], ...] = (
        lambda where: found.dense_topk(query, k=1, where=where),
        lambda where: found.sparse_topk(
            [("index", 1.0)], k=1, saturation=Saturation(), where=where
        ),
        lambda where: found.has_document(where=where),
        lambda where: found.digests(where=where),
    )
    for where in _INVALID:
        for call in calls:
            try:
                call(where)
            except ValueError:
                continue
            raise BrokenRule(f"{where} is accepted")


def rows_are_in_order(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Rows are in the order of the keys, without unknown ones."""
    keys = all_keys(found)[::-1]
    unknown = max(keys) + 10**6
    rows = found.rows([*keys[:2], unknown, *keys[2:]])
    expect("keys", [row.key for row in rows], keys)
    wanted = {
        (row.uri, row.ordinal): replace(row, key=0, doc=0)
        for row in expected.rows(all_keys(expected))
    }
    for row in rows:
        expect("a chunk", replace(row, key=0, doc=0), wanted[row.uri, row.ordinal])


def documents_are_found(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Documents are those of the ids."""
    both = []
    for snapshot in (found, expected):
        docs = {row.doc for row in snapshot.rows(all_keys(snapshot))}
        documents = snapshot.documents(sorted(docs))
        expect("ids", {each.doc for each in documents}, docs)
        both.append({each.uri: replace(each, doc=0) for each in documents})
    expect("documents", *both)


def layouts_agree(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Neighbours are the layout as far as there are chunks."""
    for each_side in (0, 1, 8):
        both = []
        for snapshot in (found, expected):
            rows = snapshot.rows(all_keys(snapshot))
            uris = {row.doc: row.uri for row in rows}
            positions = [(row.doc, row.ordinal) for row in rows if row.ordinal in (0, 2)]
            layout = snapshot.neighbours(positions, each_side=each_side).tolist()
            pairs = [(doc, ordinal) for doc, ordinal, *_ in layout]
            expect("(document, ordinal)", pairs, sorted(set(pairs)))
            both.append({(uris[doc], *rest) for doc, *rest in layout})
        expect(f"rows within {each_side} chunks", *both)


def spans_agree(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Spans have their text, lines and marks."""
    both = []
    for snapshot in (found, expected):
        rows = sorted(snapshot.rows(all_keys(snapshot)), key=lambda row: (row.uri, row.ordinal))
        ends = {row.uri: row.end for row in rows}
        spans = [(row.doc, row.start, ends[row.uri]) for row in rows]
        both.append(
            [replace(each, marks=orjson.loads(each.marks)) for each in snapshot.spans(spans)]
        )
    for one, other in zip(*both, strict=True):
        expect("a span", one, other)


def fields_are_named(found: EngineSnapshot, expected: EngineSnapshot) -> None:
    """Fields are the names in the metadata."""
    expect("fields", found.fields(), expected.fields())


def documents_read_back(found: EngineSnapshot, _: EngineSnapshot) -> None:
    """A document reads back as it was put."""
    documents = {each.uri: each for each in make_documents()}
    digests = {uri: each.digest() for uri, each in documents.items()}
    expect("digests", found.digests(where=None), digests)
    for uri, document in documents.items():
        read = found.read(uri)
        if digest_or_none(read) != digests[uri]:
            raise BrokenRule(f"{read!r} instead of {document!r}")
    expect("a document that there is not", found.read("none"), None)


def threads_read_alike(found: EngineSnapshot, _: EngineSnapshot) -> None:
    """Several threads read the same."""
    query = make_vector(b"query").astype(np.float32)
    keys = all_keys(found)

    def read(_: int) -> tuple[object, ...]:
        dense = found.dense_topk(query, k=10, where={"lang": "en"})
        return dense.keys.tolist(), found.rows(keys), found.stats(), found.digests(where=None)

    expected = read(0)
    with ThreadPoolExecutor(4) as threads:
        for answer in threads.map(read, range(8)):
            expect("the answers to a thread", answer, expected)


# Each is named by its docstring.
READING_RULES: tuple[Callable[[EngineSnapshot, EngineSnapshot], None], ...] = (
    documents_read_back,
    statistics_are_sums,
    frequencies_are_exact,
    dense_rankings_agree,
    sparse_rankings_agree,
    unknown_terms_find_nothing,
    rankings_are_in_order,
    filters_agree,
    invalid_filters_are_refused,
    rows_are_in_order,
    documents_are_found,
    layouts_agree,
    spans_agree,
    fields_are_named,
    threads_read_alike,
)
