"""Requests to Milvus, and its errors as those of crx."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from crx.errors import CrxError, NoRoom, SystemFailure, UsageError
from crx.types import Ranking
from crx_engines.milvus.lite_server import LiteServer, lite_server
from crx_engines.milvus.milvus_address import MilvusAddress
from crx_engines.server_errors import (
    no_answer,
    no_connection,
    no_database,
    no_driver,
    no_index,
    not_allowed,
)

StoredRow = dict[str, Any]
_T = TypeVar("_T")

# Reads see all that was written before them.
_STRONG = "Strong"
# Milvus returns no more rows at a time, and takes no larger requests (64 MB by default).
MOST_RESULTS = 16_384
_PAGE = 1_000
_MOST_ROWS = 1_000
_MOST_BYTES = 8 << 20
# Codes of errors of Milvus.
_NO_COLLECTION, _NOT_LOADED, _NO_DATABASE, _RATE_LIMIT, _FORCE_DENY = 100, 101, 800, 8, 9
_UNAVAILABLE = 2


class MilvusConnection:
    """A connection to a server, or to Milvus Lite in this process; for several threads."""

    def __init__(self, address: MilvusAddress, *, create: bool = False) -> None:
        """Connect; `create` is whether the folder of Milvus Lite may be made."""
        try:
            import pymilvus
        except ImportError:
            raise no_driver(address.name, "the client", extra="milvus") from None
        # It writes what it raises to stderr, too.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self._address = address
        self._lite: LiteServer | None = None
        with contextlib.ExitStack() as until_closed:
            host = f"[{address.host}]" if ":" in address.host else address.host
            uri = f"{'https' if address.is_secure else 'http'}://{host}:{address.port}"
            if address.folder:
                self._lite = until_closed.enter_context(lite_server(address, create=create))
                uri = f"http://127.0.0.1:{self._lite.port}"
            with self._translated():
                self._client = pymilvus.MilvusClient(
                    uri=uri,
                    token=address.token,
                    db_name=address.database,
                    timeout=address.timeout_s,
                    # Otherwise it would be closed with another of the same server.
                    dedicated=True,
                )
            until_closed.callback(self._client.close)
            self._until_closed = until_closed.pop_all()

    @property
    def address(self) -> MilvusAddress:
        """What it is connected to."""
        return self._address

    @property
    def lite(self) -> LiteServer | None:
        """The server of Milvus Lite, None for one elsewhere."""
        return self._lite

    def has(self, kind: str) -> bool:
        """Return whether there is a collection of this kind."""
        return bool(self._call(self._client.has_collection, self._name(kind)))

    def create_collection(self, kind: str, *, schema: Any, indexes: Any) -> None:
        """Make a collection, or what is missing of it, and load it."""
        name = self._name(kind)
        has = self.has(kind)
        with self._changing():
            if not has:
                options = {"schema": schema, "consistency_level": _STRONG}
                self._call(self._client.create_collection, name, **options)
            if not self._call(self._client.list_indexes, name):
                self._index(kind, indexes)

    def index_type(self, kind: str, field: str) -> str:
        """Return the type of the index of a field, "" if there is none."""
        name = self._name(kind)
        if field not in self._call(self._client.list_indexes, name):
            return ""
        found = self._call(self._client.describe_index, name, field)
        return str(found.get("index_type", "")) if found else ""

    def replace_index(self, kind: str, field: str, indexes: Any) -> None:
        """Replace the index of a field; the collection cannot be searched meanwhile."""
        name = self._name(kind)
        with self._changing():
            self._call(self._client.release_collection, name)
            self._call(self._client.drop_index, name, index_name=field)
            self._index(kind, indexes)

    def _index(self, kind: str, indexes: Any) -> None:
        # Loading waits for the indexes; waiting for them asks for what Milvus Lite does not have.
        name = self._name(kind)
        self._call(self._client.create_index, name, index_params=indexes, sync=False)
        self._call(self._client.load_collection, name)

    def query(self, kind: str, where: str, *, fields: Sequence[str]) -> list[StoredRow]:
        """Return the rows that a condition selects, in any order, by one request."""
        return self._read(self._client.query, kind, filter=where, output_fields=list(fields))

    def scan(self, kind: str, where: str, *, fields: Sequence[str]) -> list[StoredRow]:
        """Return the rows that a condition selects, however many, by a request for each page."""
        rows: list[StoredRow] = []
        pages = self._read(
            self._client.query_iterator,
            kind,
            batch_size=_PAGE,
            filter=where,
            output_fields=list(fields),
        )
        with self._translated():
            try:
                while page := pages.next():
                    rows += page
            finally:
                pages.close()
        return rows

    def get(
        self, kind: str, key: str, values: Sequence[int], *, fields: Sequence[str]
    ) -> list[StoredRow]:
        """Return the rows whose primary key is among the values, in any order."""
        rows: list[StoredRow] = []
        wanted = sorted({int(value) for value in values})
        for at in range(0, len(wanted), _PAGE):
            rows += self._read(
                self._client.query,
                kind,
                filter=f"{key} in {wanted[at : at + _PAGE]}",
                output_fields=list(fields),
            )
        return rows

    def search(
        self,
        kind: str,
        *,
        field: str,
        vector: Any,
        where: str,
        limit: int,
        key: str,
        parameters: Mapping[str, object],
    ) -> Ranking:
        """Return the keys of the rows of largest inner product with a vector, best first."""
        (hits,) = self._read(
            self._client.search,
            kind,
            data=[vector],
            anns_field=field,
            filter=where,
            limit=limit,
            output_fields=[key],
            search_params={"metric_type": "IP", "params": dict(parameters)},
        )
        return Ranking(
            np.array([hit["id"] if "id" in hit else hit[key] for hit in hits], np.int64),
            np.array([hit["distance"] for hit in hits], np.float32),
        )

    def insert(
        self,
        kind: str,
        rows: Sequence[StoredRow],
        *,
        before_each: Callable[[], None] = lambda: None,
    ) -> None:
        """Append rows, a few in each request; `before_each` is called before each request."""
        for group in _groups(rows):
            before_each()
            with self._changing():
                self._call(self._client.insert, self._name(kind), group)

    def delete(self, kind: str, where: str) -> None:
        """Remove the rows that a condition selects."""
        with self._changing():
            self._read(self._client.delete, kind, filter=where)

    def close(self) -> None:
        """Close the connection; Milvus Lite ends with its last."""
        self._until_closed.close()

    def _name(self, kind: str) -> str:
        return f"{self._address.collection}_{kind}"

    def _changing(self) -> contextlib.AbstractContextManager[object]:
        """Let one request at a time change something in Milvus Lite."""
        return self._lite.request if self._lite is not None else contextlib.nullcontext()

    def _read(self, method: Callable[..., _T], kind: str, **options: object) -> _T:
        """Read from a collection, which is loaded if it is not: a server may have restarted."""
        name = self._name(kind)
        try:
            return self._call(method, name, consistency_level=_STRONG, **options)
        except _NotLoaded:
            self._call(self._client.load_collection, name)
            return self._call(method, name, consistency_level=_STRONG, **options)

    def _call(self, method: Callable[..., _T], *arguments: object, **options: object) -> _T:
        with self._translated():
            return method(*arguments, timeout=self._address.timeout_s, **options)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        import grpc
        from pymilvus import exceptions

        try:
            yield
        except exceptions.MilvusException as error:
            code = error.code if isinstance(error.code, int) else 0
            raise _describe(code, str(error.message), error, self._address) from error
        except grpc.RpcError as error:
            raise _describe(0, str(error), error, self._address) from error


class _NotLoaded(SystemFailure):
    """A collection is to be loaded before it is read."""


def _groups(rows: Sequence[StoredRow]) -> Iterator[list[StoredRow]]:
    """Split rows so that a request takes each group."""
    group: list[StoredRow] = []
    size = 0
    for row in rows:
        weight = _weight(row)
        if group and (len(group) >= _MOST_ROWS or size + weight > _MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(row)
        size += weight
    if group:
        yield group


def _weight(row: StoredRow) -> int:
    """Return about how many bytes a row takes in a request."""
    return sum(8 * len(value) if hasattr(value, "__len__") else 8 for value in row.values())


def _causes(error: BaseException | None) -> Iterator[str]:
    """Return what an error and those that it followed from say."""
    seen: list[BaseException] = []
    # pymilvus raises errors from themselves.
    while error is not None and error not in seen:
        seen.append(error)
        yield f"{type(error).__name__} {error}"
        error = error.__cause__


def _describe(code: int, text: str, error: Exception, address: MilvusAddress) -> CrxError:
    """Return an error of Milvus as one of crx."""
    name, message = address.name, " ".join(text.split())
    lower = " ".join(_causes(error)).lower()
    if "unauthenticated" in lower or "auth check failure" in lower:
        return UsageError(
            f"{name}: the server refuses the login; check the user and the password, or "
            "MILVUS_TOKEN"
        )
    if "permission deny" in lower or "permission denied" in lower or "privilege" in lower:
        return not_allowed(name, message)
    if code == _NO_DATABASE or "database not found" in lower:
        return no_database(name, "no such database")
    if code == _NO_COLLECTION:
        return no_index(name)
    if code == _NOT_LOADED:
        return _NotLoaded(f"{name}: a collection is not loaded; try again")
    if code in (_RATE_LIMIT, _FORCE_DENY):
        return NoRoom(f"{name}: {message}; free space or raise the limits of the server")
    if "deadline" in lower or "timeout" in lower or "timed out" in lower:
        return no_answer(name, address.timeout_s)
    if code == _UNAVAILABLE or "unavailable" in lower or "fail connecting" in lower:
        return no_connection(name, message)
    return SystemFailure(f"{name}: {message} ({code})")
