"""Runs that are killed: nothing is lost and nothing is made twice."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from surveys import NAMES, SETTINGS, contexts_by_chunk, survey

import crx

PROGRAM = """
import sys
from crx_runtimes.fake.contextualizer import Fake
import crx

class Traced(Fake):
    def situate(self, document, chunks):
        for chunk, context in zip(chunks, super().situate(document, chunks), strict=True):
            print("asked", document.title, chunk.start, flush=True)
            yield context

index = crx.open(sys.argv[1])
print("opened", flush=True)
index.contextualize(Traced(), on_progress=lambda now: print("now", now.embedded, flush=True))
print("done", flush=True)
"""


def contextualize_until_killed(place: Path, *, after: int) -> tuple[list[str], bool]:
    """Run a process and kill it after some lines; return its requests and whether it ended."""
    command = [sys.executable, "-c", PROGRAM, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if len(lines) > after:
                process.kill()
        asked = [line for line in lines if line.startswith("asked")]
        return asked, lines[-1] == "done"


def assert_kills_change_nothing(index: crx.Index, place: Path, *, kills: int, lines: int) -> None:
    whole = place.with_name("whole.crx")
    shutil.copytree(place, whole)
    chance = random.Random(kills)
    committed: dict[tuple[str, int], tuple[str, str]] = {}
    for _ in range(kills):
        with crx.open(place) as before:
            committed = {at: row for at, row in contexts_by_chunk(before).items() if row[0]}
            starts = {
                f"asked {row.title} {row.start}"
                for d in before.store.documents()
                for row in before.store.chunks(before.store.chunk_keys(d.doc))
                if row.context
            }
        asked, _ = contextualize_until_killed(place, after=chance.randrange(lines))
        assert not starts & set(asked), "a committed context was made again"
        with crx.open(place) as after:
            assert committed.items() <= contexts_by_chunk(after).items(), (
                "a committed context was lost"
            )
    contextualize_until_killed(place, after=10**9)
    with crx.open(place) as ended, crx.open(whole) as expected:
        expected.contextualize("fake:")
        assert contexts_by_chunk(ended) == contexts_by_chunk(expected)
        assert ended.store.stats()["contexts"] == expected.store.stats()["contexts"]
        for query in ("heron nests", "river bend", "section 7"):
            hits = [[(h.key, h.score) for h in i.search(query).hits] for i in (ended, expected)]
            assert hits[0] == hits[1]
        assert ended.verify().faults == ()


def test_a_run_that_is_killed_several_times_ends_as_an_undisturbed_one(
    tmp_path: Path, index: crx.Index
) -> None:
    index.close()
    assert_kills_change_nothing(index, tmp_path / "notes.crx", kills=5, lines=30)


@pytest.mark.slow
def test_a_run_that_is_killed_fifty_times_ends_as_an_undisturbed_one(
    tmp_path: Path, docs: Path
) -> None:
    for name in NAMES[3:]:
        (docs / f"{name}.md").write_text(survey(name, 100))
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(docs)
    index.close()
    assert_kills_change_nothing(index, tmp_path / "notes.crx", kills=50, lines=24)
