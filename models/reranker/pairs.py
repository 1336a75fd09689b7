"""The second step: for every question, chunks of its package that look right and are not.

Each package is indexed by crx itself, so that negatives are what its BM25 ranks high, and every
text comes with the outline that it would be read with.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from sources import Question, files, questions, spans

import crx
from crx.types import Hit

PROSE = (".md", ".rst", ".txt", ".toml", ".cfg")
CODE = (".py", ".pyi", ".pyx", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".java", ".js", ".ts")
READ = frozenset(PROSE + CODE)
FILES_A_PACKAGE = 150
CHUNK_CHARS = 800
DEPTH = 40
KEPT = 12
SEED = 7


@dataclass(frozen=True, slots=True)
class Text:
    """A chunk, the outline it is read with, and the file it is from."""

    text: str
    outline: str
    path: str


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the text that answers it, and texts that do not, the likeliest first."""

    id: str
    package: str
    question: str
    answer: Text
    others: tuple[Text, ...]


def mine(archives: Path, out: Path) -> None:
    """Write one line of JSON an example."""
    asked = defaultdict(list)
    for line in questions():
        asked[line["package"], line["version"]].append(line)
    work = [
        (archives / f"{name}-{at}.tar.gz", lines) for (name, at), lines in sorted(asked.items())
    ]
    with out.open("w", encoding="utf-8") as file, ProcessPoolExecutor() as pool:
        for found in pool.map(examples, *zip(*work, strict=True)):
            for example in found:
                file.write(json.dumps(asdict(example)) + "\n")
            print(f"{found[0].package}: {len(found)} questions", flush=True)


def examples(archive: Path, lines: list[dict[str, str]]) -> list[Example]:
    """Return the examples of one package."""
    asked = spans(archive, lines)
    with TemporaryDirectory() as place:
        root = Path(place) / "package"
        _unpack(archive, root, {each.path for each in asked})
        settings = {"embedder": "hashed", "chunk_chars": CHUNK_CHARS, "bm25_depth": DEPTH}
        with crx.open(Path(place) / "index.crx", settings=settings) as index:
            index.add(root, contexts="outline")
            return [_example(index, root, each) for each in asked]


def _unpack(archive: Path, root: Path, needed: set[str]) -> None:
    """Write the files that are asked about, and as many others as are looked through."""
    texts = {path: data for path, data in files(archive) if PurePosixPath(path).suffix in READ}
    others = sorted(texts.keys() - needed)
    random.Random(SEED).shuffle(others)
    for path in [*sorted(needed & texts.keys()), *others[:FILES_A_PACKAGE]]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(texts[path])


def _example(index: crx.Index, root: Path, asked: Question) -> Example:
    found = index.search(asked.text, k=DEPTH, window=0, legs=("bm25",)).hits
    file = str((root / asked.path).as_posix())
    beside = [hit for hit in found if hit.uri == file]
    own = _lines(asked.answer)
    near = max(
        index.search(
            asked.answer[:400], k=3, window=0, legs=("bm25",), where={"path": f"**/{asked.path}"}
        ).hits
        or beside,
        key=lambda hit: len(own & _lines(hit.text)),
        default=None,
    )
    others = [
        Text(hit.text, hit.outline, _below(root, hit))
        for hit in found
        if not (own & _lines(hit.text)) and hit.text.strip()
    ]
    answer = Text(asked.answer, near.outline if near else "", asked.path)
    return Example(asked.id, asked.package, asked.text, answer, tuple(others[:KEPT]))


def _below(root: Path, hit: Hit) -> str:
    return PurePosixPath(hit.uri).relative_to(root.as_posix()).as_posix()


def _lines(text: str) -> set[str]:
    """Return the lines that say something: two texts that share one may both answer."""
    return {line.strip() for line in text.splitlines() if len(line.strip()) > 20}
