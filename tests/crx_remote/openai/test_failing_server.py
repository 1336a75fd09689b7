"""A server that fails or hangs: what a person is told of it while waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from chat_server import MODEL, ChatServer, serving
from local_server import Fault
from numbered import numbered, paragraphs

from crx.deadline import deadline
from crx.errors import BudgetSpent, ModelError
from crx_remote.openai.contextualizer import load_contextualizer
from crx_remote.openai.generator import OpenAIGenerator
from crx_remote.retry import RetryPolicy

pytest.importorskip("openai", exc_type=ImportError)

AT_ONCE = RetryPolicy((0.0, 0.0))
# What a proxy answers for a server that is not there.
PAGE = b"""<html>
<head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx/1.22.1</center></body>
</html>"""


@pytest.fixture
def server() -> ChatServer:
    return ChatServer()


@pytest.fixture
def url(server: ChatServer) -> Iterator[str]:
    with serving(server) as url:
        yield url


def answer(url: str, told: list[str]) -> str:
    """Return the answer of a server, and add what is told meanwhile."""
    generator = OpenAIGenerator(f"{url}/v1#{MODEL}", retry_policy=AT_ONCE)
    generator.notify(told.append)
    return "".join(generator.generate("What do whales eat?"))


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(500, message="overloaded"), "500: overloaded"),
        (Fault(429, message="overloaded"), "429: overloaded"),
        (Fault(502, garbage=("text/html", PAGE)), "502: Bad Gateway"),
        (Fault(503, garbage=("text/html", b"<p>No\n<b>server</b></p>")), "503: No server"),
        (Fault(garbage=("text/html", b"<html>sign in</html>")), "does not follow the protocol"),
        (Fault(garbage=("application/json", b"{")), "does not follow the protocol"),
    ],
)
def test_the_first_failure_is_told_once_and_the_last_ends_the_answer(
    url: str, server: ChatServer, fault: Fault, why: str
) -> None:
    server.fault = lambda asked, body: fault
    told: list[str] = []
    with pytest.raises(ModelError, match=why):
        answer(url, told)
    (line,) = told
    assert why in line
    assert line.startswith(f"openai:{url}/v1: ")
    assert line.endswith("; trying again")
    assert server.asked == 3


def test_a_server_that_hangs_is_told_and_its_answer_still_read(
    url: str, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_remote.completion.SLOW_S", 0.01)
    told_slow = threading.Event()
    server.fault = lambda asked, body: None if told_slow.wait(30) else Fault(500)

    class Told(list[str]):
        def append(self, line: str) -> None:
            super().append(line)
            told_slow.set()

    told = Told()
    assert answer(url, told).startswith("the part of the whole")
    assert told == [f"openai:{url}/v1: nothing received for 0 s yet"]


def test_a_server_that_speaks_no_tls_is_told_at_once(url: str) -> None:
    told: list[str] = []
    with pytest.raises(ModelError, match=r"https://.*: TLS fails \(.+\); check the address"):
        answer(url.replace("http:", "https:"), told)
    assert told == []


def test_the_address_of_a_server_that_is_not_there_is_told_once_a_line() -> None:
    told: list[str] = []
    with pytest.raises(ModelError, match="cannot be reached"):
        answer("http://127.0.0.1:9", told)
    assert told == [
        "openai:http://127.0.0.1:9/v1: cannot be reached; check that it is running and that the "
        "address is right; trying again"
    ]


@pytest.mark.parametrize("form", ["document", "window"])
def test_contexts_tell_the_first_failure_of_each_kind(
    url: str, server: ChatServer, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_remote.remote_contextualizer.RetryPolicy", lambda: AT_ONCE)
    server.fault = lambda asked, body: Fault(500, message=f"request {asked}")
    contextualizer = load_contextualizer(
        f"{url}/v1#{MODEL}:prompt={form}", prompt=None, cap_dollars=float("inf")
    )
    told: list[str] = []
    contextualizer.notify(told.append)
    doc = numbered(paragraphs=6)
    contexts = list(contextualizer.situate(doc, paragraphs(doc)))
    assert {context.status for context in contexts} == {"failed"}
    (line,) = told
    assert line.startswith(f"openai:{url}/v1: 500: request ")


def test_contexts_of_a_server_that_hangs_end_with_the_budget_and_the_cause(
    url: str, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_remote.remote_contextualizer.SLOW_S", 0.01)
    ended = threading.Event()
    server.fault = lambda asked, body: Fault(500) if ended.wait(30) else None
    contextualizer = load_contextualizer(f"{url}/v1#{MODEL}", prompt=None, cap_dollars=float("inf"))
    told: list[str] = []
    contextualizer.notify(told.append)
    doc = numbered(paragraphs=6)
    with deadline(0.05), pytest.raises(BudgetSpent):
        list(contextualizer.situate(doc, paragraphs(doc)))
    ended.set()
    assert told == [f"openai:{url}/v1: nothing received for 0 s yet"]
