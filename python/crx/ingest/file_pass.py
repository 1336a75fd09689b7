"""One pass over files: what is new, changed, renamed, deleted or cannot be read."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

import orjson

from crx import _native
from crx.errors import InputError, NothingToRead, NotText
from crx.ingest.chunk_estimate import estimate_chunks
from crx.ingest.discover import Discovery, Root, discover, read_content
from crx.ingest.file_kinds import failure_reason, is_archive_name, promises_text
from crx.ingest.formats import path_names
from crx.ingest.found_file import FoundFile
from crx.ingest.ignore import FolderPatterns
from crx.ingest.path_selection import PathSelection
from crx.ingest.paths import is_below, path_of, uri_of
from crx.ingest.recorded_failures import RecordedFailures
from crx.ingest.report import Failure, Skipped, Tally
from crx.ingest.roots import read_skipped
from crx.ingest.unread_parts import SCANS_READ, PartlyRead
from crx.ingest.write import DocumentWriter, Source, encode_metadata, hash_source
from crx.labels import count_label
from crx.plugins import installed_packages
from crx.types import Document

if TYPE_CHECKING:
    from crx.ingest._worker.isolated_reader import IsolatedReader

_Rows = list[_native.DocumentRow]


class _SubmittedFile(NamedTuple):
    """A file whose new content is being read, and its documents to come."""

    source: Source
    promises_text: bool
    documents: Iterator[Document]


class _Visit(NamedTuple):
    """A file and what is stored of it: its new content is read, or it has an outcome already."""

    file: FoundFile
    rows: _Rows
    size: int
    submitted: _SubmittedFile | None = None
    outcome: Literal["unchanged", "renamed", "skipped"] | None = None
    failure: str = ""


class FilePass:
    """A pass that makes a store hold what lies below roots.

    A file whose size and time stamp are those of the last run is not read again, unless it or a
    folder that it is in was replaced since, or `rehash`, which also writes damaged documents anew,
    or, of an archive, `scans` where its pictures were not read.
    A file that cannot be read is a `Failure`, and the store keeps what it has of it; likewise for
    all files of a folder that cannot be listed or is not mounted. A file without text is skipped,
    unless it is a root or its name promises text; one that was read and holds none is skipped
    whatever its name. A skipped file is read again when it has changed or the installed packages
    have, one that fails in each pass, and it is only counted if it fails as before. An archive that
    was read but for some of its files is a `Failure` once, and these are recorded; it is read again
    when it has changed.
    """

    def __init__(
        self,
        store: _native.Store,
        *,
        open_reader: Callable[[], IsolatedReader],
        writer: DocumentWriter,
        tally: Tally,
        max_file_mb: int,
        skip_folders: FolderPatterns,
        rehash: bool = False,
        scans: bool = False,
        only: PathSelection | None = None,
        keep_missing: bool = False,
    ) -> None:
        """`open_reader` returns the same reader each time. `only` limits the pass to what it
        covers; `keep_missing` keeps documents of files that are gone; `scans` reads pictures.
        """
        self.skipped: list[Skipped] = []
        self._skipped_before = {each.uri: each for each in read_skipped(store) if each.stamp}
        self._readers = f"{installed_packages()} scans={scans}"
        self._store = store
        self._open_reader = open_reader
        self._writer = writer
        self._tally = tally
        self._max_file_mb = max_file_mb
        self._skip_folders = skip_folders
        self._rehash = rehash
        self._scans = scans
        self._only = only
        self._keep_missing = keep_missing
        self._failed = RecordedFailures(store)
        self._files: set[str] = set()
        self._put_records: set[str] = set()
        self._changes: Mapping[str, int] = {}
        self._missing = _MissingFiles()
        self._begun: deque[_Visit] = deque()

    def run(
        self,
        roots: Sequence[Root],
        *,
        others: Sequence[Root] = (),
        mounts: Sequence[str] = (),
        changes: Mapping[str, int] | None = None,
    ) -> Discovery:
        """Put, rename and remove documents; return what was discovered.

        `others` are roots that another pass indexes. `mounts` are the mount points that earlier
        passes met, and `changes` has the latest change of a file that they met, by root.
        """
        self._changes = changes or {}
        discovery = discover(roots, skip_folders=self._skip_folders, only=self._only)
        discovery.unreachable += _unmounted(
            [mount for mount in mounts if self._visits(mount)], roots, discovery
        )
        index = uri_of(self._store.path)
        ignored = [each for each in discovery.ignored if each.uri != index]
        self.skipped += [*ignored, *discovery.skipped]
        self._tally.count("ignored", len(ignored))
        self._tally.count("skipped", len(discovery.skipped))
        known = rows_by_file(self._store.documents())
        _set_vanished(discovery, roots, known)
        found = {file.uri for file in discovery.files}
        self._failed = RecordedFailures(self._store, files=found | known.keys())
        sizes = [self._bytes_to_read(file, known.get(file.uri, [])) for file in discovery.files]
        to_read = zip(discovery.files, sizes, strict=True)
        unread = estimate_chunks({file.path: size for file, size in to_read if size})
        self._tally.expect(len(discovery.files), unread=unread)
        self._report_unreachable(discovery, known)
        self._files = found if self._only is None else found | known.keys()
        unreachable = [each.uri for each in discovery.unreachable]
        scope = _Scope(roots, others, unreachable, self._only)
        self._missing = _MissingFiles(
            {path: rows for path, rows in known.items() if path not in found}, scope
        )
        for file, size in zip(discovery.files, sizes, strict=True):
            self._begun.append(self._begin(file, known.get(file.uri, []), size))
            while self._begun and (self._begun[0].submitted is None or self._open_reader().is_full):
                self._finish(self._begun.popleft())
        while self._begun:
            self._finish(self._begun.popleft())
        self._remove_missing()
        self._forget_failures(found, scope)
        return discovery

    def _visits(self, uri: str) -> bool:
        """Return True for a folder that this pass lists."""
        path = path_of(uri)
        return self._only is None or self._only.leads_to(path) or self._only.covers(path)

    def _remove_missing(self) -> None:
        """Remove the documents of files that are gone, or count them as kept."""
        # A record may have taken the name of a file that is gone.
        files = [
            [row.uri for row in rows if row.uri not in self._put_records]
            for rows in self._missing.removed()
        ]
        if not self._keep_missing:
            self._store.remove_documents([uri for uris in files for uri in uris])
        self._tally.count("kept" if self._keep_missing else "removed", sum(map(bool, files)))

    def _report_unreachable(self, discovery: Discovery, known: dict[str, _Rows]) -> None:
        for folder in discovery.unreachable:
            kept = sum(is_below(path, folder.uri) for path in known)
            reason = folder.reason
            if kept:
                held = count_label(kept, "file")
                reason += f'; the text of {held} below it is kept, "crx remove" removes it'
            self._tally.count("kept", kept)
            self._fail(folder.uri, reason)

    def _bytes_to_read(self, file: FoundFile, rows: _Rows) -> int:
        """Return the size of a file that will be read, 0 for any other."""
        if file.size > self._max_file_mb * 1_000_000 or self._has_same_stat(file, rows):
            return 0
        return 0 if self._is_skipped_again(file, rows) else file.size

    def _begin(self, file: FoundFile, rows: _Rows, size: int) -> _Visit:
        """Compare a file with what is stored of it, or let its new content be read.

        `rows` are those stored, `size` the bytes that count as progress.
        """
        visit = _Visit(file, rows, size)
        try:
            if self._is_unchanged(file, rows):
                return visit._replace(outcome="unchanged")
            if self._is_skipped_again(file, rows):
                return visit._replace(outcome="skipped")
            data = read_content(file, max_file_mb=self._max_file_mb)
            return self._update(visit, data)
        except (InputError, OSError) as error:
            return visit._replace(failure=failure_reason(error))

    def _finish(self, visit: _Visit) -> None:
        """Report what became of a file, whose documents are put if it was read."""
        if visit.submitted is not None:
            self._put_read(visit, visit.submitted)
        elif visit.outcome is not None:
            self._tally.count(visit.outcome)
            if visit.outcome == "skipped":
                self.skipped.append(self._skipped_before[visit.file.uri])
        else:
            self._keep(visit.file, visit.failure, visit.rows)
        self._tally.finish(visit.file.uri, size=visit.size)

    def _put_read(self, visit: _Visit, submitted: _SubmittedFile) -> None:
        """Put the documents of a file that was read, or keep what is stored of it."""
        file, rows = visit.file, visit.rows
        chunks = self._tally.report.chunks
        try:
            self._put(visit, submitted)
        except NotText as error:
            if submitted.promises_text and not isinstance(error, NothingToRead):
                self._keep(file, str(error), rows)
            else:
                self._store.remove_documents([file.uri, *(row.uri for row in rows)])
                self._failed.replace_within(file.uri, {}, documents=self._files)
                self.skipped.append(Skipped(file.uri, str(error), self._stamp(file)))
                self._tally.count("skipped")
        except InputError as error:
            was_read = self._tally.report.chunks > chunks
            self._keep(file, str(error), [] if was_read else rows)

    def _has_same_stat(self, file: FoundFile, rows: _Rows) -> bool:
        if not rows or self._is_read_again(file, rows):
            return False
        # Replaced by a file of the same size whose time was set, as copies with their times are, or
        # by a move of its folder.
        if self._has_changed(file):
            return False
        stat = (file.size, file.mtime_ns)
        return all((row.source_size, row.source_mtime_ns) == stat for row in rows)

    def _is_read_again(self, file: FoundFile, rows: _Rows) -> bool:
        """Return True for a file that is read though it may not have changed."""
        if self._rehash or file.uri in self._failed:
            return True
        if self._scans and is_archive_name(file.uri):
            return any(SCANS_READ not in orjson.loads(row.metadata) for row in rows)
        return False

    def _is_skipped_again(self, file: FoundFile, rows: _Rows) -> bool:
        """Return True for a file without text that is as an earlier pass read it.

        A root without text is a failure.
        """
        before = self._skipped_before.get(file.uri)
        if before is None or rows or self._is_read_again(file, rows) or file.uri == file.root:
            return False
        is_same = before.stamp == self._stamp(file) and not self._has_changed(file)
        return is_same and os.access(file.location, os.R_OK)

    def _stamp(self, file: FoundFile) -> str:
        return f"{file.size} {file.mtime_ns} {self._readers}"

    def _is_unchanged(self, file: FoundFile, rows: _Rows) -> bool:
        """Compare size and time stamp; raise `PermissionError` for a file that cannot be opened."""
        if not self._has_same_stat(file, rows):
            return False
        if not os.access(file.location, os.R_OK):
            raise PermissionError(13, "Permission denied")
        return True

    def _update(self, visit: _Visit, data: bytes) -> _Visit:
        """Return the visit of a file with its documents if they are new, else with the outcome."""
        file, rows = visit.file, visit.rows
        source = Source(file.uri, hash_source(data), file.size, file.mtime_ns)
        is_same = bool(rows) and all(row.source_hash == source.hash for row in rows)
        if is_same and not self._is_read_again(file, rows):
            stat = (file.size, file.mtime_ns)
            for row in rows:
                if (row.source_size, row.source_mtime_ns) != stat:
                    self._store.touch_document(
                        row.uri, source_mtime_ns=file.mtime_ns, source_size=file.size
                    )
            return visit._replace(outcome="unchanged")
        if not rows and self._rename(file, source):
            return visit._replace(outcome="renamed")
        max_bytes = self._max_file_mb * 1_000_000
        documents = self._open_reader().submit(data, name=file.uri, max_bytes=max_bytes)
        submitted = _SubmittedFile(source, promises_text(file, data), documents)
        return visit._replace(submitted=submitted)

    def _put(self, visit: _Visit, submitted: _SubmittedFile) -> None:
        file, rows = visit.file, visit.rows
        old, seq = {row.uri for row in rows}, self._store.seq
        put: set[str] = set()
        namesakes = []
        partly_read: PartlyRead | None = None
        try:
            for document in submitted.documents:
                if document.uri != file.uri and document.uri in self._files:
                    namesakes.append(document.uri)
                    continue
                put.add(document.uri)
                if document.uri != file.uri:
                    self._put_records.add(document.uri)
                self._writer.put(document, submitted.source)
        except PartlyRead as error:
            partly_read = error
        gone = {uri for uri in old - put if uri == file.uri or uri not in self._files}
        kept: set[str] = set()
        if partly_read is not None:
            kept = partly_read.find_refused(gone, archive=file.uri)
        self._store.remove_documents(sorted(gone - kept))
        if partly_read is not None:
            kept_rows = [row for row in rows if row.uri in kept]
            self._report_partly_read(file, partly_read, put=put, kept=kept_rows)
            return
        self._failed.replace_within(file.uri, {}, documents=put | self._files)
        if namesakes:
            raise InputError(
                f"has a document named as the file {namesakes[0]} is, which is indexed instead; "
                f"rename the file"
            )
        if file.uri in self._failed and file.uri not in put:
            self._store.forget_failures([file.uri])
        if not rows:
            self._tally.count("added")
        else:
            self._tally.count("unchanged" if self._store.seq == seq else "changed")

    def _report_partly_read(
        self, file: FoundFile, error: PartlyRead, *, put: set[str], kept: _Rows
    ) -> None:
        """Report an archive with files that cannot be read, of which documents were put or kept.

        It counts as read if there are documents, and all of them are of this archive as it is now.
        """
        if kept or not put:
            self._keep(file, str(error), kept)
            return
        self._failed.replace_within(file.uri, error.refused, documents=put | self._files)
        if file.uri in self._failed:
            self._store.forget_failures([file.uri])
        self._tally.fail(Failure(file.uri, str(error)))

    def _rename(self, file: FoundFile, source: Source) -> bool:
        """Give the documents of a vanished file the new path, if bytes and extension are equal.

        Outlines and titles that have the file's name get the new one; nothing is read for that.
        """
        vanished = self._missing.take(source.hash, file.path.suffix)
        if vanished is None:
            return False
        path, rows = vanished
        for row in rows:
            uri = file.uri + row.uri.removeprefix(path)
            metadata = orjson.loads(row.metadata)
            self._store.rename_document(
                row.uri,
                uri,
                metadata=encode_metadata({**metadata, "path": source.path}),
                source_mtime_ns=file.mtime_ns,
            )
            if "title_from" in metadata or path_names(row.uri) != path_names(uri):
                self._writer.name_again(uri)
        self._failed.replace_within(file.uri, self._failed.within(path), documents=self._files)
        return True

    def _keep(self, file: FoundFile, reason: str, rows: _Rows) -> None:
        """Record a file that cannot be read, whose documents stay as they are."""
        if rows:
            self._tally.count("kept")
            reason += "; the text of an earlier run is kept"
        is_same = not self._has_changed(file) and self._failed.reason(file.uri) == reason
        if is_same:
            self._tally.count("failed_before")
        else:
            self._fail(file.uri, reason)

    def _has_changed(self, file: FoundFile) -> bool:
        """Return True for a file that is newer than all that earlier passes met."""
        return file.changed_ns > self._changes.get(file.root, file.changed_ns)

    def _fail(self, uri: str, reason: str) -> None:
        self._store.record_failure(uri, reason)
        self._tally.fail(Failure(uri, reason))

    def _forget_failures(self, found: Set[str], scope: _Scope) -> None:
        """Forget earlier failures of files and folders that do not exist any more."""
        owners = self._failed.owners()
        if gone := [uri for uri, of in owners.items() if of not in found and scope.is_gone(of)]:
            self._store.forget_failures(gone)


class _Scope:
    """What a pass may remove: all below its roots but what it could not see."""

    def __init__(
        self,
        roots: Sequence[Root],
        others: Sequence[Root],
        unreachable: Sequence[str],
        only: PathSelection | None,
    ) -> None:
        self._roots = [root.uri for root in roots]
        self._others = [root.uri for root in others]
        self._unreachable = unreachable
        self._only = only

    def is_gone(self, uri: str) -> bool:
        """Return True for a path that was not found, if the pass looked for it."""
        if self._only is not None and not self._only.covers(path_of(uri)):
            return False
        own = max((len(root) for root in self._roots if is_below(uri, root)), default=0)
        other = max((len(root) for root in self._others if is_below(uri, root)), default=0)
        return own > other and not any(is_below(uri, folder) for folder in self._unreachable)


class _MissingFiles:
    """Stored documents whose files were not found: to be renamed or removed."""

    def __init__(self, known: dict[str, _Rows] | None = None, scope: _Scope | None = None) -> None:
        self._known = known or {}
        self._gone = {path for path in self._known if scope is not None and scope.is_gone(path)}
        self._by_hash: dict[bytes, list[str]] = defaultdict(list)
        for path, rows in sorted(self._known.items()):
            hashes = {row.source_hash for row in rows}
            if len(hashes) == 1 and all(row.uri.startswith(path) for row in rows):
                self._by_hash[hashes.pop()].append(path)

    def take(self, source_hash: bytes, suffix: str) -> tuple[str, _Rows] | None:
        """Return a vanished file's path and documents, once, by the hash of its bytes."""
        for path in self._by_hash.get(source_hash, ()):
            if os.path.splitext(path)[1] == suffix and self._has_vanished(path):
                self._by_hash[source_hash].remove(path)
                self._gone.discard(path)
                return path, self._known[path]
        return None

    def removed(self) -> list[_Rows]:
        """Return the documents of each file that is seen to be gone and was not taken."""
        return [self._known[path] for path in sorted(self._gone)]

    def _has_vanished(self, path: str) -> bool:
        return path in self._gone or not os.path.lexists(path_of(path))


def _set_vanished(discovery: Discovery, roots: Sequence[Root], known: dict[str, _Rows]) -> None:
    """Move roots that are seen to be gone from the unreachable to the vanished."""
    uris = [root.uri for root in roots]
    for each in discovery.unreachable.copy():
        if each.uri not in uris or os.path.lexists(path_of(each.uri)):
            continue
        above = (path_of(uri) for uri in uris if uri != each.uri and is_below(each.uri, uri))
        listed = any(map(os.path.isdir, above))
        if listed or not any(is_below(path, each.uri) for path in known):
            discovery.unreachable.remove(each)
            discovery.vanished.append(each.uri)


def _unmounted(
    mounts: Iterable[str], roots: Sequence[Root], discovery: Discovery
) -> Iterator[Failure]:
    """Yield the mount points of earlier passes that are missing or empty folders now."""
    unreachable = [each.uri for each in discovery.unreachable]
    for uri in mounts:
        in_scope = any(is_below(uri, root.uri) for root in roots)
        if in_scope and uri not in discovery.mounts and uri not in unreachable:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if os.listdir(path_of(uri)):
                    continue
            yield Failure(uri, "is not mounted")


def rows_by_file(rows: _Rows) -> dict[str, _Rows]:
    """Return the documents of files by the URI of the file."""
    by_path: dict[str, _Rows] = {}
    for row in rows:
        path = orjson.loads(row.metadata).get("path")
        if isinstance(path, str):
            by_path.setdefault(path, []).append(row)
    return by_path
