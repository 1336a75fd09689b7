"""The tables of a collection, and the steps from one version of them to the next.

A collection is a schema. Its version is in the table `setting`; each step is one transaction under
an advisory lock, so that several writers may open a collection at the same time. A role that owns
its schema is enough, except for the extension, which an administrator may have to create.
"""

from __future__ import annotations

from collections.abc import Mapping

from crx.errors import CrxError, Incompatible, UsageError
from crx_engines.postgres.connection import Connection
from crx_engines.server_errors import no_index

OLDEST_SERVER = 150_000
# The settings of the engine begin so: the version of the tables, which part of an index they are,
# and the method by which dense vectors are searched, with its name for a graph.
OWN = "engine_"
VERSION = f"{OWN}version"
SHARD = f"{OWN}shard"
DENSE_INDEX = f"{OWN}dense_index"
HNSW = "hnsw"
# The part that is a whole index.
ONE_SHARD = "1 of 1"

# A chunk's text goes up to the start of the next chunk, so that together they are the document's,
# after `head`; `lines` are the line breaks before it. `sums` are what the document added to
# `total`. `posting` is covered by its primary key.
_FIRST = """
CREATE TABLE setting (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE document (
  doc bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uri text NOT NULL UNIQUE,
  title text NOT NULL, lang text NOT NULL, kind text NOT NULL, metadata text NOT NULL,
  fields jsonb NOT NULL,
  source_hash bytea NOT NULL, source_size bigint NOT NULL, source_mtime_ns bigint NOT NULL,
  head text NOT NULL, digest bytea NOT NULL, sums jsonb NOT NULL
);
CREATE SEQUENCE chunk_key AS bigint;
CREATE TABLE chunk (
  chunk bigint PRIMARY KEY, doc bigint NOT NULL REFERENCES document ON DELETE CASCADE,
  ordinal integer NOT NULL, start integer NOT NULL, "end" integer NOT NULL,
  token_start integer NOT NULL, token_end integer NOT NULL, section integer NOT NULL,
  lines integer NOT NULL, text text NOT NULL, outline text NOT NULL, context_key bytea,
  vector_key bytea NOT NULL, terms integer[] NOT NULL, UNIQUE (doc, ordinal)
);
CREATE TABLE mark (
  doc bigint NOT NULL REFERENCES document ON DELETE CASCADE, ordinal integer NOT NULL,
  start integer NOT NULL, "end" integer NOT NULL, mark text NOT NULL, PRIMARY KEY (doc, ordinal)
);
CREATE TABLE context (
  key bytea PRIMARY KEY, generator text NOT NULL, outcome text NOT NULL, text text NOT NULL
);
CREATE TABLE embedding (
  chunk bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE, doc bigint NOT NULL,
  vector halfvec NOT NULL
);
CREATE TABLE term (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, term text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE posting (
  chunk bigint NOT NULL, term integer NOT NULL,
  in_text integer NOT NULL, in_outline smallint NOT NULL, in_context smallint NOT NULL,
  text_length integer NOT NULL, outline_length integer NOT NULL, context_length integer NOT NULL,
  PRIMARY KEY (term, chunk)
    INCLUDE (in_text, in_outline, in_context, text_length, outline_length, context_length)
);
CREATE TABLE doc_freq (term integer NOT NULL, fields smallint NOT NULL, chunks bigint NOT NULL);
CREATE INDEX doc_freq_term ON doc_freq (term) INCLUDE (fields, chunks);
CREATE TABLE total (name text NOT NULL, value bigint NOT NULL);
"""

# The steps to each version, the first of which makes the tables: documents of version 1 have no
# kind, which only their texts tell.
OLDEST = 2
STEPS = (_FIRST,)
NEWEST = OLDEST + len(STEPS) - 1


def read_version(connection: Connection) -> int:
    """Return the version of a collection's tables, 0 if there are none."""
    schema = connection.address.schema
    found = connection.run("SELECT to_regclass(:name)::text", name=f"{schema}.setting")
    if found[0][0] is None:
        return 0
    rows = connection.run("SELECT value FROM setting WHERE name = :name", name=VERSION)
    return int(rows[0][0]) if rows else 0


def read_own_settings(connection: Connection) -> dict[str, str]:
    """Return the settings of the engine; raises `NotAnIndex` if there are no tables."""
    rows = connection.run("SELECT name, value FROM setting WHERE starts_with(name, :own)", own=OWN)
    return {str(name): str(value) for name, value in rows}


def require_tables(own: Mapping[str, str], *, name: str, shard: str) -> None:
    """Raise `NotAnIndex` or `Incompatible` unless the tables are those of this crx and shard."""
    version = int(own.get(VERSION, "0"))
    if not version:
        raise no_index(name)
    if version > NEWEST:
        raise Incompatible(
            f"{name}: its tables have version {version}, and this crx knows {NEWEST}; upgrade crx"
        )
    if version < OLDEST:
        raise Incompatible(
            f"{name}: its tables have version {version}, which this crx does not read; drop the "
            "schema, or name another, and copy the index again"
        )
    if version < NEWEST:
        raise Incompatible(
            f"{name}: its tables have version {version}, and this crx needs {NEWEST}; "
            f'"crx copy INDEX {name}" upgrades them'
        )
    held = own.get(SHARD, ONE_SHARD)
    if held != shard:
        raise Incompatible(
            f"{name}: holds part {held} of an index and is named as part {shard}; "
            "name all its servers, in the order in which they were first named"
        )


def migrate(connection: Connection, *, shard: str) -> None:
    """Bring the tables to the version of this crx, and create them if there are none.

    `shard` is which part of an index they are, as "2 of 3".
    """
    require_server(connection)
    _create_extension(connection)
    schema = connection.address.schema
    with connection.transaction():
        connection.run("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))", name=schema)
        version = read_version(connection)
        if version and not OLDEST <= version < NEWEST:
            own = read_own_settings(connection)
            require_tables(own, name=connection.address.name, shard=shard)
            return
        if not version:
            connection.run_script(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        for step in STEPS[version and version - OLDEST + 1 :]:
            connection.run_script(step)
        for name, value in ((VERSION, str(NEWEST)), (SHARD, shard)):
            connection.run(
                "INSERT INTO setting VALUES (:name, :value) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                name=name,
                value=value,
            )


def require_server(connection: Connection) -> None:
    """Raise `Incompatible` for a server that is too old."""
    version = int(connection.run("SELECT current_setting('server_version_num')")[0][0])
    if version < OLDEST_SERVER:
        raise Incompatible(
            f"{connection.address.name}: PostgreSQL {version // 10_000} is too old; "
            f"crx needs {OLDEST_SERVER // 10_000} or newer"
        )


def _create_extension(connection: Connection) -> None:
    name = connection.address.name
    if connection.run("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
        return
    if not connection.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        raise UsageError(
            f"{name}: the server has no pgvector; install it there (postgresql-NN-pgvector)"
        )
    try:
        connection.run_script("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except CrxError as refused:
        raise UsageError(
            f"{name}: pgvector is not enabled in this database; "
            f'have an administrator run "CREATE EXTENSION vector" ({refused})'
        ) from None
