"""Several servers: one that is down is named, and nothing is lost or there twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from postgres_server import UNPRIVILEGED, PostgresServer, url_of_all

import crx
from crx.errors import Incompatible, NoRoom, SystemFailure, UsageError
from crx_engines.engine.protocol import CollectionStatistics
from crx_engines.folder.copy import CopyProgress, copy_documents, open_engine
from crx_engines.postgres.connection import Connection, parse_addresses

Servers = tuple[PostgresServer, ...]


@contextmanager
def killed(server: PostgresServer) -> Iterator[None]:
    """Kill a server for the body, and start it again."""
    server.stop("immediate")
    try:
        yield
    finally:
        server.start()


def documents_on_each(servers: Servers, url: str) -> list[Counter[str]]:
    """Return how often each server holds each document."""
    database = parse_addresses(url)[0].database
    counts = []
    for server in servers:
        connection = Connection(parse_addresses(server.url(database))[0])
        counts.append(Counter(uri for (uri,) in connection.run("SELECT uri FROM document")))
        connection.close()
    return counts


def read_all(name: str) -> tuple[dict[str, bytes], CollectionStatistics]:
    """Return the digests of the documents as they are read back, and the statistics."""
    engine = open_engine(name)
    with engine.snapshot() as snapshot:
        documents = [snapshot.read(uri) for uri in snapshot.digests(where=None)]
        stats = snapshot.stats()
    engine.close()
    return {each.uri: each.digest() for each in documents if each}, stats


def test_each_document_is_on_one_server(folder: Path, cluster: str, servers: Servers) -> None:
    counts = documents_on_each(servers, cluster)
    assert all(counts)
    assert sum(counts, Counter()) == Counter(dict.fromkeys(read_all(str(folder))[0], 1))


def test_a_search_without_one_server_fails_and_names_it(cluster: str, servers: Servers) -> None:
    with crx.open(cluster) as index:
        before = index.search("what is an index", k=20)
        with killed(servers[2]), pytest.raises(SystemFailure, match=f"{servers[2].sockets}.*: no"):
            index.search("what is an index")
        after = index.search("what is an index", k=20)
    assert after.hits == before.hits


def test_a_search_may_go_on_without_one_server_and_says_so(cluster: str, servers: Servers) -> None:
    with crx.open(f"{cluster}&missing=skip") as index:
        whole = index.search("what is an index", k=20)
        with killed(servers[1]):
            partial = index.search("what is an index", k=20)
            with crx.open(f"{cluster}&missing=skip") as another:
                assert another.search("what is an index", k=20).hits == partial.hits
        again = index.search("what is an index", k=20)
    assert whole.notes == again.notes == ()
    assert again.hits == whole.hits
    (note,) = partial.notes
    assert str(servers[1].sockets) in note
    assert note.endswith("its documents are not in this answer")
    lost = documents_on_each(servers, cluster)[1]
    assert partial.hits
    assert not lost.keys() & {hit.uri for hit in partial.hits}
    assert lost.keys() & {hit.uri for hit in whole.hits}


def test_a_copy_needs_every_server(cluster: str, servers: Servers, tmp_path: Path) -> None:
    source, target = open_engine(f"{cluster}&missing=skip"), open_engine(str(tmp_path / "i.crx"))
    with killed(servers[0]), pytest.raises(SystemFailure, match="a copy needs every server"):
        copy_documents(source, target)
    source.close()
    target.close()


def test_writes_go_on_after_a_server_was_killed_and_put_nothing_twice(
    folder: Path, new_cluster: Callable[[], str], servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_cluster()
    source, target = open_engine(str(folder)), open_engine(url)
    monkeypatch.setattr("crx_engines.folder.copy._BATCH", 1)

    def kill(progress: CopyProgress) -> None:
        if progress.done == 5:
            servers[1].stop("immediate")

    try:
        with pytest.raises(SystemFailure, match=str(servers[1].sockets)):
            copy_documents(source, target, on_progress=kill)
    finally:
        servers[1].start()
    left = copy_documents(source, target).copied
    assert 0 < left < len(read_all(str(folder))[0])
    assert copy_documents(source, target).copied == 0
    source.close()
    target.close()
    (expected, stats), (found, sums) = read_all(str(folder)), read_all(url)
    assert found == expected
    assert (sums.chunks, sums.vectors, sums.lengths) == (stats.chunks, stats.vectors, stats.lengths)
    assert set(sum(documents_on_each(servers, url), Counter()).values()) == {1}


@pytest.mark.parametrize("order", [(0, 2, 1), (0,), (1, 0)])
def test_servers_that_are_not_named_as_they_were_are_refused(
    cluster: str, servers: Servers, order: tuple[int, ...]
) -> None:
    database = parse_addresses(cluster)[0].database
    url = url_of_all([servers[at] for at in order], database)
    with pytest.raises(Incompatible, match=r"holds part \d of 3 .*; name all its servers"):
        crx.open(url, create=False)
    engine = open_engine(url)
    with pytest.raises(Incompatible, match="name all its servers"):
        engine.create({})
    engine.close()


def test_parts_of_two_indexes_are_not_mixed(new_cluster: Callable[[], str]) -> None:
    url = new_cluster()
    database = parse_addresses(url)[0].database
    for at, address in enumerate(parse_addresses(url)):
        shard = open_engine(f"postgresql://postgres@/{database}?host={address.host}&timeout=600")
        shard.create({"embedder": f"hashed:{at}"})
        shard.close()
        connection = Connection(address)
        part = f"{at + 1} of 3"
        connection.run("UPDATE setting SET value = :part WHERE name = 'engine_shard'", part=part)
        connection.close()
    with pytest.raises(Incompatible, match="parts of different indexes"):
        crx.open(url, create=False)


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        ("postgresql://u@a,b,a/d", "names a server twice"),
        ("postgresql://u@a,,b/d", "a host is empty"),
        ("postgresql://u@a,b/d?missing=perhaps", "missing=perhaps: no such choice"),
        ("postgresql://u:secret@a:1,b:x/d", "not a URL of a database"),
    ],
)
def test_a_url_of_several_servers_that_is_not_valid_is_refused(url: str, fact: str) -> None:
    with pytest.raises(UsageError) as raised:
        open_engine(url)
    assert fact in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_url_names_several_servers() -> None:
    url = "postgresql://ann:p%40@a:6000,b,[::1]:7000/notes?schema=x&missing=skip"
    servers = parse_addresses(url, environ={"PGPORT": "5433"})
    assert [(s.host, s.port) for s in servers] == [("a", 6000), ("b", 5433), ("::1", 7000)]
    assert {(s.user, s.password, s.schema, s.skips_missing) for s in servers} == {
        ("ann", "p@", "x", True)
    }
    engine = open_engine(url.replace(",b,", ",b:5433,"))
    assert engine.name == "postgresql://ann@a:6000,b:5433,[::1]:7000/notes?schema=x&missing=skip"
    engine.close()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 32 MB, with a folder that is the server's."""
    with tempfile.TemporaryDirectory(prefix="crx-disk-") as place:
        command = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", place]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("may not mount a file system here; needs root")
        try:
            os.chmod(place, 0o755)
            tables = Path(place) / "tables"
            tables.mkdir()
            os.chown(tables, UNPRIVILEGED, UNPRIVILEGED)
            yield tables
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_of_one_server_is_said_and_the_copy_goes_on_later(
    folder: Path, new_cluster: Callable[[], str], servers: Servers, small_disk: Path
) -> None:
    url = new_cluster()
    database = parse_addresses(url)[0].database
    connection = Connection(parse_addresses(servers[1].url("postgres"))[0])
    connection.run_script(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
    connection.run_script(f"ALTER DATABASE {database} SET TABLESPACE small")
    source, target = open_engine(str(folder)), open_engine(url)
    target.create(source.settings())
    filler = small_disk.parent / "filler"
    filler.write_bytes(b"-" * (shutil.disk_usage(small_disk).free - (64 << 10)))
    with pytest.raises(NoRoom, match=f"{servers[1].sockets}.*; free space"):
        copy_documents(source, target)
    filler.unlink()
    assert copy_documents(source, target).copied > 0
    assert copy_documents(source, target).copied == 0
    source.close()
    target.close()
    assert read_all(url)[0] == read_all(str(folder))[0]
    assert set(sum(documents_on_each(servers, url), Counter()).values()) == {1}
    connection.run_script(f"DROP DATABASE {database}")
    connection.run_script("DROP TABLESPACE small")
    connection.close()
