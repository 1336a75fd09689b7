"""One index used by several threads, processes and copies at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import crx
from crx import _native
from crx._cli import run
from crx._index.seal_key import seal_key
from crx._index.writer import Writer
from crx.errors import Damaged, Incompatible, Locked, UsageError
from crx.retrieve.ports import Searcher
from crx.retrieve.request import SearchRequest
from crx.retrieve.search import run_search
from crx.types import Verification

SETTINGS = {"embedder": "hashed"}


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    made = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    made.add_documents([crx.Document("a", "Whales eat krill.")])
    return made


def uris(index: crx.Index, query: str) -> list[str]:
    return [hit.uri for hit in index.search(query).hits]


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; returns its exit code, that of SIGALRM after 20 seconds."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child must never return to the test runner
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_search_sees_what_another_thread_has_committed_so_far(index: crx.Index) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def documents() -> Iterator[crx.Document]:
        yield crx.Document("b", "Herons eat fish.")
        reached.set()
        assert go_on.wait(20)

    writer = threading.Thread(target=lambda: index.add_documents(documents()))
    writer.start()
    assert reached.wait(20)
    try:
        assert set(uris(index, "eat")) == {"a", "b"}
    finally:
        go_on.set()
        writer.join()
    assert set(uris(index, "eat")) == {"a", "b"}


EDIT_AND_DELETE = """
import crx, sys
with crx.open(sys.argv[1], create=False) as index:
    index.add_documents([crx.Document("a", "Whales eat plankton.")])
    index.remove("b")
    index.rebuild()
"""


def test_a_searcher_reads_its_commit_while_another_process_edits_deletes_and_publishes(
    index: crx.Index,
) -> None:
    index.add_documents([crx.Document("b", "Herons eat fish.")])

    request = SearchRequest(query="who eats krill and fish", rerank=False)
    parameters = index.search_models.parameters(request, has_vectors=False)

    def ask(searcher: Searcher) -> set[tuple[str, str]]:
        found = run_search(request, parameters=parameters, searcher=searcher)
        return {(hit.uri, hit.text) for hit in found.hits}

    with index.searcher() as searcher:
        subprocess.run([sys.executable, "-c", EDIT_AND_DELETE, index.path], check=True)
        assert ask(searcher) == {("a", "Whales eat krill."), ("b", "Herons eat fish.")}
    with index.searcher() as searcher:
        assert ask(searcher) == {("a", "Whales eat plankton.")}


def test_a_second_writer_of_the_same_process_is_told_which_process_writes(
    index: crx.Index,
) -> None:
    def documents() -> Iterator[crx.Document]:
        with pytest.raises(Locked, match=f"pid {os.getpid()}"):
            index.remove("a")
        yield crx.Document("b", "Herons eat fish.")

    index.add_documents(documents())
    assert index.remove("a") == 1


def test_damage_that_a_search_is_the_first_to_read_is_noted_and_costs_no_hit(
    tmp_path: Path,
) -> None:
    path = tmp_path / "herons.crx"
    texts = [f"Heron {n} eats {n % 7} fish." for n in range(300)]

    def ask(index: crx.Index) -> tuple[list[tuple[str, float]], tuple[str, ...]]:
        result = index.search(texts[-1], legs=("dense",))
        return [(hit.uri, hit.score) for hit in result.hits], result.notes

    with crx.open(path, settings={**SETTINGS, "ann_above": 100}) as index:
        index.add_documents([crx.Document(f"{n:03}", text) for n, text in enumerate(texts)])
        expected, notes = ask(index)
        assert not notes
    (matrix,) = (path / "derived").glob("vectors-*.f16")
    damaged = bytearray(matrix.read_bytes())
    contents = int.from_bytes(damaged[-8:], "little")
    damaged[contents - 100] ^= 1  # in the last row
    matrix.write_bytes(damaged)
    with crx.open(path) as index:
        note = f"{matrix}: does not match its seal; rows are read from the store"
        assert ask(index) == (expected, (note,))
        assert ask(index) == (expected, ())
        assert index.verify().repaired == (f"{matrix}: does not match its seal; made anew",)
        assert ask(index) == (expected, ())


GRAPH = """
import crx, sys
with crx.open(sys.argv[1], settings={"embedder": "hashed", "ann_above": 100}) as index:
    texts = (f"Heron {n} eats {n * n % 97} fish of {n % 31} ponds." for n in range(2_000))
    index.add_documents(crx.Document(f"{n:04}", text) for n, text in enumerate(texts))
"""


def test_the_graph_does_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    graphs = []
    for threads in ("1", "4"):
        path = tmp_path / f"{threads}.crx"
        environment = {**os.environ, "RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", GRAPH, path], check=True, env=environment)
        (graph,) = (path / "derived").glob("ann-*.hnsw")
        sealed = graph.read_bytes()
        graphs.append(sealed[: int.from_bytes(sealed[-8:], "little")])
    assert len(graphs[0]) > 2_000 * 128
    assert graphs[0] == graphs[1]


def refuse_to_sleep(seconds: float) -> None:
    raise AssertionError(f"waited for {seconds} seconds")


def test_beside_a_lock_that_is_older_than_a_catch_up_a_writer_is_refused_at_once(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx._index.writer.time.sleep", refuse_to_sleep)
    with contextlib.closing(_native.Store.open(str(index.path), write=True)):
        os.utime(index.path / "lock", (0, 0))
        with pytest.raises(Locked, match=f"process {os.getpid()}"):
            index.remove("a")
    assert index.remove("a") == 1


def test_a_writer_waits_for_a_lock_that_a_search_may_have_taken_to_catch_up(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = _native.Store.open(str(index.path), write=True)
    monkeypatch.setattr("crx._index.writer.CATCH_UP_S", 60.0)
    monkeypatch.setattr("crx._index.writer.time.sleep", lambda seconds: search.close())
    assert index.remove("a") == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda index: index.contextualize("llama:nowhere.gguf"),
        lambda index: index.add_documents([crx.Document("b", "Herons eat fish.")]),
        lambda index: index.refresh(),
    ],
)
def test_beside_another_writer_no_model_is_loaded(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch, write: Callable[[crx.Index], object]
) -> None:
    def load(*_: object, **__: object) -> None:
        raise AssertionError("loaded a model")

    index.close()
    monkeypatch.setattr("crx.registry.load_embedder", load)
    monkeypatch.setattr("crx.context_registry.load_router", load)
    with (
        contextlib.closing(_native.Store.open(str(index.path), write=True)),
        crx.open(index.path) as other,
    ):
        os.utime(index.path / "lock", (0, 0))
        with pytest.raises(Locked):
            write(other)


def test_a_forked_child_searches_and_writes_with_files_of_its_own(index: crx.Index) -> None:
    assert uris(index, "krill") == ["a"]

    def child() -> None:
        assert uris(index, "krill") == ["a"]
        index.add_documents([crx.Document("c", "Otters eat crabs.")])
        assert uris(index, "crabs")[0] == "c"

    assert in_child(child) == 0
    assert uris(index, "crabs")[0] == "c"


def test_a_closed_index_is_one_file(index: crx.Index, tmp_path: Path) -> None:
    index.close()
    wal = tmp_path / "notes.crx" / "crx.db-wal"
    assert not wal.exists() or wal.stat().st_size == 0
    copy = tmp_path / "copy.crx"
    copy.mkdir()
    shutil.copy(tmp_path / "notes.crx" / "crx.db", copy / "crx.db")
    with crx.open(copy, create=False) as copied:
        assert uris(copied, "krill") == ["a"]


def killed_writer(folder: Path) -> None:
    """Let a process write to an index and die by SIGKILL before it closes it."""
    code = (
        "import os, signal, crx\n"
        f"index = crx.open({str(folder)!r})\n"
        "def documents():\n"
        "    yield crx.Document('b', 'Herons eat fish.')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "index.add_documents(documents())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_writer_committed_is_there(index: crx.Index, tmp_path: Path) -> None:
    index.close()
    killed_writer(tmp_path / "notes.crx")
    with crx.open(tmp_path / "notes.crx") as again:
        assert uris(again, "fish")[0] == "b"


def test_an_index_whose_log_is_lost_says_so_until_it_is_accepted(
    index: crx.Index, tmp_path: Path
) -> None:
    index.close()
    folder = tmp_path / "notes.crx"
    killed_writer(folder)
    for name in ("crx.db-wal", "crx.db-shm"):
        (folder / name).unlink(missing_ok=True)
    with crx.open(folder) as lost:
        for use in (
            lambda: lost.search("krill"),
            lambda: lost.status(),
            lambda: lost.remove("a"),
        ):
            with pytest.raises(Damaged, match=r"crx\.db-wal is missing.*crx verify"):
                use()
        assert "crx.db-wal is missing" in lost.verify().repaired[0]
    with crx.open(folder) as accepted:
        assert uris(accepted, "krill") == ["a"]


def test_a_store_older_than_its_derived_files_is_refused_until_it_is_accepted(
    index: crx.Index, tmp_path: Path
) -> None:
    folder = tmp_path / "notes.crx"
    index.close()
    shutil.copy(folder / "crx.db", tmp_path / "older.db")
    with crx.open(folder) as newer:
        newer.add_documents([crx.Document("b", "Herons eat fish.")])
    shutil.copy(tmp_path / "older.db", folder / "crx.db")
    with crx.open(folder) as older:
        with pytest.raises(Incompatible, match=r"older than its derived files.*crx verify"):
            older.search("fish")
        assert "older than its derived files" in older.verify().repaired[0]
        assert uris(older, "krill") == ["a"]


def test_the_store_is_durable_before_bm25_is_committed() -> None:
    calls: list[str] = []

    class RecordingStore:
        seq = 1

        def flush(self) -> None:
            calls.append("store")

    class RecordingLexical:
        seq = 0

        def sync(self, store: RecordingStore) -> None:
            calls.append("bm25")

    writer = Writer(RecordingStore(), RecordingLexical(), None, None)  # type: ignore[arg-type]
    writer.commit_lexical(writer.store)
    assert calls == ["store", "bm25"]


def test_a_backup_is_a_whole_index_also_while_a_writer_is_at_work(
    index: crx.Index, tmp_path: Path
) -> None:
    def documents() -> Iterator[crx.Document]:
        yield crx.Document("b", "Herons eat fish.")
        index.backup(tmp_path / "copy.crx")
        yield crx.Document("c", "Otters eat crabs.")

    index.add_documents(documents())
    with crx.open(tmp_path / "copy.crx", create=False) as copy:
        assert set(uris(copy, "eat")) == {"a", "b"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.crx", "notes.crx"]
    with pytest.raises(UsageError, match="exists already"):
        index.backup(tmp_path / "copy.crx")


def test_the_command_line_copies_an_index(
    index: crx.Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index.close()
    copy = tmp_path / "copy.crx"
    assert run(["backup", str(copy), "--index", str(tmp_path / "notes.crx")]) == 0
    assert capsys.readouterr().out.startswith(f"{copy}: ")
    assert run(["backup", str(copy), "--index", str(tmp_path / "notes.crx")]) == 2
    assert "exists already" in capsys.readouterr().err
    with crx.open(copy, create=False) as copied:
        assert uris(copied, "krill") == ["a"]


def test_the_files_that_a_backup_leaves_out_are_named_once_and_made_anew(
    index: crx.Index, tmp_path: Path
) -> None:
    searched, verified = (index.backup(tmp_path / name) for name in ("a.crx", "b.crx"))
    with crx.open(searched, create=False) as copy:
        note = f"{searched}/derived: no such folder; made anew from the store"
        assert copy.search("krill").notes == (note,)
    with crx.open(verified, create=False) as copy:
        note = f"{verified}/derived: no such folder; made anew"
        assert copy.verify() == Verification((), (note,))
        assert copy.search("krill").notes == ()


def test_git_ignores_an_index(index: crx.Index, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"]
    done = subprocess.run(status, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_a_key_that_a_killed_process_left_empty_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_HOME", str(tmp_path))
    (tmp_path / "seal.key").touch()
    key = seal_key()
    assert len(key) == 32
    assert (tmp_path / "seal.key").read_bytes() == key == seal_key()
    assert [path.name for path in tmp_path.iterdir()] == ["seal.key"]
