"""Measure what contexts bring on questions with known answers, here three of them.

A set in files, as `crx eval init` makes it, is read with `crx_evaluate.read_set(folder)`.
"""

from pathlib import Path

import crx
from crx_evaluate import Gold, GoldSpan, Options, Query, QuestionSet, ablate, difference

AGREEMENTS = Path(__file__).parent / "agreements"
QUESTIONS = [
    ("northwind.md", "interest on late payments by Contoso", "Late amounts bear"),
    ("fabrikam.md", "interest on late rent of Fabrikam", "Late amounts bear"),
    ("fabrikam.md", "who repairs the heating in Harbour Street?", "The landlord keeps"),
]


def main() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in AGREEMENTS.glob("*.md")}
    documents = tuple(crx.Document(uri=name, text=text) for name, text in sorted(texts.items()))
    queries = tuple(
        Query(str(number), question, (Gold((span_of(name, texts[name], answer),)),))
        for number, (name, question, answer) in enumerate(QUESTIONS)
    )
    results = ablate(
        QuestionSet("agreements", documents, queries),
        contexts=["none", "outline"],
        options=Options(chunk_chars=160, settings={"embedder": "hashed"}),
    )
    for name in ("none bm25", "none hybrid", "outline bm25", "outline hybrid"):
        print(f"{name:15} recall@1 {results.mean(results.find_row(name), 'recall@1'):.2f}")
    bare, situated = results.find_row("none bm25"), results.find_row("outline bm25")
    gain = difference(results.values_of(situated, "recall@1"), results.values_of(bare, "recall@1"))
    print(f"outline for BM25: {gain.mean:+.2f}, 95% interval {gain.low:+.2f} to {gain.high:+.2f}")


def span_of(name: str, text: str, answer: str) -> GoldSpan:
    """Return the paragraph that begins with some words."""
    start = text.index(answer)
    end = text.find("\n\n", start)
    return GoldSpan(name, start, end if end >= 0 else len(text.rstrip()))


if __name__ == "__main__":
    main()
