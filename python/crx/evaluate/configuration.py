"""Which configurations are compared, and which row each is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from crx.registry import parse_contexts

Legs = Literal["dense", "bm25", "hybrid", "hyde", "summary-index"]
Window = Literal["chunks", "auto"] | int
# What a prompt is filled with: the best chunks as long as they fit, passages, so many chunks.
CHUNKS: Window = "chunks"
TOPS = (5, 10, 20)
# The rung that puts a generic summary of the document before every chunk.
SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One way to answer: what situates a chunk, who finds it, who reorders it, what is read."""

    contexts: str = "outline"
    legs: Legs = "hybrid"
    rerank: bool = False
    window: Window = CHUNKS

    @property
    def name(self) -> str:
        """The configuration in words, as the table's row has it: `outline hybrid+rerank auto`."""
        legs = f"{self.legs}+rerank" if self.rerank else self.legs
        window = {"chunks": "", "auto": " auto"}.get(str(self.window), f" top {self.window}")
        return f"{contexts_name(self.contexts)} {legs}{window}"

    @property
    def cost(self) -> tuple[bool, bool, int, bool]:
        """What it takes, cheapest first: contexts a model wrote, a reranker, legs, an outline."""
        spec = parse_contexts(self.contexts)
        legs = ("bm25", "dense", "hybrid", "summary-index", "hyde").index(self.legs)
        return bool(spec.source), self.rerank, legs, spec.outline


def contexts_name(contexts: str) -> str:
    """Return a rung's name: a file's without its folder, a model's without its path."""
    spec = parse_contexts(contexts)
    if not spec.source or spec.source == SUMMARY:
        return contexts
    kind, colon, rest = spec.source.partition(":")
    short = Path(spec.source).name if spec.is_file or not colon else f"{kind}:{Path(rest).name}"
    return f"outline+{short}" if spec.outline else short


def ladder(
    contexts: Sequence[str],
    *,
    rerank: bool = False,
    windows: bool = True,
    baselines: Sequence[Legs] = (),
) -> list[Configuration]:
    """Return the rows of an ablation, each after the row it grew from.

    Each rung of `contexts` with each leg and both, with and without the reranker; where both are
    fused, also passages (`auto`) and so many chunks. `baselines` stand on the first rung alone.
    """
    rows: list[Configuration] = []
    for rung in contexts:
        rows += [
            Configuration(contexts=rung, legs="dense"),
            Configuration(contexts=rung, legs="bm25"),
        ]
        rows.append(last := Configuration(contexts=rung))
        if rerank:
            rows += [replace(row, rerank=True) for row in rows[-3:]]
        if windows:
            rows.append(replace(last, window="auto"))
            if rerank:
                last = replace(last, rerank=True)
                rows.append(replace(last, window="auto"))
            rows += [replace(last, window=top) for top in TOPS]
        if rung == contexts[0]:
            rows += [Configuration(contexts=rung, legs=legs) for legs in baselines]
    return rows


def grew_from(row: Configuration, rows: Sequence[Configuration]) -> Configuration | None:
    """Return the row that a row is one step away from, or None for the first of its kind.

    Undone is what was done last: the window (of so many chunks, the next fewer), then the
    reranker, then the contexts (back to the outline for a context that joins it, else to the first
    rung), then the fusion (back to the dense leg). What the first rung's legs and baselines grow
    from is its dense leg.
    """
    if isinstance(row.window, int) and row.window in TOPS[1:]:
        parent = replace(row, window=TOPS[TOPS.index(row.window) - 1])
    elif row.window != CHUNKS:
        parent = replace(row, window=CHUNKS)
    elif row.rerank:
        parent = replace(row, rerank=False)
    elif row.contexts != rows[0].contexts:
        parent = replace(row, contexts=_rung_below(row.contexts, rows))
    else:
        parent = replace(row, legs="dense")
    return parent if parent != row and parent in rows else None


def _rung_below(contexts: str, rows: Sequence[Configuration]) -> str:
    spec = parse_contexts(contexts)
    joined = spec.source and spec.outline and any(row.contexts == "outline" for row in rows)
    return "outline" if joined else rows[0].contexts
