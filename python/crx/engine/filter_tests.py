"""Filters on documents as single tests of fields, with the rules of `_native.Store.select`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import orjson

from crx.engine.protocol import Conditions
from crx.ingest.path_filter import compile_glob

Scalar: TypeAlias = str | int | float

_PATHS = ("uri", "source", "path")
_OPERATORS = "=, !=, <, <=, >, >=, prefix, glob, in"
_ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some element of the field equals one of the values, or none does if `is_negated`."""

    field: str
    values: tuple[Scalar, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Ordered:
    """Some element of the field, of the kind of the value, is before or after it."""

    field: str
    operator: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class Prefixed:
    """Some element of the field is a text that begins so."""

    field: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Globbed:
    """Some element of the field is a text that the whole of a glob matches."""

    field: str
    pattern: str

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches a text."""
        return compile_glob(self.pattern).matches(text)


FilterTest: TypeAlias = AnyOf | Ordered | Prefixed | Globbed


def parse_filter(where: Conditions) -> list[FilterTest]:
    """Return the tests that a document must all meet; raises `ValueError` for an invalid filter."""
    return [
        _parse(field, name, value)
        for field, wanted in where.items()
        for name, value in _operators(field, wanted)
    ]


def _operators(field: str, wanted: object) -> list[tuple[str, object]]:
    if isinstance(wanted, Mapping):
        if not wanted:
            _refuse(field, f"no operator; give one of {_OPERATORS}")
        return list(wanted.items())
    if isinstance(wanted, list | tuple):
        return [("in", list(wanted))]
    is_pattern = isinstance(wanted, str) and any(sign in wanted for sign in "*?[")
    return [("glob" if is_pattern and field in _PATHS else "=", wanted)]


def _parse(field: str, name: str, value: object) -> FilterTest:
    if name in ("=", "!="):
        return AnyOf(field, (_scalar(field, value),), is_negated=name == "!=")
    if name == "in" and isinstance(value, list | tuple):
        return AnyOf(field, tuple(_scalar(field, each) for each in value))
    if name in _ORDER and isinstance(value, str | int | float) and not isinstance(value, bool):
        return Ordered(field, name, value)
    if name == "prefix" and isinstance(value, str):
        return Prefixed(field, value)
    if name == "glob" and isinstance(value, str):
        try:
            compile_glob(value)
        except ValueError as error:
            _refuse(field, f'{error}; use {{"=": ...}} for a text without wildcards')
        return Globbed(field, value)
    if name in (*_ORDER, "in", "prefix", "glob"):
        _refuse(field, f'"{name}" does not accept {orjson.dumps(value).decode()}')
    fact = f'no operator "{name}"; the operators are {_OPERATORS}'
    raise ValueError(f"filter: {field}: {fact}")


def _scalar(field: str, value: object) -> Scalar:
    if not isinstance(value, str | int | float):
        written = orjson.dumps(value).decode()
        _refuse(field, f"{written} is not a text, number, true or false")
    return value


def _refuse(field: str, fact: str) -> NoReturn:
    raise ValueError(f"filter: {field}: {fact}")
