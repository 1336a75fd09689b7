"""Ablation: what runs once for all configurations, and which rows are compared."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx.errors import Damaged, ModelError, UsageError
from crx.protocols import Reranker
from crx_evaluate import Options, PipelineConfig, Results, ablate, load, read_set, save
from crx_evaluate.pipeline_config import build_grid, find_parent
from crx_evaluate.results import METRICS
from crx_evaluate.timed_models import TimedReranker
from crx_runtimes.overlap import OverlapReranker

SETTINGS = {"embedder": "hashed"}
CLAUSES = ("term", "fee", "notice", "law")


def contracts(folder: Path, *, documents: int = 24, queries: int = 48) -> Path:
    """Write contracts whose clauses do not name the party; a file of contexts does."""
    folder.mkdir()
    rng = random.Random(7)
    rows: dict[str, list[object]] = {"corpus": [], "contexts": [], "queries": []}
    places = []
    for n in range(documents):
        text, spans = "", []
        for clause in CLAUSES:
            start = len(text)
            text += f"On the {clause} of this agreement: {rng.randint(2, 9)} in a hundred.\n\n"
            spans.append((start, len(text)))
            span = {"doc_id": f"d{n}", "start": start, "end": len(text)}
            rows["contexts"].append({**span, "context": f"Agreement of party{n}."})
            places.append((n, clause, span))
        rows["corpus"].append({"doc_id": f"d{n}", "text": text, "chunks": spans})
    for at in range(queries):
        n, clause, span = places[at % len(places)]
        text = f"what is the {clause} of party{n}? case {at}"
        row = {"query_id": f"q{at}", "query": text, "gold": [{"any": [span]}]}
        rows["queries"].append(row)
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


class CountingEmbedder(HashedEmbedder):
    """An embedder that counts how often each text is embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: Counter[str] = Counter()
        self.queries: Counter[str] = Counter()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        (self.queries if query else self.texts).update(texts)
        return super().embed(texts, query=query)


class CountingReranker(OverlapReranker):
    """A reranker that counts how often each pair of query and text is scored."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.pairs.update((query, text) for text in texts)
        return super().score(query, texts)


class InterruptedReranker(CountingReranker):
    """A reranker that is interrupted after a number of questions."""

    def __init__(self, *, after: int) -> None:
        super().__init__()
        self._left = after

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return super().score(query, texts)


class FailingReranker:
    """A reranker that fails."""

    fingerprint = "failing"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelError("failing: no such device")


class EchoGenerator:
    """A generator that repeats a line of its prompt."""

    fingerprint = "echo"

    def __init__(self) -> None:
        self.prompts: Counter[str] = Counter()

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        self.prompts[prompt] += 1
        yield from prompt.replace("<", " ").split("\n")[1][:200]

    def close(self) -> None:
        pass


def test_each_text_query_and_pair_is_computed_once_for_all_configurations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, reranker = CountingEmbedder(), CountingReranker()
    monkeypatch.setattr("crx.registry.load_embedder", lambda spec: embedder)
    folder = contracts(tmp_path / "set", queries=1000)
    sources = ["none", str(folder / "contexts.jsonl")]
    options = Options(settings={**SETTINGS, "rank.fusion.depth": 8}, reranker=reranker)
    results = ablate(read_set(folder), contexts=sources, windows=False, options=options)
    assert (len(results.queries), len(results.rows)) == (1000, 12)
    assert (len(embedder.queries), set(embedder.queries.values())) == (1000, {1})
    assert set(embedder.texts.values()) == {1}
    assert set(reranker.pairs.values()) == {1}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = contracts(tmp_path_factory.mktemp("ablate") / "set")
    sources = ["none", "outline", str(folder / "contexts.jsonl")]
    return ablate(read_set(folder), contexts=sources, options=Options(settings=SETTINGS))


def test_the_difference_is_significant_for_a_step_that_helps_only(measured: Results) -> None:
    helps = measured.compare_row(measured.find_row("contexts.jsonl bm25"), metric="recall@1")
    assert helps is not None
    assert (helps.row.name, helps.metric) == ("none bm25", "recall@1")
    assert helps.difference.significant
    assert helps.difference.low > 0
    idle = measured.compare_row(measured.find_row("outline bm25"))
    assert idle is not None
    assert idle.metric == "recall@20"
    assert not idle.difference.significant


def test_recall_of_a_number_of_chunks_is_constant_beyond_it(measured: Results) -> None:
    recalls = [
        [measured.mean(measured.find_row(f"none hybrid top {top}"), f"recall@{k}") for k in (5, 20)]
        for top in (5, 10, 20)
    ]
    assert recalls[0][0] == recalls[0][1] == recalls[1][0] == recalls[2][0]
    assert recalls[0][1] <= recalls[1][1] <= recalls[2][1]
    whole = measured.mean(measured.find_row("none hybrid"), "recall@20")
    assert recalls[2][1] == whole


def test_more_answers_stand_whole_in_more_tokens(measured: Results) -> None:
    budgets = [measured.values[f"whole@{tokens}"] for tokens in (500, 1000, 2000, 4000)]
    for less, more in pairwise(budgets):
        assert (less <= more).all()


def test_saved_results_are_loaded_unchanged(measured: Results, tmp_path: Path) -> None:
    save(measured, tmp_path / "results.npz")
    loaded = load(tmp_path / "results.npz")
    assert (loaded.set, loaded.queries, loaded.rows) == (
        measured.set,
        measured.queries,
        measured.rows,
    )
    assert loaded.indexed == measured.indexed
    assert all((loaded.values[name] == measured.values[name]).all() for name in METRICS)


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04 no archive"])
def test_a_file_without_saved_results_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "results.npz"
    file.write_bytes(content)
    with pytest.raises(UsageError, match="contains no saved results"):
        load(file)


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("none dense", None),
        ("none bm25", "none dense"),
        ("none hybrid", "none dense"),
        ("none hybrid+rerank", "none hybrid"),
        ("none hybrid+rerank top 5", "none hybrid+rerank"),
        ("none hybrid+rerank top 10", "none hybrid+rerank top 5"),
        ("none hybrid auto", "none hybrid"),
        ("none hyde", "none dense"),
        ("outline dense", "none dense"),
        ("outline hybrid", "none hybrid"),
        ("outline hybrid+rerank", "outline hybrid"),
        ("c.jsonl hybrid", "none hybrid"),
        ("outline+c.jsonl hybrid", "outline hybrid"),
        ("summary bm25", "none bm25"),
    ],
)
def test_the_parent_of_a_row_lacks_its_last_step(name: str, parent: str | None) -> None:
    sources = ["none", "outline", "a/c.jsonl", "outline+a/c.jsonl", "summary"]
    rows = build_grid(sources, rerank=True, baselines=["hyde"])
    by_name = {row.name: row for row in rows}
    assert len(by_name) == len(rows)
    found = find_parent(by_name[name], rows)
    assert (found.name if found else None) == parent


def test_a_reranker_that_fails_is_noted(tmp_path: Path) -> None:
    questions = read_set(contracts(tmp_path / "set", documents=2, queries=3))
    options = Options(settings=SETTINGS, reranker=FailingReranker())
    results = ablate(questions, contexts=["none"], windows=False, options=options)
    assert results.notes == ("none: 9 x not reranked: failing: no such device",)
    reranked, fused = (results.find_row(f"none hybrid{plus}") for plus in ("+rerank", ""))
    assert (results.values_of(reranked, "mrr") == results.values_of(fused, "mrr")).all()


@pytest.mark.parametrize(
    ("ms_per_char", "rerank_ms", "note"),
    [
        (0.4, 300, "8.8 of at most 30 candidates, within rank.rerank.ms = 300"),
        (0.2, 300, "17.8 of at most 30 candidates, within rank.rerank.ms = 300"),
        (0.5, 0, "26.0 of at most 30 candidates, without a limit of time"),
    ],
)
def test_an_evaluation_reranks_as_many_as_a_search_has_time_for_and_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ms_per_char: float, rerank_ms: int, note: str
) -> None:
    monkeypatch.setattr(TimedReranker, "ms_per_char", ms_per_char)
    questions = read_set(contracts(tmp_path / "set", documents=12, queries=6))
    settings = {**SETTINGS, "rank.rerank.ms": rerank_ms}
    options = Options(settings=settings, reranker=CountingReranker())
    results = ablate(questions, contexts=["none"], windows=False, options=options)
    (found,) = results.notes
    assert found.startswith(f"none: reranked {note}")


def test_an_interrupted_run_continues_without_scoring_a_pair_again(tmp_path: Path) -> None:
    questions = read_set(contracts(tmp_path / "set", documents=4, queries=6))

    def run(reranker: Reranker) -> Results:
        options = Options(settings=SETTINGS, reranker=reranker, index=tmp_path / "eval.crx")
        return ablate(questions, contexts=["none"], windows=False, options=options)

    stopped, first, second = InterruptedReranker(after=2), CountingReranker(), CountingReranker()
    with pytest.raises(KeyboardInterrupt):
        run(stopped)
    whole = run(first)
    assert stopped.pairs
    assert first.pairs
    assert not stopped.pairs & first.pairs
    again = run(second)
    assert not second.pairs
    reranked = whole.find_row("none hybrid+rerank")
    assert (again.values_of(reranked, "mrr") == whole.values_of(reranked, "mrr")).all()
    assert (again.values_of(reranked, "ms") > 0).all()


def test_a_file_of_scores_that_is_damaged_is_named(tmp_path: Path) -> None:
    questions = read_set(contracts(tmp_path / "set", documents=2, queries=3))
    options = Options(settings=SETTINGS, reranker=OverlapReranker(), index=tmp_path / "eval.crx")
    with crx.open(tmp_path / "eval.crx", settings=SETTINGS | {"chunk_chars": 800}):
        (tmp_path / "eval.crx" / "scores.db").write_text("no database " * 100)
    with pytest.raises(Damaged, match=r"scores\.db: file is not a database; delete it"):
        ablate(questions, contexts=["none"], windows=False, options=options)


def test_baselines_are_rows_and_their_texts_are_generated_once(tmp_path: Path) -> None:
    folder, generator = contracts(tmp_path / "set", documents=4, queries=6), EchoGenerator()
    names = ["summary", "hyde", "summary-index"]
    options = Options(settings=SETTINGS, generator=generator)
    results = ablate(read_set(folder), contexts=["none"], baselines=names, options=options)
    found = {row.name for row in results.rows}
    assert {"summary hybrid", "none hyde", "none summary-index"} <= found
    assert (len(generator.prompts), set(generator.prompts.values())) == (4 + 6, {1})


def test_baselines_without_a_generator_are_refused(tmp_path: Path) -> None:
    questions = read_set(contracts(tmp_path / "set", documents=2, queries=2))
    with pytest.raises(UsageError, match="need a generator, such as --with llama:PATH"):
        ablate(questions, contexts=["none"], baselines=["hyde"], options=Options(settings=SETTINGS))
    with pytest.raises(UsageError, match="rag: no such baseline"):
        ablate(questions, contexts=["none"], baselines=["rag"], options=Options(settings=SETTINGS))


def test_generated_contexts_are_not_used_in_rows_without_contexts(tmp_path: Path) -> None:
    questions = read_set(contracts(tmp_path / "set", documents=4, queries=8))
    options = Options(settings=SETTINGS, index=tmp_path / "kept.crx")
    alone = ablate(questions, contexts=["none"], options=options)
    both = ablate(questions, contexts=["none+fake:", "none"], options=options)
    for name in ("mrr", "recall@1", "whole@1000"):
        rows = [both.rows.index(row) for row in alone.rows]
        assert (both.values[name][rows] == alone.values[name]).all()


def test_a_configuration_is_named_by_its_steps() -> None:
    row = PipelineConfig(contexts="outline+llama:models/qwen.gguf", rerank=True, window="auto")
    assert row.name == "outline+llama:qwen.gguf hybrid+rerank auto"
