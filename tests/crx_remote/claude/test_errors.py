"""Errors of the Messages API: which are retried, and what each costs."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", exc_type=ImportError)

from local_server import Fault
from messages_server import MessagesServer, first_word
from numbered import NUMBERS, RecordedSleep, context_of, numbered, paragraphs
from remote_contexts import make_claude

from crx._services.destination import Destination
from crx.errors import ModelError, Offline
from crx.types import Context
from crx_remote.claude.contextualizer import Claude

Make = Callable[..., Claude]


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_transient_error_is_retried(
    claude: Make, server: MessagesServer, sleep: RecordedSleep, status: int
) -> None:
    server.fault = lambda asked, body: Fault(status) if asked <= 3 else None
    doc = numbered()
    assert list(claude().situate(doc, paragraphs(doc)[:2])) == [
        context_of("one"),
        context_of("two"),
    ]
    assert [int(wait_s) for wait_s in sleep.waits_s] == [1, 2, 4]


def test_the_wait_that_the_service_asks_for_is_kept(
    claude: Make, server: MessagesServer, sleep: RecordedSleep
) -> None:
    server.fault = lambda asked, body: Fault(429, {"retry-after": "17"}) if asked == 1 else None
    doc = numbered()
    assert list(claude().situate(doc, paragraphs(doc)[:1])) == [context_of("one")]
    assert sleep.waits_s == [17.0]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(529, message="overloaded"), "529: overloaded"),
        (Fault(429, message="slow down"), "429: slow down"),
        (Fault(cut=True), "the answer broke off"),
        *(
            (Fault(garbage=garbage), "the answer does not follow the protocol")
            for garbage in [
                ("text/html", b"<html>not what you asked"),
                ("application/json", b"{"),
                ("application/json", b"{}"),
                ("application/json", b"[]"),
                ("application/json", b'{"content": [{"type": "text"}], "usage": 7}'),
            ]
        ),
    ],
)
def test_a_persistent_error_costs_the_chunk_and_not_the_run(
    claude: Make, server: MessagesServer, fault: Fault, why: str
) -> None:
    server.fault = lambda asked, body: fault if first_word(body).endswith("two") else None
    doc = numbered(paragraphs=3)
    assert list(claude().situate(doc, paragraphs(doc))) == [
        context_of("one"),
        Context.failed(why),
        context_of("three"),
    ]


def test_a_refused_request_costs_its_chunk_at_once(
    claude: Make, server: MessagesServer, sleep: RecordedSleep
) -> None:
    server.fault = lambda a, body: Fault(400) if first_word(body).endswith("two") else None
    doc = numbered(paragraphs=3)
    outcomes = [context.outcome for context in claude().situate(doc, paragraphs(doc))]
    assert outcomes == ["ok", "failed:400: a fault", "ok"]
    assert sleep.waits_s == []


@pytest.mark.parametrize(
    "fault", [Fault(413, message="too large"), Fault(400, message="prompt is too long: 9 > 8")]
)
def test_a_document_of_which_no_excerpt_is_accepted_fails(
    claude: Make, server: MessagesServer, fault: Fault
) -> None:
    server.fault = lambda asked, body: fault
    doc = numbered()
    outcomes = {context.outcome for context in claude().situate(doc, paragraphs(doc))}
    assert outcomes == {f"failed:{fault.status}: {fault.message}"}
    assert server.asked < 2 * len(NUMBERS)


def test_a_wrong_key_ends_the_run_at_once(service: Make) -> None:
    doc = numbered()
    with pytest.raises(ModelError, match=r"refuses the key \(401: .*\); check ANTHROPIC_API_KEY"):
        list(service(key="sk-wrong").situate(doc, paragraphs(doc)))


def test_an_account_without_credit_ends_the_run_at_once(
    claude: Make, server: MessagesServer
) -> None:
    server.fault = lambda asked, body: Fault(400, message="Your credit balance is too low to go on")
    doc = numbered()
    with pytest.raises(ModelError, match=r"for want of payment \(Your credit .*check the account"):
        list(claude().situate(doc, paragraphs(doc)))
    assert server.asked == 1


def test_a_key_that_is_revoked_loses_no_answer(claude: Make, server: MessagesServer) -> None:
    server.fault = lambda asked, body: Fault(401) if asked > 4 else None
    contexts: list[Context] = []
    doc = numbered()
    with pytest.raises(ModelError, match="401"):
        contexts.extend(claude(width=1).situate(doc, paragraphs(doc)))
    assert contexts == [context_of(n) for n in NUMBERS[:4]]


def test_an_answer_after_a_chunk_that_ended_the_run_is_yielded(
    claude: Make, server: MessagesServer
) -> None:
    server.gather = threading.Barrier(1)

    def withdrawn(asked: int, body: dict[str, Any]) -> Fault | None:
        return Fault(401) if first_word(body).endswith("two") else None

    server.fault = withdrawn
    contexts: list[Context] = []
    doc = numbered(paragraphs=3)
    with pytest.raises(ModelError, match="401"):
        contexts.extend(claude(width=2).situate(doc, paragraphs(doc)))
    assert contexts[0] == context_of("one")
    assert [c.outcome.split(":")[0] for c in contexts[1:]] in ([], ["failed", "ok"])
    answered = sum(c.outcome == "ok" for c in contexts)
    assert answered == len(server.seen)


def test_a_model_that_does_not_exist_ends_the_run(service: Make) -> None:
    doc = numbered()
    with pytest.raises(ModelError, match="no model claude-nine"):
        list(service(model="claude-nine").situate(doc, paragraphs(doc)))


def test_no_connection_ends_the_run(claude: Make, sleep: RecordedSleep) -> None:
    doc = numbered()
    with pytest.raises(ModelError, match="cannot be reached"):
        list(claude(url="http://127.0.0.1:9").situate(doc, paragraphs(doc)))
    assert len(sleep.waits_s) == 6


def test_a_missing_key_is_reported_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelError, match="no key; set ANTHROPIC_API_KEY"):
        make_claude("claude-sonnet-5")


def test_the_destination_is_the_host_that_the_sdk_sends_to(
    claude: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert claude().destination.is_local
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert claude(url=None).destination == Destination("api.anthropic.com")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://proxy.example.org")
    assert claude(url=None).destination == Destination("proxy.example.org")


def test_crx_offline_prevents_requests(
    claude: Make, server: MessagesServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, doc = claude(), numbered()
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with pytest.raises(Offline, match="CRX_OFFLINE is set"):
        claude()
    with pytest.raises(Offline, match="CRX_OFFLINE is set"):
        list(made.situate(doc, paragraphs(doc)))
    assert server.asked == 0


def test_closing_the_iterator_leaves_no_request_behind(
    claude: Make, server: MessagesServer
) -> None:
    doc = numbered()
    contexts = claude(width=2).situate(doc, paragraphs(doc))
    assert next(contexts) == context_of("one")
    contexts.close()  # type: ignore[attr-defined]  # a generator
    assert not [t for t in threading.enumerate() if t.name == "crx-remote"]


def test_documents_may_be_situated_concurrently(claude: Make, server: MessagesServer) -> None:
    made, docs = claude(), [numbered(), replace(numbered("b"), text=numbered().text + "!")]
    with ThreadPoolExecutor() as pool:
        both = pool.map(lambda doc: list(made.situate(doc, paragraphs(doc))), docs)
    assert [[context.text for context in contexts] for contexts in both] == [
        [context_of(n).text for n in NUMBERS]
    ] * 2
    assert sorted(server.writes.values()) == [1, 1]
    assert made.usage.requests == 20


def test_the_sdk_is_imported_only_when_it_is_used() -> None:
    script = "import sys, crx_remote.claude, crx_remote.openai; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not {b"anthropic", b"openai", b"httpx", b"httpx2"} & set(modules.stdout.split())


def test_an_invalid_key_is_refused_and_not_shown(claude: Make) -> None:
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY is not a valid key") as error:
        claude(key="sk-secret\n")
    assert "secret" not in str(error.value)
