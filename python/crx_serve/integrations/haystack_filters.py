"""Filters of Haystack as filters of crx."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crx.retrieve.request import Where

# The operators of Haystack and those of crx.
_OPERATORS = {"==": "=", "!=": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<=", "in": "in"}


def as_where(filters: Mapping[str, object] | None) -> Where | None:
    """Return the filter that Haystack's conditions, all of which must hold, are in crx.

    `meta.` before a field is left out. Raises `ValueError` for OR, NOT and `not in`, which crx has
    no form for, and for two conditions of one operator on one field.
    """
    if not filters:
        return None
    where: dict[str, dict[str, object]] = {}
    for field, operator, value in _comparisons(filters):
        conditions = where.setdefault(field.removeprefix("meta."), {})
        if operator in conditions:
            raise ValueError(f"{field}: two conditions with {operator}; give one")
        conditions[operator] = value
    return where


def _comparisons(filters: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    operator = str(filters.get("operator"))
    if "field" in filters:
        if operator not in _OPERATORS:
            raise ValueError(f"{operator}: no such operator; give one of {', '.join(_OPERATORS)}")
        yield str(filters["field"]), _OPERATORS[operator], filters.get("value")
        return
    if operator.upper() != "AND":
        raise ValueError(f"{operator}: conditions can be combined by AND alone")
    conditions = filters.get("conditions")
    for each in conditions if isinstance(conditions, list) else ():
        yield from _comparisons(each)
