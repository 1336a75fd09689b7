"""Puts and removals of documents in commits; see `committed_state` for what readers see.

A writer first removes the rows of a commit that was not finished, and those of documents that were
removed `GRACE_S` ago: a search that began before is over by then. Then it inserts rows under the
next number, tombstones for what they replace, and last the commit.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import orjson

from crx.errors import SystemFailure
from crx_engines.document_writer import select_changed
from crx_engines.engine.protocol import StoredDocument
from crx_engines.engine.sums import make_statistics
from crx_engines.milvus.committed_state import (
    BEGUN,
    COMMIT,
    GONE,
    Commit,
    IndexState,
    Tombstone,
    counted_rows,
    read_state,
    state_row,
)
from crx_engines.milvus.document_rows import DocumentRows
from crx_engines.milvus.milvus_collections import (
    CHUNK,
    DOCUMENT,
    FREQ,
    NO_VECTOR,
    NUMBERED,
    PIECE,
    STATE,
    VECTOR,
    create_vectors,
)
from crx_engines.milvus.milvus_condition import token
from crx_engines.milvus.milvus_connection import MilvusConnection, StoredRow
from crx_engines.milvus.term_rows import STORED, TermSums, count_fields, decode_counts
from crx_engines.milvus.writer_flag import WriterFlag, writing
from crx_engines.server_errors import no_index

# How long the rows of a removed document stay for readers of earlier states.
GRACE_S = 600
# Commits whose rows of document frequencies a search adds up, before a writer folds them.
MOST_UNFOLDED = 32
_LEAST_UNFOLDED = 4


@dataclass(frozen=True, slots=True)
class _KnownDocument:
    """A document that readers see: its key, digest and sums."""

    doc: int
    digest: bytes
    sums: Mapping[str, int]


class MilvusWriter:
    """What one commit at a time does."""

    def __init__(
        self, connection: MilvusConnection, state: IndexState, flag: WriterFlag | None
    ) -> None:
        self._connection = connection
        self._state = state
        self._flag = flag

    def put(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents by one commit; return how many were not there already."""
        wanted = {each.uri: DocumentRows(each) for each in documents}
        known = self._find(list(wanted))
        new = select_changed(wanted, {uri: each.digest for uri, each in known.items()})
        if new:
            replaced = [known[each.document.uri] for each in new if each.document.uri in known]
            self._commit(new, replaced)
        return len(new)

    def remove(self, uris: Sequence[str]) -> int:
        """Remove documents by one commit; return how many there were."""
        known = list(self._find(uris).values())
        if known:
            self._commit([], known)
        return len(known)

    def clean_up(self) -> None:
        """Remove the rows of an unfinished commit, and those that no reader needs any more."""
        number = self._state.commit.number
        if self._state.has_begun:
            self._delete(f"born > {number}", NUMBERED)
            self._require_gone(f"born > {number}")
            for kind in (GONE, BEGUN):
                self._connection.delete(STATE, f'kind == "{kind}" and number > {number}')
        self._remove_old()

    def _require_gone(self, where: str) -> None:
        """Raise `SystemFailure` if rows of a commit that is begun anew are still there."""
        for kind in NUMBERED:
            has_rows = self._has(kind) and self._connection.query(kind, where, fields=["born"])
            if has_rows:
                raise SystemFailure(
                    f"{self._connection.address.name}: rows of a commit that was interrupted could "
                    "not be removed; try again"
                )

    def _remove_old(self) -> None:
        commit, before = self._state.commit, time.time() - GRACE_S
        old = [each for each in self._state.gone if each.at < before]
        has_old_freqs = 0 < commit.folded_at < before
        if not old and not has_old_freqs:
            return
        # Readers of earlier states must be able to know it before the first row is gone.
        cleaned = max([each.number for each in old] + [commit.folded] * has_old_freqs)
        kept_since = 0 if has_old_freqs else commit.folded_at
        number = commit.number + 1
        self._finish(replace(commit, number=number, cleaned=cleaned, folded_at=kept_since))
        docs = sorted(each.doc for each in old)
        if old:
            self._delete(f"doc in {docs}", (CHUNK, PIECE, DOCUMENT, VECTOR))
        if has_old_freqs:
            self._delete(f"born < {commit.folded}", (FREQ,))
        if old:
            self._connection.delete(STATE, f'kind == "{GONE}" and doc in {docs}')
            kept = tuple(each for each in self._state.gone if each.at >= before)
            self._state = replace(self._state, gone=kept)

    def publish(self) -> None:
        """Fold if searches would add up the rows of several commits."""
        if self._state.commit.unfolded >= _LEAST_UNFOLDED:
            self._fold()

    def _fold(self) -> None:
        """Add up the document frequencies of all commits in one."""
        commit = self._state.commit
        sums = TermSums()
        for row in self._connection.scan(FREQ, counted_rows(commit), fields=["body"]):
            sums.add_encoded(row["body"])
        number = commit.number + 1
        rows = self._freq_rows(sums, number=number)
        self._begin(number)
        self._insert(FREQ, rows)
        self._finish(
            replace(
                commit,
                number=number,
                folded=number,
                folded_at=int(time.time()),
                unfolded=1,
                next_row=commit.next_row + len(rows),
            )
        )

    def _find(self, uris: Sequence[str]) -> dict[str, _KnownDocument]:
        """Return the documents of these URIs that readers see."""
        if not uris:
            return {}
        tokens = orjson.dumps([token("uri", uri) for uri in uris]).decode()
        where = " and ".join([*self._state.visible(), f"uri_token in {tokens}"])
        fields = ["doc", "uri", "digest", "sums"]
        return {
            row["uri"]: _KnownDocument(
                row["doc"], bytes.fromhex(row["digest"]), orjson.loads(row["sums"])
            )
            for row in self._connection.query(DOCUMENT, where, fields=fields)
        }

    def _commit(self, new: Sequence[DocumentRows], removed: Sequence[_KnownDocument]) -> None:
        commit = self._state.commit
        number = commit.number + 1
        totals = Counter(commit.totals)
        for document in new:
            totals.update(document.sums)
        for known in removed:
            totals.subtract(known.sums)
        kept = {name: count for name, count in totals.items() if count}
        mean = commit.mean_length or (
            make_statistics(kept, version=number).mean_length(STORED) or 1.0
        )
        freqs = self._freqs_of_removed([each.doc for each in removed])
        freqs.update(count_fields(decode_counts(each) for d in new for each in d.counts))
        rows = self._freq_rows(freqs, number=number)
        self._begin(number)
        next_doc, next_chunk = self._insert_documents(new, number=number, mean_length=mean)
        self._insert(FREQ, rows)
        tombstones = [Tombstone(each.doc, number, int(time.time())) for each in removed]
        self._insert(STATE, [state_row(GONE, each.doc, number=number) for each in tombstones])
        self._finish(
            replace(
                commit,
                number=number,
                totals=kept,
                next_doc=next_doc,
                next_chunk=next_chunk,
                next_row=commit.next_row + len(rows),
                unfolded=commit.unfolded + 1,
                dimensions=commit.dimensions or _dimensions(new),
                mean_length=mean,
            )
        )
        self._state = replace(self._state, gone=(*self._state.gone, *tombstones))
        if self._state.commit.unfolded >= MOST_UNFOLDED:
            self._fold()

    def _insert_documents(
        self, new: Sequence[DocumentRows], *, number: int, mean_length: float
    ) -> tuple[int, int]:
        """Insert the rows of documents; return the next free keys of documents and chunks."""
        doc, chunk = self._state.commit.next_doc, self._state.commit.next_chunk
        rows: dict[str, list[StoredRow]] = {kind: [] for kind in (DOCUMENT, PIECE, CHUNK, VECTOR)}
        for each in new:
            rows[DOCUMENT].append(each.document_row(doc=doc, first_chunk=chunk, born=number))
            rows[PIECE] += each.piece_rows(doc=doc, born=number)
            rows[CHUNK] += each.chunk_rows(
                doc=doc, first_chunk=chunk, born=number, mean_length=mean_length
            )
            rows[VECTOR] += each.vector_rows(doc=doc, first_chunk=chunk, born=number)
            doc, chunk = doc + 1, chunk + len(each.document.chunks)
        if rows[VECTOR] and not self._state.commit.dimensions:
            create_vectors(self._connection, dimensions=len(rows[VECTOR][0]["dense"]))
        for kind, inserted in rows.items():
            self._insert(kind, inserted)
        return doc, chunk

    def _freqs_of_removed(self, docs: Sequence[int]) -> TermSums:
        """Return what the removal of documents adds to the document frequencies."""
        sums = TermSums()
        if docs:
            rows = self._connection.scan(CHUNK, f"doc in {sorted(docs)}", fields=["terms"])
            sums.subtract(count_fields(decode_counts(row["terms"]) for row in rows))
        return sums

    def _freq_rows(self, sums: TermSums, *, number: int) -> list[StoredRow]:
        first = self._state.commit.next_row
        return [
            {**NO_VECTOR, "row": first + at, "born": number, "bucket": bucket, "body": body}
            for at, (bucket, body) in enumerate(sums.encode())
        ]

    def _begin(self, number: int) -> None:
        """Record that a commit is begun, before its first row."""
        self._insert(STATE, [state_row(BEGUN, number, number=number)])

    def _finish(self, commit: Commit) -> None:
        """Insert the commit, which makes its rows visible, and remove the one before."""
        number = commit.number
        if self._flag is not None:
            self._flag.check()
        self._insert(STATE, [state_row(COMMIT, number, number=number, body=commit.body())])
        self._connection.delete(STATE, f'kind == "{COMMIT}" and number < {number}')
        self._connection.delete(STATE, f'kind == "{BEGUN}" and number <= {number}')
        self._state = replace(self._state, commit=commit)

    def _insert(self, kind: str, rows: Sequence[StoredRow]) -> None:
        if self._flag is None:
            self._connection.insert(kind, rows)
        else:
            self._connection.insert(kind, rows, before_each=self._flag.renew)

    def _delete(self, where: str, kinds: Sequence[str]) -> None:
        for kind in kinds:
            if self._has(kind):
                self._connection.delete(kind, where)

    def _has(self, kind: str) -> bool:
        """Return whether there is a collection, which that of vectors may not be yet."""
        is_sure = kind != VECTOR or bool(self._state.commit.dimensions)
        return is_sure or self._connection.has(kind)


@contextmanager
def committing(connection: MilvusConnection) -> Iterator[MilvusWriter]:
    """Keep other writers out, and give a writer over the last commit.

    Raises `NotAnIndex` if there is no index.
    """
    with writing(connection) as flag:
        state = read_state(connection)
        if state is None:
            raise no_index(connection.address.name)
        writer = MilvusWriter(connection, state, flag)
        writer.clean_up()
        yield writer


def _dimensions(documents: Sequence[DocumentRows]) -> int:
    """Return the length of the first vector, 0 if there is none."""
    vectors = (c.vector for d in documents for c in d.document.chunks if c.vector is not None)
    first = next(vectors, None)
    return 0 if first is None else len(first)
