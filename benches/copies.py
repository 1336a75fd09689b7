"""Near-duplicates: which answers of question sets are folded, and how far real copies collapse.

Run: python benches/copies.py gold SET...        (words alone)
     python benches/copies.py texts FOLDER --query "permission is hereby granted" --glob copyright

`gold` counts the answers among the first 20 hits that are in a chunk which is folded into a better
one, and those of them whose words the better one does not all have. `texts` indexes the files of a
folder, each as a document, and prints how many hits and documents a search shows and folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import crx
from crx.config import Settings
from crx.types import Document, Hit
from crx_evaluate.datasets import Query, read_set

K = 20
SETTINGS = {"embedder": "none", "reranker": ""}


def count_folded_gold(folder: Path) -> str:
    """Return a line on the answers of a question set that are folded."""
    questions = read_set(folder)
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / "set.crx"
        with crx.open(path, settings=SETTINGS) as index:
            index.add_documents(questions.documents)
        with (
            crx.open_reader(path, settings=SETTINGS | {"rank.copies.share": 0}) as all_hits,
            crx.open_reader(path, settings=SETTINGS) as folded,
        ):
            gold = hidden = lost = 0
            for query in questions.queries:
                before = all_hits.search(query.text, k=K, window=0).hits
                after = folded.search(query.text, k=K, window=0).hits
                shown = {hit.key for hit in after}
                words = [set(hit.text.split()) for hit in after]
                answers = [hit for hit in before if _answers(hit, query)]
                missing = [hit for hit in answers if hit.key not in shown]
                gold += len(answers)
                hidden += len(missing)
                lost += sum(
                    not any(set(hit.text.split()) <= each for each in words) for hit in missing
                )
    return (
        f"{folder.name}: {gold} answers in the first {K}; "
        f"{hidden} folded, {lost} with words of their own"
    )


def _answers(hit: Hit, query: Query) -> bool:
    spans = (span for gold in query.gold for span in gold.any)
    return any(
        span.doc_id == hit.uri and span.start < hit.end and hit.start < span.end for span in spans
    )


def describe_texts(folder: Path, *, glob: str, queries: Sequence[str], copies: int) -> str:
    """Return lines on searches of the files of a folder, each indexed so many times."""
    files = [path for path in sorted(folder.rglob(glob)) if path.is_file()]
    documents = [
        Document(uri=f"{path}#{copy}", text=path.read_text(errors="replace"))
        for copy in range(copies)
        for path in files
    ]
    lines = [f"{len(documents)} documents"]
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / "texts.crx"
        with crx.open(path, settings=SETTINGS) as index:
            index.add_documents(documents)
        for share in (0.0, Settings().rank_copies_share):
            with crx.open_reader(path, settings=SETTINGS | {"rank.copies.share": share}) as index:
                for query in queries:
                    found = index.search(query, k=K, window=0)
                    texts = {" ".join(hit.text.split()) for hit in found.hits}
                    folded = sum(hit.copies for hit in found.hits)
                    ms = sum((found.timings_ms or {}).values())
                    lines.append(
                        f"share {share:g}, {query}: {len(found.hits)} hits, {len(texts)} "
                        f"different texts, {folded} more like them, {ms:.0f} ms"
                    )
    return "\n".join(lines)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    gold = commands.add_parser("gold")
    gold.add_argument("sets", nargs="+", type=Path)
    texts = commands.add_parser("texts")
    texts.add_argument("folder", type=Path)
    texts.add_argument("--glob", default="*")
    texts.add_argument("--query", action="append", required=True)
    texts.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    if options.command == "gold":
        for each in options.sets:
            print(count_folded_gold(each), flush=True)
    else:
        print(
            describe_texts(
                options.folder,
                glob=options.glob,
                queries=options.query,
                copies=options.copies,
            )
        )


if __name__ == "__main__":
    main()
