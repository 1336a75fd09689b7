"""Refusals before a request is made."""

from __future__ import annotations

import pytest

from crx.config import refuse_offline
from crx.errors import ModelError, Offline, UsageError
from crx_remote.errors import refuse_bad_key, refuse_below


@pytest.mark.parametrize("value", ["1", "yes"])
def test_crx_offline_refuses_the_network(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CRX_OFFLINE", value)
    with pytest.raises(Offline, match="claude:x: needs the network, and CRX_OFFLINE is set"):
        refuse_offline("claude:x")


@pytest.mark.parametrize("value", ["0", ""])
def test_crx_offline_of_0_or_nothing_allows_the_network(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CRX_OFFLINE", value)
    refuse_offline("claude:x")


def test_an_option_below_its_minimum_is_refused() -> None:
    refuse_below(1, None, what="claude:x:width")
    refuse_below(1, 1, what="claude:x:width")
    with pytest.raises(UsageError, match=r"^claude:x:width=0: too small; give 1 or more$"):
        refuse_below(1, 0, what="claude:x:width")


@pytest.mark.parametrize("key", ["sk-secret\n", "sk-secrét"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not a valid key") as error:
        refuse_bad_key(key, variable="OPENAI_API_KEY", service="openai:x")
    assert "secr" not in str(error.value)
