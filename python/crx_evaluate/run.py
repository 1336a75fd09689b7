"""Evaluation of one source of contexts: each leg, both fused, and the later steps."""

from __future__ import annotations

from dataclasses import replace

from crx.config import resolve
from crx_evaluate.ablate import measure
from crx_evaluate.datasets import QuestionSet
from crx_evaluate.experiment import Options
from crx_evaluate.pipeline_config import Legs, PipelineConfig, PromptFill
from crx_evaluate.results import Results

LEGS: tuple[Legs, ...] = ("bm25", "dense", "hybrid")


def run(
    questions: QuestionSet,
    *,
    contexts: str = "outline",
    window: PromptFill = "chunks",
    options: Options | None = None,
) -> Results:
    """Index a question set and measure each leg, both fused, and reranked if there is a reranker.

    Without an embedder, there is one leg, BM25, and the later steps follow it. If the setting
    `recency` is on, both fused are also measured with newer documents raised. With a `window`, the
    last row is the whole pipeline with that window.
    """
    options = options or Options()
    settings = resolve(options.settings).settings
    legs: tuple[Legs, ...] = ("bm25",) if settings.embedder == "none" else LEGS
    rows = [PipelineConfig(contexts=contexts, legs=leg) for leg in legs]
    recency = bool(settings.rank_recency_weight)
    if recency:
        rows.append(PipelineConfig(contexts=contexts, legs=legs[-1], recency=True))
    if options.reranker is not None:
        rows.append(PipelineConfig(contexts=contexts, legs=legs[-1], recency=recency, rerank=True))
    if window != "chunks":
        rows.append(replace(rows[-1], window=window))
    return measure(questions, rows, options=options)
