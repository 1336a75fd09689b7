"""Costs of contexts from Claude: the cap, the usage and the estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("anthropic", exc_type=ImportError)

from group_answers import DIGEST, answer_groups, line_of
from local_server import Fault
from messages_server import MessagesServer
from numbered import NUMBERS, context_of, dollars_of, numbered, paragraphs

from crx._services.service_usage import ServiceUsage
from crx.errors import BudgetSpent, UsageError
from crx.types import Context
from crx_remote.claude.contextualizer import Claude
from crx_remote.claude.pricing import ClaudePricing
from crx_remote.metering import Price

Make = Callable[..., Claude]


def test_the_cap_is_never_exceeded_and_most_of_it_is_used(
    claude: Make, server: MessagesServer
) -> None:
    doc = numbered(words=600)
    free = claude()
    list(free.situate(doc, paragraphs(doc)))
    cap = dollars_of(free.usage) * 0.8
    server.seen.clear()
    server.now += 1000
    contexts: list[Context] = []
    capped = claude(cap_dollars=cap)
    with pytest.raises(BudgetSpent, match="raise the budget to go on"):
        contexts.extend(capped.situate(doc, paragraphs(doc)))
    assert contexts == [context_of(n) for n in NUMBERS[: len(contexts)]]
    assert 0 < len(contexts) < 10
    assert len(contexts) == len(server.seen)
    assert dollars_of(capped.usage) <= cap


def test_a_cap_too_small_for_one_request_sends_none(claude: Make, server: MessagesServer) -> None:
    doc = numbered()
    with pytest.raises(BudgetSpent, match=r"\$0.0000 is spent"):
        list(claude(cap_dollars=1e-6).situate(doc, paragraphs(doc)))
    assert server.asked == 0


def test_a_lost_answer_counts_at_its_worst_case(claude: Make, server: MessagesServer) -> None:
    server.fault = lambda asked, body: Fault(cut=True)
    doc = numbered()
    made = claude(cap_dollars=0.1)
    outcomes = {context.outcome for context in made.situate(doc, paragraphs(doc)[:1])}
    assert outcomes <= {"failed:the answer broke off", "failed:the budget is spent"}
    assert made.usage == ServiceUsage(unanswered=server.asked)
    assert 0 < server.asked < 7


def test_a_cap_needs_a_price(claude: Make) -> None:
    with pytest.raises(UsageError, match="its price is not known"):
        claude("claude-nine", cap_dollars=2.0)
    price = Price(1, 5, 0.1, 1.25, 2)
    assert claude("claude-nine", cap_dollars=2.0, price=price).usage == ServiceUsage()


def test_the_usage_is_the_sum_of_what_the_service_reported(
    claude: Make, server: MessagesServer
) -> None:
    doc = numbered()
    made = claude()
    list(made.situate(doc, paragraphs(doc)))
    reported = [seen.usage for seen in server.seen]
    expected = ServiceUsage(
        requests=10,
        input=sum(u["input_tokens"] for u in reported),
        written=sum(u["cache_creation_input_tokens"] for u in reported),
        read=sum(u["cache_read_input_tokens"] for u in reported),
        output=sum(u["output_tokens"] for u in reported),
    )
    dollars = (
        expected.input * 2 + expected.written * 2.5 + expected.read * 0.2 + expected.output * 10
    ) / 1e6
    assert replace(made.usage, dollars=0.0) == expected
    assert made.usage.dollars == pytest.approx(dollars)


def test_an_estimate_shows_what_caching_and_batches_save(claude: Make) -> None:
    doc = numbered()
    chunks = paragraphs(doc)
    made = claude()
    estimate = made.estimate_cost([(doc, chunks)])
    list(made.situate(doc, chunks))
    assert (estimate.documents, estimate.chunks) == (1, 10)
    assert estimate.usage.written > 0
    assert estimate.usage.read == 9 * estimate.usage.written
    assert estimate.dollars is not None
    assert estimate.dollars_batch is not None
    assert estimate.dollars_uncached is not None
    assert estimate.dollars_batch < estimate.dollars < estimate.dollars_uncached


def test_an_estimate_needs_neither_key_nor_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    doc = numbered()
    pricing = ClaudePricing("claude-opus-5")
    assert pricing.estimate_cost([(doc, paragraphs(doc))]).dollars


def test_an_estimate_for_a_model_without_a_price_has_no_dollars(claude: Make) -> None:
    doc = numbered()
    estimate = claude("claude-nine").estimate_cost([(doc, paragraphs(doc))])
    assert (estimate.dollars, estimate.dollars_batch, estimate.dollars_uncached) == (
        None,
        None,
        None,
    )


def test_groups_cost_less_than_chunks_behind_their_document_without_a_cache(
    claude: Make, server: MessagesServer
) -> None:
    server.answer = lambda body: answer_groups(body["messages"][0]["content"][0]["text"])
    doc = numbered()
    made = claude(form="window")
    estimate = made.estimate_cost([(doc, paragraphs(doc))])
    contexts = list(made.situate(doc, paragraphs(doc)))
    assert contexts == [Context(f"{DIGEST}\n{line_of(number)}") for number in NUMBERS]
    assert estimate.usage.requests == made.usage.requests
    whole = claude().estimate_cost([(doc, paragraphs(doc))])
    assert estimate.dollars_batch is None
    assert dollars_of(estimate.usage) < (whole.dollars_uncached or 0) / 2


def test_groups_in_batches_are_an_error(claude: Make) -> None:
    with pytest.raises(UsageError, match="prompt=window sends no batches"):
        claude(form="window", batch=True)
