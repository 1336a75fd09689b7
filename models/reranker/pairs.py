"""Step 2: mine a positive chunk and hard negatives for every question.

Each package is indexed by crx, and positives and negatives are chunks of that index. With whole
spans as positives, a model would learn to recognize chunk boundaries. Every text comes with its
outline.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from sources import Question, files, questions, spans

import crx
from crx.types import Hit

PROSE = (".md", ".rst", ".txt", ".toml", ".cfg")
CODE = (".py", ".pyi", ".pyx", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".java", ".js", ".ts")
READ = frozenset(PROSE + CODE)
FILES_PER_PACKAGE = 150
# Chunk sizes vary by package, as they vary between users' indexes.
CHUNK_CHARS = (400, 600, 800)
DEPTH = 30
RANKED, BESIDE, ASKED = 8, 4, 4
# The minimum overlap, as a share of the chunk or of the answer's span, whichever is shorter.
MIN_OVERLAP = 0.4
SEED = 7


@dataclass(frozen=True, slots=True)
class Text:
    """A chunk, its outline, and the file it comes from."""

    text: str
    outline: str
    path: str


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the chunks that answer it, and three kinds of hard negatives.

    `ranked` are the chunks that BM25 finds in the package, `beside` those that it finds in the file
    of the answer, both best first; `asked` are the answers to other questions about the package.
    """

    id: str
    package: str
    question: str
    answers: tuple[Text, ...]
    ranked: tuple[Text, ...]
    beside: tuple[Text, ...]
    asked: tuple[Text, ...]


def mine_examples(archives: Path, out: Path) -> None:
    """Write the examples of all packages to `out`, one JSON object per line."""
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
    chance = random.Random(f"{SEED} {archive.name}")
    with TemporaryDirectory() as scratch:
        root = Path(scratch) / "package"
        _unpack(archive, root, {each.path for each in asked}, chance)
        size = chance.choice(CHUNK_CHARS)
        settings = {"embedder": "hashed", "chunk_chars": size, "rank.fusion.depth": DEPTH}
        with crx.open(Path(scratch) / "index.crx", settings=settings) as index:
            index.add(root, contexts="outline")
            package = _Package(index, root)
            answers = {each.id: package.answers(each) for each in asked}
            found = [package.example(each, answers, chance) for each in asked if answers[each.id]]
    return found


def _unpack(archive: Path, root: Path, needed: set[str], chance: random.Random) -> None:
    """Write the files that have questions, and up to FILES_PER_PACKAGE others."""
    texts = {path: data for path, data in files(archive) if PurePosixPath(path).suffix in READ}
    others = sorted(texts.keys() - needed)
    chance.shuffle(others)
    for path in [*sorted(needed & texts.keys()), *others[:FILES_PER_PACKAGE]]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(texts[path])


class _Package:
    """An indexed package."""

    def __init__(self, index: crx.Index, root: Path) -> None:
        self._index = index
        self._root = root

    def answers(self, asked: Question) -> tuple[Text, ...]:
        """Return the chunks that overlap with the answer's span, largest overlap first."""
        document = self._index.store.document((self._root / asked.path).as_posix())
        if document is None:
            return ()
        start = self._index.store.text(document.doc).find(asked.answer)
        if start < 0:
            return ()
        end = start + len(asked.answer)
        rows = self._index.store.chunks(self._index.store.chunk_keys(document.doc))
        common = [(min(row.end, end) - max(row.start, start), row) for row in rows]
        covering = [
            (chars, row)
            for chars, row in common
            if chars > MIN_OVERLAP * min(row.end - row.start, len(asked.answer))
        ]
        covering.sort(key=lambda pair: -pair[0])
        return tuple(Text(row.text, row.outline, asked.path) for _, row in covering)

    def example(
        self, asked: Question, answers: Mapping[str, tuple[Text, ...]], chance: random.Random
    ) -> Example:
        """Return a question's example; a chunk that shares a line with its span is no negative."""
        own = _lines(asked.answer)
        near = {"path": {"=": (self._root / asked.path).as_posix()}}
        ranked = self._found(asked.text, DEPTH, {})
        beside = self._found(asked.text, DEPTH, near)
        other = [each[0] for id, each in answers.items() if id != asked.id and each]
        chance.shuffle(other)
        return Example(
            asked.id,
            asked.package,
            asked.text,
            answers[asked.id],
            tuple(text for text in ranked if not own & _lines(text.text))[:RANKED],
            tuple(text for text in beside if not own & _lines(text.text))[:BESIDE],
            tuple(text for text in other if not own & _lines(text.text))[:ASKED],
        )

    def _found(self, query: str, k: int, where: Mapping[str, Any]) -> list[Text]:
        hits = self._index.search(query, k=k, window=0, legs=("bm25",), where=where).hits
        return [Text(hit.text, hit.outline, self._below(hit)) for hit in hits]

    def _below(self, hit: Hit) -> str:
        return PurePosixPath(hit.uri).relative_to(self._root.as_posix()).as_posix()


def _lines(text: str) -> set[str]:
    """Return the lines of more than 20 characters; texts that share one may both be answers."""
    return {line.strip() for line in text.splitlines() if len(line.strip()) > 20}
