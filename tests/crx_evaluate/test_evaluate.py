"""Evaluation of one source of contexts on a question set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crx
from crx.errors import UsageError
from crx_evaluate import Options, read_set, run

SETTINGS = {"embedder": "hashed"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write thirty equal contracts whose parties are only in a contexts file."""
    place = tmp_path / "contracts"
    place.mkdir()
    corpus, queries, contexts = [], [], []
    for n in range(30):
        party = f"party{chr(97 + n % 26)}{n}"
        text = "either side may end this agreement. the fee is five percent."
        corpus.append({"doc_id": f"d{n}", "text": text, "chunks": [[0, 36], [36, 60]]})
        gold = [{"any": [{"doc_id": f"d{n}", "start": 0, "end": 36}]}]
        queries.append({"query_id": f"q{n}", "query": f"who may end {party}?", "gold": gold})
        for start, end in ((0, 36), (36, 60)):
            span = {"doc_id": f"d{n}", "start": start, "end": end}
            contexts.append({**span, "context": f"agreement of {party}"})
    for name, rows in (("corpus", corpus), ("queries", queries), ("contexts", contexts)):
        lines = "\n".join(json.dumps(row) for row in rows)
        (place / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return place


def test_contexts_find_chunks_that_have_equal_texts(folder: Path) -> None:
    questions, options = read_set(folder), Options(settings=SETTINGS)
    bare = run(questions, contexts="none", options=options)
    situated = run(questions, contexts=str(folder / "contexts.jsonl"), options=options)
    assert bare.mean(bare.find_row("none bm25"), "recall@1") < 0.1
    assert bare.failure_rate(bare.find_row("none bm25")) == pytest.approx(1 - 20 / 30, abs=0.05)
    bm25, hybrid = (situated.find_row(f"contexts.jsonl {legs}") for legs in ("bm25", "hybrid"))
    assert situated.mean(bm25, "recall@1") == situated.mean(bm25, "mrr") == 1.0
    assert situated.mean(hybrid, "recall@5") == 1.0
    assert [each.chunks for got in (bare, situated) for each in got.indexed.values()] == [60, 60]


def test_an_index_that_is_kept_is_not_embedded_again(folder: Path, tmp_path: Path) -> None:
    options = Options(index=tmp_path / "kept.crx", settings=SETTINGS)
    first, again = (run(read_set(folder), contexts="none", options=options) for _ in range(2))
    # The documents are equal, and each distinct text is embedded once.
    assert (first.indexed["none"].embedded, again.indexed["none"].embedded) == (2, 0)
    assert (first.values["mrr"] == again.values["mrr"]).all()


def test_an_index_with_other_documents_is_refused(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "other.crx"
    with crx.open(place, settings={**SETTINGS, "chunk_chars": 800}) as index:
        index.add_documents([crx.Document("elsewhere", "text")])
    with pytest.raises(UsageError, match="contains elsewhere, which is not in this set"):
        run(read_set(folder), options=Options(index=place, settings=SETTINGS))


def test_an_index_of_files_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    file, place = tmp_path / "a.md", tmp_path / "mine.crx"
    file.write_text("The fee is five percent.")
    with crx.open(place, settings={**SETTINGS, "chunk_chars": 800}) as index:
        index.add(file)
    corpus = {"doc_id": str(file), "text": file.read_text()}
    gold = [{"any": [{"doc_id": str(file), "start": 0, "end": 3}]}]
    (folder / "corpus.jsonl").write_text(json.dumps(corpus))
    (folder / "queries.jsonl").write_text(
        json.dumps({"query_id": "q", "query": "fee?", "gold": gold})
    )
    with pytest.raises(UsageError, match="an index of files, which an evaluation would overwrite"):
        run(read_set(folder), options=Options(index=place, settings=SETTINGS))


def test_ranking_by_time_is_measured_beside_the_ranking_without_it(tmp_path: Path) -> None:
    place = tmp_path / "news"
    place.mkdir()
    text = "the ferry leaves at noon."
    corpus = [
        {"doc_id": f"d{year}", "text": text, "metadata": {"date": f"{year}-03-01"}}
        for year in (2019, 2020, 2024)
    ]
    gold = [{"any": [{"doc_id": "d2024", "start": 0, "end": len(text)}]}]
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    query = {"query_id": "1", "query": "when does the ferry leave?", "gold": gold}
    (place / "queries.jsonl").write_text(json.dumps(query))
    settings = {**SETTINGS, "rank.recency.weight": 0.2, "rank.recency.field": "date"}
    results = run(read_set(place), contexts="none", options=Options(settings=settings))
    without, with_recency = (
        results.find_row(f"none {legs}") for legs in ("hybrid", "hybrid+recency")
    )
    assert results.mean(without, "recall@1") == 0.0
    assert results.mean(with_recency, "recall@1") == 1.0
    assert results.notes == ()
