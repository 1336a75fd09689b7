"""What Milvus refuses, or does not answer, is one line with the next step and an exit code."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from milvus_lite_server import MilvusProcess, require_milvus_lite

import crx
from crx.errors import CrxError, Incompatible, Locked, NotAnIndex, SystemFailure, UsageError
from crx_engines.engine.protocol import StoredDocument
from crx_engines.folder.copy import copy_documents, open_engine
from crx_engines.milvus import committed_state
from crx_engines.milvus.committed_state import SETTING, VERSION_SETTING, state_row
from crx_engines.milvus.milvus_address import parse_milvus_address
from crx_engines.milvus.milvus_collections import STATE
from crx_engines.milvus.milvus_connection import MilvusConnection


def failure(url: str, expected: type[CrxError]) -> str:
    with pytest.raises(expected) as raised, crx.open(url) as index:
        index.search("anything")
    message = str(raised.value)
    assert "\n" not in message
    return message


def fail(*_: object) -> None:
    raise KeyboardInterrupt


def one_document(folder: Path) -> StoredDocument:
    source = open_engine(str(folder))
    with source.snapshot() as snapshot:
        document = snapshot.read("doc:zh0#part")
    source.close()
    assert document is not None
    return document


@pytest.mark.parametrize(
    ("package", "url"), [("pymilvus", "milvus://h"), ("milvus_lite", "milvus-lite:notes.db")]
)
def test_a_missing_package_is_named_with_its_extra(
    package: str, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if package == "milvus_lite":
        require_milvus_lite()
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "notes.db").mkdir()
    monkeypatch.chdir(tmp_path)
    assert 'is not installed; pip install "crx[milvus]"' in failure(url, UsageError)


class TestLite:
    """Milvus Lite, which is a folder."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        require_milvus_lite()

    def test_a_folder_that_is_not_there_is_not_made_by_a_search(self, tmp_path: Path) -> None:
        assert '"crx copy INDEX' in failure(f"milvus-lite:{tmp_path}/none.db", NotAnIndex)
        assert list(tmp_path.iterdir()) == []

    def test_a_path_that_cannot_be_one_is_refused(self, tmp_path: Path, folder: Path) -> None:
        (tmp_path / "old.db").write_bytes(b"SQLite format 3")
        assert "a file, and Milvus Lite 3 keeps a folder" in failure(
            f"milvus-lite:{tmp_path}/old.db", UsageError
        )
        assert "a folder of something else" in failure(f"milvus-lite:{folder}", UsageError)
        engine = open_engine(f"milvus-lite:{tmp_path}/a/b.db")
        with pytest.raises(UsageError, match=r"there is no folder .*a; make it first"):
            engine.create({})

    def test_a_folder_that_another_process_has_open_is_locked(self, lite: str) -> None:
        with open(Path(lite.removeprefix("milvus-lite:")) / "LOCK", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "another process has it open" in failure(lite, Locked)

    def test_a_process_that_closes_nothing_ends(self, lite: str) -> None:
        program = "import crx, sys; print(len(crx.open(sys.argv[1]).search('an index').hits))"
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program, lite],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert int(done.stdout) > 0

    def test_an_embedder_that_changed_is_refused(
        self, folder: Path, new_lite: Callable[[], str]
    ) -> None:
        url = new_lite()
        source, target = open_engine(str(folder)), open_engine(url)
        target.create({**source.settings(), "embedder_fingerprint": "hashed of another time"})
        assert "built with the embedder hashed of another time" in failure(url, Incompatible)
        with pytest.raises(Incompatible, match="built with embedder_fingerprint = hashed of an"):
            copy_documents(source, target)
        source.close()
        target.close()

    def test_collections_of_another_version_are_refused(
        self, folder: Path, new_lite: Callable[[], str]
    ) -> None:
        url = new_lite()
        source, target = open_engine(str(folder)), open_engine(url)
        target.create(source.settings())
        connection = MilvusConnection(parse_milvus_address(url))
        body = orjson.dumps([VERSION_SETTING, "99"]).decode()
        connection.insert(STATE, [state_row(SETTING, "v", number=1, body=body)])
        connection.close()
        assert f"version 99, and this crx knows {committed_state.VERSION}" in failure(
            url, Incompatible
        )
        with pytest.raises(Incompatible, match="version 99"):
            copy_documents(source, target)
        source.close()
        target.close()

    def test_an_index_that_was_not_finished_is_none(
        self, folder: Path, new_lite: Callable[[], str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = new_lite()
        source, target = open_engine(str(folder)), open_engine(url)
        with monkeypatch.context() as patch:
            patch.setattr(MilvusConnection, "_index", fail)
            with pytest.raises(KeyboardInterrupt):
                target.create(source.settings())
        with monkeypatch.context() as patch:
            patch.setattr("crx_engines.milvus.milvus_engine.VERSION_SETTING", "engine_other")
            target.create(source.settings())
        connection = MilvusConnection(parse_milvus_address(url))
        assert connection.index_type(STATE, "unused") == "FLAT"
        connection.close()
        assert '"crx copy INDEX' in failure(url, NotAnIndex)
        assert copy_documents(source, target, where={"lang": "zh"}).copied == 2
        source.close()
        target.close()

    @pytest.mark.parametrize(
        ("field", "text", "fact"),
        [
            ("uri", "x" * 70_000, "its URI has more than the 65,535 bytes"),
            ("title", "é" * 40_000, "its title has more than"),
            ("metadata", '{"a":"%s"}' % ("x" * 70_000), "its metadata has more than"),
            ("metadata", orjson.dumps({"a": list(range(5000))}).decode(), "4,096 values"),
        ],
    )
    def test_what_does_not_fit_into_a_field_is_refused_and_leaves_nothing(
        self, folder: Path, new_lite: Callable[[], str], field: str, text: str, fact: str
    ) -> None:
        document = one_document(folder)
        source, target = open_engine(str(folder)), open_engine(new_lite())
        target.create(source.settings())
        changed: dict[str, Any] = {"uri": "other", field: text}
        with pytest.raises(UsageError, match=fact):
            target.upsert([document, replace(document, **changed)])
        with target.snapshot() as snapshot:
            assert snapshot.digests(where=None) == {}
        assert target.upsert([document]) == 1
        source.close()
        target.close()

    def test_what_needs_a_folder_is_refused(self, lite: str) -> None:
        with crx.open(lite) as index:
            for call in (index.gc, index.refresh, lambda: index.remove("doc:a")):
                with pytest.raises(UsageError, match=r'needs an index folder; .* "crx copy"'):
                    call()


class TestServer:
    """A server, on a port of this machine."""

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        require_milvus_lite()

    def test_a_server_that_is_not_there_is_said(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        message = failure(f"milvus://u:secret@127.0.0.1:{port}", SystemFailure)
        assert "check that the server runs" in message
        assert "secret" not in message

    def test_a_server_without_an_index_names_the_command(self, milvus: MilvusProcess) -> None:
        assert '"crx copy INDEX' in failure(milvus.url("empty"), NotAnIndex)

    def test_a_server_that_hangs_is_given_up(self, folder: Path, milvus: MilvusProcess) -> None:
        url = milvus.url("hangs")
        source, engine = open_engine(str(folder)), open_engine(url)
        engine.create(source.settings())
        engine.close()
        source.close()
        impatient = open_engine(milvus.url("hangs", timeout_s=5))
        impatient.settings()
        with stopped(milvus):
            for used in (impatient, open_engine(milvus.url("hangs", timeout_s=1))):
                with pytest.raises(SystemFailure, match=r"no answer within . s; .*timeout=SECONDS"):
                    used.settings()
        impatient.close()

    def test_a_server_that_ends_is_said(self, folder: Path, milvus: MilvusProcess) -> None:
        url = milvus.url("ends", timeout_s=2)
        source, engine = open_engine(str(folder)), open_engine(milvus.url("ends"))
        engine.create(source.settings())
        engine.close()
        source.close()
        impatient = open_engine(url)
        impatient.settings()
        milvus.kill()
        try:
            with pytest.raises(SystemFailure, match=r"no connection|no answer"):
                impatient.settings()
        finally:
            milvus.start()
        impatient.close()

    def test_a_login_that_is_refused_is_said_without_the_password(self) -> None:
        with refusing_server() as port:
            message = failure(f"milvus://ann:secret@127.0.0.1:{port}?timeout=5", UsageError)
        assert "the server refuses the login" in message
        assert "MILVUS_TOKEN" in message
        assert "secret" not in message


@contextmanager
def stopped(server: MilvusProcess) -> Iterator[None]:
    """Stop the process of a server for the body."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


@contextmanager
def refusing_server() -> Iterator[int]:
    """Run a server that answers each request as Milvus does that of an unknown user."""
    import grpc

    class Refusal(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: object, details: object) -> object:
            def refuse(request: object, context: object) -> None:
                context.abort(  # type: ignore[attr-defined]
                    grpc.StatusCode.UNAUTHENTICATED,
                    "auth check failure, please check username and password are correct",
                )

            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(2), interceptors=[Refusal()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
