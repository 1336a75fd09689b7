"""Failures of earlier passes: of files, and of the files in archives that were read in part.

A file in an archive that cannot be read is recorded by a URI of its own, such as `a.zip#b.pdf`. The
archive is not read again because of it, as long as it does not change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Set

from crx import _native
from crx.ingest.file_kinds import is_archive_name
from crx.ingest.paths import is_below


class RecordedFailures:
    """The failures that a store has at the beginning of a pass."""

    def __init__(self, store: _native.Store, *, files: Set[str] = frozenset()) -> None:
        """`files` are those that were found and those that documents were read from.

        None of them is in an archive, though its name may begin with that of one and `#`.
        """
        self._store = store
        self._files = files
        self._reasons = dict(store.failures())
        self._sorted = sorted(self._reasons)

    def __contains__(self, uri: str) -> bool:
        return uri in self._reasons

    def reason(self, uri: str) -> str | None:
        """Return why a file failed, None if it did not."""
        return self._reasons.get(uri)

    def within(self, archive: str) -> dict[str, str]:
        """Return the failures of files in an archive: the reasons by what follows its URI.

        There are none in a file of another kind.
        """
        if not is_archive_name(archive):
            return {}
        start = f"{archive}#"
        found = {}
        for at in range(bisect_left(self._sorted, start), len(self._sorted)):
            uri = self._sorted[at]
            if not uri.startswith(start):
                break
            if uri not in self._files:
                found[uri.removeprefix(archive)] = self._reasons[uri]
        return found

    def below(self, path: str) -> list[str]:
        """Return the failures of a file, of those in it if it is an archive, or below a folder."""
        own = [uri for uri in self._sorted if is_below(uri, path)]
        return own + [path + part for part in self.within(path)]

    def owners(self) -> dict[str, str]:
        """Return the file that each failure is of: an archive of the files, or its own URI."""
        owners = {uri: uri for uri in self._sorted}
        if any("#" in uri for uri in self._sorted):
            for file in self._files:
                owners |= {file + part: file for part in self.within(file)}
        return owners

    def replace_within(
        self, archive: str, refused: Mapping[str, str], *, documents: Set[str]
    ) -> None:
        """Record the failures of files in an archive, by what follows its URI; earlier ones go.

        URIs of `documents`, such as that of a file that the archive has twice, are left as they
        are.
        """
        earlier = {archive + part for part in self.within(archive)}
        now = {archive + part: reason for part, reason in refused.items()}
        self._store.forget_failures(sorted(earlier - now.keys() - documents))
        for uri in sorted(now.keys() - documents):
            self._store.record_failure(uri, now[uri])
