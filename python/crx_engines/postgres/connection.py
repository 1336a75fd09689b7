"""Connections to a server: the URL, statements, and errors as those of crx.

The driver is pg8000 (BSD licence, pure Python): psycopg is LGPL, and the optional dependencies of
crx are permissive, too.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from crx.errors import (
    CrxError,
    Incompatible,
    NoRoom,
    SystemFailure,
    UsageError,
)
from crx.plugins import without_password
from crx_engines.server_errors import (
    no_answer,
    no_connection,
    no_database,
    no_driver,
    no_index,
    not_allowed,
)
from crx_engines.url_parameters import parse_parameters, parse_timeout

Row = list[Any]

_DEFAULT_SCHEMA = "crx"
_DEFAULT_TIMEOUT_S = 30.0
# Statements that a connection keeps prepared; filters make new ones.
_MOST_PREPARED = 100
_PARAMETERS = ("host", "missing", "schema", "sslmode", "sslrootcert", "timeout")
# What a search does without a server that is down: it fails, or answers from the others.
_REFUSE, _SKIP = "refuse", "skip"
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,50}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseAddress:
    """Where a collection, or a shard of one, is: server, database, role and schema.

    `host` is a name, an address, or the folder of a Unix socket. `timeout_s` is how long one
    statement may take. `skips_missing` is whether a search goes on without a server that is down.
    """

    host: str
    port: int
    database: str
    user: str
    password: str
    schema: str
    sslmode: str
    sslrootcert: str
    timeout_s: float
    skips_missing: bool = False

    @property
    def name(self) -> str:
        """The URL without a password."""
        return name_of([self])


def name_of(servers: Sequence[DatabaseAddress]) -> str:
    """Return the URL of an index on these servers, without a password."""
    first = servers[0]
    is_socket = first.host.startswith("/")
    hosts = "" if is_socket else ",".join(_authority(each) for each in servers)
    parameters = {
        "host": ",".join(each.host for each in servers) if is_socket else "",
        "schema": "" if first.schema == _DEFAULT_SCHEMA else first.schema,
        "missing": _SKIP if first.skips_missing else "",
    }
    query = "&".join(f"{name}={value}" for name, value in parameters.items() if value)
    return f"postgresql://{first.user}@{hosts}/{first.database}{'?' if query else ''}{query}"


def _authority(address: DatabaseAddress) -> str:
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"


def parse_addresses(
    url: str, *, environ: Mapping[str, str] = os.environ
) -> tuple[DatabaseAddress, ...]:
    """Parse `postgresql://user:password@host:port,.../database?schema=NAME&timeout=SECONDS`.

    The result has an address for each server. What is missing is taken from PGHOST, PGPORT,
    PGDATABASE, PGUSER and PGPASSWORD. Raises `UsageError`.
    """
    shown = without_password(url)
    parts = urlsplit(url)
    login, _, authority = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    given = parse_parameters(parts.query, known=_PARAMETERS, shown=shown)
    user = unquote(user) or environ.get("PGUSER") or environ.get("USER", "postgres")
    schema = given.get("schema", _DEFAULT_SCHEMA)
    if not _IDENTIFIER.fullmatch(schema):
        raise UsageError(
            f"{schema}: not a name of a schema; use lower-case letters, digits and underscores"
        )
    timeout_s = parse_timeout(given, default_s=_DEFAULT_TIMEOUT_S)
    missing = given.get("missing", _REFUSE)
    if missing not in (_REFUSE, _SKIP):
        raise UsageError(f"missing={missing}: no such choice; use {_REFUSE} or {_SKIP}")
    try:
        addresses = _addresses(authority, given.get("host", ""), environ)
    except ValueError as error:
        raise UsageError(f"{shown}: not a URL of a database ({error})") from None
    if len(set(addresses)) < len(addresses):
        raise UsageError(f"{shown}: names a server twice; name each once")
    return tuple(
        DatabaseAddress(
            host=host,
            port=port,
            database=unquote(parts.path.strip("/")) or environ.get("PGDATABASE") or user,
            user=user,
            password=unquote(password) or environ.get("PGPASSWORD", ""),
            schema=schema,
            sslmode=given.get("sslmode", "prefer"),
            sslrootcert=given.get("sslrootcert", ""),
            timeout_s=timeout_s,
            skips_missing=missing == _SKIP,
        )
        for host, port in addresses
    )


def _addresses(authority: str, hosts: str, environ: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the host and port of each server; raises `ValueError`."""
    port = int(environ.get("PGPORT", "5432"))
    if hosts:
        return [(host, port) for host in hosts.split(",")]
    named = [urlsplit(f"//{each}") for each in authority.split(",")]
    if len(named) == 1 and not named[0].hostname:
        return [(environ.get("PGHOST", "localhost"), named[0].port or port)]
    if not all(each.hostname for each in named):
        raise ValueError("a host is empty")
    return [(str(each.hostname), each.port or port) for each in named]


class Connection:
    """A connection to one server; statements of several threads go one after the other.

    Parameters of statements are `:name`; texts of lists go as JSON, lists of numbers as `numbers`.
    """

    def __init__(self, address: DatabaseAddress, *, timeout_s: float | None = None) -> None:
        """Connect; raises `UsageError`, `NotAnIndex` (no such database) or `SystemFailure`."""
        try:
            from pg8000 import native
        except ImportError:
            raise no_driver(address.name, "the driver", extra="postgres") from None
        self._address = address
        self._lock = threading.RLock()
        self._prepared: dict[str, Any] = {}
        self._timeout_s = address.timeout_s if timeout_s is None else timeout_s
        context = _ssl_context(address)
        with self._translated(), contextlib.ExitStack() as unless_connected:
            # pg8000 leaves its socket open if the server refuses.
            sock = unless_connected.enter_context(_open_socket(address, self._timeout_s))
            self._descriptor = sock.fileno()
            self._native = native.Connection(
                address.user,
                host=address.host,
                database=address.database,
                password=address.password or None,
                sock=sock,
                ssl_context=context,
                application_name="crx",
            )
            unless_connected.pop_all()
        # Plans are made for a few thousand rows: compiling them takes longer than running them.
        self.run_script(
            "SET jit = off; SET client_min_messages = warning; "
            f"SET search_path = {address.schema}, public"
        )

    @property
    def address(self) -> DatabaseAddress:
        """What it is connected to."""
        return self._address

    @property
    def is_closed_by_server(self) -> bool:
        """Whether the server ended an idle connection: only then is there something to read."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._descriptor, selectors.EVENT_READ)
            return bool(selector.select(timeout=0))

    def run(self, sql: str, **parameters: object) -> list[Row]:
        """Run one statement and return its rows; raises a `CrxError` that names the server."""
        with self._lock, self._translated():
            statement = self._prepared.get(sql)
            if statement is None:
                if len(self._prepared) >= _MOST_PREPARED:
                    self._prepared.pop(next(iter(self._prepared))).close()
                statement = self._prepared[sql] = self._native.prepare(sql)
            return list(statement.run(**parameters) or [])

    def run_script(self, sql: str) -> None:
        """Run several statements without parameters."""
        with self._lock, self._translated():
            self._native.execute_simple(sql)

    def copy_rows(self, table: str, rows: bytes) -> None:
        """Append rows to a table: `table` may name columns, `rows` are those of `binary_rows`."""
        with self._lock, self._translated():
            self._native.run(f"COPY {table} FROM STDIN (FORMAT binary)", stream=[rows])

    @contextlib.contextmanager
    def transaction(self, mode: str = "") -> Iterator[None]:
        """Run the body in a transaction, which is rolled back if it raises.

        Other threads may run statements of the same transaction meanwhile.
        """
        self.run_script(f"BEGIN {mode}")
        try:
            yield
        except BaseException:
            with contextlib.suppress(CrxError):
                self.run_script("ROLLBACK")
            raise
        self.run_script("COMMIT")

    def close(self) -> None:
        """Close the connection; an error of the network is no failure here."""
        with self._lock, contextlib.suppress(Exception):
            self._native.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        from pg8000 import exceptions

        try:
            yield
        except (exceptions.Error, OSError, struct.error) as error:
            refusal = _find_refusal(error)
            if refusal is not None:
                raise _describe(refusal, self._address) from error
            raise self._describe_loss(error) from error

    def _describe_loss(self, error: Exception) -> CrxError:
        cause = error.__cause__ or error
        name = self._address.name
        if isinstance(cause, TimeoutError) or "timed out" in str(error):
            return no_answer(name, self._timeout_s)
        fact = " ".join(str(cause).split()) or type(cause).__name__
        return no_connection(name, fact)


def as_json(value: object) -> str:
    """Return a value as JSON, in which lists of texts are passed."""
    return orjson.dumps(value).decode()


def numbers(values: object) -> str:
    """Return a list of numbers as PostgreSQL writes an array."""
    return "{" + str(values)[1:-1] + "}"


def _ssl_context(address: DatabaseAddress) -> ssl.SSLContext | bool | None:
    """Return what pg8000 takes: False for no encryption, None for encryption if it is offered."""
    if address.sslmode == "disable" or address.host.startswith("/"):
        return False
    if address.sslmode == "prefer":
        return None
    if address.sslmode == "require":
        return True
    if address.sslmode in ("verify-ca", "verify-full"):
        context = ssl.create_default_context(cafile=address.sslrootcert or None)
        context.check_hostname = address.sslmode == "verify-full"
        return context
    raise UsageError(
        f"sslmode={address.sslmode}: no such mode; "
        "use disable, prefer, require, verify-ca or verify-full"
    )


def _open_socket(address: DatabaseAddress, timeout_s: float) -> socket.socket:
    if not address.host.startswith("/"):
        return socket.create_connection((address.host, address.port), timeout_s)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.connect(f"{address.host}/.s.PGSQL.{address.port}")
    except BaseException:
        sock.close()
        raise
    return sock


def _find_refusal(error: BaseException | None) -> dict[str, str] | None:
    """Return what the server said, also if the connection broke because of it."""
    while error is not None:
        if error.args and isinstance(error.args[0], dict):
            return error.args[0]
        error = error.__cause__ or error.__context__
    return None


def _describe(fields: Mapping[str, str], address: DatabaseAddress) -> CrxError:
    """Return an error of the server as one of crx."""
    code, message = fields.get("C", ""), " ".join(fields.get("M", "").split())
    name = address.name
    if code.startswith("28"):
        return UsageError(f"{name}: {message}; check the user and the password, or PGPASSWORD")
    if code == "3D000":
        return no_database(name, message)
    if code in ("42P01", "3F000"):
        return no_index(name)
    if code in ("42501", "25006"):
        return not_allowed(name, message)
    if code == "57014":
        return SystemFailure(
            f"{name}: a statement took longer than allowed; allow more with ?timeout=SECONDS"
        )
    if code.startswith("53"):
        return NoRoom(f"{name}: {message}; free space or connections on the server")
    if code in ("22021", "22P05") or (code == "22P02" and "\\u0000" in message):
        return Incompatible(f"{name}: a text holds a NUL character, which PostgreSQL cannot store")
    if code.startswith(("57P", "08")):
        return SystemFailure(f"{name}: {message}; try again when the server is up")
    return SystemFailure(f"{name}: {message} ({code})")
