"""Filters on documents as single tests of fields, with the rules of `_native.Store.select`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import ge, gt, le, lt
from typing import Any, NoReturn, TypeAlias

import orjson

from crx.ingest.paths import compile_glob
from crx_engines.engine.protocol import Conditions, StoredDocument

Scalar: TypeAlias = str | int | float

_PATHS = ("uri", "source", "path")
_PEOPLE = ("author", "from", "to")
_OPERATORS = "=, !=, <, <=, >, >=, prefix, glob, in"
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SOURCE_PART = re.compile(r"#[^#]*\Z")


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
    """Some element of the field is a text that one of some globs matches as a whole, or none is."""

    field: str
    patterns: tuple[str, ...]
    is_negated: bool = False

    def matches(self, text: str) -> bool:
        """Return whether a pattern matches a text."""
        return any(compile_glob(each).matches(text) for each in self.patterns)


FilterTest: TypeAlias = AnyOf | Ordered | Prefixed | Globbed


def parse_filter(where: Conditions) -> list[FilterTest]:
    """Return the tests that a document must all meet; raises `ValueError` for an invalid filter."""
    return [
        _parse(field, name, value)
        for field, wanted in where.items()
        for name, value in _operators(field, wanted)
    ]


def select_documents(
    documents: Iterable[StoredDocument], where: Conditions | None
) -> list[StoredDocument]:
    """Return the documents that meet a filter; raises `ValueError` for an invalid one."""
    tests = parse_filter(where or {})
    return [document for document in documents if _meets_all(document, tests)]


def _meets_all(document: StoredDocument, tests: Sequence[FilterTest]) -> bool:
    fields = elements_of(
        document.uri, document.title, document.lang, document.kind, document.metadata
    )
    return all(meets(test, fields.get(test.field, ())) for test in tests)


def elements_of(
    uri: str, title: str, lang: str, kind: str, metadata: str
) -> dict[str, list[object]]:
    """Return the elements of each field of a document: one, or those of a list or an object.

    `from` has the author beside the address of the sender; `type` is `format` without a field of
    that name.
    """
    fields: dict[str, list[object]] = {}
    for name, value in orjson.loads(metadata).items():
        if isinstance(value, Mapping):
            fields[name] = list(value.values())
        else:
            fields[name] = value if isinstance(value, list) else [value]
    if "format" in fields:
        fields.setdefault("type", fields["format"])
    if "from" in fields:
        fields["from"] = [*fields["from"], *fields.get("author", ())]
    source = _SOURCE_PART.sub("", uri)
    columns = {"uri": uri, "title": title, "lang": lang, "kind": kind, "source": source}
    return {**fields, **{name: [value] for name, value in columns.items()}}


def meets(test: FilterTest, elements: Sequence[object]) -> bool:
    """Return whether a document with these elements of the field of a test meets it."""
    if isinstance(test, AnyOf):
        wanted = {(_kind(value), value) for value in test.values}
        scalars = (each for each in elements if isinstance(each, str | int | float))
        return any((_kind(each), each) in wanted for each in scalars) != test.is_negated
    if isinstance(test, Ordered):
        kind, compare = _kind(test.value), _ORDER[test.operator]
        return any(_kind(each) == kind and compare(each, test.value) for each in elements)
    texts = (each for each in elements if isinstance(each, str))
    if isinstance(test, Prefixed):
        return any(text.startswith(test.prefix) for text in texts)
    return any(test.matches(text) for text in texts) != test.is_negated


def _kind(element: object) -> type:
    """Return the type among whose values an element has its equals and its order."""
    return float if type(element) is int else type(element)


def _operators(field: str, wanted: object) -> list[tuple[str, object]]:
    if isinstance(wanted, Mapping):
        if not wanted:
            _refuse(field, f"no operator; give one of {_OPERATORS}")
        return list(wanted.items())
    if isinstance(wanted, list | tuple):
        return [("in", list(wanted))]
    return [("glob" if field in _PATHS and _has_wildcards(wanted) else "=", wanted)]


def _has_wildcards(wanted: object) -> bool:
    return isinstance(wanted, str) and any(sign in wanted for sign in "*?[")


def _parse(field: str, name: str, value: object) -> FilterTest:
    if name == "!=" and field in (*_PATHS, *_PEOPLE) and _has_wildcards(value):
        return replace(_parse_glob(field, value), is_negated=True)
    if name in ("=", "!="):
        return AnyOf(field, (_scalar(field, value),), is_negated=name == "!=")
    if name == "in" and isinstance(value, list | tuple):
        return AnyOf(field, tuple(_scalar(field, each) for each in value))
    if name in _ORDER and isinstance(value, str | int | float) and not isinstance(value, bool):
        return Ordered(field, name, value)
    if name == "prefix" and isinstance(value, str):
        return Prefixed(field, value)
    if name == "glob" and isinstance(value, str):
        return _parse_glob(field, value)
    if name == "glob" and isinstance(value, list | tuple) and value:
        found = [_parse_glob(field, each) for each in value if isinstance(each, str)]
        if len(found) == len(value):
            return Globbed(field, tuple(glob for each in found for glob in each.patterns))
    if name in (*_ORDER, "in", "prefix", "glob"):
        _refuse(field, f'"{name}" does not accept {orjson.dumps(value).decode()}')
    fact = f'no operator "{name}"; the operators are {_OPERATORS}'
    raise ValueError(f"filter: {field}: {fact}")


def _parse_glob(field: str, pattern: object) -> Globbed:
    assert isinstance(pattern, str), "no pattern"
    # Of a path, a pattern without a slash matches its end.
    anywhere = f"**/{pattern}" if field in _PATHS and "/" not in pattern else pattern
    try:
        compile_glob(anywhere)
    except ValueError as error:
        _refuse(field, f'{error}; use {{"=": ...}} for a text without wildcards')
    return Globbed(field, (anywhere,))


def _scalar(field: str, value: object) -> Scalar:
    if not isinstance(value, str | int | float):
        written = orjson.dumps(value).decode()
        _refuse(field, f"{written} is not a text, number, true or false")
    return value


def _refuse(field: str, fact: str) -> NoReturn:
    raise ValueError(f"filter: {field}: {fact}")
