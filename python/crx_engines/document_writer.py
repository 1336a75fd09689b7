"""What the writers of databases share: documents with their digest, terms and sums, in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from crx_engines.engine.bm25 import TermCounts, count_chunks
from crx_engines.engine.protocol import StoredDocument, batches
from crx_engines.engine.sums import sums_of

# Characters of the documents of one transaction, and documents that one transaction removes.
_TRANSACTION_CHARS = 1 << 20
_REMOVED_TOGETHER = 64


class TransactionWriter(Protocol):
    """A writer of documents, each call of which is one transaction."""

    def put(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents; return how many were not there already."""

    def remove(self, uris: Sequence[str]) -> int:
        """Remove documents; return how many there were."""


def put_in_groups(writer: TransactionWriter, documents: Sequence[StoredDocument]) -> int:
    """Put documents, a few in each transaction; return how many were not there already."""
    groups = batches(iter(documents), most_bytes=_TRANSACTION_CHARS)
    return sum(writer.put(group) for group in groups)


def remove_in_groups(writer: TransactionWriter, uris: Sequence[str]) -> int:
    """Remove documents, a few in each transaction; return how many there were."""
    starts = range(0, len(uris), _REMOVED_TOGETHER)
    return sum(writer.remove(uris[at : at + _REMOVED_TOGETHER]) for at in starts)


@dataclass(frozen=True)
class IndexedDocument:
    """A document to be put, and what is computed of it once."""

    document: StoredDocument

    @cached_property
    def digest(self) -> bytes:
        """The digest of the document."""
        return self.document.digest()

    @cached_property
    def terms(self) -> list[TermCounts]:
        """The terms of each chunk."""
        return count_chunks(self.document)

    @cached_property
    def sums(self) -> dict[str, int]:
        """What the document adds to the sums of the index."""
        return sums_of(self.document, self.terms)


_D = TypeVar("_D", bound=IndexedDocument)


def select_changed(documents: Mapping[str, _D], known: Mapping[str, bytes]) -> list[_D]:
    """Return the documents, by URI, whose digest is not the one that is known."""
    return [each for uri, each in documents.items() if known.get(uri) != each.digest]
