"""Figures of an evaluation: recall by k, failure rate by step, recall against latency."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crx.errors import UsageError
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig, contexts_name, find_parent
from crx_evaluate.recommend import recommend
from crx_evaluate.results import MAX_K, PRIMARY_METRIC, Results
from crx_evaluate.statistics import SEED, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, for all kinds of colour vision, without its yellow (too light).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = {"dense": "o", "bm25": "s", "hybrid": "D", "hyde": "^", "summary-index": "v"}
DASHES = ("-", "--", ":", "-.")
INK, GRID, BAR, DROP = "#222222", "#dddddd", "#7f8fa6", "#0072b2"
INCHES = (8.6, 4.6)


def require_matplotlib() -> None:
    """Raise `UsageError` if matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("figures need matplotlib; pip install 'crx[eval]'")


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Return the figures by name; raises `UsageError` if matplotlib is not installed.

    There is no figure of the steps if no step leads to the best row, or if there are too few
    questions to tell which row is the best.
    """
    require_matplotlib()
    # Imported here, as below: matplotlib is an extra.
    from matplotlib.figure import Figure

    figures = {}
    plots = (("recall", _plot_recall), ("steps", _plot_steps), ("latency", _plot_latency))
    for name, plot in plots:
        if name == "steps" and not _has_steps(results):
            continue
        figure = Figure(figsize=INCHES, facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        axes.set_axisbelow(True)
        axes.grid(color=GRID, linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        plot(axes, results)
        figures[name] = figure
    return figures


def write_figures(figures: Mapping[str, Figure], folder: Path, *, kind: str) -> list[Path]:
    """Write each figure as `folder/name.kind`, where `kind` is png or svg; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for name in figures]
    for path, figure in zip(paths, figures.values(), strict=True):
        path.write_bytes(render_figure(figure, kind=kind))
    return paths


def render_figure(figure: Figure, *, kind: str) -> bytes:
    """Return a figure as the bytes of a png or svg file; equal figures give equal bytes."""
    # Imported here: matplotlib is an extra.
    import matplotlib as mpl

    names = ("Date", "Creator", "Format", "Type") if kind == "svg" else ("Software",)
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "crx"}):
        figure.savefig(file, format=kind, dpi=150, metadata=dict.fromkeys(names))
    return file.getvalue()


def ablation_path(results: Results, row: PipelineConfig) -> list[PipelineConfig]:
    """Return the ancestors of a row (see `find_parent`), oldest first, and the row."""
    path = [row]
    while (parent := find_parent(path[-1], results.rows)) is not None:
        path.append(parent)
    return path[::-1]


def _ranking_rows(results: Results) -> list[PipelineConfig]:
    """Return the rows of distinct rankings: those whose window is the best chunks."""
    return [row for row in results.rows if row.window == CHUNKS]


def _has_steps(results: Results) -> bool:
    found = recommend(results)
    return found.supported and len(ablation_path(results, found.best)) > 1


def _plot_recall(axes: Axes, results: Results) -> None:
    rows = _ranking_rows(results)
    ks = range(1, MAX_K + 1)
    sources = list(results.indexed)
    for row in rows:
        siblings = [each for each in rows if each.contexts == row.contexts]
        axes.plot(
            ks,
            [100 * results.mean(row, f"recall@{k}") for k in ks],
            color=_colour(row, sources),
            linestyle=DASHES[_dash_index(row, siblings)],
            linewidth=1.8 if row.legs == "hybrid" else 1.1,
            label=row.name,
        )
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_xlim(1, MAX_K)
    axes.set_xlabel("k, chunks")
    axes.set_ylabel("recall@k, %")
    axes.set_title("Recall by the number of chunks", loc="left", color=INK)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def _plot_steps(axes: Axes, results: Results) -> None:
    path = ablation_path(results, recommend(results).best)
    rates = [100 * results.failure_rate(row) for row in path]
    rng = np.random.default_rng(SEED)
    spans = [interval(100 * (1 - results.values_of(row, PRIMARY_METRIC)), rng=rng) for row in path]
    ys = range(len(path))[::-1]
    bars = axes.barh(ys, rates, color=[BAR, *[DROP] * (len(path) - 1)], height=0.6)
    below = [max(0.0, rate - low) for rate, (low, _) in zip(rates, spans, strict=True)]
    above = [max(0.0, high - rate) for rate, (_, high) in zip(rates, spans, strict=True)]
    axes.errorbar(rates, ys, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=1, capsize=3)
    for bar, rate, (_, high) in zip(bars, rates, spans, strict=True):
        change = "" if rate == rates[0] else f"  ({_change(rate, rates[0])})"
        axes.annotate(
            f"{rate:.1f}%{change}",
            (max(rate, high), bar.get_y() + bar.get_height() / 2),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=9,
        )
    axes.set_yticks(list(ys), [row.name for row in path])
    axes.set_xlim(0, 1.3 * max(1.0, *(high for _, high in spans)))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("failure rate, 1 - recall@20, %, with its 95% interval")
    axes.set_title("Failure rate by step, up to the best row", loc="left", color=INK)


def _plot_latency(axes: Axes, results: Results) -> None:
    # Imported here: matplotlib is an extra.
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    rows = _ranking_rows(results)
    sources = list(results.indexed)
    for row in rows:
        axes.plot(
            results.mean(row, "ms"),
            100 * results.mean(row, PRIMARY_METRIC),
            marker=MARKERS[row.legs],
            markersize=9,
            markerfacecolor=_colour(row, sources) if row.rerank else "white",
            markeredgecolor=_colour(row, sources),
            markeredgewidth=2,
            linestyle="none",
        )
    axes.set_xscale("log")
    for axis in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis(FuncFormatter(lambda ms, _: f"{ms:g}"))
    axes.set_xlabel("milliseconds per query, log scale")
    axes.set_ylabel("recall@20, %")
    axes.set_title("Recall against latency", loc="left", color=INK)
    marks = [
        *(
            Line2D(
                [],
                [],
                color=COLOURS[at % len(COLOURS)],
                lw=4,
                label=f"contexts: {contexts_name(source)}",
            )
            for at, source in enumerate(sources)
        ),
        *(
            Line2D([], [], color=INK, marker=marker, markerfacecolor="white", ls="none", label=legs)
            for legs, marker in MARKERS.items()
            if any(row.legs == legs for row in rows)
        ),
    ]
    if any(row.rerank for row in rows):
        marks.append(Line2D([], [], color=INK, marker="D", ls="none", label="filled: reranked"))
    axes.legend(
        handles=marks, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8
    )


def _colour(row: PipelineConfig, sources: Sequence[str]) -> str:
    return COLOURS[sources.index(row.contexts) % len(COLOURS)]


def _dash_index(row: PipelineConfig, siblings: Sequence[PipelineConfig]) -> int:
    """Return the index of a row's dash style; the last pipeline of its source is solid."""
    order = sorted(siblings, key=lambda each: (each.legs == "hybrid", each.rerank), reverse=True)
    return order.index(row) % len(DASHES)


def _change(rate: float, first: float) -> str:
    return f"{100 * (rate - first) / first:+.0f}%" if first else "0%"
