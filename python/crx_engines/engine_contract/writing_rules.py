"""Rules of puts and removals, each checked on an engine that holds no index yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crx_engines.engine.bm25 import count_chunks
from crx_engines.engine.protocol import Engine, Saturation
from crx_engines.engine_contract.expectations import BrokenRule, digest_or_none, expect, rows_of
from crx_engines.engine_contract.sample_documents import make_documents, make_settings


def settings_are_kept(engine: Engine) -> None:
    """Settings are none before create and then those of the first."""
    settings = make_settings()
    expect("settings before create", engine.settings(), {})
    engine.create(settings)
    expect("settings after create", engine.settings(), settings)
    engine.create({**settings, "embedder": "other"})
    expect("settings after a second create", engine.settings(), settings)


def puts_are_counted(engine: Engine) -> None:
    """upsert counts the documents that were not there already."""
    engine.create(make_settings())
    documents = make_documents()
    expect("documents put", engine.upsert(documents), len(documents))
    expect("the same documents put again", engine.upsert(documents), 0)
    changed = replace(documents[0], title="Zanzibar")
    expect("one changed document and one the same", engine.upsert([changed, documents[1]]), 1)


def removals_are_counted(engine: Engine) -> None:
    """delete counts the documents that were there."""
    engine.create(make_settings())
    first, second, *_rest = documents = make_documents()
    engine.upsert(documents)
    expect("documents removed", engine.delete([first.uri, second.uri, "none"]), 2)
    expect("documents removed again", engine.delete([first.uri]), 0)
    engine.publish()
    with engine.snapshot() as snapshot:
        expect("a removed document", snapshot.read(first.uri), None)


def documents_are_replaced(engine: Engine) -> None:
    """A document replaces the one of its URI."""
    engine.create(make_settings())
    documents = make_documents()
    engine.upsert(documents)
    changed = replace(documents[0], title="Zanzibar", chunks=documents[0].chunks[:1])
    engine.upsert([changed])
    engine.publish()
    chunks = 1 + sum(len(each.chunks) for each in documents[1:])
    with engine.snapshot() as snapshot:
        found = snapshot.digests(where={"title": "Zanzibar"})
        expect("documents of the new title", found, {changed.uri: changed.digest()})
        stats = snapshot.stats()
        expect("documents and chunks", (stats.documents, stats.chunks), (len(documents), chunks))


def sums_are_exact(engine: Engine) -> None:
    """Sums are exact after puts and removals."""
    engine.create(make_settings())
    documents, terms = make_documents(), ["the", "index", "whale", "寺庙", "null"]
    engine.upsert(documents[:3])
    engine.publish()
    before = _sums(engine, terms)
    engine.upsert(documents[3:])
    engine.delete([each.uri for each in documents[3:]])
    engine.publish()
    expect("sums after a put and its removal", _sums(engine, terms), before)


def snapshots_do_not_change(engine: Engine) -> None:
    """A snapshot is one state, and two states have two versions."""
    engine.create(make_settings())
    documents = make_documents()
    engine.upsert(documents[:3])
    engine.publish()
    with engine.snapshot() as snapshot:
        before = (snapshot.stats(), snapshot.digests(where=None))
        engine.upsert(documents[3:])
        engine.delete([documents[0].uri])
        expect("a state", (snapshot.stats(), snapshot.digests(where=None)), before)
    with engine.snapshot() as snapshot:
        if snapshot.stats().version == before[0].version:
            raise BrokenRule(f"version {before[0].version} of two states")


def any_text_is_found(engine: Engine) -> None:
    """A text is found whatever signs it holds."""
    engine.create(make_settings())
    text = 'search null NULL {curly} "quoted" back\\slash o\'brien a,b 100% $1 :name ⟨x⟩ c++ C#'
    document = make_documents()[0]
    chunk = replace(document.chunks[0], start=0, end=len(text), context=None)
    odd = replace(document, uri="odd'\"", text=text, marks="[]", chunks=(chunk,))
    engine.upsert([odd])
    engine.publish()
    with engine.snapshot() as snapshot:
        found = snapshot.sparse_topk([("null", 1.0)], k=5, saturation=Saturation(), where=None)
        expect("texts of chunks", [row.text for row in rows_of(snapshot, found)], [text])
        terms = sorted(count_chunks(odd)[0].counts)
        freqs = snapshot.doc_freqs(terms, saturation=Saturation())
        expect(f"chunks with each of {terms}", freqs, [1] * len(terms))
        expect("the document", digest_or_none(snapshot.read(odd.uri)), odd.digest())


def _sums(engine: Engine, terms: Sequence[str]) -> tuple[object, list[int]]:
    with engine.snapshot() as snapshot:
        stats = replace(snapshot.stats(), version=0)
        return stats, snapshot.doc_freqs(terms, saturation=Saturation())


# Each is named by its docstring.
WRITING_RULES: tuple[Callable[[Engine], None], ...] = (
    settings_are_kept,
    puts_are_counted,
    removals_are_counted,
    documents_are_replaced,
    sums_are_exact,
    snapshots_do_not_change,
    any_text_is_found,
)
