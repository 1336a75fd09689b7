"""An index, or a part of one, in a PostgreSQL database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

from crx_engines.document_writer import put_in_groups, remove_in_groups
from crx_engines.engine.protocol import StoredDocument
from crx_engines.postgres.connection import Connection, DatabaseAddress
from crx_engines.postgres.migrations import (
    DENSE_INDEX,
    HNSW,
    ONE_SHARD,
    OWN,
    migrate,
    read_own_settings,
    read_version,
    require_server,
    require_tables,
)
from crx_engines.postgres.snapshot import PostgresSnapshot
from crx_engines.postgres.writer import DocumentTables

# Connections that are kept for later searches.
_IDLE_CONNECTIONS = 8
# How long a statement may take that builds an index over a whole table.
_MAINTENANCE_TIMEOUT_S = 24 * 3600.0


class PostgresEngine:
    """An index in a schema of a database; see `protocol.Engine`.

    Searches of several threads have a connection each. What writes has one, and is for one thread.
    """

    def __init__(self, address: DatabaseAddress, *, shard: str = ONE_SHARD) -> None:
        """Connections are made when they are needed. `shard` is which part of an index this is."""
        self._address = address
        self._shard = shard
        self._guard = threading.Lock()
        self._idle: list[Connection] = []
        self._writer: DocumentTables | None = None
        self._writing: Connection | None = None

    @property
    def name(self) -> str:
        """The URL without a password."""
        return self._address.name

    def settings(self) -> dict[str, str]:
        """Return the settings of the index; empty if there is none yet."""
        with self._connected() as connection:
            require_server(connection)
            if not read_version(connection):
                return {}
            self._require_tables(connection)
            rows = connection.run("SELECT name, value FROM setting ORDER BY name")
        return {str(name): str(value) for name, value in rows if not name.startswith(OWN)}

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the tables, or bring them up to date, and record settings if there are none."""
        with self._connected() as connection:
            migrate(connection, shard=self._shard)
            with connection.transaction():
                for name, value in sorted(settings.items()):
                    connection.run(
                        "INSERT INTO setting VALUES (:name, :value) ON CONFLICT DO NOTHING",
                        name=name,
                        value=value,
                    )

    def set_settings(self, settings: Mapping[str, str]) -> None:
        """Set some settings; all others stay. An empty text removes one."""
        with self._connected() as connection, connection.transaction():
            for name, value in sorted(settings.items()):
                connection.run("DELETE FROM setting WHERE name = :name", name=name)
                if value:
                    connection.run(
                        "INSERT INTO setting VALUES (:name, :value)", name=name, value=value
                    )

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, a few in each transaction; return how many were not there."""
        with self._tables() as tables:
            return put_in_groups(tables, documents)

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents, a few in each transaction; return how many there were."""
        with self._tables() as tables:
            return remove_in_groups(tables, uris)

    def publish(self) -> None:
        """Fold the sums of the collection, and gather what the planner needs to know."""
        with self._tables() as tables:
            tables.fold()
            tables.vacuum()

    def build_graph(self) -> None:
        """Build an HNSW graph of the vectors, which searches then use; exact scans end.

        Until then, and in a collection without one, every vector is compared.
        """
        connection = Connection(self._address, timeout_s=_MAINTENANCE_TIMEOUT_S)
        try:
            rows = connection.run("SELECT vector_dims(vector::vector) FROM embedding LIMIT 1")
            if not rows:
                return
            dimensions = int(rows[0][0])
            connection.run_script(
                "CREATE INDEX IF NOT EXISTS embedding_hnsw ON embedding USING hnsw "
                f"((vector::halfvec({dimensions})) halfvec_ip_ops)"
            )
            connection.run(
                "INSERT INTO setting VALUES (:name, :value) ON CONFLICT DO NOTHING",
                name=DENSE_INDEX,
                value=HNSW,
            )
        finally:
            connection.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """Give the last committed state, in a read-only transaction."""
        with (
            self._connected() as connection,
            connection.transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        ):
            own = self._require_tables(connection)
            yield PostgresSnapshot(connection, has_graph=own.get(DENSE_INDEX) == HNSW)

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        self._stop_writing()

    def _require_tables(self, connection: Connection) -> dict[str, str]:
        """Check the tables, and return the settings of the engine."""
        own = read_own_settings(connection)
        require_tables(own, name=self.name, shard=self._shard)
        return own

    @contextlib.contextmanager
    def _tables(self) -> Iterator[DocumentTables]:
        """Lend what writes, with a connection of its own; after a failure it is made anew."""
        try:
            if self._writer is None:
                self._writing = Connection(self._address, timeout_s=_MAINTENANCE_TIMEOUT_S)
                self._require_tables(self._writing)
                self._writer = DocumentTables(self._writing)
            yield self._writer
        except BaseException:
            self._stop_writing()
            raise

    def _stop_writing(self) -> None:
        if self._writing is not None:
            self._writing.close()
        self._writer = self._writing = None

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Lend a connection; one that failed is not used again."""
        connection = self._take_idle() or Connection(self._address)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._guard:
            if len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _take_idle(self) -> Connection | None:
        """Return an idle connection; those that a server has ended since are dropped."""
        with self._guard:
            while self._idle:
                connection = self._idle.pop()
                if not connection.is_closed_by_server:
                    return connection
                connection.close()
        return None
