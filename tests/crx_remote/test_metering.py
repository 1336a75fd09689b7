"""Prices, usage and the spending cap."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._services.service_usage import ServiceUsage, parse_dollars
from crx.errors import BudgetSpent, UsageError
from crx_remote.metering import Meter, Price, parse_price

PRICE = Price(input=1, output=5, read=0.1, written=1.25, written_hour=2)


def test_a_million_tokens_of_each_kind_cost_their_price() -> None:
    million = 1_000_000
    assert PRICE.dollars(ServiceUsage(input=million)) == 1
    assert PRICE.dollars(ServiceUsage(output=million)) == 5
    assert PRICE.dollars(ServiceUsage(read=million)) == pytest.approx(0.1)
    assert PRICE.dollars(ServiceUsage(written=million)) == 1.25
    assert PRICE.dollars(ServiceUsage(written=million), hour=True) == 2
    assert PRICE.dollars(ServiceUsage(input=million), discount=0.5) == 0.5


def test_a_long_prompt_pays_more_for_everything() -> None:
    price = replace(PRICE, long_from=100, long_factor=5)
    short, long = (
        ServiceUsage(read=60, input=40, output=10),
        ServiceUsage(read=60, input=41, output=10),
    )
    assert price.dollars(short) == PRICE.dollars(short)
    assert price.dollars(long) == pytest.approx(5 * PRICE.dollars(long))


def test_usage_adds_up_and_one_unknown_price_makes_the_sum_unknown() -> None:
    one = ServiceUsage(requests=1, input=2, written=3, read=5, output=7, dollars=0.5)
    lost = ServiceUsage(unanswered=1)
    assert one + one + lost == ServiceUsage(2, 4, 6, 10, 14, 1.0, 1)
    assert one + one + lost - one == replace(one, unanswered=1)
    assert (one + replace(one, dollars=None)).dollars is None
    assert (replace(one, dollars=None) + one).dollars is None


def test_usage_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ServiceUsage().requests = 1  # type: ignore[misc]


def test_usage_is_shown_as_a_table() -> None:
    usage = ServiceUsage(
        requests=10, input=1000, written=2000, read=17_000, output=500, dollars=0.01234
    )
    assert usage.rows() == (
        ("requests", "10"),
        ("input tokens", "1,000"),
        ("written to cache", "2,000"),
        ("read from cache", "17,000"),
        ("share read from cache", "85.0%"),
        ("output tokens", "500"),
        ("dollars", "$0.0123"),
    )
    lost = replace(usage, dollars=None, unanswered=2)
    assert lost.rows()[-2:] == (("dollars", "unknown"), ("answers lost", "2"))


def test_the_share_read_of_no_requests_is_zero() -> None:
    assert ServiceUsage().share_read == 0.0


@given(
    st.floats(0.01, 10),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("slr"))),
)
def test_the_cap_is_never_exceeded_whatever_the_requests_cost(
    cap: float, requests: list[tuple[float, float, str]]
) -> None:
    """Each request costs a share of its worst case, loses its answer, or is released."""
    meter = Meter(cap_dollars=cap)
    lost = 0.0
    for worst, share, end in requests:
        try:
            reservation = meter.reserve(worst)
        except BudgetSpent:
            assert (meter.usage.dollars or 0.0) + lost + worst > cap * (1 - 1e-9)
            continue
        if end == "s":
            reservation.settle(ServiceUsage(requests=1, dollars=worst * share))
        elif end == "l":
            reservation.count_as_lost()
            lost += worst
        else:
            reservation.release()
    assert (meter.usage.dollars or 0.0) + lost <= cap * (1 + 1e-9)


def test_a_reservation_counts_at_its_worst_case_until_it_is_settled() -> None:
    meter = Meter(cap_dollars=1.0)
    first = meter.reserve(0.6)
    with pytest.raises(BudgetSpent, match=r"\$1: \$0.0000 is spent .* may cost \$0.6000"):
        meter.reserve(0.6)
    first.settle(ServiceUsage(requests=1, dollars=0.1))
    first.release()
    meter.reserve(0.6)
    assert meter.usage == ServiceUsage(requests=1, dollars=0.1)


def test_a_request_of_unknown_cost_counts_at_its_worst_case() -> None:
    meter = Meter(cap_dollars=1.0)
    meter.reserve(0.5).settle(ServiceUsage(requests=1, dollars=0.3))
    meter.reserve(0.5).settle(ServiceUsage(requests=1, dollars=None))
    with pytest.raises(BudgetSpent, match=r"\$0.8000 is spent"):
        meter.reserve(0.3)
    assert meter.usage == ServiceUsage(requests=2, dollars=None)


def test_a_reservation_is_renewed_for_a_retry_while_it_fits() -> None:
    meter = Meter(cap_dollars=1.0)
    reservation = meter.reserve(0.4)
    reservation.renew()
    reservation.count_as_lost()
    reservation.renew()
    reservation.count_as_lost()
    with pytest.raises(BudgetSpent):
        reservation.renew()
    assert meter.usage == ServiceUsage(unanswered=2)


@pytest.mark.parametrize("cap", [0.0, -1.0, math.nan])
def test_a_cap_of_zero_or_less_is_refused(cap: float) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        Meter(cap_dollars=cap)


@pytest.mark.parametrize(("text", "dollars"), [("$2", 2.0), ("$0.50", 0.5), ("$10000", 10_000.0)])
def test_an_amount_in_dollars_is_parsed(text: str, dollars: float) -> None:
    assert parse_dollars(text) == dollars


@pytest.mark.parametrize("text", ["2", "$", "$-1", "$1e3", "$inf", "$1,000", "€2", " $2", "$٣"])
def test_anything_but_an_amount_in_dollars_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an amount in dollars"):
        parse_dollars(text)


@pytest.mark.parametrize("text", ["$0", "$0.00"])
def test_a_budget_of_zero_dollars_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="must be above 0"):
        parse_dollars(text)


def test_a_price_is_parsed_and_what_is_left_out_equals_the_price_of_input() -> None:
    assert parse_price("1/5/0.1/1.25/2") == PRICE
    assert parse_price("1/5/0.1") == Price(1, 5, 0.1, 1, 1)
    assert parse_price("0.27/1.1") == Price(0.27, 1.1, 0.27, 0.27, 0.27)


@pytest.mark.parametrize("text", ["", "1", "1/5/1/1", "1/-5", "a/b", "1/5/", "$1/$5"])
def test_anything_but_a_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        parse_price(text)
