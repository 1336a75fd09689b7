"""Message batches: waves, costs, recovery."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

pytest.importorskip("anthropic", exc_type=ImportError)

from local_server import Fault
from messages_server import Batch, MessagesServer, first_word
from numbered import NUMBERS, context_of, dollars_of, numbered, paragraphs

from crx import _native
from crx._services.pending_jobs import PendingJobs
from crx.errors import BudgetSpent, ModelError, UsageError
from crx.types import Context
from crx_remote.claude.contextualizer import Claude
from crx_remote.retry import RetryPolicy

Make = Callable[..., Claude]


class StoredSettings:
    """The settings of an index, in memory."""

    def __init__(self) -> None:
        self._all: dict[str, str] = {}

    def settings(self) -> dict[str, str]:
        return self._all

    def set_settings(self, given: dict[str, str]) -> None:
        self._all |= given


@pytest.fixture
def jobs() -> PendingJobs:
    return PendingJobs(cast(_native.Store, StoredSettings()), "claude")


def test_a_batch_gives_the_same_contexts_at_half_the_price(
    claude: Make, server: MessagesServer
) -> None:
    doc = numbered()
    made = claude(batch=True)
    assert list(made.situate(doc, paragraphs(doc))) == [context_of(n) for n in NUMBERS]
    used = made.usage
    assert list(server.writes.values()) == [1]
    an_hour = server.seen[0].usage["cache_creation"]["ephemeral_1h_input_tokens"]
    assert an_hour == used.written > 0
    price = used.input * 2 + used.written * 4 + used.read * 0.2 + used.output * 10
    assert used.dollars == pytest.approx(price / 1e6 / 2)


def test_the_first_batch_writes_each_document_to_the_cache(
    claude: Make, server: MessagesServer
) -> None:
    docs = [numbered("a"), numbered("b"), numbered("c", words=20)]
    made = claude(batch=True)
    contexts = list(made.situate_many([(doc, paragraphs(doc)) for doc in docs]))
    assert sorted(contexts, key=lambda c: c[:2]) == [
        (d, i, context_of(n)) for d in range(3) for i, n in enumerate(NUMBERS)
    ]
    assert [len(batch.requests) for batch in server.batches.values()] == [1 + 1 + 10, 9 + 9]
    assert list(server.writes.values()) == [1, 1]


@pytest.mark.parametrize(("chunks", "batches"), [(1, [1]), (2, [2]), (3, [1, 2])])
def test_a_document_is_cached_for_a_batch_only_if_two_more_chunks_read_it(
    claude: Make, server: MessagesServer, chunks: int, batches: list[int]
) -> None:
    doc = numbered()
    list(claude(batch=True).situate(doc, paragraphs(doc)[:chunks]))
    assert [len(batch.requests) for batch in server.batches.values()] == batches


def test_failed_and_rejected_chunks_are_requested_again(
    claude: Make, server: MessagesServer
) -> None:
    server.fault = lambda asked, body: Fault(529) if asked == 3 else None
    server.answer = lambda body: (
        ""
        if first_word(body).endswith("four")
        and "no introduction" not in body["messages"][0]["content"][1]["text"]
        else first_word(body)
    )
    doc = numbered(paragraphs=4)
    assert list(claude(batch=True).situate(doc, paragraphs(doc))) == [
        context_of("one"),
        context_of("two"),
        context_of("three"),
        replace(context_of("four"), status="retried"),
    ]
    assert [len(batch.requests) for batch in server.batches.values()] == [1, 3, 2]


def test_a_request_refused_in_a_batch_costs_its_chunk(claude: Make, server: MessagesServer) -> None:
    server.fault = lambda asked, body: Fault(400) if first_word(body).endswith("two") else None
    doc = numbered(paragraphs=3)
    assert list(claude(batch=True).situate(doc, paragraphs(doc))) == [
        context_of("one"),
        Context.failed("invalid_request_error: a fault"),
        context_of("three"),
    ]


def test_a_batch_that_ends_the_run_yields_what_was_answered(
    claude: Make, server: MessagesServer
) -> None:
    server.fault = lambda asked, body: Fault(402) if first_word(body).endswith("two") else None
    contexts: list[Context] = []
    doc = numbered(paragraphs=4)
    with pytest.raises(ModelError, match="billing_error: a fault; check the key, the account"):
        contexts.extend(claude(batch=True).situate(doc, paragraphs(doc)))
    assert [context.outcome.split(":")[0] for context in contexts] == ["ok", "failed", "ok", "ok"]


def test_a_batch_does_not_exceed_the_cap(claude: Make, server: MessagesServer) -> None:
    docs = [numbered(name, words=600) for name in "abcdef"]
    docs = [replace(doc, text=doc.text.replace("so on", f"so {doc.uri}")) for doc in docs]
    jobs = [(doc, paragraphs(doc)) for doc in docs]
    free = claude(batch=True)
    list(free.situate_many(jobs))
    server.now += 10_000
    cap = dollars_of(free.usage) * 0.8
    contexts: list[tuple[int, int, Context]] = []
    capped = claude(batch=True, cap_dollars=cap)
    with pytest.raises(BudgetSpent):
        contexts.extend(capped.situate_many(jobs))
    assert {context for _, _, context in contexts} <= {context_of(n) for n in NUMBERS}
    assert 0 < len(contexts) < 60
    assert 0.3 * cap < dollars_of(capped.usage) <= cap


def test_closing_the_iterator_cancels_the_batch_in_flight(
    claude: Make, server: MessagesServer
) -> None:
    waiting = threading.Event()

    async def sleep(wait_s: float) -> None:
        if len(server.batches) == 2:
            waiting.set()
            await asyncio.Event().wait()

    doc = numbered()
    contexts = claude(batch=True, retry_policy=RetryPolicy(sleep=sleep)).situate(
        doc, paragraphs(doc)
    )
    assert next(contexts) == context_of("one")
    assert waiting.wait(timeout=10)
    contexts.close()  # type: ignore[attr-defined]  # a generator
    assert [batch.canceled for batch in server.batches.values()] == [False, True]


def test_a_recovered_batch_is_not_cancelled(
    claude: Make, server: MessagesServer, jobs: PendingJobs
) -> None:
    async def leave(wait_s: float) -> None:
        raise asyncio.CancelledError

    doc = numbered()
    server.batches["msgbatch_1"] = Batch([])
    jobs.add("msgbatch_1")
    made = claude(batch=True, retry_policy=RetryPolicy(sleep=leave))
    made.resume(jobs)
    with pytest.raises(asyncio.CancelledError):
        list(made.situate(doc, paragraphs(doc)))
    assert not server.batches["msgbatch_1"].canceled


def test_the_batch_of_a_document_sent_in_excerpts_is_recovered(
    claude: Make, server: MessagesServer, jobs: PendingJobs
) -> None:
    async def killed(wait_s: float) -> None:
        raise ModelError("killed")

    doc, narrow = numbered(words=120), {"batch": True, "token_limit": 1500, "max_tokens": 200}
    first = claude(**narrow, retry_policy=RetryPolicy(sleep=killed))
    first.resume(jobs)
    with pytest.raises(ModelError, match="the same command takes up what it makes"):
        list(first.situate(doc, paragraphs(doc)))
    again = claude(**narrow)
    again.resume(jobs)
    missing = paragraphs(doc)[1:]
    assert list(again.situate(doc, missing)) == [context_of(n) for n in NUMBERS[1:]]
    assert len(server.batches) == 1


def test_a_batch_in_flight_is_refused_by_an_instance_without_batches(
    claude: Make, server: MessagesServer, jobs: PendingJobs
) -> None:
    claude().resume(jobs)
    jobs.add("msgbatch_1")
    with pytest.raises(UsageError, match=r"msgbatch_1 is paid for .*sonnet-5:batch=1 to"):
        claude().resume(jobs)
    assert jobs.names == ("msgbatch_1",)


def test_a_batch_that_may_have_been_accepted_is_not_sent_twice(
    claude: Make, server: MessagesServer
) -> None:
    server.batch_fault = Fault(cut=True)
    doc = numbered()
    with pytest.raises(ModelError, match="it may be running and charged"):
        list(claude(batch=True).situate(doc, paragraphs(doc)))
    assert len(server.batches) == 1


def test_a_wrong_key_ends_a_batch_at_once(claude: Make) -> None:
    doc = numbered()
    with pytest.raises(ModelError, match="refuses the key"):
        list(claude(batch=True, key="sk-wrong").situate(doc, paragraphs(doc)))
