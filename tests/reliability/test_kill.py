"""SIGKILL of commands that write: nothing committed is lost or made twice."""

from __future__ import annotations

import ast
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from fault_injection import corpus
from fault_injection.archived import unarchived
from fault_injection.context_log import log_requests, requests_in, store_late
from fault_injection.effort import Effort
from fault_injection.processes import TIMEOUT_S, Command, Process

import crx
from crx.errors import NotAnIndex
from crx.types import Verification
from crx_runtimes.fake.contextualizer import Faults

DOCUMENTS = 12
CHUNKS = 60
# One request is answered while the one before is stored.
IN_FLIGHT = 1


@dataclass(frozen=True, slots=True)
class Content:
    """What an index holds: texts by document, contexts by the text of their chunk."""

    texts: Mapping[str, str]
    contexts: Mapping[str, str]

    @staticmethod
    def of(folder: Path) -> Content:
        """Read an index; one whose creation was interrupted is empty."""
        try:
            index = crx.open(folder, create=False)
        except NotAnIndex:
            return Content({}, {})
        with index:
            store = index.store
            rows = store.documents()
            chunks = [row for each in rows for row in store.chunks(store.chunk_keys(each.doc))]
            assert store.verify() == []
            return Content(
                {row.uri: store.text(row.doc) for row in rows},
                {f"{row.text!r}": row.context for row in chunks if row.context},
            )

    def holds(self, earlier: Content) -> bool:
        """Return whether nothing of an earlier content is missing."""
        return (
            earlier.texts.items() <= self.texts.items()
            and earlier.contexts.items() <= self.contexts.items()
        )


def answers(folder: Path) -> list[list[tuple[str, int, float, str]]]:
    """Return the answers to all queries, without the keys of chunks, and require no notes.

    An index without an embedder is asked for words alone.
    """
    with crx.open(folder, create=False) as index:
        assert index.verify() == Verification((), ())
        assert unarchived(index) == []
        has_dense = index.status().settings["embedder"] != "none"
        queries = [each for each in corpus.queries() if has_dense or "dense" not in each.legs]
        results = [index.search(each.text, legs=each.legs) for each in queries]
    assert [note for result in results for note in result.notes] == []
    return [[(p.uri, p.start, p.score, p.text) for p in result] for result in results]


# What makes an index with contexts: in one run, or in the two passes of a build.
IN_ONE_RUN = (
    ("index", "DOCS", "-q"),
    ("contextualize", "--with", "fake:latency=5ms", "-q"),
)
# The same with a model a third of whose contexts are rejected: its command ends with 3.
REFUSING = Faults(refuse=0.34)
WITH_REJECTIONS = (IN_ONE_RUN[0], ("contextualize", "--with", "fake:latency=5ms,refuse=0.34", "-q"))
IN_TWO_PASSES = (("index", "DOCS", "--words", "-q"), ("embed", "-q"), IN_ONE_RUN[1])
# The other commands that write to an index.
MAINTENANCE = (
    ("index", "DOCS", "--rehash", "-q"),
    ("verify", "--deep"),
    ("rebuild",),
    ("gc",),
    ("remove", "FIRST"),
)


# What makes the derived files of an index anew.
REBUILD = (
    ("status",),
    ("index", "DOCS", "-q"),
    ("index", "--rehash", "-q"),
    ("verify",),
)


@dataclass(slots=True)
class Killer:
    """Runs the commands of an index again and again until each ends, killing most of them.

    `seconds` is how long a command may run at most; it follows how long they take, so that about
    three of four are killed.
    """

    folder: Path
    chance: random.Random
    plant: Callable[[Path], None] = log_requests
    commands: tuple[tuple[str, ...], ...] = IN_ONE_RUN
    is_refused: Callable[[str], bool] = lambda text: False
    seconds: float = 10.0
    kills: int = 0

    def finish(self, index: Path, *, kill: bool = True) -> None:
        """Run all commands to their ends."""
        documents = str(self.folder / "docs")
        for command in self.commands:
            paths = {"DOCS": documents, "FIRST": str(self.folder / "docs" / "0.md")}
            words = [paths.get(word, word) for word in command]
            arguments = (*words, "--index", str(index))
            while not self.is_finished(index, arguments, kill=kill):
                self.kills += 1
                self.seconds *= 1.1
            self.seconds *= 0.75

    def is_finished(self, index: Path, arguments: tuple[str, ...], *, kill: bool) -> bool:
        """Run a command until it ends or is killed, and check what the kill left."""
        seconds = self.chance.random() * self.seconds if kill else TIMEOUT_S
        log = self.folder / "asked.txt"
        log.unlink(missing_ok=True)
        before = Content.of(index)
        command = Command(arguments, before=partial(self.plant, log))
        ended = Process(command, folder=self.folder).kill_after(seconds)
        after = Content.of(index)
        refused = self.is_refused
        asked = {each for each in requests_in(log) if not refused(ast.literal_eval(each))}
        if arguments[0] == "remove":
            assert before.holds(after), "something came back"
        else:
            assert after.holds(before), "something committed was lost"
        assert not asked & before.contexts.keys(), "a committed context was made again"
        assert len(asked - after.contexts.keys()) <= IN_FLIGHT, "contexts in flight were lost"
        # A removal that was killed after its commit has nothing left to remove.
        is_removed = arguments[0] == "remove" and arguments[1] not in before.texts
        done = {1} if is_removed else {0}
        # A run that finds what the model was asked before, and nothing new, ends with 0.
        if any("refuse" in word for word in arguments):
            done.add(3)
        assert ended.code in (*done, -9), ended.output
        return ended.code in done


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    corpus.write_files(tmp_path / "docs", DOCUMENTS)
    return tmp_path / "docs"


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_EMBEDDER", "hashed")
    monkeypatch.setenv("CRX_CHUNK_CHARS", "120")


def test_runs_that_are_killed_end_as_an_uninterrupted_one(
    docs: Path, effort: Effort, tmp_path: Path
) -> None:
    killer = Killer(tmp_path, effort.chance)
    killer.finish(tmp_path / "undisturbed", kill=False)
    expected = Content.of(tmp_path / "undisturbed"), answers(tmp_path / "undisturbed")
    assert len(expected[0].texts) == DOCUMENTS
    indexes = 0
    while killer.kills < effort.runs(quick=10, full=1000):
        index = tmp_path / "i.crx"
        killer.finish(index)
        assert (Content.of(index), answers(index)) == expected
        shutil.rmtree(index)
        indexes += 1
        effort.done = killer.kills
    effort.notes.append(f"{indexes} indexes, each equal to an uninterrupted one")


def test_passes_that_are_killed_end_as_one_run_that_is_not(
    docs: Path, effort: Effort, tmp_path: Path
) -> None:
    killer = Killer(tmp_path, effort.chance)
    killer.finish(tmp_path / "undisturbed", kill=False)
    expected = Content.of(tmp_path / "undisturbed"), answers(tmp_path / "undisturbed")
    killer.commands = IN_TWO_PASSES
    while killer.kills < effort.runs(quick=8, full=300):
        index = tmp_path / "i.crx"
        killer.finish(index)
        assert (Content.of(index), answers(index)) == expected
        shutil.rmtree(index)
        effort.done = killer.kills


def kill_copies(
    killer: Killer, start: Path, expected: tuple[Content, object], effort: Effort, *, runs: int
) -> None:
    """Finish copies of an index with kills, each of which ends as expected."""
    index = start.with_name("i.crx")
    while killer.kills < runs:
        shutil.copytree(start, index)
        killer.finish(index)
        assert (Content.of(index), answers(index)) == expected
        shutil.rmtree(index)
        effort.done = killer.kills


def test_commands_that_maintain_an_index_are_killed_and_end_as_undisturbed_ones(
    docs: Path, effort: Effort, tmp_path: Path
) -> None:
    killer = Killer(tmp_path, effort.chance, commands=(*IN_ONE_RUN, *MAINTENANCE))
    killer.finish(tmp_path / "undisturbed", kill=False)
    expected = Content.of(tmp_path / "undisturbed"), answers(tmp_path / "undisturbed")
    assert len(expected[0].texts) == DOCUMENTS - 1
    killer.commands = IN_ONE_RUN
    killer.finish(tmp_path / "whole.crx", kill=False)
    killer.commands = MAINTENANCE
    kill_copies(
        killer, tmp_path / "whole.crx", expected, effort, runs=effort.runs(quick=4, full=300)
    )


def test_lost_derived_files_are_made_anew_however_often_that_is_killed(
    docs: Path, effort: Effort, tmp_path: Path
) -> None:
    killer = Killer(tmp_path, effort.chance)
    killer.finish(tmp_path / "whole.crx", kill=False)
    shutil.rmtree(tmp_path / "whole.crx" / "derived")
    killer.commands = REBUILD
    index = tmp_path / "i.crx"
    shutil.copytree(tmp_path / "whole.crx", index)
    killer.finish(index, kill=False)
    expected = Content.of(index), answers(index)
    shutil.rmtree(index)
    kill_copies(
        killer, tmp_path / "whole.crx", expected, effort, runs=effort.runs(quick=2, full=150)
    )


def test_runs_with_a_model_that_is_often_rejected_are_killed_and_end_as_an_uninterrupted_one(
    docs: Path, effort: Effort, tmp_path: Path
) -> None:
    killer = Killer(
        tmp_path,
        effort.chance,
        commands=WITH_REJECTIONS,
        is_refused=lambda text: REFUSING.of(text) == "refuse",
    )
    killer.finish(tmp_path / "undisturbed", kill=False)
    expected = Content.of(tmp_path / "undisturbed"), answers(tmp_path / "undisturbed")
    assert 0.5 < len(expected[0].contexts) / CHUNKS < 0.8
    # Only contextualize is killed.
    killer.commands = WITH_REJECTIONS[:1]
    killer.finish(tmp_path / "indexed", kill=False)
    killer.commands = WITH_REJECTIONS[1:]
    kill_copies(killer, tmp_path / "indexed", expected, effort, runs=effort.runs(quick=4, full=50))


def finish_several(killer: Killer, index: Path) -> None:
    for _ in range(20):
        killer.finish(index)
        shutil.rmtree(index)


def test_the_harness_finds_contexts_that_are_stored_late(docs: Path, tmp_path: Path) -> None:
    killer = Killer(tmp_path, random.Random(1), plant=store_late)
    killer.finish(tmp_path / "undisturbed", kill=False)
    with pytest.raises(AssertionError, match="in flight were lost"):
        finish_several(killer, tmp_path / "i.crx")
