"""Announcements of texts that are sent to another machine, before the first request.

The address 0.0.0.0 reaches the local server and is not a loopback address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("openai", exc_type=ImportError)

from chat_server import ChatServer, serving

import crx
from crx._cli import run
from crx._services.destination import Destination
from crx.sending import sending_notice

TEXT = "# Whales\n\nBlue whales eat krill and little else.\n"
SIZE = len(TEXT.encode())


@pytest.fixture
def server() -> ChatServer:
    server = ChatServer()
    server.answer = lambda body: "Blue whales eat krill and little else. [1]"
    return server


@pytest.fixture
def source(server: ChatServer) -> Iterator[str]:
    """A source at an address that is not local."""
    with serving(server) as url:
        yield f"openai:{url.replace('127.0.0.1', '0.0.0.0')}/v1#small"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an index with one document of one chunk."""
    (tmp_path / "whales.md").write_text(TEXT)
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add(tmp_path / "whales.md")
    return tmp_path / "notes.crx"


def test_contexts_from_another_machine_are_announced_before_the_first_request(
    folder: Path, server: ChatServer, source: str
) -> None:
    announced: list[tuple[str, int]] = []
    with crx.open(folder) as index:
        report = index.contextualize(
            source, on_notice=lambda notice: announced.append((notice, server.asked))
        )
    notice = f"sending 1 document, 1 chunk ({SIZE} bytes of text) to 0.0.0.0"
    assert announced == [(notice, 0)]
    assert report.notes == (notice,)
    assert server.asked > 0


def test_several_queries_are_announced_in_the_plural() -> None:
    class Service:
        destination = Destination("service.example.com")

    what = {"query": 30, "chunk": 2, "document": 1}
    notice = sending_notice(Service(), what, n_bytes=9)
    assert notice == (
        "sending 30 queries, 2 chunks, 1 document (9 bytes of text) to service.example.com"
    )


def test_a_run_that_sends_nothing_announces_nothing(folder: Path, source: str) -> None:
    announced: list[str] = []
    with crx.open(folder) as index:
        index.contextualize(source)
        index.contextualize(source, on_notice=announced.append)
    assert announced == []


def test_answers_from_another_machine_are_announced_before_the_request(
    folder: Path, server: ChatServer, source: str
) -> None:
    announced: list[tuple[str, int]] = []
    with crx.open(folder) as index:
        stream = index.stream_answer(
            "what do whales eat?",
            with_=source,
            on_notice=lambda notice: announced.append((notice, server.asked)),
        )
        assert "".join(stream).startswith("Blue whales")
    ((notice, asked),) = announced
    assert notice.startswith("sending 1 question, 1 passage (")
    assert notice.endswith(" of text) to 0.0.0.0")
    assert asked == 0
    assert stream.answer.notes == (notice,)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_every_command_prints_the_announcement_once_on_stderr(
    folder: Path, source: str, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    place = ["--index", str(folder)]
    # The server's answer is rejected, as it names no word of the chunk.
    assert run(["contextualize", *place, "--with", source, "-q", *more]) == 3
    contextualized = capsys.readouterr()
    assert contextualized.err.count("crx: sending 1 document, 1 chunk (") == 1
    assert run(["ask", "what do whales eat?", *place, "--with", source, *more]) == 0
    asked = capsys.readouterr()
    assert asked.err.count("crx: sending 1 question, 1 passage (") == 1
    if more:
        assert "sending" in json.loads(asked.out)["notes"][0]


def test_texts_that_stay_on_this_machine_are_not_announced(
    folder: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    local = source.replace("0.0.0.0", "127.0.0.1")
    assert run(["contextualize", "--index", str(folder), "--with", local, "-q"]) == 3
    assert run(["ask", "what do whales eat?", "--index", str(folder), "--with", local]) == 0
    assert "sending" not in capsys.readouterr().err


def test_generated_questions_are_announced(
    folder: Path,
    server: ChatServer,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.answer = lambda body: "What do blue whales eat?"
    command = ["eval", "init", "--index", str(folder), "--out", str(tmp_path / "set")]
    run([*command, "--with", source, "-n", "1", "-q"])
    assert "crx: sending 1 chunk (" in capsys.readouterr().err


def test_the_baselines_of_an_ablation_are_announced(
    folder: Path,
    server: ChatServer,
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.answer = lambda body: "What do blue whales eat?"
    questions = str(tmp_path / "set")
    run(["eval", "init", "--index", str(folder), "--out", questions, "--with", source, "-n", "1"])
    capsys.readouterr()
    command = ["eval", "ablate", questions, "--with", source, "--baselines", "hyde,summary-index"]
    run([*command, "--set", "embedder=hashed", "-q"])
    assert "crx: sending 1 document, 1 question (" in capsys.readouterr().err
