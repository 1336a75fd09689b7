"""Known facts of the Claude models."""

from __future__ import annotations

import pytest

from crx_remote.claude.catalog import ModelFacts, model_facts
from crx_remote.metering import Price


def test_a_model_is_known_by_its_family_with_or_without_a_date() -> None:
    assert model_facts("claude-haiku-4-5-20251001") == model_facts("claude-haiku-4-5")
    assert model_facts("claude-haiku-4-5").min_cached_tokens == 4096
    assert model_facts("claude-opus-5").price == Price(5, 25, 0.5, 6.25, 10)
    assert model_facts("claude-opus-5-5").price == Price(4, 20, 0.2, 5, 8)


@pytest.mark.parametrize("name", ["claude-opus-5-9", "claude-haiku", "mistral", ""])
def test_a_model_that_is_not_known_has_no_price(name: str) -> None:
    assert model_facts(name) == ModelFacts()
    assert model_facts(name).price is None
