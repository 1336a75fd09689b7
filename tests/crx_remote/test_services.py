"""Runs of `crx contextualize` on services that charge, against local ones with the real SDKs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

from chat_server import ChatServer
from chat_server import serving as serving_chat
from local_server import Fault
from messages_server import KEY, Batch, MessagesServer, serving
from remote_contexts import make_claude

import crx
from crx._cli import run
from crx._services.service_usage import ServiceUsage
from crx.errors import ModelError, UsageError
from crx_remote.claude.contextualizer import Claude

pytestmark = pytest.mark.usefixtures("accept_generic_contexts")

SETTINGS = {"embedder": "hashed", "chunk_chars": 400}
MODEL = "claude-sonnet-5"


def text(name: str, paragraphs: int) -> str:
    """A document of about 30 tokens of the servers a paragraph."""
    lines = (
        f"In section {n} the {name} colony counted {n * 37} nests near the river bend.\n\n"
        for n in range(paragraphs)
    )
    return f"# {name.title()} survey\n\n" + "".join(lines)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("heron", "egret"):
        (folder / f"{name}.md").write_text(text(name, 60))
    return folder


@pytest.fixture
def index(tmp_path: Path, docs: Path) -> crx.Index:
    index = crx.open(tmp_path / "notes.crx", settings=SETTINGS)
    index.add(docs)
    return index


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    """The local Messages API, which the SDK finds by its environment."""
    server = MessagesServer()
    with serving(server) as url:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        yield server


@pytest.fixture
def chat() -> Iterator[tuple[ChatServer, str]]:
    server = ChatServer()
    with serving_chat(server) as url:
        yield server, f"openai:{url}/v1#small"


# what it used


def test_an_outcome_tells_what_the_service_counted_in_that_run_alone(
    index: crx.Index, docs: Path, messages: MessagesServer
) -> None:
    claude = make_claude(MODEL)
    first = index.contextualize(claude).usage
    assert first is not None
    assert first == claude.usage
    assert first.requests == len(messages.seen)
    (docs / "stork.md").write_text(text("stork", 60))
    index.add(docs)
    second = index.contextualize(claude).usage
    assert second is not None
    assert second.requests == len(messages.seen) - first.requests
    assert index.contextualize(claude).usage == ServiceUsage()
    assert index.contextualize("fake:").usage is None


def test_progress_tells_dollars(index: crx.Index, messages: MessagesServer) -> None:
    seen = []
    outcome = index.contextualize(f"claude:{MODEL}", on_progress=lambda now: seen.append(now.usage))
    assert seen[0] is None
    assert seen[-1] == outcome.usage


def test_the_command_ends_with_a_table_of_what_was_used(
    tmp_path: Path,
    index: crx.Index,
    messages: MessagesServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = ["--index", str(tmp_path / "notes.crx"), "-q"]
    assert run(["contextualize", *place, "--with", f"claude:{MODEL}"]) == 0
    said = capsys.readouterr().out.splitlines()
    written = sum(each.usage["cache_creation_input_tokens"] for each in messages.seen)
    read = sum(each.usage["cache_read_input_tokens"] for each in messages.seen)
    assert "covered" in said[0]
    assert [line.split("  ")[0] for line in said[1:]] == [
        "requests",
        "input tokens",
        "written to cache",
        "read from cache",
        "share read from cache",
        "output tokens",
        "dollars",
    ]
    assert said[3].split()[-1] == f"{written:,}"
    assert said[4].split()[-1] == f"{read:,}"
    assert run(["contextualize", *place, "--with", f"claude:{MODEL}"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1, "nothing was sent"


def test_json_holds_the_same(
    tmp_path: Path, docs: Path, chat: tuple[ChatServer, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, source = chat
    place = ["--index", str(tmp_path / "one.crx"), "-q", "--json"]
    settings = ["--embedder", "hashed", "--set", "chunk_chars=400"]
    assert run(["index", str(docs), *place, *settings, "--contexts", source]) == 0
    used = json.loads(capsys.readouterr().out)["contextualized"]["usage"]
    assert used["requests"] == server.asked
    assert used["dollars"] is None
    assert used["share_read"] == used["read"] / (used["read"] + used["input"])


# batches that outlive their run

VICTIM = """
import sys
import crx
from crx_remote.claude.contextualizer import Claude, ClaudeContexts
from crx_contexts import validate

validate.MIN_SPECIFIC = 0
validate.MIN_SPECIFIC_SHARE = 0.0
validate.MIN_FROM_CHUNK = 0
crx.open(sys.argv[1]).contextualize(Claude(ClaudeContexts(sys.argv[2], batch=True), poll_s=0.01))
"""


def left_behind(place: Path, server: MessagesServer) -> None:
    """Kill a run while its second batch is under way, the first one taken in."""
    server.held_from = 2
    with subprocess.Popen([sys.executable, "-c", VICTIM, str(place), MODEL]) as process:
        while "msgbatch_2" not in jobs_in_flight(place):
            assert process.poll() is None
        process.kill()
    server.held_from = 1_000_000


def jobs_in_flight(place: Path) -> list[str]:
    from crx._services.pending_jobs import read_pending_jobs

    with crx.open(place) as index:
        return [
            name for names in read_pending_jobs(index.store.settings()).values() for name in names
        ]


def claude_in_batches() -> Claude:
    return make_claude(MODEL, batch=True, poll_s=0.001)


def test_a_batch_that_a_killed_run_left_is_adopted_and_not_paid_twice(
    tmp_path: Path, index: crx.Index, messages: MessagesServer, capsys: pytest.CaptureFixture[str]
) -> None:
    index.close()
    place = tmp_path / "notes.crx"
    left_behind(place, messages)
    assert jobs_in_flight(place)[-1] == "msgbatch_2"
    assert run(["status", "--index", str(place)]) == 0
    assert "msgbatch_2, of claude:" in capsys.readouterr().out
    with crx.open(place) as again:
        outcome = again.contextualize(claude_in_batches())
        assert len(messages.batches) == 2
        assert outcome.coverage == 1.0
        assert outcome.usage is not None
        assert outcome.usage.requests >= len(messages.batches["msgbatch_2"].requests)
    assert len(messages.seen) == outcome.chunks, "each chunk was answered once"
    assert jobs_in_flight(place) == []


def test_an_adopted_answer_waits_for_the_wave_of_its_document(
    tmp_path: Path, index: crx.Index, messages: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.close()
    place = tmp_path / "notes.crx"
    left_behind(place, messages)
    monkeypatch.setattr("crx._context.run.GROUP_CHUNKS", 1)
    with crx.open(place) as again:
        assert again.contextualize(claude_in_batches()).coverage == 1.0
    assert len(messages.batches) == 2
    assert jobs_in_flight(place) == []


def test_only_what_an_adopted_batch_could_not_answer_is_asked_for(
    tmp_path: Path, index: crx.Index, messages: MessagesServer
) -> None:
    index.close()
    place = tmp_path / "notes.crx"
    left_behind(place, messages)
    messages.fault = lambda asked, body: Fault(529) if asked in (5, 7) else None
    with crx.open(place) as again:
        assert again.contextualize(claude_in_batches()).coverage == 1.0
    later = [len(batch.requests) for name, batch in messages.batches.items() if name > "msgbatch_2"]
    assert sum(later) == 2


def test_a_batch_that_the_service_no_longer_knows_is_asked_for_anew(
    tmp_path: Path, index: crx.Index, messages: MessagesServer
) -> None:
    index.close()
    place = tmp_path / "notes.crx"
    left_behind(place, messages)
    del messages.batches["msgbatch_2"]
    with crx.open(place) as again:
        assert again.contextualize(claude_in_batches()).coverage == 1.0
    assert jobs_in_flight(place) == []


def test_a_batch_whose_name_was_never_heard_is_found_and_not_paid_twice(
    tmp_path: Path, index: crx.Index, messages: MessagesServer, capsys: pytest.CaptureFixture[str]
) -> None:
    messages.batch_fault = Fault(cut=True)
    with pytest.raises(ModelError, match="the same command looks for it before it sends anything"):
        index.contextualize(claude_in_batches())
    index.close()
    messages.batch_fault = None
    place = tmp_path / "notes.crx"
    (noted,) = jobs_in_flight(place)
    assert noted.startswith("a batch of 2 sent 20")
    assert run(["status", "--index", str(place)]) == 0
    assert "its name not heard, of claude:" in capsys.readouterr().out
    # Somebody else's: without end those of another size or a later day, ended one of the same size.
    foreign = {"custom_id": "other", "params": messages.batches["msgbatch_1"].requests[0]["params"]}
    messages.batches["msgbatch_1000001"] = Batch([foreign] * 3)
    messages.batches["msgbatch_900"] = Batch([foreign] * 2)
    later = datetime.now(timezone.utc) + timedelta(days=2)
    messages.batches["msgbatch_1000002"] = Batch([foreign] * 2, created=later)
    messages.listed_at_once = 1
    with crx.open(place) as again:
        outcome = again.contextualize(claude_in_batches())
    assert outcome.coverage == 1.0
    foreign_names = ("msgbatch_1000001", "msgbatch_900", "msgbatch_1000002")
    sent = [len(b.requests) for n, b in messages.batches.items() if n not in foreign_names]
    assert sum(sent) == outcome.chunks, "each chunk was asked for once"
    assert jobs_in_flight(place) == []


def test_a_time_does_not_stop_batches_and_is_refused(
    index: crx.Index, messages: MessagesServer
) -> None:
    with pytest.raises(UsageError, match="a batch cannot be stopped after a time; give dollars"):
        index.contextualize(f"claude:{MODEL}:batch=1", budget="20m")
    assert messages.batches == {}


def test_a_batch_that_was_refused_is_not_looked_for(
    index: crx.Index, messages: MessagesServer, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="refuses the key"):
        index.contextualize(make_claude(MODEL, batch=True, poll_s=0.001, key="sk-wrong"))
    index.close()
    assert jobs_in_flight(tmp_path / "notes.crx") == []
