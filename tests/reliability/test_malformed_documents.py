"""Malformed documents of each format: each is read or refused in a line, and no process is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import faulty_readers
import pytest
from fault_injection.effort import Effort
from malformed import SEEDS, malformed

from crx.errors import InputError, SystemFailure
from crx.ingest import readers
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits

LIMITS = ReadLimits(seconds=10, memory_mb=1000)
MAX_BYTES = 2_000_000


class TooSlowError(AssertionError):
    """A document took longer than its limits allow, or its worker did not start in time."""


def read_again_if_slow(reader: IsolatedReader, data: bytes, name: str) -> str:
    """Return what became of a document; one that is slow once may have met a busy machine."""
    try:
        return read(reader, data, name)
    except TooSlowError:
        return f"{read(reader, data, name)} at the second attempt"


def read(reader: IsolatedReader, data: bytes, name: str) -> str:
    """Return what became of a document; raises `AssertionError` if it did harm."""
    started = time.monotonic()
    chars, outcome = 0, "read"
    try:
        for document in reader.read(data, name=name, max_bytes=MAX_BYTES):
            document.text.encode()
            chars += len(document.text)
    except InputError as refused:
        outcome = outcome_of(str(refused))
    except SystemFailure as not_started:
        raise TooSlowError(str(not_started)) from not_started
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from error
    assert chars <= MAX_BYTES, f"{chars} characters"
    if (seconds := time.monotonic() - started) > LIMITS.wall_seconds + 5:
        raise TooSlowError(f"took {seconds:.0f} s")
    return outcome


def outcome_of(reason: str) -> str:
    """Return what became of a document that was not read, by the reason.

    A parser that crashes does so in a process of its own. An exception of a reader is caught there
    too, but is a fault that is to be mended.
    """
    assert "\n" not in reason, reason
    if "made its reader fail: crashed" in reason:
        return "made a parser crash"
    assert "made its reader" not in reason, reason
    return "refused"


def test_malformed_documents_are_read_or_refused(effort: Effort) -> None:
    chance = effort.chance
    harm = []
    with IsolatedReader(LIMITS) as reader:
        for _ in range(effort.runs(quick=100, full=10_000)):
            name = chance.choice(list(SEEDS))
            data = malformed(SEEDS[name], chance)
            try:
                effort.outcomes[read_again_if_slow(reader, data, name)] += 1
            except AssertionError as failed:
                harm.append(f"{name}: {failed}: {data[:300]!r}")
                effort.notes.append(harm[-1][:400])
            effort.done += 1
    assert not harm, "\n".join(harm)


@pytest.fixture
def _faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    faulty_readers.install(tmp_path, monkeypatch)
    yield
    readers._load_plugins.cache_clear()


@pytest.mark.usefixtures("_faulty")
def test_the_harness_finds_a_reader_that_fails() -> None:
    with IsolatedReader(LIMITS) as reader, pytest.raises(AssertionError, match="made its reader"):
        read(reader, b"words", "a.raise")
