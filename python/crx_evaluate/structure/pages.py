"""Candidates from pages: links, definitions and captions of HTML, links of Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crx.ingest.file_kinds import DEFAULT_MAX_BYTES
from crx.ingest.formats import suffix
from crx.ingest.read import FORMATS, decompress
from crx.types import Document
from crx_evaluate.datasets import GoldSpan
from crx_evaluate.structure.answers import find_text, pieces
from crx_evaluate.structure.candidates import Candidate, is_question, without_number
from crx_evaluate.structure.page_structure import PageStructure, read_page_structure
from crx_evaluate.structure.texts import term

_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{3,200})\]\(<?([^()\s<>]+)>?(?:\s+[^()\n]*)?\)")
_WIKI_LINK = re.compile(r"\[\[([^\[\]|\n#]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]+))?\]\]")
# Letters of a definition by which it is recognized below its term.
_RECOGNIZED_LETTERS = 40
_MARKUP = re.compile(r"[*_`]+")

Documents = Mapping[str, Document]


def page_candidates(document: Document, documents: Documents) -> Iterator[Candidate]:
    """Yield the questions that a page of HTML or Markdown has, about itself and `documents`.

    Raises `OSError` or `InputError` if the file of an HTML page cannot be read.
    """
    format_ = document.metadata.get("format")
    if format_ == "html" and os.path.isabs(document.uri):
        page = _read_page(document)
        yield from _links(page.links, document, documents)
        for written, answer in page.definitions:
            found = partial(_definition, document, written, answer)
            target = f"{document.uri}#{written} {answer}"
            yield from term(written, document, target=target, answers=found)
        for caption, rows in page.captions:
            query = without_number(caption)
            if is_question(query):
                yield Candidate(
                    "caption",
                    query,
                    document.uri,
                    document.uri,
                    target=f"{document.uri}#{caption}",
                    answers=partial(_beginning, document, rows, 0),
                )
    elif format_ == "markdown":
        links = [(_MARKUP.sub("", text).strip(), to) for text, to in _LINK.findall(document.text)]
        yield from _links(links, document, documents)
        notes = {_note_name(uri): uri for uri in sorted(documents, reverse=True)}
        for name, text in _WIKI_LINK.findall(document.text):
            yield from _link(text or name, notes.get(_note_name(name.strip())), document, documents)


def _read_page(document: Document) -> PageStructure:
    data = Path(document.uri).read_bytes()
    if (compression := suffix(document.uri)) in FORMATS:
        data = decompress(data, compression, max_bytes=DEFAULT_MAX_BYTES)
    return read_page_structure(data)


def _links(
    links: Iterable[tuple[str, str]], document: Document, documents: Documents
) -> Iterator[Candidate]:
    for text, address in links:
        yield from _link(without_number(text), _target(document.uri, address), document, documents)


def _link(
    text: str, target: str | None, document: Document, documents: Documents
) -> Iterator[Candidate]:
    page = documents.get(target) if target else None
    if target and page and target != document.uri and is_question(text):
        yield Candidate(
            "link",
            text,
            document.uri,
            target,
            target=target,
            answers=partial(pieces, page, 0, len(page.text)),
            cut_from=(document.uri,),
        )


def _target(uri: str, address: str) -> str | None:
    """Return the URI of the file that a relative link leads to, None for any other link."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
        return None
    return os.path.normpath(f"{os.path.dirname(uri)}/{unquote(parts.path)}").replace(os.sep, "/")


def _note_name(uri: str) -> str:
    """Return what a link between notes calls a file."""
    return uri.rpartition("/")[2].removesuffix(".md")


def _definition(document: Document, written: str, answer: str) -> tuple[GoldSpan, ...]:
    """Return the beginning of a definition, where it stands below its term."""
    term_and_answer = "".join(written.split()) + "".join(answer.split())[:_RECOGNIZED_LETTERS]
    at, _ = find_text(term_and_answer, document.text, whole=True)
    return _beginning(document, answer, at + len("".join(written.split()))) if at >= 0 else ()


def _beginning(document: Document, answer: str, start: int) -> tuple[GoldSpan, ...]:
    """Return the first piece of what stands in the document from `start` on."""
    at, recognized = find_text(answer, document.text, start=start)
    end = min(len(document.text), max(recognized, at + len(answer)))
    return pieces(document, at, end)[:1] if at >= 0 else ()
