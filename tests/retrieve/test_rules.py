"""Every rule of the order has a file, a test and its evidence."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from crx._native import FLOOR_RANK
from crx.config import Settings, describe
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.retrieve.search import OPTIONAL, RULES, make_rules
from crx.retrieve.search_state import ALL
from crx_runtimes.overlap import OverlapReranker

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
        named = {each.name for each in fields(rule)}  # type: ignore[arg-type]
        assert "reads" in named or rule.reads in (0, FLOOR_RANK, ALL)


# Numbers that decide an order, or which candidates there are, outside the value of a rule.
ORDER = {
    "fusion": {"SHARE_POWER"},
    "dense_languages": {"UNREAD_WEIGHT"},
    "document_name": {"_FEWEST_WORDS"},
    "parameters": {"DEEPEST"},
    "spelling": {"_SHORTEST_PART", "_LOOKED_UP", "_ALIKE", "_SHORTEST"},
    "unknown_words": {"FEWEST_CHUNKS"},
}
# Limits of time and memory, results of the core, and what is shown.
OTHER = {
    "codes": {"_CHUNKS", "_LONGEST", "_LONGEST_GROUP", "_MOST_GROUPS", "_SHORTEST"},
    "exclusion": {"_DEEPER", "_DEEPEST", "_OPTION_DEPTH"},
    "hits": {"NAMED_COPIES", "RELEVANT_SHARE"},
    "likeness": {"_CHARS"},
    "operators": {"_SHOWN_CHARS", "_SHOWN_TEXTS"},
    "recency": {"_DAY_S"},
    "query_language": {"SEVERAL"},
    "search_state": {"LOOKED_THROUGH"},
    "spelling": {"_LONGEST_QUERY", "_MOST_REPLACED", "_COUNTED"},
    "timed_scoring": {"_FIRST_BATCH", "_SMALL_BATCH", "_BATCH_MS"},
    "unknown_words": {"_MOST_CHUNKS", "_COMPARED"},
}
# The same of the core: kinds, definitions, the floor of a fusion, copies, terms of a query.
CORE = {
    "code/mod.rs": {
        "BEST",
        "SOME_PROSE",
        "MUCH_PROSE",
        "SYMBOL_SHARE",
    },
    "code/source.rs": {"SHARE_OF_SYMBOLS", "SHARE_OF_SYMBOLS_AND_LINES", "SHARE_OF_LINES"},
    "fuse.rs": {"FLOOR_RANK"},
    "copies.rs": {"FEWEST_SHINGLES"},
    "analyze/query.rs": {"FUNCTION_WEIGHT", "HIRAGANA_WEIGHT", "NAME_FACTOR"},
}


def test_a_number_that_decides_an_order_is_in_a_value_or_listed_here() -> None:
    found: dict[str, set[str]] = {}
    for path in (ROOT / "python" / "crx" / "retrieve").rglob("*.py"):
        names = re.findall(r"^([A-Z_]+) = -?[\d._]+$", path.read_text(), re.MULTILINE)
        if names:
            found[path.stem] = set(names)
    known = {
        name: ORDER.get(name, set()) | OTHER.get(name, set())
        for name in ORDER.keys() | OTHER.keys()
    }
    assert found == known
    for file, listed in CORE.items():
        text = (ROOT / "rust" / file).read_text()
        assert all(re.search(rf"^(?:pub )?const {name}: ", text, re.MULTILINE) for name in listed)


def test_the_numbers_that_decide_an_order_are_counted() -> None:
    settings = [
        each
        for each in describe()
        if each.name.startswith("rank.") and not isinstance(each.default, str)
    ]
    assert all(each.help for each in settings)
    of_settings = {"code", "recency", "copies", "rerank"}
    numbers = {
        f"{rule.name}.{each.name}"
        for rule in make_rules(Settings(rank_recency_weight=0.5), rerank=RERANK)
        for each in fields(rule)  # type: ignore[arg-type]
        if each.default is not MISSING and isinstance(each.default, int | float)
        if each.name not in ("asked", "copy_share")
        if rule.name not in of_settings
    }
    beside = sum(map(len, ORDER.values())), sum(map(len, CORE.values()))
    assert (len(settings), len(numbers), *beside) == (19, 7, 9, 12)
