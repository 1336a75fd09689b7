"""One rung on one question set: what each leg, both, and what comes after them find."""

from __future__ import annotations

from crx.evaluate.ablate import Options, measure
from crx.evaluate.configuration import Configuration, Legs, Window
from crx.evaluate.datasets import QuestionSet
from crx.evaluate.results import Results


def run(
    questions: QuestionSet,
    *,
    contexts: str = "outline",
    window: Window = "chunks",
    options: Options | None = None,
) -> Results:
    """Index a set and ask all of its questions: of each leg, of both, and reranked if asked.

    With a `window`, the last row is that of the whole pipeline with it.
    """
    options = options or Options()
    legs: tuple[Legs, ...] = ("bm25", "dense", "hybrid")
    rows = [Configuration(contexts=contexts, legs=each) for each in legs]
    if options.reranker is not None:
        rows.append(Configuration(contexts=contexts, rerank=True))
    if window != "chunks":
        last = rows[-1]
        rows.append(Configuration(contexts=contexts, rerank=last.rerank, window=window))
    return measure(questions, rows, options=options)
