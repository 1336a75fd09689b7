"""The inputs that fuzzing kept break no promise of the readers and parsers; see `make fuzz`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_entry_points import EntryPoints

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "python"


@pytest.fixture(scope="module")
def entry_points() -> Iterator[EntryPoints]:
    made = EntryPoints()
    yield made
    made.close()


def test_the_corpus_breaks_no_promise(entry_points: EntryPoints) -> None:
    inputs = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    reached = {data[0] % len(entry_points) for data in inputs if data}
    assert reached == set(range(len(entry_points)))
    for data in inputs:
        entry_points.run(data)


def test_a_broken_promise_of_a_reader_is_found(
    entry_points: EntryPoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.ingest.readers.markdown.read", fail)
    with pytest.raises(ZeroDivisionError):
        entry_points.run(b"\x01# Roads")


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_what_is_no_answer_of_a_server_is_found(
    entry_points: EntryPoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_serve.service.SearchService.documents", fail)
    connection, request, messages = (len(entry_points) - 3 + at for at in range(3))
    for number, data in (
        (connection, b"GET /v1/documents HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (request, b"GET /v1/documents"),
        (messages, b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}'),
    ):
        with pytest.raises((AssertionError, ZeroDivisionError)):
            entry_points.run(bytes([number]) + data)
