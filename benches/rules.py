"""Each rule of the order, left out one at a time.

The sets are question sets, whole or a part of their questions, and sets derived from them for rules
that ordinary questions seldom need: `typos` (two letters of the longest word are swapped),
`phrases` (five words of a document, in quotes), `names` (an identifier; the answer is the line that
defines it), `mirrors` (each document twice) and `languages` (the same articles in several
languages, told apart by their names). The last ones have no figures that rules were chosen on.
`files` are the questions of `real_files.py` about a folder of real files, by hand and from their
structure; FOLDER is its cache, NAME that of the folder there, such as html or pdf.

Run: python benches/rules.py NAME=FOLDER[:KIND]... [--embedder none] [--questions 250] [--rerank]
Each run adds its sets to benches/results/rules.json and writes docs/explanation/rules.md.
"""

from __future__ import annotations

import argparse
import platform
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson
import real_files
from harness import commit

import crx
from crx.registry import load_reranker
from crx.retrieve.search import MEASURED
from crx_evaluate import (
    Gold,
    GoldSpan,
    Options,
    PipelineConfig,
    Query,
    QuestionSet,
    Results,
    difference,
    measure,
    read_questions,
)
from crx_evaluate.questions import read_documents

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "rules.json"
PAGE = ROOT.parent / "docs" / "explanation" / "rules.md"
METRICS = ("mrr", "recall@20")

# Rules whose section another bench gives.
OWN = ("definitions", "late_interaction")
# Rules that went, with what they did.
GONE = {
    "code_weight": "The dense leg weighed half as much again where most of the best chunks were "
    "source code with outlines.",
    "translations": "Of one document in several languages, that in the query's came first.",
    "folders": "Source code in a folder such as v1 or deprecated counted half, and the name of a "
    "file's folder counted three tenths of its own. Of 687 questions of the reporting half of "
    "`code_search.py` 1 and 13 had another nDCG@10: without them it was .0000 [-.0001, .0000] and "
    "+.0003 [-.0020, +.0026] better.",
}
GONE_HEAD = """\
## Rules that went

A rule goes if its gain cannot be told from nothing on sets that it was not chosen on. These changed
no rank in 2,000 questions of the ten sets by words and 498 of codebases and contracts with e5@int8,
at the commit 50c7b4d9, but for the rows below.
"""
SEED = 11
_DEFINITION = re.compile(r"\b(?:def|fn|func|function|class|struct|interface)\s+([A-Za-z_]\w{5,})")
_WORD = re.compile(r"\w+")

HEAD = """\
# The rules of the order

Each row is a rule and a set of questions: the figure of the search that ships, and how much better
it is than without the rule, with a 95% interval over the questions (paired bootstrap). *Changed*
counts the questions whose rank changes. Sets in which a rule changes nothing are left out.
`python benches/rules.py` writes this page; its first lines describe the derived sets.

The sets have no questions that some rules are for: `rerank` has figures on all sets in
`models/reranker/README.md`, `unknown_words` in `benches/unknown_words.py`.
"""


def swap_letters(questions: QuestionSet) -> QuestionSet:
    """Return the questions with a typo in the longest word of each that has seven letters."""

    def mistyped(query: Query) -> Iterator[Query]:
        word = max(re.findall(r"[a-z]{7,}", query.text), key=len, default="")
        if word:
            typo = word[:3] + word[4] + word[3] + word[5:]
            if typo != word:
                yield replace(query, text=query.text.replace(word, typo))

    return with_queries(
        questions, [each for query in questions.queries for each in mistyped(query)]
    )


def quote_phrases(questions: QuestionSet) -> QuestionSet:
    """Return questions that quote five words of a document."""
    drawn = random.Random(SEED)
    queries = []
    for at in range(400):
        document = drawn.choice(questions.documents)
        words = list(_WORD.finditer(document.text))
        if len(words) < 10:
            continue
        first = drawn.randrange(len(words) - 5)
        start, end = words[first].start(), words[first + 4].end()
        phrase = document.text[start:end]
        if "\n" in phrase or not re.fullmatch(r"[\w ]+", phrase):
            continue
        found_spans = [
            GoldSpan(each.uri, found.start(), found.end())
            for each in questions.documents
            for found in re.finditer(re.escape(phrase), each.text)
        ]
        queries.append(
            Query(id=f"phrase-{at}", text=f'"{phrase}"', gold=(Gold(tuple(found_spans)),))
        )
    return with_queries(questions, queries)


def ask_names(questions: QuestionSet) -> QuestionSet:
    """Return the names that one line of the documents defines, with that line as the answer."""
    found_spans: dict[str, list[GoldSpan]] = {}
    for document in questions.documents:
        for found in _DEFINITION.finditer(document.text):
            span = GoldSpan(document.uri, found.start(), found.end())
            found_spans.setdefault(found[1], []).append(span)
    queries = [
        Query(id=f"name-{name}", text=name, gold=(Gold(tuple(spans)),))
        for name, spans in sorted(found_spans.items())
        if len(spans) == 1
    ]
    return with_queries(questions, queries)


def mirror_documents(questions: QuestionSet) -> QuestionSet:
    """Return the questions over documents that are there twice."""
    copies = [replace(each, uri=f"mirror/{each.uri}") for each in questions.documents]

    def both(item: Gold) -> Gold:
        copies = (replace(span, doc_id=f"mirror/{span.doc_id}") for span in item.any)
        return Gold((*item.any, *copies))

    queries = [replace(each, gold=tuple(map(both, each.gold))) for each in questions.queries]
    mirrored = replace(questions, documents=(*questions.documents, *copies))
    return with_queries(mirrored, queries)


def join_languages(questions: QuestionSet, folder: Path) -> QuestionSet:
    """Return the questions in several languages over the articles of all, named by language."""
    documents, queries = [], []
    for lang in ("en", "vi", "zh"):
        own = read_questions(folder.with_name(f"wiki-{lang}"))
        uris = {each.uri: f"{article}.{lang}.md" for article, each in enumerate(own.documents)}
        documents += [replace(each, uri=uris[each.uri], lang=lang) for each in own.documents]
        queries += [
            replace(
                query,
                id=f"{lang}-{query.id}",
                gold=tuple(
                    Gold(tuple(replace(span, doc_id=uris[span.doc_id]) for span in item.any))
                    for item in query.gold
                ),
            )
            for query in own.queries
        ]
    return with_queries(replace(questions, documents=tuple(documents)), queries)


DERIVED: dict[str, Callable[[QuestionSet], QuestionSet]] = {
    "typos": swap_letters,
    "phrases": quote_phrases,
    "names": ask_names,
    "mirrors": mirror_documents,
}


def with_queries(questions: QuestionSet, queries: Sequence[Query]) -> QuestionSet:
    return replace(questions, queries=tuple(queries))


def sample(questions: QuestionSet, *, count: int) -> QuestionSet:
    """Return some of the questions, the same in each run."""
    if len(questions.queries) <= count:
        return questions
    drawn = random.Random(SEED).sample(range(len(questions.queries)), count)
    return with_queries(questions, [questions.queries[at] for at in sorted(drawn)])


def read_files(folder: str, cache: Path) -> QuestionSet:
    """Return the questions about a folder of real files whose answers are quotes of its texts."""
    (files,) = (
        real_files.prepare(cache, each) for each in real_files.FOLDERS if each["folder"] == folder
    )
    with crx.open(real_files.Crx(cache, folder, files, rerank=False).path) as index:
        documents = tuple(read_documents(index.store))

    def find(quote: str) -> Iterator[GoldSpan]:
        written = re.compile(r"\s+".join(map(re.escape, quote.split())))
        for each in documents:
            for found in written.finditer(each.text):
                yield GoldSpan(each.uri, found.start(), found.end())

    asked = real_files.read_questions(folder)
    spans = [tuple(span for quote in each.quotes for span in find(quote)) for each in asked]
    queries = [
        Query(id=f"{folder}-{at}", text=each.query, gold=(Gold(found),))
        for at, (each, found) in enumerate(zip(asked, spans, strict=True))
        if found
    ]
    return QuestionSet(folder, documents, tuple(queries))


def read_part(spec: str, *, count: int) -> tuple[str, QuestionSet]:
    """Return the name and the questions of `NAME=FOLDER[:KIND]`."""
    name, _, rest = spec.partition("=")
    folder, _, kind = rest.partition(":")
    if kind == "files":
        return f"files: {name}", sample(read_files(name, Path(folder).resolve()), count=count)
    questions = read_questions(Path(folder))
    if kind == "languages":
        questions = join_languages(questions, Path(folder))
    elif kind:
        questions = DERIVED[kind](questions)
    return name, sample(questions, count=count)


def compare(results: Results, whole: PipelineConfig) -> Iterator[dict[str, Any]]:
    """Yield a row for each rule that changes something."""
    for row in results.rows:
        name = row.without or "rerank" * (whole.rerank and not row.rerank)
        if not name:
            continue
        changed = sum(results.values_of(row, "mrr") != results.values_of(whole, "mrr"))
        if not changed:
            continue
        found: dict[str, Any] = {"rule": name, "changed": int(changed)}
        for metric in METRICS:
            gain = difference(results.values_of(whole, metric), results.values_of(row, metric))
            found[metric] = [results.mean(whole, metric), gain.mean, gain.low, gain.high]
        yield found


def measure_set(name: str, questions: QuestionSet, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a set."""
    legs: Literal["bm25", "hybrid"] = "bm25" if given.embedder == "none" else "hybrid"
    whole = PipelineConfig(contexts="outline", legs=legs, rerank=given.rerank)
    rows = [whole, *(replace(whole, without=rule) for rule in MEASURED)]
    settings: dict[str, Any] = {"embedder": given.embedder, "rank.rerank.ms": 0}
    reranker = None
    if given.rerank:
        rows, reranker = [whole, replace(whole, rerank=False)], load_reranker("crx")
    results = measure(questions, rows, options=Options(settings=settings, reranker=reranker))
    return {
        "set": name,
        "search": ("words" if legs == "bm25" else given.embedder) + ", reranked" * given.rerank,
        "questions": len(questions.queries),
        "commit": commit(),
        "machine": platform.machine(),
        "rows": list(compare(results, whole)),
    }


def kept_section(name: str) -> str:
    """Return the section of a rule as the page has it."""
    found = re.search(rf"^## {name}\n.*?(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    return found[0].rstrip() + "\n" if found else ""


def tabulate(measured: Sequence[dict[str, Any]], name: str) -> list[str]:
    """Return the lines of the table of a rule."""
    found = [(one, row) for one in measured for row in one["rows"] if row["rule"] == name]
    if not found:
        return ["Changes nothing in these sets.\n"]
    lines = [
        "| set | search | questions | changed | MRR | gain | recall@20 | gain |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one, row in found:
        figures = " | ".join(
            f"{100 * row[m][0]:.1f} | {100 * row[m][1]:+.1f} [{100 * row[m][2]:+.1f}, "
            f"{100 * row[m][3]:+.1f}]"
            for m in METRICS
        )
        lines.append(
            f"| {one['set']} | {one['search']} | {one['questions']:,} | {row['changed']} "
            f"| {figures} |"
        )
    return [*lines, ""]


def write_page(measured: Sequence[dict[str, Any]]) -> None:
    """Write the page of the documentation, rule by rule."""
    lines = [HEAD]
    for name in (*MEASURED, "rerank"):
        lines += (
            [kept_section(name)] if name in OWN else [f"## {name}\n", *tabulate(measured, name)]
        )
    lines += [kept_section("Numbers that went"), GONE_HEAD]
    for name, what in GONE.items():
        lines += [f"### {name}\n\n{what}\n", *tabulate(measured, name)]
    commits = ", ".join(sorted({str(each["commit"]) for each in measured}))
    sets = (f"{one['set']} ({one['search']}, {one['questions']:,})" for one in measured)
    lines.append(f"Measured at the commits {commits}. Sets: {', '.join(sorted(sets))}.")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="NAME=FOLDER[:KIND]")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--questions", type=int, default=250)
    parser.add_argument("--rerank", action="store_true", help="measure the rule of the reranker")
    given = parser.parse_args()
    measured = orjson.loads(RESULTS.read_bytes()) if RESULTS.exists() else []
    for spec in given.sets:
        name, questions = read_part(spec, count=given.questions)
        one = measure_set(name, questions, given)
        key = (one["set"], one["search"])
        measured = [each for each in measured if (each["set"], each["search"]) != key] + [one]
        print(name, one["questions"], *one["rows"], sep="\n  ", flush=True)
        RESULTS.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2) + b"\n")
    write_page(measured)


if __name__ == "__main__":
    main()
