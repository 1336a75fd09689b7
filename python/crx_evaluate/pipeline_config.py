"""Pipeline configurations that an evaluation compares, and the parent of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from crx.context_registry import parse_contexts

Legs = Literal["dense", "bm25", "hybrid", "hyde", "summary-index"]
# What the prompt contains: the best chunks that fit its budget, passages, or a number of chunks.
PromptFill = Literal["chunks", "auto"] | int
CHUNKS: PromptFill = "chunks"
CHUNK_COUNTS = (5, 10, 20)
# The contexts of a baseline: a generic summary of the document before every chunk.
SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """A row of an evaluation: source of contexts, legs, later steps, and what the prompt contains.

    `recency` raises newer documents after fusion, before reranking. `without` names a rule that is
    left out, see `SearchRequest`.
    """

    contexts: str = "outline"
    legs: Legs = "hybrid"
    recency: bool = False
    without: str = ""
    rerank: bool = False
    window: PromptFill = CHUNKS

    @property
    def name(self) -> str:
        """The name of the row in tables, such as `outline hybrid+rerank auto`."""
        legs = self.legs + "+recency" * self.recency + "+rerank" * self.rerank
        window = {"chunks": "", "auto": " auto"}.get(str(self.window), f" top {self.window}")
        without = f" without {self.without}" if self.without else ""
        return f"{contexts_name(self.contexts)} {legs}{window}{without}"

    @property
    def cost(self) -> tuple[bool, bool, int, bool]:
        """A sort key, cheapest first: contexts by a model, a reranker, legs, an outline."""
        spec = parse_contexts(self.contexts)
        legs = ("bm25", "dense", "hybrid", "summary-index", "hyde").index(self.legs)
        return bool(spec.source), self.rerank, legs, spec.outline


def contexts_name(contexts: str) -> str:
    """Return the short name of a source of contexts: a file or model without its folder."""
    spec = parse_contexts(contexts)
    if not spec.source or spec.source == SUMMARY:
        return contexts
    kind, colon, rest = spec.source.partition(":")
    short = Path(spec.source).name if spec.is_file or not colon else f"{kind}:{Path(rest).name}"
    return f"outline+{short}" if spec.outline else short


def build_grid(
    contexts: Sequence[str],
    *,
    rerank: bool = False,
    windows: bool = True,
    baselines: Sequence[Legs] = (),
    rules: Sequence[str] = (),
) -> list[PipelineConfig]:
    """Return the rows of an ablation, each after its parent (see `find_parent`).

    For each source of `contexts`: each leg and both fused, with and without the reranker. With
    `windows`, the fused row also with passages (`auto`) and with fixed numbers of chunks.
    `baselines` use the first source of contexts only. Each of `rules` is left out of the fused row
    of the last source, reranked if there is a reranker.
    """
    rows: list[PipelineConfig] = []
    for source in contexts:
        rows += [
            PipelineConfig(contexts=source, legs="dense"),
            PipelineConfig(contexts=source, legs="bm25"),
        ]
        rows.append(last := PipelineConfig(contexts=source))
        if rerank:
            rows += [replace(row, rerank=True) for row in rows[-3:]]
        if windows:
            rows.append(replace(last, window="auto"))
            if rerank:
                last = replace(last, rerank=True)
                rows.append(replace(last, window="auto"))
            rows += [replace(last, window=count) for count in CHUNK_COUNTS]
        if source == contexts[0]:
            rows += [PipelineConfig(contexts=source, legs=legs) for legs in baselines]
    whole = PipelineConfig(contexts=contexts[-1], rerank=rerank)
    return rows + [replace(whole, without=rule) for rule in rules]


def find_parent(row: PipelineConfig, rows: Sequence[PipelineConfig]) -> PipelineConfig | None:
    """Return the row that lacks the last step of `row`, or None if there is none among `rows`.

    The parent of a row without a rule is the row with it. Else the last step is, in this order: the
    window (from a number of chunks to the next smaller one), the reranker, the contexts (from
    outline and context to the outline, else to the first source), the fusion (to the dense leg).
    The parent of a baseline is the dense leg.
    """
    if isinstance(row.window, int) and row.window in CHUNK_COUNTS[1:]:
        parent = replace(row, window=CHUNK_COUNTS[CHUNK_COUNTS.index(row.window) - 1])
    elif row.window != CHUNKS:
        parent = replace(row, window=CHUNKS)
    elif row.without:
        parent = replace(row, without="")
    elif row.rerank:
        parent = replace(row, rerank=False)
    elif row.contexts != rows[0].contexts:
        parent = replace(row, contexts=_parent_contexts(row.contexts, rows))
    else:
        parent = replace(row, legs="dense")
    return parent if parent != row and parent in rows else None


def _parent_contexts(contexts: str, rows: Sequence[PipelineConfig]) -> str:
    spec = parse_contexts(contexts)
    joined = spec.source and spec.outline and any(row.contexts == "outline" for row in rows)
    return "outline" if joined else rows[0].contexts
