"""An index in Milvus."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

import orjson

from crx.errors import NotAnIndex
from crx_engines.document_writer import put_in_groups, remove_in_groups
from crx_engines.engine.protocol import StoredDocument
from crx_engines.milvus.committed_state import (
    DENSE_INDEX_SETTING,
    SETTING,
    VERSION,
    VERSION_SETTING,
    IndexState,
    read_state,
    state_key,
    state_row,
)
from crx_engines.milvus.milvus_address import MilvusAddress, parse_milvus_address
from crx_engines.milvus.milvus_collections import (
    FLAT,
    HNSW,
    STATE,
    create_collections,
    replace_dense_index,
)
from crx_engines.milvus.milvus_connection import MilvusConnection
from crx_engines.milvus.milvus_snapshot import MilvusSnapshot
from crx_engines.milvus.milvus_writer import committing
from crx_engines.milvus.writer_flag import writing
from crx_engines.server_errors import no_index


class MilvusEngine:
    """An index in collections of one database; see `protocol.Engine`. For several threads."""

    def __init__(self, address: MilvusAddress) -> None:
        """The connection is made when it is needed."""
        self._address = address
        self._guard = threading.Lock()
        self._connection: MilvusConnection | None = None

    @property
    def name(self) -> str:
        """The URL without a password."""
        return self._address.name

    def settings(self) -> dict[str, str]:
        """Return the settings of the index; empty if there is none yet."""
        try:
            state = read_state(self._connect())
        except NotAnIndex:
            return {}
        return state.own_settings if state else {}

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the collections, and record settings if there is no index."""
        connection = self._connect(create=True)
        create_collections(connection)
        with writing(connection):
            if read_state(connection) is not None:
                return
            rows = [_setting_row(name, value) for name, value in sorted(settings.items())]
            rows.append(_setting_row(DENSE_INDEX_SETTING, FLAT))
            connection.insert(STATE, rows)
            # The last row: an index without it is none.
            last = _setting_row(VERSION_SETTING, str(VERSION))
            connection.insert(STATE, [last])

    def set_settings(self, settings: Mapping[str, str]) -> None:
        """Set some settings; all others stay. An empty text removes one."""
        connection = self._connect()
        with writing(connection):
            for name, value in sorted(settings.items()):
                connection.delete(STATE, f"key == {state_key(SETTING, name)}")
                if value:
                    connection.insert(STATE, [_setting_row(name, value)])

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, a few in each commit; return how many were not there."""
        with committing(self._connect()) as writer:
            return put_in_groups(writer, documents)

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents, a few in each commit; return how many there were."""
        with committing(self._connect()) as writer:
            return remove_in_groups(writer, uris)

    def publish(self) -> None:
        """Fold the document frequencies of several commits into one."""
        with committing(self._connect()) as writer:
            writer.publish()

    def build_graph(self) -> None:
        """Build an HNSW graph of the vectors, which searches then use; exact scans end.

        Searches fail while it is built.
        """
        connection = self._connect()
        with committing(connection):
            state = self._require_state(connection)
            if not state.commit.dimensions:
                return
            if _dense_index(state) != HNSW:
                # First: an index that is said to be exact must be so, also if this is interrupted.
                row = state_row(SETTING, f"{DENSE_INDEX_SETTING} {HNSW}", number=1)
                row["body"] = orjson.dumps([DENSE_INDEX_SETTING, HNSW]).decode()
                connection.insert(STATE, [row])
            replace_dense_index(connection, HNSW)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[MilvusSnapshot]:
        """Give the last committed state."""
        connection = self._connect()
        state = self._require_state(connection)
        yield MilvusSnapshot(connection, state, dense_index=_dense_index(state))

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _require_state(self, connection: MilvusConnection) -> IndexState:
        state = read_state(connection)
        if state is None:
            raise no_index(self.name)
        return state

    def _connect(self, *, create: bool = False) -> MilvusConnection:
        with self._guard:
            if self._connection is None:
                self._connection = MilvusConnection(self._address, create=create)
            return self._connection


def open_milvus(url: str) -> MilvusEngine:
    """Return the engine of a URL of Milvus or of Milvus Lite."""
    return MilvusEngine(parse_milvus_address(url))


def _setting_row(name: str, value: str) -> dict[str, object]:
    return state_row(SETTING, name, body=orjson.dumps([name, value]).decode())


def _dense_index(state: IndexState) -> str:
    return state.settings.get(DENSE_INDEX_SETTING, FLAT)
