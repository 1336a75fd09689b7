"""A server, and one index in a folder and in a database."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus_of_engines import make_folder
from milvus_lite_server import MilvusProcess, require_milvus_lite, running_milvus
from postgres_server import PostgresServer, running_server, url_of_all

from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.postgres.connection import Connection, parse_addresses


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """One server for all tests."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def servers(server: PostgresServer) -> Iterator[tuple[PostgresServer, ...]]:
    """Three servers for all tests, of which the first is `server`."""
    with running_server(like=server) as second, running_server(like=server) as third:
        yield server, second, third


@pytest.fixture(scope="session")
def new_database(server: PostgresServer) -> Callable[[], str]:
    """What makes an empty database and returns its URL."""
    numbers = itertools.count()

    def create() -> str:
        name = f"test_{next(numbers)}"
        create_database(server, name)
        return server.url(name)

    return create


@pytest.fixture(scope="session")
def new_cluster(servers: tuple[PostgresServer, ...]) -> Callable[[], str]:
    """What makes an empty database on each of three servers and returns the URL of all."""
    numbers = itertools.count()

    def create() -> str:
        name = f"cluster_{next(numbers)}"
        for server in servers:
            create_database(server, name)
        return url_of_all(servers, name)

    return create


def create_database(server: PostgresServer, name: str) -> None:
    connection = Connection(parse_addresses(server.url("postgres"))[0])
    connection.run_script(f"CREATE DATABASE {name}")
    connection.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder of documents in English and Chinese."""
    return make_folder(tmp_path_factory.mktemp("engines") / "notes.crx")


@pytest.fixture(scope="session")
def database(folder: Path, new_database: Callable[[], str]) -> str:
    """A database with a copy of the folder."""
    return copy_of(folder, new_database())


@pytest.fixture(scope="session")
def cluster(folder: Path, new_cluster: Callable[[], str]) -> str:
    """Three servers with a copy of the folder."""
    return copy_of(folder, new_cluster())


@pytest.fixture(scope="session")
def new_lite(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """What returns the URL of a folder of Milvus Lite that is yet to be made."""
    require_milvus_lite()
    numbers = itertools.count()
    folder = tmp_path_factory.mktemp("milvus")
    return lambda: f"milvus-lite:{folder}/{next(numbers)}.db"


@pytest.fixture(scope="session")
def lite(folder: Path, new_lite: Callable[[], str]) -> str:
    """Milvus Lite with a copy of the folder."""
    return copy_of(folder, new_lite())


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusProcess]:
    """A server of Milvus Lite, in a process of its own."""
    with running_milvus(tmp_path_factory.mktemp("server")) as server:
        yield server


def copy_of(folder: Path, url: str) -> str:
    source, target = open_engine(str(folder)), open_engine(url)
    copy_documents(source, target)
    source.close()
    target.close()
    return url
