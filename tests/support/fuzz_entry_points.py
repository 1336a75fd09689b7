"""What crx does with bytes from outside, called with the inputs of a fuzzer.

The first byte of an input selects what is done with the rest: a document is read and split, a
filter, a glob or a request parsed, a file of contexts, a manifest, settings or ignore patterns
read, or a server sent bytes, a request or messages of MCP.
An entry point raises only what its callers turn into a line; all else is a fault.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import msgspec
import numpy as np
from fuzz_requests import FuzzedServer
from sheets import xlsx
from zipped import docx, epub, odf, pptx, zipped

import crx
from crx import _native
from crx._cli.filters import parse_where, parse_window
from crx._context.archive import read_archive
from crx._context.records import read_contexts
from crx.config.files import read_settings
from crx.errors import CrxError
from crx.ingest.paths import compile_glob
from crx.ingest.read import read_bytes
from crx.ingest.split import split
from crx.types import Document
from crx_bundle.manifest import read_manifest
from crx_serve.requests import SearchQuery, decode_body

MAX_BYTES = 1_000_000
# The extension of a format of each reader. Inputs hold the number of an entry point: with a new
# one, those of the parsers and the server in `fuzz/corpus/python` are numbered anew.
EXTENSIONS = (
    ".txt", ".md", ".html", ".pdf", ".rtf", ".eml", ".mbox", ".msg", ".ipynb", ".csv", ".tsv",
    ".srt", ".vtt", ".jsonl", ".json", ".docx", ".pptx", ".xlsx", ".xls", ".ods", ".odt", ".odp",
    ".epub", ".py", ".rs", ".js", ".ts", ".tsx", ".go", ".java", ".c", ".cpp", ".rst", ".adoc",
    ".org", ".tex", ".wiki", ".1", ".log", "", ".md.gz", ".txt.bz2", ".txt.xz", ".xml", ".yaml",
    ".sqlite", ".vcf", ".ics",
)  # fmt: skip
METADATA: tuple[dict[str, crx.types.Scalar | list[crx.types.Scalar]], ...] = (
    {"year": 2024, "tags": ["a", 1]},
    {"year": "2024", "draft": True},
    {},
)


def read_and_split(data: bytes, extension: str) -> None:
    """Read a document, check its marks, and split it."""
    for document in read_bytes(data, name=f"a{extension}", max_bytes=MAX_BYTES):
        document.text.encode()
        for mark in document.marks:
            assert 0 <= mark.start <= mark.end <= len(document.text), mark
        json.dumps(dict(document.metadata), allow_nan=False)
        _split(document)


def _split(document: Document) -> None:
    starts = np.arange(0, len(document.text), 3, dtype=np.uint32)
    chunks = split(document, token_starts=starts, budget=16, overlap=2)
    reached = 0
    for chunk in chunks:
        assert document.text[chunk.start : chunk.end] == chunk.text
        assert chunk.start <= reached or document.chunks is not None, chunk
        reached = chunk.end
    if document.chunks is None:
        assert reached == len(document.text) or not document.text.strip()


def _read_part(data: bytes, archive: bytes, part: str, extension: str) -> None:
    """Read an archive that is sound, and one of whose parts is the input."""
    with ZipFile(BytesIO(archive)) as parts:
        held = {name: parts.read(name) for name in parts.namelist()}
    assert part in held
    read_and_split(zipped({**held, part: data}), extension)


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _match_glob(data: bytes) -> None:
    """Match the last line with the glob of those before."""
    pattern, _, path = _text(data).rpartition("\n")
    with contextlib.suppress(ValueError):
        compile_glob(pattern).matches(path)


def _match_ignore_file(data: bytes) -> None:
    """Match the last line with the patterns of those before, each of which also stands alone."""
    *lines, path = data.decode(errors="replace").split("\n")
    with contextlib.suppress(ValueError):
        ignored = _native.IgnorePatterns(lines).check(path)
        alone = {_native.IgnorePatterns([line]).check(path) for line in lines}
        assert ignored in alone | {None}


def _read_request(data: bytes) -> None:
    """Read the body of a search over HTTP."""
    with contextlib.suppress(msgspec.DecodeError):
        decode_body(msgspec.json.Decoder(SearchQuery), data)


_DOCX = docx("<w:p/>", title="T")
_PPTX = pptx({"1": ""}, notes={"1": ""})
_XLSX = xlsx({"A": [[1.0]]})
_ODT = odf("<office:text/>")
_EPUB = epub({"one.xhtml": "<p>"}, titles={"one.xhtml": "R"}, title="B")

_PARTS = (
    (_DOCX, "word/document.xml", ".docx"),
    (_DOCX, "word/styles.xml", ".docx"),
    (_DOCX, "word/_rels/document.xml.rels", ".docx"),
    (_PPTX, "ppt/slides/slide1.xml", ".pptx"),
    (_PPTX, "ppt/presentation.xml", ".pptx"),
    (_XLSX, "xl/worksheets/s1.xml", ".xlsx"),
    (_XLSX, "xl/workbook.xml", ".xlsx"),
    (_ODT, "content.xml", ".odt"),
    (_ODT, "content.xml", ".odp"),
    (_EPUB, "OPS/book.opf", ".epub"),
    (_EPUB, "OPS/toc.ncx", ".epub"),
    (_EPUB, "OPS/one.xhtml", ".epub"),
)


class EntryPoints:
    """The entry points, with a small index to search in a temporary folder."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crx-fuzz-")
        self._top = Path(self._folder.name)
        self._index = crx.open(self._top / "i.crx", settings={"embedder": "hashed", "reranker": ""})
        self._index.add_documents([
            crx.Document(f"mem:{number}", f"The heron of site {number} nests.", metadata=metadata)
            for number, metadata in enumerate(METADATA)
        ])  # fmt: skip
        self._server = FuzzedServer(self._top / "i.crx")
        calls: list[Callable[[bytes], object]] = []
        calls += [partial(read_and_split, extension=each) for each in EXTENSIONS]
        calls += [
            partial(_read_part, archive=archive, part=part, extension=extension)
            for archive, part, extension in _PARTS
        ]
        calls += [
            lambda data: read_and_split(gzip.compress(data), ".md.gz"),
            self._search,
            self._window,
            self._contexts,
            self._manifest,
            self._settings,
            _match_glob,
            _match_ignore_file,
            _read_request,
            self._server.connect,
            self._server.request,
            self._server.converse,
        ]
        self._calls = tuple(calls)

    def __len__(self) -> int:
        """Return the number of entry points."""
        return len(self._calls)

    def run(self, data: bytes) -> None:
        """Call the entry point of an input."""
        if data:
            with contextlib.suppress(CrxError):
                self._calls[data[0] % len(self._calls)](data[1:])

    def close(self) -> None:
        """End the server and remove the folder."""
        self._server.close()
        self._index.close()
        self._folder.cleanup()

    def _search(self, data: bytes) -> None:
        """Search with the conditions of all lines but the last, which is the query."""
        *conditions, query = _text(data).split("\n")
        with contextlib.suppress(ValueError):
            where = parse_where(tuple(conditions), here="/")
            self._index.search(query, k=2, where=where)

    def _window(self, data: bytes) -> None:
        parse_window(_text(data))

    def _contexts(self, data: bytes) -> None:
        file = self._write("contexts.jsonl", data)
        read_archive(file.parent)
        read_contexts(file)

    def _manifest(self, data: bytes) -> None:
        read_manifest(self._write("bundle.json", data).parent)

    def _settings(self, data: bytes) -> None:
        read_settings(self._write("crx.toml", data))

    def _write(self, name: str, data: bytes) -> Path:
        path = self._top / name
        path.write_bytes(data)
        return path
