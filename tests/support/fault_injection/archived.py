"""The contexts of an index that its archive lacks."""

from __future__ import annotations

import crx
from crx._context.archive import read_archive
from crx._context.records import hash_of


def unarchived(index: crx.Index) -> list[str]:
    """Return the contexts of chunks that the archive of their index does not have."""
    records = [each.record for each in read_archive(index.path).contexts]
    archived = {(record.sha256, record.context) for record in records}
    store = index.store
    rows = [row for each in store.documents() for row in store.chunks(store.chunk_keys(each.doc))]
    return [
        row.context
        for row in rows
        if row.context and (hash_of(row.text), row.context) not in archived
    ]
