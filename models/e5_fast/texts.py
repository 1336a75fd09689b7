"""Texts to distil an embedder with: what crx itself embeds of a folder's documents.

A folder of documents has a subfolder for each kind of text, such as `en`, `ja` or `code`, with
files of all formats that crx reads, and message catalogues (`.mo`). Each is indexed by words, with
outlines, and the texts that its chunks would be embedded from are written.
"""

from __future__ import annotations

import gettext
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import crx
from crx import _native
from crx._native import is_source_code
from crx.ingest.embedding_prefix import embedding_prefix

CODE, OUTLINES = "code", "outlines"
# Characters of a chunk; source code also comes in whole definitions, prose in short passages.
SIZES = (800, 350)
CODE_SIZES = (800, 1600)
# Messages of a catalogue that make a document, and the least length of one.
MESSAGES, MIN_MESSAGE_CHARS = 25, 12


def write_texts(folder: Path, out: Path) -> Counter[str]:
    """Write the texts of a folder's documents, each once, and return how many are of each kind."""
    counts: Counter[str] = Counter()
    with out.open("w", encoding="utf-8") as file:
        for documents in sorted(path for path in folder.iterdir() if path.is_dir()):
            texts = dict.fromkeys(
                each
                for size in (CODE_SIZES if documents.name == CODE else SIZES)
                for each in embedded_texts(documents, chunk_chars=size)
            )
            for kind, text in texts:
                file.write(json.dumps({"kind": kind, "text": text}, ensure_ascii=False) + "\n")
                counts[kind] += 1
    return counts


def embedded_texts(documents: Path, *, chunk_chars: int) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of all that is embedded of a folder, whose name is the kind.

    The outline of source code is embedded by itself, and a text of the kind `OUTLINES`.
    """
    settings = {"embedder": "none", "chunk_chars": chunk_chars}
    with TemporaryDirectory() as scratch:
        catalogues = Path(scratch) / documents.name
        catalogues.mkdir()
        for at, text in enumerate(_catalogue_texts(documents)):
            (catalogues / f"{at}.txt").write_text(text, encoding="utf-8")
        with crx.open(Path(scratch) / "index.crx", settings=settings) as index:
            index.add(documents, contexts="outline")
            index.add(catalogues, contexts="outline")
        store = _native.Store.open(str(Path(scratch) / "index.crx"))
        for document in store.documents():
            for chunk in store.chunks(store.chunk_keys(document.doc)):
                before = embedding_prefix(chunk.outline, chunk.context)
                if before and is_source_code(chunk.text):
                    yield OUTLINES, before
                    yield documents.name, chunk.text
                else:
                    yield documents.name, "\n".join(each for each in (before, chunk.text) if each)


def _catalogue_texts(documents: Path) -> Iterator[str]:
    for path in sorted(documents.rglob("*.mo")):
        try:
            yield from read_messages(path)
        except UnicodeDecodeError:
            print(f"{path}: not in the encoding that it declares; skipped")


def read_messages(path: Path) -> list[str]:
    """Return documents of the messages of a catalogue, in its order."""
    with path.open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    texts = [
        re.sub(r"</?[a-z_]+[^>]*>", "", message)
        for name, message in vars(catalogue)["_catalog"].items()
        if name and name != message and len(message) >= MIN_MESSAGE_CHARS
    ]
    return ["\n".join(texts[at : at + MESSAGES]) for at in range(0, len(texts), MESSAGES)]
