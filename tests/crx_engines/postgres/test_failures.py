"""What a server refuses, or does not answer, is one line with the next step and an exit code."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from postgres_server import PORT, PostgresServer

import crx
from crx.errors import CrxError, Incompatible, NotAnIndex, SystemFailure, UsageError
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.postgres import migrations
from crx_engines.postgres.connection import Connection, parse_addresses


def run(url: str, *statements: str) -> None:
    connection = Connection(parse_addresses(url)[0])
    for statement in statements:
        connection.run_script(statement)
    connection.close()


def create(url: str) -> None:
    engine = open_engine(url)
    try:
        engine.create({"embedder": "hashed"})
    finally:
        engine.close()


def failure(url: str, expected: type[CrxError]) -> str:
    with pytest.raises(expected) as raised, crx.open(url) as index:
        index.search("anything")
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_a_wrong_password_is_said(server: PostgresServer, database: str) -> None:
    run(database, "CREATE ROLE locked_out LOGIN PASSWORD 'right'")
    hba = server.folder / "data" / "pg_hba.conf"
    rules = hba.read_text()
    hba.write_text(f"local all locked_out scram-sha-256\n{rules}")
    try:
        run(database, "SELECT pg_reload_conf()")
        url = database.replace("postgres@", "locked_out:wrong@")
        message = failure(url, UsageError)
        assert "password authentication failed" in message
        assert "wrong" not in message
        assert "PGPASSWORD" in message
    finally:
        hba.write_text(rules)
        run(database, "SELECT pg_reload_conf()")


def test_a_missing_database_is_said(server: PostgresServer) -> None:
    assert 'database "nowhere" does not exist' in failure(server.url("nowhere"), NotAnIndex)


def test_a_database_without_an_index_names_the_command(new_database: Callable[[], str]) -> None:
    assert '"crx copy INDEX' in failure(new_database(), NotAnIndex)


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    message = failure(f"postgresql://u@/d?host={tmp_path}", SystemFailure)
    assert "no connection" in message


@pytest.fixture
def silent_server() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def accept() -> None:
        try:
            while True:
                held.append(listener.accept()[0])
        except OSError:
            return

    thread = threading.Thread(target=accept)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for each in held:
        each.close()


def test_a_server_that_hangs_is_given_up(silent_server: int) -> None:
    url = f"postgresql://u@127.0.0.1:{silent_server}/d?timeout=0.2"
    message = failure(url, SystemFailure)
    assert "no answer within 0.2 s" in message
    assert "?timeout=SECONDS" in message


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("99", "version 99, and this crx knows 2; upgrade crx"),
        ("1", "version 1, which this crx does not read; drop the schema, or name another, and"),
    ],
)
def test_tables_of_another_version_are_refused(
    folder: Path, new_database: Callable[[], str], version: str, message: str
) -> None:
    url = new_database()
    one, other = open_engine(str(folder)), open_engine(url)
    other.create(one.settings())
    other.close()
    run(url, f"UPDATE crx.setting SET value = '{version}' WHERE name = '{migrations.VERSION}'")
    assert message in failure(url, Incompatible)
    with pytest.raises(Incompatible, match=message):
        copy_documents(one, other)
    one.close()
    other.close()


def test_an_old_server_is_refused(
    monkeypatch: pytest.MonkeyPatch, new_database: Callable[[], str]
) -> None:
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 990_000)
    with pytest.raises(Incompatible, match=r"PostgreSQL \d+ is too old; crx needs 99 or newer"):
        create(new_database())


def test_a_role_that_may_read_can_search_and_not_write(folder: Path, database: str) -> None:
    run(
        database,
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA crx TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA crx TO reader",
    )
    url = database.replace("postgres@", "reader@")
    with crx.open(url) as index:
        assert index.search("a server").hits
    source, target = open_engine(str(folder)), open_engine(url)
    with source.snapshot() as snapshot:
        document = snapshot.read("doc:zh0#part")
    assert document is not None
    with pytest.raises(UsageError, match=r"permission denied .*; ask for a role"):
        target.delete(["doc:zh0#part"])
    source.close()
    target.close()


def test_a_role_without_superuser_can_own_an_index(
    folder: Path, server: PostgresServer, new_database: Callable[[], str]
) -> None:
    url = new_database()
    name = parse_addresses(url)[0].database
    run(
        url,
        "CREATE EXTENSION vector",
        "CREATE ROLE owner LOGIN",
        f"GRANT CREATE ON DATABASE {name} TO owner",
    )
    source, target = open_engine(str(folder)), open_engine(server.url(name, user="owner"))
    assert copy_documents(source, target, where={"lang": "zh"}).copied == 2
    source.close()
    target.close()


def test_a_role_that_may_not_enable_pgvector_is_told_what_to_ask_for(
    server: PostgresServer, new_database: Callable[[], str]
) -> None:
    url = new_database()
    run(url, "DROP ROLE IF EXISTS nobody", "CREATE ROLE nobody LOGIN")
    name = parse_addresses(url)[0].database
    with pytest.raises(UsageError, match='have an administrator run "CREATE EXTENSION vector"'):
        create(server.url(name, user="nobody"))


def test_a_server_without_pgvector_is_said(
    server: PostgresServer, new_database: Callable[[], str]
) -> None:
    control = next(server.programs.parent.glob("share/**/vector.control"))
    hidden = control.with_suffix(".hidden")
    control.rename(hidden)
    try:
        with pytest.raises(UsageError, match="has no pgvector; install it there"):
            create(new_database())
    finally:
        hidden.rename(control)


def test_an_embedder_that_changed_is_refused(folder: Path, new_database: Callable[[], str]) -> None:
    url = new_database()
    source, target = open_engine(str(folder)), open_engine(url)
    target.create({**source.settings(), "embedder_fingerprint": "hashed of another time"})
    source.close()
    target.close()
    assert "built with the embedder hashed of another time" in failure(url, Incompatible)


def test_what_needs_a_folder_is_refused(database: str) -> None:
    with crx.open(database) as index:
        for call in (index.gc, index.refresh, lambda: index.remove("doc:a"), lambda: index.store):
            with pytest.raises(UsageError, match=r'needs an index folder; .* "crx copy"'):
                call()


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        ("postgresql://u:secret@h:port/d", "not a URL of a database"),
        ("postgresql://u:secret@h/d?shema=x", "no such parameter: shema"),
        ("postgresql://h/d?schema=Robert'); --", "not a name of a schema"),
        ("postgresql://h/d?timeout=soon", "not a number of seconds"),
        ("postgresql://h/d?timeout=-1", "not a number of seconds"),
        ("postgresql://h/d?timeout=nan", "not a number of seconds"),
        ("postgresql://h/d?sslmode=maybe", "no such mode"),
    ],
)
def test_a_url_that_is_not_valid_is_refused(url: str, fact: str) -> None:
    message = failure(url, UsageError)
    assert fact in message
    assert "secret" not in message


def test_a_url_takes_what_it_lacks_from_the_environment() -> None:
    environ = {"PGHOST": "db", "PGPORT": "6000", "PGUSER": "ann", "PGPASSWORD": "p"}
    address = parse_addresses("postgresql:///notes", environ=environ)[0]
    assert (address.host, address.port, address.user, address.password) == ("db", 6000, "ann", "p")
    assert address.name == "postgresql://ann@db:6000/notes"
    assert PORT == 5432
