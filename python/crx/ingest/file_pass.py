"""One pass over files: what is new, changed, renamed, deleted or cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from crx import _native
from crx.errors import InputError, NotText, UsageError
from crx.ingest.discover import FoundFile, discover
from crx.ingest.paths import is_below, uri_of
from crx.ingest.read import failure_reason, promises_text, read_bytes, refuse_large
from crx.ingest.report import Failure, Tally
from crx.ingest.write import DocumentWriter, Source, encode_metadata, hash_source

Rows = list[_native.DocumentRow]


class FilePass:
    """A pass that makes a store hold what paths hold.

    A file whose size and time stamp are those of the last run is not read again, unless `rehash`,
    which also writes damaged documents anew. A file that cannot be read is a `Failure`, and the
    store keeps what it has of it. A file without text is skipped, unless it was named itself or
    its name promises text.
    """

    def __init__(
        self,
        store: _native.Store,
        *,
        writer: DocumentWriter,
        tally: Tally,
        max_file_mb: int,
        rehash: bool = False,
    ) -> None:
        self._store = store
        self._writer = writer
        self._tally = tally
        self._max_file_mb = max_file_mb
        self._rehash = rehash
        self._gone: dict[str, Rows] = {}

    def run(self, paths: Sequence[Path], *, exclude: Sequence[str] = ()) -> None:
        """Put, rename and remove documents; raise `UsageError` for a path that does not exist."""
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path}: no such file or folder")
        files = list(discover(paths, exclude=exclude))
        known = _by_path(self._store.documents())
        self._gone = _missing(known, paths, {file.uri for file in files})
        self._tally.expect(len(files))
        for file in files:
            self._refresh(file, known.get(file.uri, []))
            self._tally.finish(file.uri)
        gone = [row.uri for rows in self._gone.values() for row in rows]
        self._tally.count("removed", self._store.remove_documents(gone))
        self._forget_failures(paths, {file.uri for file in files})

    def _refresh(self, file: FoundFile, rows: Rows) -> None:
        """Bring the documents of one file up to date; `rows` are those stored."""
        if rows and not self._rehash and all(_same_stat(row, file) for row in rows):
            self._tally.count("unchanged")
            return
        try:
            refuse_large(file, self._max_file_mb)
            data = file.path.read_bytes()
            self._update(file, data, rows)
        except NotText as error:
            if promises_text(file, data):
                self._fail(file.uri, str(error))
            else:
                self._store.remove_documents([file.uri, *(row.uri for row in rows)])
                self._tally.count("skipped")
        except (InputError, OSError) as error:
            self._fail(file.uri, failure_reason(error))

    def _update(self, file: FoundFile, data: bytes, rows: Rows) -> None:
        source = Source(file.uri, hash_source(data), file.size, file.mtime_ns)
        if rows and not self._rehash and all(row.source_hash == source.hash for row in rows):
            for row in rows:
                self._store.touch_document(
                    row.uri, source_mtime_ns=file.mtime_ns, source_size=file.size
                )
            self._tally.count("unchanged")
        elif not rows and self._rename(file, source):
            self._tally.count("renamed")
        else:
            self._put(file, data, source, rows)

    def _put(self, file: FoundFile, data: bytes, source: Source, rows: Rows) -> None:
        old, seq = {row.uri for row in rows}, self._store.seq
        for document in read_bytes(data, name=file.uri):
            old.discard(document.uri)
            self._writer.put(document, source)
        self._store.remove_documents(sorted(old))
        if not rows:
            self._tally.count("added")
        else:
            self._tally.count("unchanged" if self._store.seq == seq else "changed")

    def _rename(self, file: FoundFile, source: Source) -> bool:
        """Give the document of a vanished file the new path, if bytes and extension are equal."""
        for path, rows in self._gone.items():
            if (
                len(rows) == 1
                and rows[0].uri == path
                and rows[0].source_hash == source.hash
                and Path(path).suffix == file.path.suffix
            ):
                metadata = {**orjson.loads(rows[0].metadata), "path": source.path}
                self._store.rename_document(
                    path,
                    file.uri,
                    metadata=encode_metadata(metadata),
                    source_mtime_ns=file.mtime_ns,
                )
                del self._gone[path]
                return True
        return False

    def _fail(self, uri: str, reason: str) -> None:
        self._store.record_failure(uri, reason)
        self._tally.fail(Failure(uri, reason))

    def _forget_failures(self, paths: Sequence[Path], found: set[str]) -> None:
        """Forget earlier failures below the paths whose file does not exist any more."""
        failed = [uri for uri, _ in self._store.failures()]
        roots = [uri_of(path) for path in paths]
        gone = [u for u in failed if u not in found and any(is_below(u, root) for root in roots)]
        if gone:
            self._store.remove_documents(gone)


def _same_stat(row: _native.DocumentRow, file: FoundFile) -> bool:
    return (row.source_size, row.source_mtime_ns) == (file.size, file.mtime_ns)


def _by_path(rows: Rows) -> dict[str, Rows]:
    by_path: dict[str, Rows] = {}
    for row in rows:
        path = orjson.loads(row.metadata).get("path")
        if isinstance(path, str):
            by_path.setdefault(path, []).append(row)
    return by_path


def _missing(known: dict[str, Rows], paths: Sequence[Path], found: set[str]) -> dict[str, Rows]:
    """Return the documents stored for files below the paths that were not found."""
    roots = [uri_of(path) for path in paths]
    return {
        path: rows
        for path, rows in known.items()
        if path not in found and any(is_below(path, root) for root in roots)
    }
