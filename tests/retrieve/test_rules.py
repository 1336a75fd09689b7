"""Every rule of the order has a file, a test and its evidence."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from crx.backends.overlap import OverlapReranker
from crx.config import Settings
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import OPTIONAL, RULES, make_rules

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "rules.md").read_text(encoding="utf-8")
RERANK = Rerank(
    reranker=OverlapReranker(), reads=30, weight=0.5, ms=0, min_relevance=0, cache=ScoreCache()
)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_file_and_a_test_of_its_name(name: str) -> None:
    assert (ROOT / "python" / "crx" / "retrieve" / "rules" / f"{name}.py").exists()
    assert (ROOT / "tests" / "retrieve" / "rules" / f"test_{name}.py").exists()


@pytest.mark.parametrize("name", [name for name in (*OPTIONAL, *RULES) if name != "recency"])
def test_a_rule_that_is_on_by_default_has_figures(name: str) -> None:
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, f"benches/rules.py has not measured {name}"
    assert "[" in section[1] or "changes nothing" in section[1].lower()


def test_a_rule_is_frozen_and_its_numbers_are_its_fields() -> None:
    for rule in make_rules(Settings(rank_recency_weight=0.5), rerank=RERANK):
        assert type(rule).__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert {each.name for each in fields(rule)} >= {"reads"} or rule.reads in (0, 1 << 30)  # type: ignore[arg-type]


def test_no_number_of_an_order_stands_beside_a_rule() -> None:
    """A module of a rule has no numeric constant, but for limits that `ALLOWED` gives reasons."""
    allowed = {
        "VALUE": "a result of the core",
        "_SHORTEST": "what a phrase is",
        "FEWEST_CHUNKS": "below it there is no distribution",
        "_MOST_CHUNKS": "a limit of time",
        "_COMPARED": "a limit of time",
        "_DAY_S": "seconds",
    }
    found = {
        name
        for path in (ROOT / "python" / "crx" / "retrieve" / "rules").glob("*.py")
        for name in re.findall(r"^([A-Z_]+) = [\d._]+$", path.read_text(), re.MULTILINE)
    }
    assert found <= allowed.keys()
