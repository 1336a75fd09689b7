"""An index in a PostgreSQL database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

from crx.engine.postgres.connection import Connection, DatabaseAddress, parse_address
from crx.engine.postgres.migrations import VERSION, migrate, read_version, require_version
from crx.engine.postgres.snapshot import DENSE_INDEX, HNSW, PostgresSnapshot
from crx.engine.postgres.writer import DocumentTables
from crx.engine.protocol import StoredDocument, batches

# Connections that are kept for later searches.
_IDLE_CONNECTIONS = 8
# Characters of the documents of one transaction, and documents that one transaction removes.
_TRANSACTION = 1 << 20
_REMOVED_TOGETHER = 64
# How long a statement may take that builds an index over a whole table.
_MAINTENANCE_TIMEOUT_S = 24 * 3600.0


class PostgresEngine:
    """An index in a schema of a database; see `protocol.Engine`.

    Searches of several threads have a connection each. What writes has one, and is for one thread.
    """

    def __init__(self, url: str) -> None:
        """Parse the URL; connections are made when they are needed."""
        self._address: DatabaseAddress = parse_address(url)
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
            if not read_version(connection):
                return {}
            require_version(connection)
            rows = connection.run("SELECT name, value FROM setting ORDER BY name")
        own = (VERSION, DENSE_INDEX)
        return {str(name): str(value) for name, value in rows if name not in own}

    def create(self, settings: Mapping[str, str]) -> None:
        """Make the tables, or bring them up to date, and record settings if there are none."""
        with self._connected() as connection:
            migrate(connection)
            with connection.transaction():
                for name, value in sorted(settings.items()):
                    connection.run(
                        "INSERT INTO setting VALUES (:name, :value) ON CONFLICT DO NOTHING",
                        name=name,
                        value=value,
                    )

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, a few in each transaction; return how many were not there."""
        tables = self._tables()
        groups = batches(iter(documents), most_bytes=_TRANSACTION)
        return sum(tables.put(group) for group in groups)

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents, a few in each transaction; return how many there were."""
        tables = self._tables()
        starts = range(0, len(uris), _REMOVED_TOGETHER)
        return sum(tables.remove(uris[at : at + _REMOVED_TOGETHER]) for at in starts)

    def publish(self) -> None:
        """Fold the sums of the collection, and gather what the planner needs to know."""
        self._tables().fold()
        assert self._writing is not None
        for table in ("document", "chunk", "embedding", "term", "posting", "doc_freq"):
            self._writing.run_script(f"VACUUM (ANALYZE) {table}")

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
            require_version(connection)
            yield PostgresSnapshot(connection)

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in [*idle, *([self._writing] if self._writing else [])]:
            connection.close()
        self._writer = self._writing = None

    def _tables(self) -> DocumentTables:
        if self._writer is None:
            self._writing = Connection(self._address, timeout_s=_MAINTENANCE_TIMEOUT_S)
            require_version(self._writing)
            self._writer = DocumentTables(self._writing)
        return self._writer

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Lend a connection; one that failed is not used again."""
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        connection = connection or Connection(self._address)
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
