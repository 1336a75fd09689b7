"""The parts of a file that could not be read, as the error of the file names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from crx.errors import InputError

# The metadata of documents of an archive whose pictures were read, too.
SCANS_READ = "scans_read"
# Parts that an error names; the others are counted.
_NAMED = 5


def describe_unread(parts: Sequence[str], *, read: str = "") -> str:
    """Return the first parts, each with its reason, and how many more there are.

    `read` says what could be read, such as "3 messages".
    """
    more = f"; and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
    others = f" ({read} were read)" if read else ""
    return f"{'; '.join(parts[:_NAMED])}{more}{others}"


class PartlyRead(InputError):
    """An archive was listed to its end, but some of its files could not be read.

    `refused` has the reason for each of those files, by what follows the archive's URI in theirs,
    such as `#docs/guide.md`.
    """

    def __init__(self, reason: str, refused: Mapping[str, str]) -> None:
        super().__init__(reason)
        self.refused = dict(refused)

    def find_refused(self, uris: Iterable[str], *, archive: str) -> set[str]:
        """Return those of the URIs that are of documents in a refused file of the archive."""
        refused = {archive + each for each in self.refused}
        return {uri for uri in uris if any(start in refused for start in _starts(uri))}


def _starts(uri: str) -> Iterator[str]:
    """Yield what is before each `#` of a URI, and all of it."""
    at = uri.find("#")
    while at >= 0:
        yield uri[:at]
        at = uri.find("#", at + 1)
    yield uri
