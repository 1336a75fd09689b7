"""Filters on documents as expressions of Milvus.

The rows of a document have its fields in two forms that Milvus compares exactly as crx does:
`tokens` are hashes of (field, element), for equality whatever the kind of the element; `ranges` are
the least and the most number and text among the elements of a field, by a hash of its name. Some
element is less than x if the least is, more if the most is. Prefixes and globs are tested by crx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from crx_engines.engine.filter_tests import AnyOf, Globbed, Ordered, Prefixed, meets, parse_filter
from crx_engines.engine.protocol import Conditions, digest_of

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_MOST_INT64 = 2**63 - 1


class MilvusCondition:
    """What Milvus tests of a filter, and what it leaves to crx."""

    def __init__(self, where: Conditions) -> None:
        """Raises `ValueError` for a filter that is not valid."""
        tests = parse_filter(where)
        self.expressions = [
            _expression(test) for test in tests if isinstance(test, AnyOf | Ordered)
        ]
        self._rest = [test for test in tests if isinstance(test, Prefixed | Globbed)]

    @property
    def is_complete(self) -> bool:
        """Whether Milvus tests all of the filter."""
        return not self._rest

    def holds(self, fields: Mapping[str, Sequence[object]]) -> bool:
        """Return whether a document with these elements meets what is left to crx."""
        return all(meets(test, fields.get(test.field, ())) for test in self._rest)


def tokens_of(fields: Mapping[str, Sequence[object]]) -> list[str]:
    """Return the hash of each element of each field."""
    return sorted(
        {
            token(name, each)
            for name, elements in fields.items()
            for each in elements
            if isinstance(each, str | int | float)
        }
    )


def ranges_of(fields: Mapping[str, Sequence[object]]) -> dict[str, object]:
    """Return the least and the most number and text of each field."""
    ranges: dict[str, object] = {}
    for name, elements in fields.items():
        if texts := [each for each in elements if isinstance(each, str)]:
            ranges[_range(name, "least text")] = min(texts)
            ranges[_range(name, "most text")] = max(texts)
        if numbers := [_storable(each) for each in elements if _is_number(each)]:
            ranges[_range(name, "least number")] = min(numbers)
            ranges[_range(name, "most number")] = max(numbers)
    return ranges


def token(field: str, value: str | int | float) -> str:
    """Return the hash of an element: numbers are equal by value, others by kind and value."""
    if isinstance(value, bool | str):
        written = f"{type(value).__name__} {value}"
    else:
        integral = isinstance(value, int) or value.is_integer()
        written = f"number {int(value) if integral else value!r}"
    return _hash(field, written)


def _hash(*parts: str) -> str:
    return digest_of(*(part.encode() for part in parts))[:16].hex()


def _range(field: str, end: str) -> str:
    return _hash(field, end)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _storable(value: object) -> int | float:
    """Return a number as Milvus can hold it: larger integers become floats."""
    assert isinstance(value, int | float), "no number"
    return value if isinstance(value, float) or abs(value) <= _MOST_INT64 else float(value)


def _expression(test: AnyOf | Ordered) -> str:
    if isinstance(test, AnyOf):
        tokens = sorted({token(test.field, value) for value in test.values})
        if not tokens:
            return "born < 0"  # an element of an empty list: no row
        listed = ", ".join(f'"{each}"' for each in tokens)
        found = f"array_contains_any(tokens, [{listed}])"
        return f"not {found}" if test.is_negated else found
    kind = "text" if isinstance(test.value, str) else "number"
    end = "least" if test.operator.startswith("<") else "most"
    written = (
        _quote(test.value)
        if isinstance(test.value, str)
        else orjson.dumps(_storable(test.value)).decode()
    )
    return f'ranges["{_range(test.field, f"{end} {kind}")}"] {test.operator} {written}'


def _quote(text: str) -> str:
    """Return a text as a literal, which nothing in it can end."""
    return '"' + "".join(_ESCAPES.get(sign, sign) for sign in text) + '"'
