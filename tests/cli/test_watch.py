"""What `crx watch` tells of the files that it adds before it watches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Crx

from crx_serve.watch import Watcher


def test_what_is_added_and_what_fails_is_told_before_the_first_sweep(
    crx: Crx, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watcher, "run", lambda _: None)
    (docs / "broken.pdf").write_bytes(b"%PDF-1.4\n")
    done = crx("watch", "docs")
    assert re.fullmatch(r"\d\d:\d\d:\d\d 2 files added, 1 failed\n", done.out)
    assert "crx: docs/broken.pdf: " in done.err
    assert crx("watch", "docs").out == ""


def test_the_progress_of_the_first_pass_is_shown_as_by_index(
    crx: Crx, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watcher, "run", lambda _: None)
    monkeypatch.setattr("crx._cli.progress.PLAIN_EVERY_S", 0.0)
    assert re.search(r"^crx: \d+ of (about )?\d+ chunks read", crx("watch", "docs").err, re.M)
    (docs / "new.md").write_text("# New\n")
    assert "chunks" not in crx("watch", "docs", "-q").err
