"""Fields in a query."""

from __future__ import annotations

import pytest

from crx.retrieve.query_fields import FieldQuery, split_fields


@pytest.mark.parametrize(
    ("query", "text", "fields"),
    [
        ("krill", "krill", ()),
        ("krill path:docs after:30d", "krill", (("path", "docs"), ("after", "30d"))),
        ('from:"Zofia K" budget ext:eml', "budget", (("from", "Zofia K"), ("ext", "eml"))),
        ("path:docs", "path:docs", ()),
        ("note: see path: docs", "note: see path: docs", ()),
        ("std::path::join", "std::path::join", ()),
        ("re:from:[a-z]+ x", "re:from:[a-z]+ x", ()),
        ("xpath:docs krill", "xpath:docs krill", ()),
    ],
)
def test_a_name_and_a_value_with_a_colon_between_are_a_field(
    query: str, text: str, fields: tuple[tuple[str, str], ...]
) -> None:
    assert split_fields(query) == FieldQuery(text, fields)
