"""Reader of SQLite databases: the rows of each table, a line each under the names of its columns.

The database is a copy in memory: nothing is opened on the disk, neither its journal nor another
database that it may name. What a hostile one could run is turned off: views, virtual tables and
triggers are not read, columns that are computed are left out, and nothing but a plain reading of
tables is allowed. Blobs and the tables of SQLite itself are left out.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.sheet_text import Cut, SheetText, one_line
from crx.ingest.unread_parts import describe_unread
from crx.types import Document, Scalar

extensions = (".sqlite", ".sqlite3", ".db3")

# The first bytes of a database, whatever its extension.
HEADER = b"SQLite format 3\0"
# The bytes that say how it is written and read: 2 is a write-ahead log, which a copy has not.
_VERSIONS = slice(18, 20)
_JOURNAL = b"\1\1"

_MOST_TABLES = 1000
_MOST_COLUMNS = 200
# Characters of all cells. The worker's own limits hold besides.
_MOST_CHARS = 64_000_000
# Bytes of a value that SQLite makes while it reads.
_VALUE_BYTES = 100_000_000

# How the names of tables behind virtual ones end: those of full text, and those of R*Tree.
_BEHIND = (
    *("data", "idx", "docsize", "config", "segments", "segdir", "stat"),
    *("node", "parent", "rowid"),
)

# A name with a byte that is not UTF-8, or with a NUL, is an error of Python's.
_DAMAGES = (sqlite3.Error, UnicodeError, ValueError, OverflowError)

_COLUMNS = "table_xinfo"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_TABLES = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' ORDER BY rowid"


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text of all tables, then raise `InputError` if one cannot be read."""
    if not data.startswith(HEADER):
        raise InputError("is no SQLite database; it may be encrypted")
    text = SheetText()
    bad: list[str] = []
    with contextlib.closing(_open(data)) as database:
        try:
            tables = _name_tables(database.execute(_TABLES).fetchall())
        except _DAMAGES as failed:
            raise InputError(f"is a damaged SQLite database: {_reason(failed)}") from failed
        left = _MOST_CHARS
        cut = Cut()
        cut.keep_first(_MOST_TABLES, of=len(tables), kind="tables")
        for table in tables[:_MOST_TABLES]:
            try:
                left -= _add_table(text, database, table, most_chars=left, cut=cut)
            except _DAMAGES as failed:
                bad.append(f"{one_line(table)}: {_reason(failed)}")
    if not text.sheets:
        if bad:
            raise InputError(f"has damaged tables: {describe_unread(bad)}")
        raise NothingToRead("has no text")
    whole, marks = text.build()
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "sqlite", "sheets": text.sheets}
    metadata |= cut.metadata()
    if title := name_title(name):
        metadata["title_from"] = "name"
    yield Document(uri=name, text=whole, title=title, metadata=metadata, marks=marks)
    if bad:
        read_ = f"{text.sheets} other tables"
        raise InputError(f"has damaged tables: {describe_unread(bad, read=read_)}")


def _open(data: bytes) -> sqlite3.Connection:
    """Return a copy of a database in memory, of which tables can be read and nothing else."""
    database = sqlite3.connect(":memory:", cached_statements=0)
    if not hasattr(database, "deserialize"):
        database.close()
        raise InputError("is an SQLite database, which Python 3.11 or later can read; export it")
    copy = bytearray(data)
    copy[_VERSIONS] = _JOURNAL
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(_VALUE_BYTES, len(data)))
    database.deserialize(copy)
    database.text_factory = _text
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        database.execute(f"PRAGMA {pragma}")
    database.set_authorizer(_authorize)
    return database


def _authorize(action: int, name: str | None, *_: object) -> int:
    """Allow what reads tables and their columns; a function, even one of SQLite, is denied."""
    is_columns = action == sqlite3.SQLITE_PRAGMA and name == _COLUMNS
    return sqlite3.SQLITE_OK if action in _READING or is_columns else sqlite3.SQLITE_DENY


def _name_tables(found: Sequence[tuple[str, int]]) -> list[str]:
    """Return the tables that hold what people stored.

    Virtual tables have no page of their own. Of the tables behind those of full text, the one with
    the content is read.
    """
    behind = {f"{name}_{suffix}" for name, page in found if not page for suffix in _BEHIND}
    own = (name for name, page in found if page and not name.lower().startswith("sqlite_"))
    return [name for name in own if name not in behind]


def _add_table(
    text: SheetText, database: sqlite3.Connection, table: str, *, most_chars: int, cut: Cut
) -> int:
    """Add the rows of a table, and return how many characters they have."""
    # Those that are computed would call functions.
    columns = [
        row[1] for row in database.execute(f"PRAGMA {_COLUMNS}({_quote(table)})") if not row[6]
    ]
    cut.keep_first(_MOST_COLUMNS, of=len(columns), kind="columns")
    columns = columns[:_MOST_COLUMNS]
    selected = ", ".join(map(_quote, columns))
    rows: list[tuple[int, str]] = []
    chars = 0
    # An index that has all columns would be read instead, in its own order.
    found = database.execute(f"SELECT {selected} FROM {_quote(table)} NOT INDEXED")
    for number, row in enumerate(found, start=1):
        line = "\t".join(map(cut.cell, row)).rstrip()
        chars += len(line)
        if chars > most_chars:
            raise InputError(f"holds more than {_MOST_CHARS:,} characters; export what is of use")
        if line:
            rows.append((number, line))
    if rows:
        text.add_table(one_line(table) or "table", columns, rows)
    return chars


def _quote(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _reason(error: Exception) -> str:
    return one_line(str(error)).lower() or type(error).__name__
