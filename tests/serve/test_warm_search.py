"""`crx search` through a running server: the same answer, or its own where there is none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Crx, process
from served import Client

import crx
from crx.serve import local_search, local_socket, socket_places
from crx.serve.app import create_app
from crx.serve.local_socket import is_answered, local_sockets
from crx.serve.served_index import ServedIndex
from crx.serve.server import make_server
from crx.serve.service import SearchService

pytestmark = pytest.mark.skipif(not local_socket.AVAILABLE, reason="no Unix sockets here")


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder for sockets, which only this test uses."""
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"crx-test-{os.getpid()}-{id(tmp_path)}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def crx_here(capsys: pytest.CaptureFixture[str]) -> Crx:
    """Runs commands in this process."""
    return Crx(capsys)


@contextmanager
def served(*indexes: Path, options: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Run a server; yield its process once it listens."""
    words = process("serve", "--port", 0, *indexes, *options)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert run.stderr is not None
            assert "serving" in run.stderr.readline()
            yield run
        finally:
            run.send_signal(signal.SIGTERM)
            run.communicate()


def place_of(index: Path) -> str:
    return next(socket_places.socket_places(index))


def without_times(text: str) -> object:
    return {**json.loads(text), "timings_ms": {}}


def test_a_server_and_the_command_print_the_same(sea: Path, crx_here: Crx) -> None:
    with served(sea):
        for options in ((), ("--explain",), ("--full",), ("--window", "0"), ("--leg", "bm25")):
            asked = ("search", "whales krill", "--index", sea, *options)
            assert crx_here(*asked) == crx_here(*asked, "--no-server")
        asked = ("search", "krill", "--index", sea, "--json")
        warm, cold = crx_here(*asked), crx_here(*asked, "--no-server")
        assert without_times(warm.out) == without_times(cold.out)
        refused = ("search", "krill", "--index", sea, "--where", "year~3")
        assert crx_here(*refused) == crx_here(*refused, "--no-server")


def test_a_search_by_a_server_loads_neither_numpy_nor_a_model(sea: Path) -> None:
    code = (
        "import sys; from crx.cli import run; code = run(sys.argv[1:]);"
        "print(*sorted({'numpy', 'crx.index', 'msgspec', 'starlette'} & sys.modules.keys()));"
        "sys.exit(code)"
    )
    words = [sys.executable, "-c", code, "search", "krill", "--index", str(sea)]
    with served(sea):
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
    assert "krill" in done.stdout


def test_a_search_with_other_settings_is_not_the_servers(sea: Path, crx_here: Crx) -> None:
    with crx.open(sea) as index:
        index.add_documents([crx.Document("mem:1", "Whales sleep.")])
    with served(sea, options=("--set", "k=1")):
        many = crx_here("search", "whales", "--index", sea, "--json", "--window", "0")
        assert len(json.loads(many.out)["passages"]) == 2
        few = crx_here("search", "whales", "--index", sea, "--json", "--set", "k=1")
        assert len(json.loads(few.out)["passages"]) == 1


def test_a_search_of_another_index_is_not_the_servers(
    sea: Path, kitchen: Path, crx_here: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two indexes whose sockets have the same name by chance.
    monkeypatch.setattr(socket_places, "crc32", lambda _: 1)
    with local_sockets([sea]) as (sockets, _), serving_sockets(sea, sockets):
        assert "Bread" in crx_here("search", "bread", "--index", kitchen).out
        assert "Whales" in crx_here("search", "whales", "--index", sea).out


@contextmanager
def serving_sockets(index: Path, sockets: list[socket.socket]) -> Iterator[None]:
    service = SearchService([ServedIndex("sea", index)])
    server = make_server(create_app(service))
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    yield
    server.should_exit = True
    thread.join()
    service.close()


def test_a_socket_that_nobody_answers_is_ignored_and_replaced(sea: Path, crx_here: Crx) -> None:
    place = place_of(sea)
    assert socket_places.make_folder(place)
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(place)
    assert "Whales" in crx_here("search", "whales", "--index", sea).out
    with served(sea):
        assert is_answered(place)
    assert not os.path.exists(place)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"x"])
def test_a_server_that_breaks_off_is_not_relied_on(answer: bytes, sea: Path, crx_here: Crx) -> None:
    with local_sockets([sea]) as ((listening,), _):

        def break_off() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=break_off)
        thread.start()
        assert "Whales" in crx_here("search", "whales", "--index", sea).out
        thread.join()


def test_the_socket_is_the_users_alone(sea: Path) -> None:
    with served(sea):
        place = place_of(sea)
        assert os.stat(place).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used(
    sea: Path, runtime: Path, crx_here: Crx
) -> None:
    (runtime / "crx").mkdir(parents=True)
    (runtime / "crx").chmod(0o777)
    with local_sockets([sea]) as ((listening,), _):
        assert not listening.getsockname().startswith(str(runtime))


def test_a_path_that_is_too_long_for_a_socket_is_not_tried() -> None:
    environ = {"XDG_RUNTIME_DIR": f"/run/{'x' * 100}", "TMPDIR": "/var/tmp"}
    places = list(socket_places.socket_places("/notes", environ=environ))
    assert [os.path.dirname(os.path.dirname(each)) for each in places] == ["/var/tmp", "/tmp"]


def test_the_second_server_of_an_index_answers_http_alone(sea: Path, crx_here: Crx) -> None:
    with served(sea):
        words = process("serve", "--port", 0, sea)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as second:
            assert second.stderr is not None
            port = int(second.stderr.readline().rpartition(":")[2])
            note = second.stderr.readline()
            assert Client(port).get("/health").status == 200
            second.send_signal(signal.SIGTERM)
        assert (second.returncode, note) == (
            0,
            f"crx: {sea}: another server answers the command line; this one HTTP alone\n",
        )
        assert is_answered(place_of(sea))


def test_a_search_of_the_command_line_is_refused_over_http(sea: Path) -> None:
    words = process("serve", "--port", 0, sea)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        client = Client(int(run.stderr.readline().rpartition(":")[2]))
        assert client.post(f"{local_search.LOCAL_PREFIX}search", {}).status == 404
        run.kill()


def test_a_server_sees_what_another_process_commits(sea: Path, crx_here: Crx) -> None:
    with served(sea):
        with crx.open(sea) as index:
            index.add_documents([crx.Document("mem:1", "Seals eat squid.")])
        assert "mem:1" in crx_here("search", "squid", "--index", sea).out
