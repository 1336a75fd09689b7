"""Tables and a drawing of the results in `benches/results`, written to `BENCHMARKS.md`.

    python benches/report.py            # write them, and what other documents quote of them
    python benches/report.py --check    # exit with 1 if a document is not as it would be written

Each benchmark writes its results with `--json`; this command only lays them out. Where an engine is
ahead of crx, the reason is taken from `REASONS`; it is an error if there is none. A document quotes
a section between the lines `<!-- BENCHMARKS.md#TITLE -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mode
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benches" / "results"
# Results of the same benchmarks on a processor with AVX2 and without AVX-512.
AVX2 = RESULTS / "avx2"

# An engine is ahead if its figure is smaller by more than this share of crx's.
MARGIN = 0.05


@dataclass(frozen=True)
class Column:
    """A figure of the results, less of which is better; `ranked` ones are compared."""

    key: str
    title: str
    digits: int = 2
    ranked: bool = True


@dataclass(frozen=True)
class Section:
    """One benchmark: its results, one file for each size, and what is shown of them."""

    title: str
    files: tuple[str, ...]
    columns: tuple[Column, ...]
    about: str
    ours: str = "crx"
    # Lines that are no rivals: other settings of crx, and the floor.
    others: tuple[str, ...] = ()
    # The file of a drawing of the growth with the chunks, if there are several sizes.
    drawing: str = ""


@dataclass(frozen=True)
class Ratio:
    """A line of the first table: by how much rivals take longer than crx, from one file.

    The first rival is compared on a processor with AVX2 alone, too, if there is a file of it.
    """

    what: str
    file: str
    key: str
    rivals: tuple[str, ...]
    ours: str = "crx"


RATIOS = (
    Ratio(
        "BM25, 100,000 chunks, median query",
        "bm25-100000.json",
        "cpu_p50",
        ("bm25s, numba", "bm25s, numpy", "tantivy-py"),
    ),
    Ratio(
        "BM25, 1M chunks, median query",
        "bm25-1000000.json",
        "cpu_p50",
        ("bm25s, numba", "tantivy-py"),
    ),
    Ratio(
        "scan of 100,000 vectors",
        "dense.json",
        "cpu_ms",
        ("faiss fp16", "numpy f32"),
        ours="crx f16",
    ),
    Ratio(
        "whole search, 11,500 chunks",
        "hybrid-11500.json",
        "cpu_p50",
        ("script", "LanceDB", "zvec", "txtai"),
    ),
    Ratio(
        "whole search, 115,000 chunks",
        "hybrid-115000.json",
        "cpu_p50",
        ("script", "LanceDB", "zvec", "txtai"),
    ),
    Ratio(
        "whole search, 1M chunks",
        "hybrid-1000000.json",
        "cpu_p50",
        ("script", "LanceDB", "txtai"),
    ),
    Ratio(
        "10,000 files, from no index to an answer by words",
        "first-answer.json",
        "10000_cpu_s",
        ("recoll",),
    ),
    Ratio(
        "indexing of 100,000 paragraphs, with outlines",
        "indexing-100000.json",
        "index_cpu_s",
        ("script", "LlamaIndex"),
    ),
)

IN_SHORT = "In short"
RECALL = "What contexts bring"
# What has no file of results: the commands and machines are in benches/README.md.
OTHER_RATIOS = (
    (
        "embedding",
        "",
        "1.8 times faster than sentence-transformers with the same model, 3.2 times in int8",
        "",
        "",
    ),
    ("reranking", "", "1.6 times faster than sentence-transformers, 2.7 times in int8", "", ""),
    (
        "contexts by a model of 135M parameters, ten a document",
        "",
        "as fast as llama-cpp-python that reads each document once, 4.1 times faster where crx "
        "writes several contexts at a time",
        "",
        "",
    ),
)

SECTIONS = (
    Section(
        "BM25",
        ("bm25-10000.json", "bm25-100000.json", "bm25-1000000.json", "bm25-4000000.json"),
        (
            Column("cpu_p50", "p50, ms of the CPU"),
            Column("cpu_p99", "p99, ms of the CPU"),
            Column("index_cpu_s", "index, s of the CPU", 1),
            Column("rss_mb", "peak MB", 0),
            Column("overlap", "overlap with the exact best", ranked=False),
        ),
        "The best 150 chunks of 1,000 queries of 2 to 12 words (`benches/bm25.py`).",
        others=("crx, English",),
        drawing="growth.svg",
    ),
    Section(
        "Exact scan of vectors",
        ("dense.json", "avx2/dense.json"),
        (Column("cpu_ms", "ms of the CPU"),),
        "The best 150 of 100,000 x 384, one thread (`benches/dense.py`); `read` reads the bytes.",
        ours="crx f16",
        others=("read", "crx f32"),
    ),
    Section(
        "Graph of vectors",
        ("ann-100000.json", "avx2/ann-100000.json", "ann-1000000.json"),
        (
            Column("search_cpu_ms", "search, ms of the CPU"),
            Column("build_cpu_s", "build, s of the CPU", 1),
            Column("recall", "recall@20", 4, ranked=False),
        ),
        "HNSW over 100,000 and 1,000,000 x 384 of a mixture, with the same settings "
        "(`benches/ann.py --rivals`). hnswlib is in single precision; crx, usearch and faiss are "
        "in half precision if nothing else is said.",
    ),
    Section(
        "Graph of vectors with a filter",
        ("ann-filters-1000000.json",),
        (
            Column("search_cpu_ms", "search, ms of the CPU"),
            Column("scan_cpu_ms", "scan of the allowed rows, ms of the CPU"),
            Column("recall", "recall@20", 4, ranked=False),
        ),
        "Searches of the same rows, of which a share is allowed (`benches/ann.py`). Where few are, "
        "a search scans them.",
        ours="no filter",
        others=("1%", "6%", "10%", "20%", "30%", "50%", "80%"),
    ),
    Section(
        "Whole search",
        (
            "hybrid-11500.json",
            "hybrid-115000.json",
            "hybrid-1000000.json",
            "avx2/hybrid-11500.json",
        ),
        (
            Column("cpu_p50", "p50, ms of the CPU"),
            Column("cpu_p99", "p99, ms of the CPU"),
            Column("index_cpu_s", "index, s of the CPU", 1),
        ),
        "BM25, vectors, fusion and, for crx, passages (`benches/hybrid.py`). crx scans all vectors "
        "of 11,500 chunks, as `exact` does, and has a graph of more. Vectors are made before.",
        others=("crx, exact",),
        drawing="growth-search.svg",
    ),
    Section(
        "Indexing",
        ("indexing.json", "indexing-100000.json"),
        (
            Column("index_cpu_s", "s of the CPU"),
            Column("outside_embedder_cpu_s", "outside the embedder, s of the CPU"),
        ),
        "A folder of Markdown files, embedded with `hashed` (`benches/indexing.py`).",
        others=("crx, no outlines",),
    ),
    Section(
        "First answer by words",
        ("avx2/first-answer.json",),
        (
            Column("100_cpu_s", "100 files, s of the CPU"),
            Column("1000_cpu_s", "1,000 files", 1),
            Column("10000_cpu_s", "10,000 files", 1),
        ),
        "From no index to the answer of one query, over real files of HTML, PDF, text and source "
        "code in new processes (`benches/first_answer.py`).",
    ),
    Section(
        "Indexing again",
        ("update.json",),
        (
            Column("cpu_s", "s of the CPU"),
            Column("share", "share of a full build", 4),
        ),
        "A folder of Markdown files, embedded with `hashed`, in processes of their own "
        "(`benches/update.py`).",
        ours="full build",
        others=("nothing changed", "1% of the files edited"),
    ),
    Section(
        "A search in a new process",
        ("cold-search.json",),
        (Column("cpu_ms", "ms of the CPU", 0), Column("wall_ms", "wall-clock ms", 0, ranked=False)),
        "All but the loading and the work of the embedder, beside a process that does nothing and "
        "one that imports numpy (`benches/cold_search.py`).",
        others=("nothing", "import numpy"),
    ),
    Section(
        "Agents",
        ("agents.json",),
        (
            Column("solved", "tasks solved of 20", 0, ranked=False),
            Column("calls", "calls a task", 1, ranked=False),
            Column("tokens", "tokens a task", 0),
            Column("median_tokens", "median", 0),
        ),
        "20 questions over the documentation and the sources of crx: its tools `search` and "
        "`fetch` by words alone, beside `grep` and `read`; both clients are scripts "
        "(`benches/agents.py`).",
    ),
    Section(
        "Opening a large index",
        ("first-search.json",),
        (
            Column("first_ms", "opening and first search, ms", 0),
            Column("first_cpu_ms", "ms of the CPU", 0),
            Column("own_after_mb", "own MB after 100 searches", 0),
            Column("mapped_after_mb", "mapped MB", 0, ranked=False),
        ),
        "In a new process, after its imports and without a model, with the files in memory "
        "(`benches/first_search.py`). Vectors are checked against their hashes as they are read.",
    ),
)

# Why an engine is ahead, and what would close it, by section, column and engine.
_PLAIN_ARRAYS = (
    "It adds the postings of a term, which lie uncompressed in memory, to an array of all chunks; "
    "crx decodes compressed blocks of mapped files, and holds a fraction of the memory. Scores "
    "stored with the postings would save crx the lengths of chunks, but fix k1 and b."
)
_PLAIN_WORDS = (
    "Its tokenizer takes words apart at ASCII signs and does nothing else, and it collects less in "
    "memory before it writes. Its queries take a hundred times as long."
)
_PARTS = (
    "Both collect 128 MB before they write a segment. It divides them among threads and merges "
    "their segments; crx holds a whole one, and its postings a second time while it writes them."
)
_NO_CHECKS = (
    "The script keeps all in memory. It neither checks hashes of what it reads, nor looks for the "
    "whole query in the best 50 chunks, nor reads the text around hits. Its time grows with the "
    "chunks, that of these steps does not."
)
_NO_RECORD = (
    "The script writes no outlines, marks, hashes or change log, detects no language, and starts "
    "again if it is killed. It builds no graph, which takes most of crx's time above 100,000 "
    "chunks."
)
_PLAIN_FILES = (
    "It takes the bytes of each file as UTF-8: tags and all, a row a file, without formats, "
    "chunks, headings or hashes. Files in other formats are not found by their words."
)
_NO_GRAPH = (
    "It divides the vectors into cells, where crx builds a graph above 100,000 chunks: most of the "
    "time of its index. Without the graph (`crx, exact`) the index takes a quarter of txtai's."
)
_SIGNS = (
    "It keeps the signs of the numbers alone, 48 bytes a row instead of 768, and compares them by "
    "XOR. Its recall is the lowest, and its search takes longer than that of crx."
)
REASONS: Mapping[tuple[str, str, str], str] = {
    ("BM25", "cpu_p50", "bm25s, numba"): _PLAIN_ARRAYS,
    ("BM25", "cpu_p99", "bm25s, numba"): _PLAIN_ARRAYS,
    ("BM25", "rss_mb", "tantivy-py"): _PARTS,
    ("BM25", "index_cpu_s", "SQLite FTS5"): _PLAIN_WORDS,
    ("BM25", "rss_mb", "SQLite FTS5"): _PLAIN_WORDS,
    ("Graph of vectors", "build_cpu_s", "usearch, binary"): _SIGNS,
    ("Whole search", "cpu_p50", "script"): _NO_CHECKS,
    ("Whole search", "cpu_p99", "script"): _NO_CHECKS,
    ("Whole search", "index_cpu_s", "script"): _NO_RECORD,
    ("Whole search", "index_cpu_s", "txtai"): _NO_GRAPH,
    ("First answer by words", "100_cpu_s", "FTS5 script"): _PLAIN_FILES,
    ("First answer by words", "1000_cpu_s", "FTS5 script"): _PLAIN_FILES,
    ("First answer by words", "10000_cpu_s", "FTS5 script"): _PLAIN_FILES,
    ("Indexing", "index_cpu_s", "script"): _NO_RECORD,
    ("Indexing", "outside_embedder_cpu_s", "script"): _NO_RECORD,
}


def load(file: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Return the results of a file."""
    results: dict[str, Any] = json.loads((folder / file).read_text(encoding="utf-8"))
    return results


def table(section: Section, results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the table of one run."""
    # Newer results name the cores and the instruction sets of the processor.
    cores = "" if "cores" in results["processor"] else f", {results['cores']} cores"
    yield (
        f"{results['benchmark']}; {results['processor']}{cores}, load {results['load']:.0f}, "
        f"commit {results['commit']}, rounds: {results['rounds']}"
    )
    yield ""
    yield f"| engine | {' | '.join(column.title for column in section.columns)} |"
    yield f"|---|{'---:|' * len(section.columns)}"
    for engine, figures in results["figures"].items():
        yield f"| {engine} | {' | '.join(cell(figures, each) for each in section.columns)} |"
    yield ""


def in_short() -> Iterator[str]:
    """Yield the table of ratios."""
    yield f"## {IN_SHORT}"
    yield ""
    yield (
        "CPU time of crx, compared with other tools in the same run, on processors with AVX-512 "
        "(an AMD EPYC; for whole searches of 11,500 and 115,000 chunks an Intel Xeon) and on an "
        "AMD EPYC with AVX2 alone. The *script* is a simple program of 40 lines: bm25s and faiss "
        "for searches, tantivy-py and SQLite for indexing. No model runs in searches and indexing "
        "here: vectors were made before, or by hashing."
    )
    yield ""
    yield "| what | crx, AVX-512 | crx is | crx, AVX2 alone | crx is |"
    yield "|---|---:|---|---:|---|"
    for each in RATIOS:
        cells = [*compared(each, RESULTS, each.rivals), *compared(each, AVX2, each.rivals[:1])]
        yield f"| {each.what} | {' | '.join(cells)} |"
    for row in OTHER_RATIOS:
        yield f"| {' | '.join(row)} |"
    yield ""


def compared(ratio: Ratio, folder: Path, rivals: Sequence[str]) -> tuple[str, str]:
    """Return the time of crx in the results of a folder, and how many times faster it is."""
    if not (folder / ratio.file).is_file():
        return "", ""
    figures = load(ratio.file, folder)["figures"]
    ours = float(figures[ratio.ours][ratio.key])
    unit = "s" if ratio.key.endswith("_s") else "ms"
    words = (times(float(figures[rival][ratio.key]) / ours, rival) for rival in rivals)
    return f"{ours:.{2 if ours < 10 else 0}f} {unit}", "; ".join(words)


def times(ratio: float, rival: str) -> str:
    """Return in words how much faster crx is than a rival that takes `ratio` times as long."""
    if 1 - MARGIN < ratio < 1 + MARGIN:
        return f"as fast as {rival}"
    larger, word = (ratio, "faster") if ratio > 1 else (1 / ratio, "slower")
    return f"{larger:.{0 if larger >= 10 else 1}f} times {word} than {rival}"


def recall() -> Iterator[str]:
    """Yield the table of the failure rates of searches with and without contexts."""
    results = load("recall.json")
    sets = results["questions"]
    yield f"## {RECALL}"
    yield ""
    yield (
        "The percentage of known answers that a search misses (1 - recall@20). An answer is "
        "missed if less than half of it is in the first 20 chunks, passages of at most 800 "
        "characters (`crx eval ablate`). *Dense* is search by vectors. The *outline* is the line "
        "before each chunk, made without a model: the title, the headings and names of the "
        "document. *Reranked*: a model reads each of the best chunks with the question and orders "
        "them again. An empty cell was not measured."
    )
    yield ""
    yield f"| | {' | '.join(f'{name}, {count:,} questions' for name, count in sets.items())} |"
    yield f"|---|{'---:|' * len(sets)}"
    for step, failures in results["figures"].items():
        shown = (f"{failures[name]:.1f}" if name in failures else "" for name in sets)
        yield f"| {step} | {' | '.join(shown)} |"
    yield ""
    yield results["conclusion"]
    yield ""


def cell(figures: Mapping[str, Any], column: Column) -> str:
    value = figures[column.key]
    return f"{float(value):,.{column.digits}f}" if value != "" else ""


def rivals_ahead(section: Section, results: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the rival, the figure and the reason, for each figure by which a rival is ahead.

    Raises `KeyError` if there is no reason.
    """
    figures = results["figures"]
    rivals = [name for name in figures if name not in (section.ours, *section.others)]
    for column in section.columns:
        ours = float(figures[section.ours][column.key] or 0)
        for rival in rivals:
            theirs = float(figures[rival][column.key] or 0)
            if column.ranked and theirs < ours * (1 - MARGIN):
                reason = REASONS[section.title, column.key, rival]
                figure = f"{results['benchmark']}: {column.title}, {ours / theirs:.1f} times"
                yield rival, figure, reason


def chunks_of(results: Mapping[str, Any]) -> int:
    """Return the number of chunks in the name of a benchmark, as in "bm25, 10000 chunks"."""
    return int(results["benchmark"].partition(", ")[2].partition(" ")[0])


def curves(section: Section, column: str) -> dict[str, list[tuple[float, float]]]:
    """Return (chunks, figure) of each engine, for the sizes at which it was run.

    They are those of the processor of which there are most results.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    everything = [load(file) for file in section.files if not file.startswith(f"{AVX2.name}/")]
    processor = mode(each["processor"] for each in everything)
    for results in (each for each in everything if each["processor"] == processor):
        for engine, figures in results["figures"].items():
            point = (float(chunks_of(results)), float(figures[column]))
            found.setdefault(engine, []).append(point)
    return found


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of a line through the logarithms of points (least squares)."""
    xs, ys = zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)
    x0, y0 = sum(xs) / len(xs), sum(ys) / len(ys)
    rise = sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True))
    return rise / sum((x - x0) ** 2 for x in xs)


def growth(section: Section) -> Iterator[str]:
    """Yield the table of exponents: 1 is proportional to the number of chunks."""
    columns = [each for each in section.columns if each.ranked]
    yield f"| growth with the chunks, exponent | {' | '.join(each.title for each in columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    by_column = [curves(section, each.key) for each in columns]
    for engine, points in by_column[0].items():
        if len(points) > 1:
            slopes = (f"{exponent(each[engine]):.2f}" for each in by_column)
            yield f"| {engine} | {' | '.join(slopes)} |"
    yield ""


# The drawing: panels of 340 x 260 points with logarithmic axes.
PANEL, HEIGHT, LEFT, TOP, BOTTOM = 340, 260, 46, 28, 30
COLORS = ("#0b6e4f", "#66b39a", "#c8553d", "#28527a", "#8d6a9f", "#b5893b")


def panel(title: str, lines: Mapping[str, Sequence[tuple[float, float]]], at: int) -> Iterator[str]:
    """Yield the SVG elements of one panel, `at` points from the left."""
    points = [point for each in lines.values() for point in each]
    x0, x1 = (math.log10(pick(x for x, _ in points)) for pick in (min, max))
    low = math.floor(math.log10(min(y for _, y in points)))
    high = math.ceil(math.log10(max(y for _, y in points)))

    def on_page(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0)
        up = (math.log10(y) - low) / (high - low)
        width, height = PANEL - LEFT - 16, HEIGHT - TOP - BOTTOM
        return at + LEFT + across * width, TOP + (1 - up) * height

    yield f'<text x="{at + LEFT}" y="16" font-weight="bold">{title}</text>'
    for power in range(low, high + 1):
        x, y = on_page(10**x0, 10.0**power)
        yield f'<path d="M{x:.0f} {y:.0f}h{PANEL - LEFT - 16}" stroke="#ddd"/>'
        yield f'<text x="{x - 4:.0f}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g}</text>'
    for chunks in sorted({x for x, _ in points}):
        x, _ = on_page(chunks, 10.0**low)
        yield f'<text x="{x:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{chunks / 1000:g}k</text>'
    for color, each in zip(COLORS, lines.values(), strict=False):
        points = [on_page(*point) for point in each]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points)


def drawing(section: Section) -> str:
    """Return the growth of a section's first and third figure as SVG."""
    shown = (section.columns[0], section.columns[2])
    width = PANEL * len(shown) + 130
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{HEIGHT}" fill="white"/>',
    ]
    for number, column in enumerate(shown):
        parts += panel(column.title, curves(section, column.key), PANEL * number)
    for row, (color, name) in enumerate(zip(COLORS, curves(section, shown[0].key), strict=False)):
        x, y = PANEL * len(shown), TOP + 10 + 18 * row
        parts.append(f'<rect x="{x}" y="{y - 8}" width="10" height="10" fill="{color}"/>')
        parts.append(f'<text x="{x + 15}" y="{y + 1}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


INTRODUCTION = """\
# crx beside its rivals

Written by `python benches/report.py` from the results in [benches/results](benches/results), which
the commands of [benches/README.md](benches/README.md) write. The machine was shared with other
work, which slows all engines of a run and more in some moments than in others. So times of the CPU
are compared, of one run only, and differences of less than a fifth mean little. Smaller is better.
"""


NOT_MEASURED = """\
## Not measured

SQLite FTS5 with more than 10,000 chunks.
"""


def report() -> str:
    """Return `BENCHMARKS.md`."""
    lines = [INTRODUCTION, *in_short(), *recall()]
    ahead: dict[tuple[str, str], list[str]] = {}
    for section in SECTIONS:
        lines += [f"## {section.title}", "", section.about, ""]
        for results in map(load, section.files):
            lines += table(section, results)
            for rival, figure, reason in rivals_ahead(section, results):
                ahead.setdefault((rival, reason), []).append(figure)
        if section.drawing:
            lines += growth(section)
            drawn = (RESULTS / section.drawing).relative_to(ROOT)
            lines += [f"![{section.title} by the number of chunks]({drawn})", ""]
    lines += ["## Where a rival is ahead", ""]
    for (rival, reason), figures in ahead.items():
        lines += [f"**{rival}**. {reason}", "", *(f"- {figure}" for figure in figures), ""]
    return "\n".join([*lines, NOT_MEASURED])


def quoted(document: str, source: str) -> str:
    """Return a document with the sections of `BENCHMARKS.md` that it quotes as they are now."""

    def section(found: re.Match[str]) -> str:
        title = re.escape(found[2])
        text = re.search(rf"^## {title}\n\n(.*?)\n(?=^## )", source, re.MULTILINE | re.DOTALL)
        if text is None:
            raise SystemExit(f"BENCHMARKS.md has no section {found[2]}, which is quoted")
        return f"{found[1]}\n{text[1]}{found[3]}"

    pattern = r"^(<!-- BENCHMARKS\.md#([^\n]+) -->)\n.*?^(<!-- end -->)$"
    return re.sub(pattern, section, document, flags=re.MULTILINE | re.DOTALL)


def documents() -> dict[Path, str]:
    """Return each document and drawing as it should be."""
    benchmarks = report()
    readme = ROOT / "README.md"
    drawn = {RESULTS / each.drawing: drawing(each) for each in SECTIONS if each.drawing}
    return {
        ROOT / "BENCHMARKS.md": benchmarks,
        readme: quoted(readme.read_text(encoding="utf-8"), benchmarks),
        **drawn,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="lay out the results of the benchmarks")
    parser.add_argument("--check", action="store_true", help="write nothing")
    check: bool = parser.parse_args().check
    for path, text in documents().items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is not up to date; run python benches/report.py")


if __name__ == "__main__":
    main()
