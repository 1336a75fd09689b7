"""A server that keeps its indexes equal to their folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import process, run_process
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.app import create_app
from crx_serve.page.routes import page_extension
from crx_serve.requests import SearchQuery, StatusQuery
from crx_serve.responses import IndexStatus
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService
from crx_serve.watch import Visit
from crx_serve.watched_index import IndexWatch

PATIENCE_S = 60.0


class WatchedService:
    """A service of an index of one folder, whose watch has made its first sweep."""

    def __init__(self, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        (self.files / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
        self.place = folder / "sea.crx"
        self.build()
        self._changed = threading.Condition()
        self.visits: list[Visit] = []
        self.problems: list[str] = []
        served = ServedIndex("sea", self.place, settings=SETTINGS)
        self.watch = IndexWatch(served, on_visit=self._visited, on_problem=self._failed)
        self.service = SearchService([served], watches={"sea": self.watch})
        self.watch.start()

    def build(self) -> None:
        """Make the index anew, in a process of its own."""
        shutil.rmtree(self.place, ignore_errors=True)
        with crx.open(self.place, settings=SETTINGS) as index:
            index.add(self.files)

    def _visited(self, name: str, visit: Visit) -> None:
        with self._changed:
            self.visits.append(visit)
            self._changed.notify_all()

    def _failed(self, name: str, problem: str) -> None:
        with self._changed:
            self.problems.append(f"{name}: {problem}")
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is tried after each visit and each problem."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE_S), (self.visits, self.problems)

    @property
    def status(self) -> IndexStatus:
        (status,) = self.service.status(StatusQuery()).indexes
        return status

    def find(self, query: str) -> list[str]:
        """Return the names of the files that BM25 finds."""
        found = self.service.search(SearchQuery(query=query, legs=["bm25"]))
        return [Path(passage.uri).name for passage in found.passages]


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[WatchedService]:
    made = WatchedService(tmp_path)
    yield made
    made.service.close()


def test_a_change_is_searched_within_three_seconds(watched: WatchedService) -> None:
    started = time.monotonic()
    (watched.files / "seals.md").write_text("Seals eat squid.\n")
    watched.wait_for(lambda: bool(watched.visits))
    took = time.monotonic() - started
    assert watched.find("squid") == ["seals.md"]
    # The rest of the time depends on the machine.
    assert took < 3 or os.getloadavg()[0] > (os.cpu_count() or 1)


def test_the_status_tells_the_folders_and_the_last_visit(watched: WatchedService) -> None:
    (watched.files / "seals.md").write_text("Seals eat squid.\n")
    watched.wait_for(lambda: bool(watched.visits))
    found = watched.status.watch
    assert found is not None
    assert found.folders == (str(watched.files),)
    assert found.visits >= 1
    assert found.changed == 1
    assert found.last_visit.startswith("20")
    assert (found.files_read, found.files_found, found.problem) == (0, 0, "")
    app = create_app(watched.service, extensions=[page_extension(watched.service)])
    with serving_app(app) as client:
        assert client.get("/v1/status").json["indexes"][0]["watch"]["changed"] == 1
        page = client.get("/status").body.decode()
        assert f"<dd>{watched.files}</dd>" in page
        assert "1 file changed" in page


def test_the_documents_of_a_folder_that_is_removed_are_kept_and_it_is_read_again(
    watched: WatchedService, tmp_path: Path
) -> None:
    watched.files.rename(tmp_path / "away")
    watched.wait_for(lambda: bool(watched.visits))
    ((uri, reason),) = watched.status.failures
    assert uri == str(watched.files)
    assert reason.startswith("no such file or directory; the text of 1 file below it is kept")
    assert watched.find("krill") == ["whales.md"]
    (tmp_path / "away").rename(watched.files)
    (watched.files / "seals.md").write_text("Seals eat squid.\n")
    watched.wait_for(lambda: watched.find("squid") == ["seals.md"])


def test_an_index_that_is_made_anew_under_the_server_is_watched(watched: WatchedService) -> None:
    shutil.rmtree(watched.place)
    watched.wait_for(lambda: bool(watched.problems))
    assert "the index sea is gone" in watched.problems[0]
    app = create_app(watched.service, extensions=[page_extension(watched.service)])
    with serving_app(app) as client:
        assert "the index sea is gone" in client.get("/state").body.decode()
    watched.build()
    (watched.files / "seals.md").write_text("Seals eat squid.\n")
    watched.wait_for(lambda: bool(watched.visits))
    assert watched.find("squid") == ["seals.md"]
    assert watched.status.watch is not None
    assert watched.status.watch.problem == ""


def test_a_visit_under_way_is_shown_and_broken_off_when_the_server_ends(tmp_path: Path) -> None:
    reading = threading.Event()

    class Slow(IndexWatch):
        def _note_progress(self, progress: crx.Progress) -> None:
            super()._note_progress(progress)
            reading.set()
            assert self._closed.wait(PATIENCE_S)
            super()._note_progress(progress)

    (tmp_path / "whales.md").write_text("Blue whales eat krill.\n")
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "whales.md")
    (tmp_path / "whales.md").write_text("Blue whales sing.\n")
    watch = Slow(ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS))
    service = SearchService([], watches={"sea": watch})
    watch.start()
    assert reading.wait(PATIENCE_S)
    assert (watch.status.files_read, watch.status.files_found) == (0, 1)
    service.close()
    assert (watch.status.visits, watch.is_running) == (0, False)


def test_serve_watches_if_asked(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "whales.md").write_text("Blue whales eat krill.\n")
    place = tmp_path / "sea.crx"
    with crx.open(place, settings=SETTINGS) as index:
        index.add(tmp_path / "files")
    words = process("serve", "--watch", "--port", 0, place)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        client = Client(int(run.stderr.readline().rpartition(":")[2]))
        (tmp_path / "files" / "seals.md").write_text("Seals eat squid.\n")
        assert run.stderr.readline().startswith("crx: sea: 1 file added")
        found = client.post("/v1/search", {"query": "squid"}).json["passages"]
        assert Path(found[0]["uri"]).name == "seals.md"
        run.terminate()
        run.communicate()
    assert run.returncode == 0


def test_serve_refuses_to_watch_what_has_no_folder(tmp_path: Path) -> None:
    place = tmp_path / "made.crx"
    with crx.open(place, settings=SETTINGS) as index:
        index.add_documents([crx.Document("mem:1", "words")])
    refused = run_process("serve", "--watch", "--port", 0, place)
    assert (refused.code, refused.out) == (2, "")
    assert f"{place}: no folder was indexed" in refused.err
    alone = run_process("serve", "--keep-missing", "--port", 0, place)
    assert (alone.code, alone.err) == (2, "crx: --keep-missing wants --watch\n")
