"""Filters on documents as SQL conditions, with the rules of `_native.Store.select`.

All names and values are bound as parameters; none becomes part of the SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

import orjson

from crx.engine.protocol import Conditions
from crx.ingest.path_filter import compile_glob

_COLUMNS = {
    "uri": "document.uri",
    "title": "document.title",
    "lang": "document.lang",
    "source": "regexp_replace(document.uri, '#[^#]*$', '')",
}
_PATHS = ("uri", "source", "path")
_OPERATORS = "=, !=, <, <=, >, >=, prefix, glob, in"
_ORDER = ("<", "<=", ">", ">=")


class SqlCondition:
    """A condition on `document`, and the parameters in it."""

    def __init__(self, where: Conditions) -> None:
        """Raises `ValueError` for a filter that is not valid."""
        self.parameters: dict[str, object] = {}
        tests = [
            self._test(field, name, value)
            for field, wanted in where.items()
            for name, value in self._operators(field, wanted)
        ]
        self.sql = " AND ".join(tests) or "true"

    def _operators(self, field: str, wanted: object) -> list[tuple[str, object]]:
        if isinstance(wanted, Mapping):
            if not wanted:
                _refuse(field, f"no operator; give one of {_OPERATORS}")
            return list(wanted.items())
        if isinstance(wanted, list | tuple):
            return [("in", list(wanted))]
        is_pattern = isinstance(wanted, str) and any(sign in wanted for sign in "*?[")
        return [("glob" if is_pattern and field in _PATHS else "=", wanted)]

    def _test(self, field: str, name: str, value: object) -> str:
        test = self._element_test(field, name, value)
        found = f"EXISTS (SELECT 1 FROM {self._elements(field)} AS element(value) WHERE {test})"
        return f"NOT {found}" if name == "!=" else found

    def _elements(self, field: str) -> str:
        """Return the values of a field: one, or each element of a list."""
        if field in _COLUMNS:
            return f"(SELECT to_jsonb({_COLUMNS[field]}))"
        value = f"document.fields -> {self._bind(field)}::text"
        elements = f"CASE jsonb_typeof({value}) WHEN 'array' THEN {value}"
        inner = f"WHEN 'object' THEN jsonb_path_query_array({value}, '$.*')"
        return (
            f"(SELECT jsonb_array_elements({elements} {inner} WHEN NULL THEN '[]' "
            f"ELSE jsonb_build_array({value}) END) WHERE {value} IS NOT NULL)"
        )

    def _element_test(self, field: str, name: str, value: object) -> str:
        text = "element.value #>> '{}'"
        is_text = "jsonb_typeof(element.value) = 'string'"
        if name in ("=", "!="):
            return self._any_of(field, [value])
        if name == "in" and isinstance(value, list | tuple):
            return self._any_of(field, value)
        if name in _ORDER and isinstance(value, str):
            return f'{is_text} AND ({text}) COLLATE "C" {name} {self._bind(value)}::text'
        if name in _ORDER and isinstance(value, int | float) and not isinstance(value, bool):
            number = self._bind(orjson.dumps(value).decode())
            return (
                "CASE jsonb_typeof(element.value) WHEN 'number' THEN "
                f"({text})::numeric {name} {number}::numeric ELSE false END"
            )
        if name == "prefix" and isinstance(value, str):
            return f"{is_text} AND starts_with({text}, {self._bind(value)}::text)"
        if name == "glob" and isinstance(value, str):
            try:
                pattern = compile_glob(value).pattern
            except ValueError as error:
                _refuse(field, f'{error}; use {{"=": ...}} for a text without wildcards')
            return f"{is_text} AND {text} ~ {self._bind(f'^(?:{pattern})$')}::text"
        if name in (*_ORDER, "in", "prefix", "glob"):
            _refuse(field, f'"{name}" does not accept {orjson.dumps(value).decode()}')
        fact = f'no operator "{name}"; the operators are {_OPERATORS}'
        raise ValueError(f"filter: {field}: {fact}")

    def _any_of(self, field: str, values: Sequence[object]) -> str:
        for value in values:
            if not isinstance(value, str | int | float):
                written = orjson.dumps(value).decode()
                _refuse(field, f"{written} is not a text, number, true or false")
        # jsonb compares numbers by value, and texts and truth values with their own kind alone.
        listed = self._bind(orjson.dumps(list(values)).decode())
        return f"element.value IN (SELECT jsonb_array_elements({listed}::jsonb))"

    def _bind(self, value: object) -> str:
        name = f"where_{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"


def _refuse(field: str, fact: str) -> NoReturn:
    raise ValueError(f"filter: {field}: {fact}")
