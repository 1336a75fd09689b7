"""Filters of Haystack as filters of crx."""

from __future__ import annotations

import pytest

from crx_serve.integrations.haystack_filters import as_where

YEAR = {"field": "meta.year", "operator": ">=", "value": 2020}


def test_conditions_that_must_all_hold_become_one_filter() -> None:
    filters = {
        "operator": "AND",
        "conditions": [
            YEAR,
            {"field": "meta.year", "operator": "<", "value": 2024},
            {"operator": "AND", "conditions": [{"field": "lang", "operator": "==", "value": "en"}]},
            {"field": "meta.tag", "operator": "in", "value": ["a", "b"]},
        ],
    }
    assert as_where(filters) == {
        "year": {">=": 2020, "<": 2024},
        "lang": {"=": "en"},
        "tag": {"in": ["a", "b"]},
    }
    assert as_where(None) is None


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"operator": "OR", "conditions": [YEAR]}, "OR: conditions can be combined by AND alone"),
        ({**YEAR, "operator": "not in"}, "not in: no such operator; give one of =="),
        ({"operator": "AND", "conditions": [YEAR, YEAR]}, "two conditions with >="),
    ],
)
def test_a_filter_without_a_form_in_crx_is_refused(
    filters: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        as_where(filters)
