"""Progress on stderr: how much of the work is done, how long the rest takes, in which form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import BINARY, Crx, run_process, run_terminal
from numpy.typing import NDArray

import crx
from crx._backends.hashed import HashedEmbedder
from crx._cli.progress import Clock, build_view, contexts_view, format_duration, show_build
from crx._context.report import ContextProgress
from crx.ingest.report import Progress


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_remaining_time_follows_the_speed_of_the_last_minute() -> None:
    time = Time()
    clock = Clock(time)
    assert clock.seconds_left(0, 1000) is None
    time.now = 2.0
    assert clock.seconds_left(20, 1000) is None  # too early
    time.now = 10.0
    assert clock.seconds_left(100, 1000) == 90.0
    for second in range(11, 200):
        time.now = float(second)
        left = clock.seconds_left(100 + (second - 10), 1000)
    assert left == pytest.approx(1000 - 289, rel=0.02)


def test_a_build_shows_chunks_and_says_when_their_number_is_an_estimate() -> None:
    time = Time()
    clock = Clock(time)
    build_view(Progress(documents=36, found=257, chunks_total=5000), clock)
    time.now = 60.0
    now = Progress(documents=36, found=257, chunks_done=500, chunks_total=9000, failed=1)
    assert build_view(now, clock).text == (
        "500 of about 9,000 chunks read, about 17 min left, 36 of 257 files read, 1 failed"
    )
    last = Progress(documents=257, found=257, chunks_done=9000, chunks_total=9000, step="embed")
    assert build_view(last, Clock(time)).text == "9,000 of 9,000 chunks embedded"


def test_the_speed_of_reading_is_not_taken_for_that_of_embedding() -> None:
    time = Time()
    clock = Clock(time)
    for second in range(10):
        time.now = float(second)
        clock.seconds_left(1000 * second, 9000)
    time.now = 20.0
    assert clock.seconds_left(0, 9000) is None
    time.now = 30.0
    assert clock.seconds_left(100, 9000) == 890.0


def test_verbose_names_each_file_and_what_became_of_it(crx: Crx, docs: Path) -> None:
    assert crx("index", docs, "-v").err == "crx: added docs/bread.md\ncrx: added docs/whales.md\n"
    (docs / "bread.md").write_text("# Bread\n\nNo steam.\n")
    (docs / "whales.md").rename(docs / "krill.md")
    (docs / "noise").write_bytes(BINARY)
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    named = crx("index", docs, "--verbose").err.splitlines()
    assert named[:4] == [
        "crx: changed docs/bread.md",
        "crx: failed docs/broken.pdf",
        "crx: renamed docs/krill.md",
        "crx: skipped docs/noise",
    ]
    assert crx("index", docs, "-v").err.count("docs/krill.md") == 0


def test_contexts_show_their_speed_and_cost() -> None:
    now = ContextProgress(done=2, total=10, per_second=0.5, seconds_left=16.0, tokens_reused=1200)
    assert contexts_view(now).text == (
        "2 of 10 contexts, about 16 s left, 0.5 a second, 1,200 tokens reused"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59.4, "59 s"), (61, "1 min"), (3599, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_a_duration_is_rounded(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.fixture
def notes(here: Path) -> Path:
    """Forty files of equal length, more chunks than wait for the embedder at once."""
    (here / "notes").mkdir()
    words = " ".join(f"word{n}" for n in range(400))
    for n in range(40):
        text = "\n\n".join(f"Part {part} of note {n}. {words}." for part in range(20))
        (here / "notes" / f"{n:02}.md").write_text(text)
    return here / "notes"


def test_all_files_are_read_before_the_first_chunk_is_embedded(notes: Path) -> None:
    seen: list[Progress] = []
    with crx.open("a.crx", settings={"embedder": "hashed"}) as index:
        report = index.add(notes, on_progress=seen.append)
    assert report.chunks > 512
    steps = [each.step for each in seen]
    assert steps == sorted(steps, reverse=True)  # "read", then "embed"
    assert {each.documents for each in seen if each.step == "embed"} == {40}
    for step in ("read", "embed"):
        done = [each.chunks_done for each in seen if each.step == step]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, report.chunks)
    assert (seen[-1].chunks_done, seen[-1].chunks_total) == (report.chunks, report.chunks)
    # The estimate is close from the first files on, long before all are read.
    early = next(each for each in seen if each.documents == 4)
    assert early.chunks_total == pytest.approx(report.chunks, rel=0.2)
    assert early.chunks_done < early.chunks_total / 10


def test_unchanged_files_are_no_work(notes: Path) -> None:
    with crx.open("a.crx", settings={"embedder": "hashed"}) as index:
        index.add(notes)
        (notes / "39.md").write_text("Changed.\n")
        seen: list[Progress] = []
        index.add(notes, on_progress=seen.append)
    assert max(each.chunks_total for each in seen) <= 1


def test_what_a_killed_run_left_is_work(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embed = HashedEmbedder.embed
    calls: list[int] = []

    def embed_and_stop(
        self: HashedEmbedder, texts: list[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        calls.append(len(texts))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return embed(self, texts, query=query)

    monkeypatch.setattr(HashedEmbedder, "embed", embed_and_stop)
    with crx.open("a.crx", settings={"embedder": "hashed"}) as index:
        with pytest.raises(KeyboardInterrupt):
            index.add(notes)
        left = index.store.stats()["pending"]
        seen: list[Progress] = []
        report = index.add(notes, on_progress=seen.append)
    assert left > 0
    assert seen[-1].chunks_total == left + report.chunks == seen[-1].chunks_done


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of progress without a pause between them."""
    monkeypatch.setattr("crx._cli.progress.JSON_EVERY_S", 0.0)
    monkeypatch.setattr("crx._cli.progress.PLAIN_EVERY_S", 0.0)


@pytest.mark.usefixtures("at_once")
def test_progress_is_plain_lines_without_a_terminal(crx: Crx, docs: Path) -> None:
    assert crx("index", docs).err.splitlines()[-1] == "crx: 2 of 2 chunks embedded"
    assert crx("index", docs, "--quiet").err == ""
    assert crx("index", docs, "--progress", "none").err == ""


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("options", [("--json",), ("--progress", "json")])
def test_progress_is_json_lines_for_programs(
    crx: Crx, docs: Path, options: tuple[str, ...]
) -> None:
    done = crx("index", docs, *options)
    last = json.loads(done.err.splitlines()[-1])["progress"]
    assert (last["documents"], last["found"], last["embedded"]) == (2, 2, 2)
    assert (last["chunks_done"], last["chunks_total"]) == (2, 2)


@pytest.mark.usefixtures("at_once")
def test_contexts_have_the_same_forms(crx: Crx, indexed: Path) -> None:
    plain = crx("contextualize", "--with", "fake:").err
    assert re.search(r"^crx: \d of 2 contexts, ", plain, re.MULTILINE)


def test_progress_is_a_bar_on_a_terminal_and_is_gone_at_the_end(notes: Path) -> None:
    code, shown = run_terminal("index", "notes", columns=120)
    assert code == 0
    assert re.search(r"\d of (about )?[\d,]+ chunks (read|embedded)", shown)
    erased = "\x1b[1A\x1b[2K"
    assert shown.splitlines()[-2].startswith(f"{erased}.crx: 40 files added")
    assert '"progress"' not in shown


def test_a_short_run_without_a_terminal_is_silent(docs: Path) -> None:
    assert run_process("index", "docs").err == ""


def test_lines_pause_between_them(capsys: pytest.CaptureFixture[str]) -> None:
    with show_build("plain") as show:
        for done in range(100):
            show(Progress(chunks_done=done, chunks_total=100))
    assert capsys.readouterr().err == ""


NOTE_DURING_A_BAR = """
import time
from crx._cli.output import print_note
from crx._cli.progress_bar import open_bar

with open_bar() as draw:
    draw(1, 2, "1 of 2 chunks read")
    time.sleep(0.3)
    print_note("27 files can be searched")
    draw(2, 2, "2 of 2 chunks read")
    time.sleep(0.3)
"""


def test_a_note_during_a_bar_has_a_line_of_its_own() -> None:
    code, shown = run_terminal(code=NOTE_DURING_A_BAR)
    assert code == 0
    assert "27 files can be searched" in shown
    assert not re.search(r"chunks read *crx:", shown)
