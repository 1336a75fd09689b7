"""Random edits of files, kills, reopenings and rebuilds, against a model in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import partial
from pathlib import Path

import hypothesis
import pytest
from fault_injection import corpus
from fault_injection.effort import Effort
from fault_injection.processes import Process
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import crx
from crx.ingest.file_pass import FilePass

NAMES = [f"{number}.md" for number in range(6)]
EDITS = st.tuples(
    st.sampled_from(["write", "rename", "delete"]), st.sampled_from(NAMES), st.sampled_from(NAMES)
)
QUICK_STEPS, FULL_STEPS = 15, 50


def refresh(index: Path) -> None:
    """Bring an index up to its files, in a process that may be killed."""
    with crx.open(index, create=False) as opened:
        opened.refresh()
        opened.contextualize("fake:")


class FilesMachine(RuleBasedStateMachine):
    """A folder of files and its index; the model is the text of each file."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="crx-model-"))
        self.docs, self.place = self.top / "docs", self.top / "i.crx"
        self.docs.mkdir()
        self.files: dict[str, str] = {}
        self.written = 0
        self.is_current = True
        for name in NAMES[:4]:
            self._write(name)
        self.index = crx.open(self.place, settings=corpus.SETTINGS)
        self.index.add(self.docs)

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.top)

    @rule(edits=st.lists(EDITS, min_size=1, max_size=4))
    def edit(self, edits: list[tuple[str, str, str]]) -> None:
        """Add, edit, rename (also over another one) and delete files."""
        for kind, name, new in edits:
            if kind == "write" or name not in self.files:
                self._write(name)
            elif kind == "rename":
                os.replace(self.docs / name, self.docs / new)
                self.files[new] = self.files.pop(name)
            else:
                (self.docs / name).unlink()
                del self.files[name]
        self.is_current = False

    def _write(self, name: str) -> None:
        """Write a text with a word of its own."""
        self.written += 1
        self.files[name] = f"# {name}\n\nThe heron numbered tag{self.written:04}x nests here.\n"
        (self.docs / name).write_text(self.files[name])

    @rule()
    def refresh(self) -> None:
        self.index.refresh()
        self.is_current = True

    @precondition(lambda self: self.files)
    @rule()
    def contextualize(self) -> None:
        self.index.contextualize("fake:")

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = crx.open(self.place, create=False)

    @rule()
    def rebuild(self) -> None:
        """Delete everything that is derived, if anything is."""
        self.index.close()
        shutil.rmtree(self.place / "derived", ignore_errors=True)
        self.index = crx.open(self.place, create=False)

    @rule(contexts=st.booleans())
    def gc(self, contexts: bool) -> None:  # noqa: FBT001 - Hypothesis gives it by name
        self.index.gc(contexts=contexts)

    @rule()
    def verify(self) -> None:
        assert self.index.verify().faults == ()

    @invariant()
    def holds_what_the_files_hold(self) -> None:
        if not self.is_current:
            return
        store = self.index.store
        texts = {row.uri: store.text(row.doc) for row in store.documents()}
        assert texts == {str(self.docs / name): text for name, text in self.files.items()}
        for name, text in self.files.items():
            tag = next(word for word in text.split() if word.startswith("tag"))
            hits = self.index.search(tag, legs=["bm25"], k=3).hits
            assert [hit.uri for hit in hits] == [str(self.docs / name)], tag


class KilledFilesMachine(FilesMachine):
    """The same with processes that are killed at a random moment.

    A run with a kill cannot be repeated step by step.
    """

    @rule(seconds=st.floats(0, 0.2))
    def kill(self, seconds: float) -> None:
        """Kill a process that brings the index up to its files."""
        work = partial(refresh, self.place)
        ended = Process(work, folder=self.top).kill_after(seconds)
        assert ended.code in (0, -9), ended.output
        self.is_current = self.is_current or ended.code == 0


def run(machine: type[FilesMachine], effort: Effort, *, runs: int, steps: int) -> None:
    chosen = settings(
        max_examples=runs,
        stateful_step_count=steps,
        database=None,
        # A failure is not shrunk: each try is a run with processes.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(hypothesis.seed(effort.seed)(machine), settings=chosen)
    effort.done = runs


def test_an_index_holds_what_its_files_hold(effort: Effort) -> None:
    runs = effort.runs(quick=5, full=200)
    steps = FULL_STEPS if runs >= 50 else QUICK_STEPS
    run(KilledFilesMachine, effort, runs=runs, steps=steps)
    effort.notes.append(f"{steps} steps each")


def test_the_harness_finds_an_index_that_keeps_removed_files(
    effort: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FilePass, "_remove_missing", lambda self: None)
    # Few short runs delete a file that was indexed, and then refresh.
    with pytest.raises(AssertionError):
        # Hypothesis repeats a run that failed, so it must be one that can be repeated.
        run(FilesMachine, effort, runs=40, steps=FULL_STEPS)
