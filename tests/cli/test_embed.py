"""Both passes of a build: words first, then vectors, in one run or by `crx embed`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import Crx, process
from numpy.typing import NDArray

import crx as api
from crx._backends.hashed import HashedEmbedder
from crx.errors import ModelError, UsageError

# Interrupts itself in the third batch of the embedder.
INTERRUPTED = """
import os, signal
from crx._backends.hashed import HashedEmbedder
from crx._cli import main
# A test run in the background inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
embed, batches = HashedEmbedder.embed, []
def embed_and_interrupt(self, texts, *, query=False):
    batches.append(len(texts))
    if len(batches) == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return embed(self, texts, query=query)
HashedEmbedder.embed = embed_and_interrupt
main()
"""


@pytest.fixture
def notes(here: Path) -> Path:
    """Sixty documents of one chunk."""
    (here / "notes").mkdir()
    for n in range(60):
        (here / "notes" / f"{n:02}.md").write_text(f"# Note {n}\n\nWhale number {n} is blue.\n")
    return here / "notes"


def counts(crx: Crx) -> dict[str, int]:
    return dict(json.loads(crx("status", "--json").out)["counts"])


def test_words_are_found_before_any_vector_is_made(
    crx: Crx, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a text was embedded")

    with monkeypatch.context() as patch:
        patch.setattr(HashedEmbedder, "embed", refuse)
        done = crx("index", notes, "--words", "-q")
    assert (done.code, done.out) == (0, ".crx: 60 files added\n")
    assert done.err == 'crx: 60 chunks have no vector yet; "crx embed" goes on\n'
    assert (counts(crx)["pending"], counts(crx)["vectors"]) == (60, 0)
    assert "number 59" in crx("search", "whale number 59", "-k", 1).out


def test_status_tells_the_share_of_vectors(crx: Crx, notes: Path) -> None:
    crx("index", notes, "--words", "-q")
    assert "0.0% of the chunks have their vector" in crx("status").out
    crx("embed", "-q")
    assert "have their vector" not in crx("status").out


def test_embed_makes_the_vectors_that_words_left_out(crx: Crx, notes: Path) -> None:
    crx("index", notes, "--words", "-q")
    done = crx("embed", "-q")
    assert (done.code, done.out, done.err) == (
        0,
        ".crx: 60 embedded; 60 of 60 chunks have their vector\n",
        "",
    )
    assert counts(crx)["pending"] == 0
    assert crx("embed", ".crx", "-q").out.startswith(".crx: 0 embedded; 60 of 60")


def test_both_passes_make_the_index_that_one_run_makes(here: Path, notes: Path) -> None:
    settings = {"embedder": "hashed"}
    with api.open("one.crx", settings=settings) as one:
        one.add(notes)
        whole = [(hit.uri, hit.score) for hit in one.search("blue whale 7").hits]
    with api.open("two.crx", settings=settings) as two:
        report = two.add(notes, words_only=True)
        assert (report.embedded, report.pending) == (0, 60)
        report = two.embed()
        assert (report.embedded, report.pending) == (60, 0)
        assert [(hit.uri, hit.score) for hit in two.search("blue whale 7").hits] == whole


def test_a_budget_leaves_the_rest_to_the_next_call(crx: Crx, notes: Path) -> None:
    crx("index", notes, "--words", "-q")
    done = crx("embed", "--budget", "0.000000001s", "-q")
    assert (done.code, done.out) == (
        0,
        ".crx: 0 embedded; 0 of 60 chunks have their vector\n",
    )
    assert done.err == 'crx: the time is up; "crx embed" goes on\n'
    assert crx("embed", "--budget", "10m", "-q", "--json").code == 0
    assert counts(crx)["pending"] == 0


@pytest.mark.parametrize("budget", ["$2", "soon"])
def test_a_budget_that_is_no_time_is_refused(crx: Crx, notes: Path, budget: str) -> None:
    crx("index", notes, "--words", "-q")
    assert crx("embed", "--budget", budget).code == UsageError.exit_code


def test_an_index_without_an_embedder_has_nothing_to_embed(crx: Crx, notes: Path) -> None:
    crx("index", notes, "--embedder", "none", "-q")
    refused = crx("embed", "--set", "embedder=none")
    assert refused.code == UsageError.exit_code
    assert "made with --embedder none" in refused.err


def test_only_files_that_can_be_searched_are_counted_before_the_second_pass(
    crx: Crx, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx._cli.second_pass.describe_vectors", lambda *_, probe: "vectors: slow")
    (notes / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (notes / "broken.pdf").write_bytes(b"%PDF-1.7")
    done = crx("index", notes, "--progress", "plain")
    assert (done.code, "60 files added, 1 skipped, 1 failed" in done.out) == (3, True)
    assert re.search(
        r"^crx: 60 files can be searched by words \(\d+\.\d s\); vectors: slow$",
        done.err,
        re.MULTILINE,
    )


def test_an_interrupt_of_the_second_pass_loses_no_word_and_no_vector(crx: Crx, notes: Path) -> None:
    command = process("index", "notes", "-q", code=INTERRUPTED)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == (
        "crx: interrupted; all documents can be searched by words, 32 of 60 chunks by vectors; "
        '"crx embed" goes on\n'
    )
    assert (counts(crx)["documents"], counts(crx)["pending"]) == (60, 28)
    assert "number 59" in crx("search", "whale number 59", "-k", 1).out
    again = process("embed", "-q", code=INTERRUPTED.replace("== 3", "== 2"))
    done = subprocess.run(again, capture_output=True, text=True, check=False)
    assert (done.returncode, "48 of 60 chunks by vectors" in done.stderr) == (130, True)
    assert crx("embed", "-q").out == ".crx: 12 embedded; 60 of 60 chunks have their vector\n"


def test_a_model_that_fails_in_the_second_pass_leaves_the_words(
    crx: Crx, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("hashed: no such model; crx models lists them")

    monkeypatch.setattr(HashedEmbedder, "embed", fail)
    done = crx("index", notes, "--progress", "plain")
    assert done.code == ModelError.exit_code
    assert done.err == (
        "crx: all documents can be searched by words, 0 of 60 chunks by vectors; "
        '"crx embed" goes on\n'
        "crx: hashed: no such model; crx models lists them\n"
    )
    found = crx("search", "whale number 59", "-k", 1, "--leg", "bm25")
    assert (found.code, "number 59" in found.out) == (0, True)


def test_while_vectors_are_made_another_process_may_search_and_not_write(
    crx: Crx, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = HashedEmbedder.embed
    commands = (("search", "whale number 59", "-k", "1", "--leg", "bm25"), ("index", "notes"))
    done: list[subprocess.CompletedProcess[str]] = []

    def embed_and_look(
        self: HashedEmbedder, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        for command in commands if not done else ():
            words = process(*command)
            done.append(subprocess.run(words, capture_output=True, text=True, check=False))
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", embed_and_look)
    assert crx("index", notes, "-q").code == 0
    found, refused = done
    assert (found.returncode, "number 59" in found.stdout) == (0, True)
    assert (refused.returncode, refused.stdout) == (5, "")


def test_files_that_change_between_the_passes_are_left_to_the_next_run(
    crx: Crx, notes: Path
) -> None:
    crx("index", notes, "--words", "-q")
    (notes / "00.md").unlink()
    (notes / "01.md").write_text("# Note 1\n\nHerring.\n")
    (notes / "new.md").write_text("# New\n\nSprat.\n")
    assert crx("embed", "-q").out.startswith(".crx: 60 embedded")
    done = crx("index", "-q")
    assert done.out == (".crx: 1 file added, 1 changed, 1 removed, 58 unchanged\n")
    assert (counts(crx)["documents"], counts(crx)["pending"]) == (60, 0)


def test_an_embedder_that_is_switched_between_the_passes_is_refused(crx: Crx, notes: Path) -> None:
    crx("index", notes, "--words", "-q")
    refused = crx("embed", "--set", "embedder=e5@int8", "-q")
    assert (refused.code, refused.out) == (4, "")
    assert counts(crx)["pending"] == 60


def test_words_with_a_model_that_writes_contexts_is_refused(crx: Crx, notes: Path) -> None:
    refused = crx("index", notes, "--words", "--contexts", "fake:")
    assert refused.code == UsageError.exit_code
    assert "crx contextualize" in refused.err
