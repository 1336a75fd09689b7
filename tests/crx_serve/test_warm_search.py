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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Crx, Done, process, run_terminal
from served import Client

import crx
from crx._cli import run, search
from crx._index import socket_paths
from crx_serve import local_socket, search_client
from crx_serve.app import create_app
from crx_serve.local_query import SEARCH_PATH
from crx_serve.local_search import local_search_extension
from crx_serve.local_socket import is_answered, local_sockets
from crx_serve.served_index import ServedIndex
from crx_serve.server import make_server
from crx_serve.service import SearchService

Warm = Callable[..., Done | None]

ROOT = str(Path(crx.__file__).parent.parent)

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


@pytest.fixture
def warm(capsys: pytest.CaptureFixture[str]) -> Warm:
    """Has a server answer commands; None where none does."""

    class Unserved(BaseException):
        """The command would search by itself."""

    def search_here(*_: object) -> None:
        raise Unserved

    def ask(*arguments: object) -> Done | None:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "search_here", search_here)
            try:
                code = run([str(each) for each in arguments])
            except Unserved:
                assert capsys.readouterr().out == ""
                return None
        return Done(code, *capsys.readouterr())

    return ask


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


@contextmanager
def serving(index: Path) -> Iterator[None]:
    """Serve the command line in a thread of this process."""
    service = SearchService([ServedIndex("sea", index)])
    searches = local_search_extension(service)
    server = make_server(create_app(service, extensions=[searches]))
    with local_sockets([index]) as (sockets, _):
        thread = threading.Thread(target=server.run, args=(sockets,))
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()
            service.close()


def place_of(index: Path) -> str:
    return next(socket_paths.socket_paths(index))


def without_times(text: str) -> object:
    return {**json.loads(text), "timings_ms": {}}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--explain",),
        ("--full",),
        ("--window", "0"),
        ("--leg", "bm25"),
        ("--where", "path=whales.md"),
        ("--where", "year=2020"),
        ("--more", "-n", "1"),
        ("--format", "vimgrep"),
    ],
)
def test_a_server_and_the_command_print_the_same(
    options: tuple[str, ...],
    sea: Path,
    crx_here: Crx,
    warm: Warm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(sea.parent)
    with serving(sea):
        for columns in ("40", "200"):
            monkeypatch.setenv("COLUMNS", columns)
            asked = ("search", "whales", "krill", "--index", sea.name, *options)
            assert warm(*asked) == crx_here(*asked)


def test_a_server_prints_the_same_json(sea: Path, crx_here: Crx, warm: Warm) -> None:
    asked = ("search", "krill", f"--index={sea}", "--json")
    with serving(sea):
        answered = warm(*asked)
    assert answered is not None
    assert without_times(answered.out) == without_times(crx_here(*asked).out)


def test_a_server_finds_the_nearest_index(
    sea: Path, warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    place = sea.rename(tmp_path / ".crx")
    monkeypatch.chdir(tmp_path / "deep" / "er")
    with serving(place):
        found = warm("search", "krill")
    assert found is not None
    assert found.out.startswith(f"1. {tmp_path}/whales.md:")


def test_a_server_prints_for_a_terminal_as_the_command_does(sea: Path) -> None:
    asked = ("search", "whales", "krill", "--index", sea)
    entry = "from crx.__main__ import main; main()"
    with serving(sea):
        by_server = run_terminal(*asked, code=entry, columns=50)
    assert by_server == run_terminal(*asked, columns=50)
    assert "\x1b[1m" in by_server[1]


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "0"),
        ("--set", "k=3"),
        ("--no-server",),
    ],
)
def test_a_server_leaves_to_the_command_what_it_would_not_do_the_same(
    options: tuple[str, ...], sea: Path, warm: Warm
) -> None:
    with serving(sea):
        assert warm("search", "krill", "--index", sea, *options) is None


def test_a_server_answers_whatever_a_new_index_would_be_made_with(sea: Path, warm: Warm) -> None:
    asked = ("search", "krill", "--index", sea)
    with serving(sea), pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRX_EMBEDDER", "minilm")
        assert warm(*asked) is not None
        assert warm(*asked, "--set", "embedder=hashed") is not None
        assert warm(*asked, "--set", "embedder=minilm") is None


def test_a_search_of_another_environment_is_not_the_servers(sea: Path, warm: Warm) -> None:
    asked = ("search", "krill", "--index", sea)
    with served(sea):
        for variable in ("CRX_K", "CRX_OFFLINE", "HOME"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(variable, "3")
                assert warm(*asked) is None
        assert warm(*asked) is not None


def test_the_environment_is_not_sent_to_a_server(
    sea: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []

    def keep(path: str, body: bytes) -> tuple[int, bytes]:
        sent.append(body)
        raise OSError

    monkeypatch.setattr(search_client, "_post", keep)
    monkeypatch.setenv("CRX_TOKEN", "a secret")
    monkeypatch.setenv("CRX_OPENAI_API_KEY", "a secret")
    with local_sockets([sea]):
        assert warm("search", "krill", "--index", sea) is None
    (body,) = sent
    assert json.loads(body)["query"]["query"] == "krill"
    assert b"a secret" not in body


UNWANTED = {
    "crx._index.handle", "crx._index.reader", "crx.registry", "crx.retrieve.search", "numpy",
    "onnxruntime", "rich", "starlette", "uvicorn",
}  # fmt: skip


def test_a_search_by_a_server_imports_little(sea: Path) -> None:
    code = (
        "import atexit, sys; before = set(sys.modules);"
        "atexit.register(lambda: print(*sys.modules.keys() - before));"
        "from crx.__main__ import main; main()"
    )
    words = [sys.executable, "-c", code, "search", "krill", "--index", str(sea)]
    with serving(sea):
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": ROOT},
        )
    *printed, imported = done.stdout.splitlines()
    assert "krill" in " ".join(printed)
    assert set(imported.split()) & UNWANTED == set()


def test_a_search_of_another_index_is_not_the_servers(
    sea: Path, kitchen: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two indexes whose sockets have the same name by chance.
    monkeypatch.setattr(socket_paths, "crc32", lambda _: 1)
    with serving(sea):
        assert warm("search", "bread", "--index", kitchen) is None
        assert warm("search", "whales", "--index", sea) is not None


def test_a_socket_that_nobody_answers_is_ignored_and_replaced(sea: Path, warm: Warm) -> None:
    place = place_of(sea)
    assert socket_paths.make_folder(place)
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(place)
    assert warm("search", "whales", "--index", sea) is None
    with serving(sea):
        assert is_answered(place)
    assert not os.path.exists(place)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"x"])
def test_a_server_that_breaks_off_is_not_relied_on(answer: bytes, sea: Path, warm: Warm) -> None:
    with local_sockets([sea]) as ((listening,), _):

        def break_off() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=break_off)
        thread.start()
        assert warm("search", "whales", "--index", sea) is None
        thread.join()


def test_a_search_that_waits_for_a_server_is_interrupted_as_any_other(
    sea: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(place: str, body: bytes) -> tuple[int, bytes]:
        raise KeyboardInterrupt

    monkeypatch.setattr(search_client, "_post", interrupt)
    with local_sockets([sea]):
        done = warm("search", "whales", "--index", sea)
    assert done == Done(130, "", "crx: interrupted; the same command resumes\n")


def test_the_socket_is_the_users_alone(sea: Path) -> None:
    with serving(sea):
        place = place_of(sea)
        assert os.stat(place).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_to_is_not_used(sea: Path, runtime: Path) -> None:
    (runtime / "crx").mkdir(parents=True)
    (runtime / "crx").chmod(0o777)
    with local_sockets([sea]) as ((listening,), _):
        assert not listening.getsockname().startswith(str(runtime))


def test_a_path_that_is_too_long_for_a_socket_is_not_tried() -> None:
    environ = {"XDG_RUNTIME_DIR": f"/run/{'x' * 100}", "TMPDIR": "/var/tmp"}
    places = list(socket_paths.socket_paths("/notes", environ=environ))
    assert [os.path.dirname(os.path.dirname(each)) for each in places] == ["/var/tmp", "/tmp"]


def test_the_second_server_of_an_index_answers_http_alone(sea: Path) -> None:
    with serving(sea):
        words = process("serve", "--port", 0, sea)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as second:
            assert second.stderr is not None
            port = int(second.stderr.readline().rpartition(":")[2])
            note = second.stderr.readline()
            assert Client(port).get("/health").status == 200
            second.send_signal(signal.SIGTERM)
            second.communicate(timeout=60)
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
        assert client.post(SEARCH_PATH, {}).status == 404
        run.kill()


def test_a_server_sees_what_another_process_commits(sea: Path, warm: Warm) -> None:
    with serving(sea):
        with crx.open(sea) as index:
            index.add_documents([crx.Document("mem:1", "Seals eat squid.")])
        found = warm("search", "squid", "--index", sea)
    assert found is not None
    assert "mem:1" in found.out
