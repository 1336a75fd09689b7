"""Filters as expressions of Milvus, which no text can end, and the tests that crx makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from crx_engines.engine.filter_tests import elements_of
from crx_engines.folder.copy import open_engine
from crx_engines.milvus.milvus_condition import (
    MilvusCondition,
    ranges_of,
    token,
    tokens_of,
)


def test_numbers_are_equal_by_value_and_other_elements_by_kind() -> None:
    assert token("year", 2012) == token("year", 2012.0)
    different: list[str | int | float] = ["1", 1, True, "True", 1.5, ""]
    assert len({token("year", value) for value in different}) == len(different)
    assert token("year", "x") != token("yea", "rx")


def test_the_elements_of_lists_and_objects_are_compared_one_by_one() -> None:
    metadata = orjson.dumps({"tags": ["a", 7], "by": {"first": "Ann"}, "none": None}).decode()
    fields = elements_of("notes.md#part", "Notes", "en", "prose", metadata)
    assert fields["tags"] == ["a", 7]
    assert fields["by"] == ["Ann"]
    assert fields["source"] == ["notes.md"]
    assert {token("tags", "a"), token("by", "Ann")} < set(tokens_of(fields))
    assert len(ranges_of({"tags": ["a", 7, True]})) == 4


def test_prefixes_and_globs_are_left_to_crx() -> None:
    condition = MilvusCondition({"uri": "notes/*", "title": {"prefix": "N", "!=": "x"}})
    assert not condition.is_complete
    assert len(condition.expressions) == 1
    assert condition.holds({"uri": ["notes/a"], "title": ["Notes"]})
    assert not condition.holds({"uri": ["notes/a/b"], "title": ["Notes"]})


ODD = 'x" or born >= 0 or "y\\" == "\\'


@pytest.mark.parametrize("value", [ODD, "'", '"', "\\", "a\nb\rc\td", "é\0", "%_"])
def test_no_text_ends_an_expression(folder: Path, new_lite: Callable[[], str], value: str) -> None:
    source, engine = open_engine(str(folder)), open_engine(new_lite())
    engine.create(source.settings())
    with source.snapshot() as snapshot:
        document = snapshot.read("doc:zh0#part")
    assert document is not None
    metadata = orjson.dumps({value: value}).decode()
    engine.upsert([replace(document, uri=value, title=value, metadata=metadata), document])
    with engine.snapshot() as snapshot:
        for wanted in ({"=": value}, {"<=": value, ">=": value}, {"prefix": value}):
            for field in ("uri", "title", value):
                assert list(snapshot.digests(where={field: wanted})) == [value], wanted
        assert list(snapshot.digests(where={value: {"<": value}})) == []
        assert snapshot.read(value) is not None
    source.close()
    engine.close()
