"""Questions whose answers stand in columns and tables of PDFs: crx against other extractions.

A question is answered if one of the first passages has all of its strings; white space, hyphens at
the ends of lines and dots that lead to a number do not count. Every extraction is an index of its
own, by words alone. That of crx is its reader; the texts of the others are read as plain text, with
the same splitter and the same search: `pdftotext -layout` and `pdftotext` of poppler, PDFium's own
text, and pdfminer.six where it is installed. docling is not among them: it needs models.

Questions are of three sorts. `hand` ones were written from the pages. `column` ones were made by
`--make`: of a sentence of a paragraph, the words around the end of a line are the answer, the rest
is the question. `table` ones likewise: the label of a row is the question, the row the answer;
only those of two documents whose rows were looked at are kept. Both are made from what `pdftotext`
and `pdftotext -layout` print, so an answer that these lose is not asked for. All questions were
written after the reader; pages of four of the documents were looked at before (12s0324, refcard,
sample-sigconf, debian-reference.en). It may be refined with the half `tuning`; `held` is the other
half, of other documents.

Run: python benches/pdf.py PACKAGES [--pdftotext PATH] [--half held] [--json FILE]

PACKAGES is a folder with one folder for each package of pdf_documents.json, unpacked: those of
Debian with `apt-get download NAME; dpkg -x NAME_*.deb PACKAGES/NAME`, those of Python with
`pip download --no-deps --no-binary NAME NAME` and `tar`. A document with another hash is left out,
and named.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import platform
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from harness import commit

import crx
from crx.ingest.read import read_bytes
from crx.ingest.readers import text as plain

HERE = Path(__file__).parent
DOCUMENTS, QUESTIONS = HERE / "pdf_documents.json", HERE / "pdf_questions.jsonl"
# Passages that are looked at: what a person sees first.
FIRST = (1, 3)
SETTINGS = {"embedder": "none"}
# White space, hyphens at the ends of lines, and what leads from a name to a number.
IGNORED = re.compile(r"[\s\u00ad\x02\ufffe]+|(?:\s?\.){3,}")
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
CELL = re.compile(r" {2,}")
NUMBER = re.compile(r"[$€(]?[\d.,]*\d[\d.,%)]*|–|\(X\)")
WORD = re.compile(r"[^\W\d_]{3,}")
COLUMN_QUESTIONS, TABLE_QUESTIONS = 4, 12  # of one document


@dataclass(frozen=True, slots=True)
class Pdf:
    """A document, of which kind it is, and its bytes."""

    id: str
    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the strings of which one passage must have all."""

    document: str
    sort: str
    half: str
    text: str
    answer: tuple[str, ...]


Extract = Callable[[Pdf], crx.Document]


def read_documents(packages: Path) -> list[Pdf]:
    """Return the documents that are there with the pinned hash."""
    found = []
    for each in orjson.loads(DOCUMENTS.read_bytes()):
        file = packages / each["package"] / each["path"]
        data = file.read_bytes() if file.is_file() else b""
        if hashlib.sha256(data).hexdigest() != each["sha256"]:
            print(f"{each['id']}: not there, or another version", file=sys.stderr)
            continue
        if file.suffix == ".gz":
            data = gzip.decompress(data)
        found.append(Pdf(each["id"], each["kind"], data))
    return found


def read_questions() -> list[Question]:
    """Return all questions."""
    rows = map(orjson.loads, QUESTIONS.read_bytes().splitlines())
    return [Question(**{**row, "answer": tuple(row["answer"])}) for row in rows]


def with_crx(pdf: Pdf) -> crx.Document:
    """Return the document as crx reads it."""
    (document,) = read_bytes(pdf.data, name=f"{pdf.id}.pdf")
    return document


def as_plain(pdf: Pdf, text: str) -> crx.Document:
    """Return the document of a text that an extraction gave."""
    (document,) = plain.read(text.encode(errors="replace"), name=f"{pdf.id}.txt")
    return document


def with_pdftotext(program: str, *options: str) -> Extract:
    """Return the extraction by poppler's program."""

    def extract(pdf: Pdf) -> crx.Document:
        return as_plain(pdf, run_pdftotext(program, pdf, *options))

    return extract


def run_pdftotext(program: str, pdf: Pdf, *options: str) -> str:
    """Return what poppler's program prints."""
    command = [program, *options, "-enc", "UTF-8", "-", "-"]
    done = subprocess.run(command, input=pdf.data, capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def with_pdfminer(pdf: Pdf) -> crx.Document:
    """Return the document as pdfminer.six reads it."""
    from io import BytesIO

    from pdfminer.high_level import extract_text  # type: ignore[import-not-found]

    return as_plain(pdf, extract_text(BytesIO(pdf.data)))


def with_pdfium(pdf: Pdf) -> crx.Document:
    """Return PDFium's text, in the order in which pages are drawn."""
    import pypdfium2  # type: ignore[import-untyped]

    pages = pypdfium2.PdfDocument(pdf.data)
    return as_plain(pdf, "\n\n".join(page.get_textpage().get_text_range() for page in pages))


def measure(
    documents: Sequence[Pdf], questions: Sequence[Question], extract: Extract
) -> tuple[dict[int, list[bool]], float]:
    """Return for each depth which questions are answered, and the seconds of the extraction."""
    start = time.process_time()
    read = [extract(each) for each in documents]
    seconds = time.process_time() - start
    answered: dict[int, list[bool]] = {depth: [] for depth in FIRST}
    with (
        tempfile.TemporaryDirectory() as folder,
        crx.open(Path(folder) / "pdf.crx", settings=SETTINGS) as index,
    ):
        index.add_documents(read)
        for question in questions:
            passages = index.search(question.text).passages
            held = [holds(passage.text, question.answer) for passage in passages]
            for depth in FIRST:
                answered[depth].append(any(held[:depth]))
    return answered, seconds


def holds(text: str, answer: Sequence[str]) -> bool:
    """Return whether a text has all strings of an answer."""
    squeezed = squeeze(text)
    return all(squeeze(each) in squeezed for each in answer)


def squeeze(text: str) -> str:
    """Return a text without what extractions write in ways of their own."""
    return IGNORED.sub("", unicodedata.normalize("NFKC", text)).casefold()


def make_questions(documents: Sequence[Pdf], program: str) -> Iterator[dict[str, object]]:
    """Yield the automatic questions."""
    for number, pdf in enumerate(documents):
        half = "tuning" if number % 2 else "held"
        own = {"document": pdf.id, "half": half}
        columns = list(column_questions(run_pdftotext(program, pdf)))
        if pdf.kind in ("paper", "report", "slides"):
            for text, answer in spread(columns, COLUMN_QUESTIONS):
                yield {**own, "sort": "column", "text": text, "answer": answer}
        tables = list(table_questions(run_pdftotext(program, pdf, "-layout")))
        for text, answer in spread(tables, TABLE_QUESTIONS):
            yield {**own, "sort": "table", "text": text, "answer": answer}


def spread(found: Sequence[tuple[str, list[str]]], count: int) -> list[tuple[str, list[str]]]:
    """Return at most so many, from all parts of a document."""
    step = max(1, len(found) // count)
    return list(found[step // 2 :: step][:count])


def column_questions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the words of sentences of paragraphs, and those around the end of a line in each."""
    for block in re.split(r"\n\s*\n|\f", text):
        lines = block.strip().split("\n")
        if len(lines) < 4 or any(len(line) < 30 for line in lines[:-1]):
            continue
        for sentence in SENTENCE.split(block.strip()):
            ends = [match.start() for match in re.finditer("\n", sentence)]
            words = sentence.split()
            if not ends or not 14 <= len(words) <= 40 or not sentence.isascii():
                continue
            end = ends[len(ends) // 2]
            before, after = sentence[:end].split(), sentence[end:].split()
            if len(before) < 5 or len(after) < 5 or before[-1].endswith("-"):
                continue
            rest = [word for word in (*before[:-3], *after[3:]) if WORD.search(word)]
            if len(rest) >= 6:
                yield " ".join(rest), [" ".join((*before[-3:], *after[:3]))]


def table_questions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the labels of rows with numbers, and the whole rows."""
    rows = [CELL.split(line.strip()) for line in text.replace("\f", "\n").split("\n")]
    labels = Counter(row[0] for row in rows)
    for row in rows:
        label, *cells = row
        label = re.sub(r"[\s.]+$", "", label)
        numbers = sum(NUMBER.fullmatch(cell) is not None for cell in cells)
        if (
            len(cells) >= 2
            and numbers >= len(cells) - 1
            and len(WORD.findall(label)) >= 2
            and len(label) < 60
            and labels[row[0]] == 1
        ):
            yield label, [" ".join((label, *cells))]


def shares(
    questions: Sequence[Question], answered: Sequence[bool], kinds: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """Return the answered questions and all: together, by sort, by half and by kind."""
    counts: dict[str, list[bool]] = defaultdict(list)
    for question, held in zip(questions, answered, strict=True):
        for group in ("all", question.sort, question.half, kinds[question.document]):
            counts[group].append(held)
    return {group: (sum(held), len(held)) for group, held in counts.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("packages", type=Path)
    parser.add_argument("--pdftotext", default="pdftotext")
    parser.add_argument("--half", choices=("tuning", "held"))
    parser.add_argument("--only", help="the extraction to measure")
    parser.add_argument("--show", action="store_true", help="print what crx does not answer")
    parser.add_argument("--make", action="store_true", help="print automatic questions")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    documents = read_documents(given.packages)
    if given.make:
        for row in make_questions(documents, given.pdftotext):
            print(orjson.dumps(row).decode())
        return
    kinds = {each.id: each.kind for each in documents}
    questions = [
        each
        for each in read_questions()
        if each.document in kinds and given.half in (None, each.half)
    ]
    extractions: dict[str, Extract] = {
        "crx": with_crx,
        "pdftotext -layout": with_pdftotext(given.pdftotext, "-layout"),
        "pdftotext": with_pdftotext(given.pdftotext),
        "PDFium": with_pdfium,
        "pdfminer.six": with_pdfminer,
    }
    print(
        f"{len(documents)} documents, {len(questions)} questions; {platform.platform()}, {commit()}"
    )
    figures: dict[str, object] = {}
    for name, extract in extractions.items():
        if given.only not in (None, name):
            continue
        try:
            answered, seconds = measure(documents, questions, extract)
        except (ModuleNotFoundError, FileNotFoundError) as missing:
            print(f"| {name} | not installed: {missing} |")
            continue
        found = {depth: shares(questions, answered[depth], kinds) for depth in FIRST}
        for depth, groups in found.items():
            cells = (f"{group} {held}/{count}" for group, (held, count) in groups.items())
            share = 100 * groups["all"][0] / groups["all"][1]
            print(
                f"| {name} | first {depth} | {share:.1f} | {', '.join(cells)} | {seconds:.1f} s |"
            )
        figures[name] = {"seconds": seconds, "first": found}
        if given.show and name == "crx":
            for question, held in zip(questions, answered[max(FIRST)], strict=True):
                if not held:
                    print(question)
    if given.json:
        given.json.write_bytes(
            orjson.dumps(figures, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
        )


if __name__ == "__main__":
    main()
