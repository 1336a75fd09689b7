"""An index made by local workers: equal to that of one process, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import model_store
from equal_indexes import read_tables

import crx
from crx.errors import ModelError, UsageError
from crx.ingest.report import Progress
from crx.workers.child import Child
from crx_engines.pools.open_workers import threads_of_each

QUERIES = ("what does whale 7 eat?", "feed_3", "krill800")


def make_index(
    folder: Path,
    docs: Path,
    *,
    embedder: str = "hashed:max_tokens=64",
    workers: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> tuple[dict[str, list[str]], list[object]]:
    """Return the rows of a new index, and what searches find in it."""
    settings = {"embedder": embedder, "chunk_chars": 60, "workers": workers}
    with crx.open(folder, settings=settings) as index:
        report = index.add(docs, on_progress=on_progress)
        assert not report.failures
        hits: list[object] = [index.search(query).hits for query in QUERIES]
    return read_tables(folder), hits


def test_an_index_that_workers_make_equals_that_of_one_process(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    assert make_index(tmp_path / "two", docs, workers=2) == make_index(tmp_path / "one", docs)
    assert len(children) == 2


def test_workers_with_a_model_give_the_same_bits(
    tmp_path: Path, docs: Path, children: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_MODELS", str(model_store(tmp_path)))
    one = make_index(tmp_path / "one", docs, embedder="tiny")
    assert make_index(tmp_path / "two", docs, embedder="tiny", workers=2) == one
    assert len(children) == 2


def test_a_worker_that_is_killed_costs_nothing_but_time(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    killed: list[int] = []

    def kill_the_first(progress: Progress) -> None:
        if progress.embedded and not killed:
            killed.append(children[0].pid)
            os.kill(children[0].pid, signal.SIGKILL)

    two = make_index(tmp_path / "two", docs, workers=2, on_progress=kill_the_first)
    assert two == make_index(tmp_path / "one", docs)
    assert killed


def test_a_text_that_kills_workers_is_an_error_that_names_its_document(
    tmp_path: Path, docs: Path, deadly: str, children: list[Child]
) -> None:
    (docs / "bad.md").write_text("This is poison.")
    settings = {"embedder": deadly, "chunk_chars": 60, "workers": 2}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        with pytest.raises(ModelError) as error:
            index.add(docs)
        (docs / "bad.md").unlink()
        index.add(docs)
        assert index.status().counts["pending"] == 0
    message = str(error.value)
    assert message.startswith(f"{docs / 'bad.md'}: 3 workers were lost at this text, the last one ")
    assert "whale" not in message


def test_an_interrupt_ends_the_workers_and_the_same_command_resumes(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.embedded:
            raise KeyboardInterrupt

    folder = tmp_path / "notes.crx"
    with pytest.raises(KeyboardInterrupt):
        make_index(folder, docs, workers=2, on_progress=interrupt)
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    assert make_index(folder, docs, workers=2) == make_index(tmp_path / "one", docs)


def test_a_few_texts_are_embedded_without_workers(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "note.md").write_text((docs / "whale00.md").read_text())
    make_index(tmp_path / "notes.crx", tmp_path / "few", workers=2)
    assert children == []


def test_a_worker_with_another_model_than_the_index_is_an_error(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"embedder": "hashed", "chunk_chars": 60, "workers": 1}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        monkeypatch.setattr(type(index.embedder), "fingerprint", "hashed:old")
        with pytest.raises(ModelError, match="a worker has hashed:1:256:512, the index needs hash"):
            index.add(docs)


def test_an_embedder_on_a_server_takes_no_workers(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed", "workers": 2}) as index:
        monkeypatch.setattr(type(index.embedder), "destination", "example.org", raising=False)
        with pytest.raises(UsageError, match="hashed: is on a server"):
            index.add(docs)


def test_the_threads_of_this_process_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_THREADS", "8")

    assert [threads_of_each(count) for count in (1, 3, 16)] == [8, 2, 1]
