"""Filters on documents as SQL conditions.

All names and values are bound as parameters; none becomes part of the SQL.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from crx_engines.engine.filter_tests import (
    AnyOf,
    FilterTest,
    Globbed,
    Ordered,
    Prefixed,
    parse_filter,
)
from crx_engines.engine.protocol import Conditions
from crx_engines.postgres.glob_expression import glob_expression

_COLUMNS = {
    "uri": "document.uri",
    "title": "document.title",
    "lang": "document.lang",
    "kind": "document.kind",
    "source": "regexp_replace(document.uri, '#[^#]*$', '')",
}


class SqlCondition:
    """A condition on `document`, and the parameters in it."""

    def __init__(self, where: Conditions) -> None:
        """Raises `ValueError` for a filter that is not valid."""
        self.parameters: dict[str, object] = {}
        self.sql = " AND ".join(map(self._test, parse_filter(where))) or "true"

    def _test(self, test: FilterTest) -> str:
        element = self._element_test(test)
        elements = self._elements(test.field)
        found = f"EXISTS (SELECT 1 FROM {elements} AS element(value) WHERE {element})"
        return f"NOT {found}" if isinstance(test, AnyOf | Globbed) and test.is_negated else found

    def _elements(self, field: str) -> str:
        """Return the values of a field: one, or each element of a list."""
        if field in _COLUMNS:
            return f"(SELECT to_jsonb({_COLUMNS[field]}))"
        if field == "from":
            author = f"{self._field_elements('author')} AND jsonb_exists(document.fields, 'from')"
            return f"({self._field_elements(field)} UNION ALL {author})"
        return f"({self._field_elements(field)})"

    def _field_elements(self, field: str) -> str:
        value = f"document.fields -> {self._bind(field)}::text"
        if field == "type":
            value = f"coalesce({value}, document.fields -> 'format')"
        elements = f"CASE jsonb_typeof({value}) WHEN 'array' THEN {value}"
        inner = f"WHEN 'object' THEN jsonb_path_query_array({value}, '$.*')"
        return (
            f"SELECT jsonb_array_elements({elements} {inner} WHEN NULL THEN '[]' "
            f"ELSE jsonb_build_array({value}) END) WHERE {value} IS NOT NULL"
        )

    def _element_test(self, test: FilterTest) -> str:
        text = "element.value #>> '{}'"
        is_text = "jsonb_typeof(element.value) = 'string'"
        if isinstance(test, AnyOf):
            return self._any_of(test.values)
        if isinstance(test, Prefixed):
            return f"{is_text} AND starts_with({text}, {self._bind(test.prefix)}::text)"
        if isinstance(test, Globbed):
            expression = self._bind(f"^(?:{'|'.join(map(glob_expression, test.patterns))})$")
            return f"{is_text} AND {text} ~ {expression}::text"
        return self._order_test(test, text=text, is_text=is_text)

    def _order_test(self, test: Ordered, *, text: str, is_text: str) -> str:
        if isinstance(test.value, str):
            bound = self._bind(test.value)
            return f'{is_text} AND ({text}) COLLATE "C" {test.operator} {bound}::text'
        number = self._bind(orjson.dumps(test.value).decode())
        return (
            "CASE jsonb_typeof(element.value) WHEN 'number' THEN "
            f"({text})::numeric {test.operator} {number}::numeric ELSE false END"
        )

    def _any_of(self, values: Sequence[object]) -> str:
        # jsonb compares numbers by value, and texts and truth values with their own kind alone.
        listed = self._bind(orjson.dumps(list(values)).decode())
        return f"element.value IN (SELECT jsonb_array_elements({listed}::jsonb))"

    def _bind(self, value: object) -> str:
        name = f"where_{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"
