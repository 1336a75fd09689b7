"""How many chunks the files that are not read yet will make.

Files of one kind make about as many chunks for their bytes, and a PDF a tenth of what a text of its
size makes. So each kind has a rate of its own, which the files that were read correct. Archives
count as the texts that they may hold. Of kinds that no reader claims, a few files are looked into
before the first is read: pictures make none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from crx.ingest.file_kinds import is_archive
from crx.ingest.formats import COMPRESSIONS, suffix
from crx.ingest.readers import is_claimed, reader_name

# Bytes of a file for each of its chunks before any of its kind was read: English prose in chunks of
# 192 tokens, and rough guesses for formats with markup, which the files that are read correct.
BYTES_A_CHUNK = 900
_BYTES_A_CHUNK_OF = {
    "html": 2_000,
    "pdf": 8_000,
    "docx": 4_000,
    "odf": 4_000,
    "pptx": 30_000,
    "epub": 2_000,
    "rtf": 4_000,
    "mail": 3_000,
}
_COMPRESSED_BYTES_A_CHUNK = 300
# Files of a kind that are looked into, and how far.
_SAMPLED_FILES = 3
_SAMPLED_BYTES = 8_192


class ChunkEstimate:
    """The chunks of unread files, from their sizes and from the chunks of those that were read."""

    def __init__(self, sizes: Mapping[str, int], *, without_text: Iterable[str] = ()) -> None:
        """`sizes` are the bytes to read of each kind, which is an extension."""
        self._unread = Counter(sizes)
        self._without_text = frozenset(without_text)
        self._read: Counter[str] = Counter()
        self._chunks: Counter[str] = Counter()
        self._expected = {kind: self._expect(kind) for kind in self._unread}
        self._total: float = sum(self._expected.values())

    def note_read(self, name: str, *, size: int, chunks: int) -> None:
        """Note that a file was read, and how many chunks it made."""
        kind = suffix(name)
        self._unread[kind] -= size
        self._read[kind] += size
        self._chunks[kind] += chunks
        before, self._expected[kind] = self._expected.get(kind, 0), self._expect(kind)
        self._total += self._expected[kind] - before

    def count(self) -> int:
        """Return how many chunks the unread files will make."""
        return round(self._total)

    def _expect(self, kind: str) -> float:
        unread, read, chunks = max(0, self._unread[kind]), self._read[kind], self._chunks[kind]
        if kind in self._without_text:
            return unread * chunks / max(read, 1)
        # What is usual counts as much as one chunk of a file that was read.
        return unread * (chunks + 1) / (read + bytes_a_chunk(kind))


def bytes_a_chunk(kind: str) -> int:
    """Return how many bytes of a kind of file usually make a chunk."""
    if kind in COMPRESSIONS or (is_archive(kind) and kind != ".tar"):
        return _COMPRESSED_BYTES_A_CHUNK
    return _BYTES_A_CHUNK_OF.get(reader_name(kind), BYTES_A_CHUNK)


def estimate_chunks(sizes: Mapping[Path, int]) -> ChunkEstimate:
    """Return the estimate for files by their sizes; a few files without a reader are looked into.

    Raises nothing for a file that cannot be opened: that is told where it is read.
    """
    by_kind: Counter[str] = Counter()
    unclaimed: dict[str, list[Path]] = defaultdict(list)
    for path, size in sizes.items():
        if not size:
            continue
        kind = suffix(path.as_posix())
        by_kind[kind] += size
        is_known = kind in COMPRESSIONS or is_claimed(kind) or is_archive(kind)
        if not is_known and len(unclaimed[kind]) < _SAMPLED_FILES:
            unclaimed[kind].append(path)
    without_text = [kind for kind, paths in unclaimed.items() if not any(map(_is_text, paths))]
    return ChunkEstimate(by_kind, without_text=without_text)


def _is_text(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"\0" not in file.read(_SAMPLED_BYTES)
    except OSError:
        return False
