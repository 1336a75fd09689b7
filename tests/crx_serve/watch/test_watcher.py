"""An index that follows its folders: after a storm of edits it equals a fresh build."""

from __future__ import annotations

import errno
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import crx
from crx.errors import UsageError
from crx_serve.watch import Visit, Watcher
from crx_serve.watch.watcher import describe_watch_error

SETTINGS = {"embedder": "hashed"}
PATIENCE_S = 60.0


class Watched:
    """A watcher in a thread: what it visited, and its problems."""

    def __init__(self, index: crx.Index, *, keep_missing: bool = False) -> None:
        self.visits: list[Visit] = []
        self.problems: list[str] = []
        self._changed = threading.Condition()
        self._watcher = Watcher(
            index,
            keep_missing=keep_missing,
            on_visit=self._note_visit,
            on_problem=self._note_problem,
        )
        self._thread = threading.Thread(target=self._watcher.run)

    def _note_visit(self, visit: Visit) -> None:
        with self._changed:
            self.visits.append(visit)
            self._changed.notify_all()

    def _note_problem(self, problem: str) -> None:
        with self._changed:
            self.problems.append(problem)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is tried after each visit."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE_S), (self.visits, self.problems)

    def __enter__(self) -> Watched:
        self._thread.start()
        self.wait_for(lambda: bool(self.visits or self.problems))
        return self

    def __exit__(self, *_: object) -> None:
        self._watcher.stop()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


@contextmanager
def watching(
    tmp_path: Path, *, keep_missing: bool = False
) -> Iterator[tuple[Path, crx.Index, Watched]]:
    """Give a folder with one file, its index, and a watcher that has made the first sweep."""
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    (folder / "first.md").write_text("# First\n\nwords\n")
    with crx.open(tmp_path / "watched.crx", settings=SETTINGS) as index:
        index.add(folder)
        with Watched(index, keep_missing=keep_missing) as watched:
            yield folder, index, watched


def texts(index: crx.Index) -> dict[str, str]:
    """Return the texts of the documents by URI."""
    return {row.uri: index.store.text(row.doc) for row in index.store.documents()}


def names(index: crx.Index) -> set[str]:
    """Return the names of the indexed files."""
    return {Path(row.uri).name for row in index.store.documents()}


def fresh(tmp_path: Path, folder: Path) -> dict[str, str]:
    """Return the texts of a new index of a folder."""
    place = tmp_path / "fresh.crx"
    shutil.rmtree(place, ignore_errors=True)
    with crx.open(place, settings=SETTINGS) as index:
        index.add(folder)
        return texts(index)


def test_a_change_is_found_by_bm25_within_three_seconds(tmp_path: Path) -> None:
    with watching(tmp_path) as (folder, index, watched):
        started = time.monotonic()
        (folder / "second.md").write_text("a krill swims\n")
        watched.wait_for(lambda: "second.md" in names(index))
        took = time.monotonic() - started
        (passage, *_) = index.search("krill", legs=["bm25"])
        assert Path(passage.uri).name == "second.md"
    assert watched.visits[0].kind == "sweep"
    assert {visit.kind for visit in watched.visits[1:]} == {"changes"}
    # Of the time, 1.1 s at most are for collecting events; the rest depends on the machine.
    assert took < 3 or os.getloadavg()[0] > (os.cpu_count() or 1)


def storm(folder: Path, *, edits: int, seed: int) -> None:
    """Edit, replace, rename, move and delete files and folders, and add others."""
    chance = random.Random(seed)

    def pick() -> Path:
        return chance.choice(sorted(path for path in folder.rglob("*.md") if path.is_file()))

    for number in range(edits):
        text = f"# Storm {number}\n\n{chance.random()}\n"
        match chance.randrange(7):
            case 0:
                pick().write_text(text)
            case 1:
                beside = folder / f".{number}.tmp"
                beside.write_text(text)
                os.replace(beside, pick())
            case 2:
                pick().unlink()
            case 3:
                pick().rename(folder / f"renamed-{number}.md")
            case 4:
                (folder / f"new-{number}").mkdir()
                (folder / f"new-{number}" / "a.md").write_text(text)
            case 5:
                moved = chance.choice(sorted(p for p in folder.iterdir() if p.is_dir()))
                moved.rename(folder / f"moved-{number}")
            case 6:
                path = pick()
                path.rename(folder / "swap.md")
                path.write_text(text)
                (folder / "swap.md").rename(path)


@pytest.mark.parametrize(
    ("files", "edits"), [(300, 60), pytest.param(10_000, 200, marks=pytest.mark.slow)]
)
def test_after_a_storm_the_index_equals_a_fresh_one(tmp_path: Path, files: int, edits: int) -> None:
    folder = tmp_path / "files"
    for number in range(files):
        path = folder / f"d{number % 17}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# File {number}\n\nabout {number * 7919}\n")
    with watching(tmp_path) as (_, index, watched):
        storm(folder, edits=edits, seed=files)
        (folder / "last.md").write_text("the last one\n")
        watched.wait_for(lambda: "last.md" in names(index))
        expected = fresh(tmp_path, folder)
        watched.wait_for(lambda: texts(index) == expected)
        assert {visit.kind for visit in watched.visits[1:]} == {"changes"}
    assert watched.problems == []


def test_a_renamed_folder_embeds_nothing_again(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "old").mkdir(parents=True)
    for number in range(5):
        (folder / "old" / f"{number}.md").write_text(f"# Words {number}\n")
    with watching(tmp_path) as (_, index, watched):
        (folder / "old").rename(folder / "new")
        watched.wait_for(lambda: sum(visit.report.renamed for visit in watched.visits) == 5)
        assert sum(visit.report.embedded for visit in watched.visits) == 0
        assert texts(index) == fresh(tmp_path, folder)


def test_a_changed_ignore_file_has_its_folder_visited(tmp_path: Path) -> None:
    with watching(tmp_path) as (folder, index, watched):
        (folder / ".gitignore").write_text("first.md\n")
        watched.wait_for(lambda: "first.md" not in names(index))
        (folder / ".gitignore").unlink()
        watched.wait_for(lambda: "first.md" in names(index))


def test_what_is_ignored_makes_no_visit(tmp_path: Path) -> None:
    with watching(tmp_path) as (folder, index, watched):
        (folder / ".hidden").mkdir()
        (folder / ".hidden" / "a.md").write_text("hidden\n")
        (folder / "last.md").write_text("seen\n")
        watched.wait_for(lambda: "last.md" in names(index))
        assert names(index) == {"first.md", "last.md"}


def test_an_index_in_its_own_folder_is_not_visited_for_its_own_writes(tmp_path: Path) -> None:
    (tmp_path / "first.md").write_text("words\n")
    with crx.open(tmp_path / "own.crx", settings=SETTINGS) as index:
        index.add(tmp_path)
        with Watched(index) as watched:
            (tmp_path / "second.md").write_text("words\n")
            watched.wait_for(lambda: "second.md" in names(index))
            (tmp_path / "third.md").write_text("words\n")
            watched.wait_for(lambda: "third.md" in names(index))
            assert len(watched.visits) <= 5


def test_documents_of_deleted_files_are_kept_if_asked(tmp_path: Path) -> None:
    with watching(tmp_path, keep_missing=True) as (folder, index, watched):
        (folder / "first.md").unlink()
        watched.wait_for(lambda: watched.visits[-1].report.kept == 1)
        (folder / "second.md").write_text("words\n")
        watched.wait_for(lambda: "second.md" in names(index))
        assert names(index) == {"first.md", "second.md"}


def test_a_watched_folder_that_is_removed_keeps_its_documents_and_is_watched_again(
    tmp_path: Path,
) -> None:
    with watching(tmp_path) as (folder, index, watched):
        folder.rename(tmp_path / "away")
        watched.wait_for(lambda: watched.visits[-1].report.kept == 1)
        (failure,) = watched.visits[-1].report.failures
        assert failure.reason.startswith(
            "no such file or directory; the text of 1 file below it is kept"
        )
        assert names(index) == {"first.md"}
        time.sleep(1.5)  # as long as a second visit that says the same would take
        assert sum(bool(visit.report.failures) for visit in watched.visits) == 1
        (tmp_path / "away").rename(folder)
        watched.wait_for(lambda: watched.visits[-1].report.unchanged == 1)
        (folder / "second.md").write_text("words\n")
        watched.wait_for(lambda: "second.md" in names(index))


def test_a_visit_waits_for_another_writer(tmp_path: Path) -> None:
    with watching(tmp_path) as (folder, index, watched):
        with index._writing():
            (folder / "second.md").write_text("words\n")
        watched.wait_for(lambda: "second.md" in names(index))
        assert not watched.problems


def test_what_cannot_be_watched_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Iterator[set[tuple[int, str]]]:
        raise OSError(errno.ENOSPC, "No space left on device")
        yield set()

    monkeypatch.setattr("crx_serve.watch.watcher.watch", refuse)
    monkeypatch.setattr("crx_serve.watch.watcher.POLL_EVERY_S", 0.1)
    with watching(tmp_path) as (folder, index, watched):
        (folder / "second.md").write_text("words\n")
        watched.wait_for(lambda: "second.md" in names(index))
    assert watched.problems[0].startswith("more folders than the system lets a user watch")
    assert {visit.kind for visit in watched.visits} == {"sweep"}


def test_an_index_without_folders_says_so(tmp_path: Path) -> None:
    with (
        crx.open(tmp_path / "i.crx", settings=SETTINGS) as index,
        pytest.raises(UsageError, match="no folder was indexed"),
    ):
        Watcher(index).run()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError("No space left on device (os error 28)"), "max_user_watches"),
        (OSError("Too many open files (os error 24)"), "max_user_instances"),
        (RuntimeError("other"), "cannot be watched: other"),
    ],
)
def test_errors_of_the_system_say_which_limit_is_reached(error: Exception, words: str) -> None:
    assert words in describe_watch_error(error)


def test_a_visit_leaves_many_chunks_to_others_and_embeds_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_serve.watch.watcher.FEW_CHUNKS", 1)
    folder = tmp_path / "notes"
    folder.mkdir()
    visits: list[Visit] = []
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add(folder)
        watcher = Watcher(index, leave_many=True, on_visit=visits.append)
        for name in ("a", "b"):
            (folder / f"{name}.md").write_text(f"# {name}\n\nWhale {name}.\n")
        watcher._visit_if_due()
        report = visits[-1].report
        assert (report.added, report.embedded, report.pending) == (2, 0, 2)
        index.embed()
        (folder / "a.md").write_text("# a\n\nHerring.\n")
        watcher._next_sweep = 0.0
        watcher._visit_if_due()
        report = visits[-1].report
        assert (report.changed, report.embedded, report.pending) == (1, 1, 0)
