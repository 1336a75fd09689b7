"""A model's files are hashed once a day, and again when they change."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from crx._models import checked
from crx._models.card import ModelCard, check_file, file_digest
from crx.errors import ModelError

HOUR_S = 3600


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ModelCard]:
    """A file that is an hour old, and the card of its model."""
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    set_clock(monkeypatch, path, HOUR_S)
    card = ModelCard(
        name="tiny",
        kind="generator",
        dimensions=0,
        sequence=512,
        max_tokens=512,
        pooling="none",
        query_prefix="",
        passage_prefix="",
        precision="gguf",
        licence="mit",
        source="",
        converter=1,
        opset=20,
        files={path.name: file_digest(path)},
    )
    return path, card


def set_clock(monkeypatch: pytest.MonkeyPatch, path: Path, seconds: float) -> None:
    """Set the time to so many seconds after the last change of a file, on the same day."""
    now = path.stat().st_ctime + seconds
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(checked, "_DAY_S", 10**11)


def hashes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list to which the files are added that are hashed from now on."""
    read: list[Path] = []

    def count(path: Path, card: ModelCard) -> None:
        read.append(path)
        check_file(path, card)

    monkeypatch.setattr(checked, "check_file", count)
    return read


def test_an_unchanged_file_is_hashed_once_a_day(
    model: tuple[Path, ModelCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, card = model
    read = hashes(monkeypatch)
    for _ in range(3):
        checked.check_files_daily(path.parent, card)
    assert len(read) == 1
    monkeypatch.setattr(checked, "_DAY_S", 1)
    checked.check_files_daily(path.parent, card)
    assert len(read) == 2


def test_a_file_with_another_content_is_damaged_though_its_size_and_time_are_the_same(
    model: tuple[Path, ModelCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, card = model
    checked.check_files_daily(path.parent, card)
    before = path.stat()
    path.write_bytes(b"Weights")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    set_clock(monkeypatch, path, HOUR_S)
    with pytest.raises(ModelError, match="damaged"):
        checked.check_files_daily(path.parent, card)


def test_a_file_that_has_just_changed_is_hashed_each_time(
    model: tuple[Path, ModelCard], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, card = model
    set_clock(monkeypatch, path, 0.1)
    read = hashes(monkeypatch)
    for _ in range(2):
        checked.check_files_daily(path.parent, card)
    assert len(read) == 2


def test_a_missing_file_is_named(model: tuple[Path, ModelCard]) -> None:
    path, card = model
    path.unlink()
    with pytest.raises(ModelError, match=r"model.gguf: no such file"):
        checked.check_files_daily(path.parent, card)
