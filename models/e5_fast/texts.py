"""Texts to distil an embedder with: chunks of documents as an index has them, and queries.

A folder of documents has a subfolder for each kind of text, such as `en`, `ja` or `code`, with
plain text, source code, HTML, manual pages (`.gz`) and message catalogues (`.mo`).
"""

from __future__ import annotations

import gettext
import gzip
import html
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CODE, OUTLINES, OUTLINED = "code", "outlines", "outlined"
# Kinds of text without spaces between words, of which a token holds fewer characters.
UNSPACED = ("ja", "zh")
SIZES = (60, 150, 300, 500, 700, 850, 850)
CODE_SIZES = (150, 300, 500, 850, 850, 1250, 1700)
UNSPACED_SIZES = (30, 80, 150, 250, 330, 330)
MAX_DOCUMENT_CHARS = 40_000
# Shares of chunks that begin with a prefix like an outline. That of source code is embedded apart.
PREFIXED, CODE_PREFIXES = 0.45, 0.06
# Messages of a catalogue that make a document, and the least length of one.
MESSAGES, MIN_MESSAGE_CHARS = 25, 12
MIN_CHUNK_CHARS = 8

_SENTENCE = re.compile(r"(?<=[。！？])|(?<=\n)|(?<=[.!?]) ")
_TERMS = re.compile(r"\b[A-ZÀ-ỸĐ][\w-]{3,}(?: [A-ZÀ-ỸĐ][\w-]{2,})?|\b[a-z]+_[a-z_]+|\b\w{7,}")
_UNSPACED_TERMS = re.compile(r"[\u4e00-\u9fff]{2,4}|[\u30a0-\u30ff]{3,}|[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its kind: a language, or `CODE`."""

    kind: str
    title: str
    text: str


def write_texts(folder: Path, out: Path, *, seed: int = 7) -> Counter[str]:
    """Write the chunks of a folder's documents, and return how many there are of each kind."""
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    with out.open("w", encoding="utf-8") as file:
        for document in read_documents(folder):
            for chunk in cut(document, chance):
                line = {"kind": document.kind, "text": chunk}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                counts[document.kind] += 1
    return counts


def write_outlined(pairs: Path, out: Path, *, share: float = 0.3, seed: int = 7) -> Counter[str]:
    """Add texts with outlines of crx's own to `out`, and return how many there are of each kind.

    `pairs` are those that the reranker's recipe mines. The outlines of source code are texts by
    themselves (`OUTLINES`); a share of the chunks of documentation follow theirs (`OUTLINED`).
    """
    chance = random.Random(seed)
    outlines: set[str] = set()
    outlined = []
    for line in pairs.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        candidates = (
            each for value in fields.values() if isinstance(value, list) for each in value
        )
        for each in candidates:
            if not isinstance(each, dict) or not each.get("outline"):
                continue
            if not each["path"].endswith((".rst", ".md", ".txt")):
                outlines.add(each["outline"][:900])
            elif chance.random() < share:
                outlined.append(f"{each['outline'][:500]}\n{each['text'][:900]}")
    kinds = {OUTLINES: sorted(outlines), OUTLINED: outlined}
    with out.open("a", encoding="utf-8") as file:
        for kind, texts in kinds.items():
            for text in texts:
                file.write(json.dumps({"kind": kind, "text": text}, ensure_ascii=False) + "\n")
    return Counter({kind: len(texts) for kind, texts in kinds.items()})


def read_documents(folder: Path) -> Iterator[Document]:
    """Yield the documents of a folder; files that are not in UTF-8 are left out."""
    for path in sorted(path for path in folder.glob("*/**/*") if path.is_file()):
        kind = path.relative_to(folder).parts[0]
        try:
            texts = _read_file(path)
        except (OSError, UnicodeDecodeError):
            continue
        for text in texts:
            yield Document(kind, path.stem, text.strip()[:MAX_DOCUMENT_CHARS])


def cut(document: Document, chance: random.Random) -> Iterator[str]:
    """Yield chunks of whole sentences or lines, of random lengths, some after a prefix."""
    sizes = UNSPACED_SIZES if document.kind in UNSPACED else SIZES
    sizes = CODE_SIZES if document.kind == CODE else sizes
    sentences = [each for each in _SENTENCE.split(document.text) if each]
    prefix = ""
    while sentences:
        size, chunk = chance.choice(sizes), ""
        while sentences and (not chunk or len(chunk) + len(sentences[0]) <= size):
            chunk += sentences.pop(0)
            chunk += "" if chunk.endswith(("\n", "。", "！", "？")) else " "
        chunk = chunk.strip()[: 2 * sizes[-1]]
        if len(chunk) < MIN_CHUNK_CHARS:
            continue
        if not prefix or chance.random() < 0.3:
            prefix = _prefix(document, chance)
        if document.kind == CODE:
            yield prefix if chance.random() < CODE_PREFIXES else chunk
        else:
            yield f"{prefix}\n{chunk}" if chance.random() < PREFIXED else chunk


def _prefix(document: Document, chance: random.Random) -> str:
    """Return the title and some of the document's frequent terms, as an outline begins."""
    pattern = _UNSPACED_TERMS if document.kind in UNSPACED else _TERMS
    terms = [term for term, _ in Counter(pattern.findall(document.text[:8000])).most_common(30)]
    chance.shuffle(terms)
    return f"{document.title}: {', '.join(terms[: chance.randint(2, 7)])}"


def _read_file(path: Path) -> list[str]:
    if path.suffix == ".mo":
        return _messages(path)
    if path.suffix == ".gz":
        return [_manual_page(gzip.decompress(path.read_bytes()).decode())]
    text = path.read_text(encoding="utf-8")
    return [_html(text) if path.suffix == ".html" else text]


def _messages(path: Path) -> list[str]:
    """Return documents of the messages of a catalogue, in its order."""
    with path.open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    texts = [
        re.sub(r"</?[a-z_]+[^>]*>", "", message)
        for name, message in vars(catalogue)["_catalog"].items()
        if name and name != message and len(message) >= MIN_MESSAGE_CHARS
    ]
    return ["\n".join(texts[at : at + MESSAGES]) for at in range(0, len(texts), MESSAGES)]


def _manual_page(text: str) -> str:
    text = re.sub(r"\\f.|\\&", "", re.sub(r"(?m)^\.\\\".*$", "", text))
    text = re.sub(r"(?m)^\.\w+ ?", "", re.sub(r"(?m)^\.(SH|SS)\s+", "\n", text))
    return text.replace("\\-", "-").replace("\\(", "(")


def _html(text: str) -> str:
    text = re.sub(r"(?is)<(script|style|head).*?</\1>", "", text)
    text = re.sub(r"(?i)</?(p|div|li|h\d|tr|dt|dd|br|pre)[^>]*>", "\n", text)
    text = re.sub(r"[ \t]+", " ", html.unescape(re.sub(r"<[^>]+>", "", text)))
    return re.sub(r" *\n\s*\n+", "\n\n", text)
