"""The tools for source code, and arguments as clients send them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import crx
from crx_serve.mcp.matching_lines import path_below
from crx_serve.mcp.tools import READING
from crx_serve.requests import SearchQuery
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

PARSER = '''\
# Copyright 2020 Ada. Licensed under the Apache License, version 2.0.
# All rights reserved.

import re

MAX_DEPTH = 40


class Parser:
    """Reads a list."""

    def parse_items(
        self,
        text: str,
    ) -> list[str]:
        if not text:
            raise ValueError("the list has no items")
        return re.split(",", text)

    def length(self, text: str) -> int:
        return len(self.parse_items(text))
'''
USE = "from parser import Parser\n\n\ndef main():\n    print(Parser().parse_items('a,b'))\n"
TEST = "from parser import Parser\n\n\ndef test_items():\n    assert Parser().parse_items('a')\n"
LOCK = """\
/* Marks a lock. */
static void
mark_locked(unsigned mode, struct lock *lock)
{
    lock->mode = mode;
}

/* Calls mark_locked. */
static int
lock_all(struct lock *lock)
{
    mark_locked(0, lock);
    return 0;
}
"""
READ_ONLY = """\
class Found:
    def put(self, key):
        raise TypeError("cannot change a result")

    def get(self, key):
        return self.rows[key]

    def drop(self, key):
        raise TypeError("cannot change a result")
"""
GUIDE = "# Guide\n\nCall `parse_items` with the text of a list.\n"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[SearchService]:
    """A service of a package with a parser, its use, its test and its guide."""
    for name, text in {
        "parser.py": PARSER,
        "use.py": USE,
        "tests/test_parser.py": TEST,
        "guide.md": GUIDE,
    }.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    with crx.open(tmp_path / "src.crx", settings={"embedder": "none"}) as index:
        index.add(tmp_path / "src")
    made = SearchService([ServedIndex("src", tmp_path / "src.crx")])
    yield made
    made.close()


def call(service: SearchService, tool: str, **arguments: Any) -> dict[str, Any]:
    (chosen,) = [each for each in READING if each.name == tool]
    (content,) = chosen.call(service, arguments, lambda *_: None).content
    text: str = content.text  # type: ignore[union-attr]
    found: dict[str, Any] = json.loads(text) if text.startswith("{") else {"error": text}
    return found


def test_the_first_hits_are_whole_definitions_with_their_indentation(
    service: SearchService,
) -> None:
    best = call(service, "search", query="parse_items")["results"][0]
    assert best["title"].endswith("parse_items")
    assert best["text"].splitlines() == [
        line.removeprefix("    ") for line in PARSER.splitlines()[11:18]
    ]
    assert best["lines"] == "12-18"
    assert "Copyright" not in best["text"]


def test_a_literal_returns_every_line_that_has_it_paged_with_a_count(
    service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_serve.mcp.answers.MATCHES_OF_A_PAGE", 2)
    lines: list[str] = []
    cursor = ""
    while True:
        found = call(service, "search", query="parse_items", match="literal", cursor=cursor)
        assert found["count"] == 5
        lines += [line for each in found["results"] for line in each["text"].splitlines()]
        cursor = found.get("next_cursor", "")
        if not cursor:
            break
    assert lines == [
        "3: Call `parse_items` with the text of a list.",
        "12:     def parse_items(",
        "21:         return len(self.parse_items(text))",
        "5:     assert Parser().parse_items('a')",
        "5:     print(Parser().parse_items('a,b'))",
    ]


def test_references_tell_definitions_calls_imports_tests_and_documents_apart(
    service: SearchService,
) -> None:
    found = call(service, "references", name="parse_items")
    assert found["counts"] == {"definition": 1, "call": 2, "test": 1, "document": 1}
    assert found["references"]["definition"][0].endswith("parser.py:12: def parse_items(")
    assert [line.rpartition("[")[2] for line in found["references"]["call"]] == [
        "def length(self, text: str) -> int:] return len(self.parse_items(text))",
        "def main():] print(Parser().parse_items('a,b'))",
    ]
    (folder,) = found["folders"]
    assert Path(folder, found["references"]["call"][0].partition(":")[0]).is_file()
    imports = call(service, "references", name="Parser", use="import")["references"]["import"]
    assert [line.rpartition("/")[2] for line in imports] == ["use.py:1: from parser import Parser"]
    assert imports == ["use.py:1: from parser import Parser"]
    assert "parse_items" not in str(call(service, "references", name="parse"))


def test_an_outline_has_the_whole_declaration_and_the_lines_of_each_symbol(
    service: SearchService,
) -> None:
    found = call(service, "outline", file="src/parser.py")
    assert found["symbols"] == [
        "9-21 class Parser:",
        "  12-18 def parse_items( self, text: str, ) -> list[str]:",
        "  20-21 def length(self, text: str) -> int:",
    ]
    assert found["lines"] == 21
    assert "no such file here" in call(service, "outline", file="other.py")["error"]


def test_related_names_the_uses_and_tests_of_the_definition_around_a_line(
    service: SearchService,
) -> None:
    found = call(service, "related", file="parser.py", line=17)
    assert found["symbol"].endswith("parse_items")
    assert [line.rpartition("/")[2].partition(":")[0] for line in found["uses"]["test"]] == [
        "test_parser.py"
    ]
    main = call(service, "related", file="use.py", line=5)
    assert any("def parse_items(" in line for line in main["definitions"])
    assert "has 21 lines" in call(service, "related", file="parser.py", line=90)["error"]


def test_a_kind_filters_code_tests_documents_and_data(service: SearchService) -> None:
    def found(kind: str) -> set[str]:
        results = call(service, "search", query="parse_items", kind=kind)["results"]
        return {each["url"].partition("#")[0].rpartition("/")[2] for each in results}

    assert found("tests") == {"test_parser.py"}
    assert found("docs") == {"guide.md"}
    assert found("code") == {"parser.py", "use.py", "test_parser.py"}
    assert found("data") == set()


def test_arguments_are_taken_as_models_write_them(service: SearchService) -> None:
    plain = call(service, "search", query="parse_items", k=2, where={"kind": "code"})
    loose = call(
        service, "search", query="parse_items", k="2", where='{"kind": "code"}', index=None
    )
    assert loose == plain
    assert call(service, "search", query="parse_items", k=2.0) == call(
        service, "search", query="parse_items", k=2
    )
    read = call(service, "fetch", id=plain["results"][0]["id"], lines=9)
    assert read["text"] == "class Parser:\n"
    assert "expected" in call(service, "search", query="x", k="two")["error"].lower()


def test_notes_are_chosen_by_their_kind_and_not_by_their_words(service: SearchService) -> None:
    excluding = call(service, "search", query="parse_items -settings")
    assert excluding["notes"] == [
        'without passages that hold "settings"; to search for "-settings", put it in quotes'
    ]
    wordless = call(service, "search", query="(,)")
    assert [note.partition(":")[0] for note in wordless["notes"]] == ["nothing found"]
    assert call(service, "search", query="nowhere", match="literal")["notes"] == ["nothing found"]


def test_a_pattern_is_looked_for_in_files_of_the_kind_alone(service: SearchService) -> None:
    def found(kind: str | None, form: str) -> list[str]:
        results = call(
            service, "search", query="parse_items", match="literal", kind=kind, form=form
        )["results"]
        return sorted(each["url"].partition("#")[0].rpartition("/")[2] for each in results)

    for form in ("lines", "full", "files"):
        assert found("tests", form) == ["test_parser.py"]
        assert found("docs", form) == ["guide.md"]
        assert found(None, form) == ["guide.md", "parser.py", "test_parser.py", "use.py"]


def test_as_many_files_are_listed_as_are_asked_for(service: SearchService, tmp_path: Path) -> None:
    rows = (f"def list_{at}(items):\n    {'return list(items)' * 20}\n\n\n" for at in range(60))
    (tmp_path / "src" / "lists.py").write_text("".join(rows))
    service.index("src").refresh()
    found = call(service, "search", query="list items", form="files", k=3)
    assert len(found["results"]) == 3
    assert len(service.search(SearchQuery(query="list items", by="file", k=3)).files) == 3


def test_the_head_of_a_function_in_c_is_the_line_with_its_name(
    service: SearchService, tmp_path: Path
) -> None:
    (tmp_path / "src" / "lock.c").write_text(LOCK)
    service.index("src").refresh()
    found = call(service, "references", name="mark_locked")
    assert found["references"] == {
        "definition": ["lock.c:3: mark_locked(unsigned mode, struct lock *lock)"],
        "call": ["lock.c:12: [lock_all(struct lock *lock)] mark_locked(0, lock);"],
        "mention": ["lock.c:8: [lock_all(struct lock *lock)] /* Calls mark_locked. */"],
    }


def test_related_reads_the_matching_files_once(
    service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    search = SearchService.search_index

    def record(own: SearchService, served: ServedIndex, request: SearchQuery) -> object:
        searched.append(request.query)
        return search(own, served, request)

    monkeypatch.setattr(SearchService, "search_index", record)
    found = call(service, "related", file="use.py", line=5)
    assert found["definitions"] == [
        "parser.py:12: def parse_items(",
        "parser.py:9: class Parser:",
    ]
    assert len(searched) == 1


def test_lines_that_say_the_same_are_shown_each_with_its_declaration(
    service: SearchService, tmp_path: Path
) -> None:
    (tmp_path / "src" / "found.py").write_text(READ_ONLY)
    service.index("src").refresh()
    best = call(service, "search", query="cannot change a result")["results"][0]
    assert best["text"].splitlines() == [
        "def put(self, key):",
        '    raise TypeError("cannot change a result")',
        "…",
        "def drop(self, key):",
        '    raise TypeError("cannot change a result")',
    ]


def test_source_code_behind_the_third_passage_is_located_unless_more_is_asked_for(
    service: SearchService, tmp_path: Path
) -> None:
    rows = (f"def list_{at}(items):\n    {'return list(items)' * 40}\n\n\n" for at in range(20))
    (tmp_path / "src" / "lists.py").write_text("".join(rows))
    service.index("src").refresh()
    found = call(service, "search", query="list items")
    assert len(found["results"]) == 3
    document, *lines = found["less_relevant"][0].splitlines()
    assert document.endswith(" lists.py")
    assert len(lines) == 7
    assert all(re.match(r"\d+: def list_\d+\(items\):$", line) for line in lines)
    assert len(call(service, "search", query="list items", k=9)["results"]) == 9


def test_whole_definitions_share_their_room_and_long_comments_are_left_out(
    service: SearchService, tmp_path: Path
) -> None:
    comment = "".join(f"// Line {at} of what is said of it.\n" for at in range(9))
    for name in ("one", "two", "three"):
        body = "".join(f"    step({name}{at}, items);\n" for at in range(18))
        text = f"{comment}@Loud\nvoid sort_items_{name}(List items) {{\n{body}}}\n"
        (tmp_path / "src" / f"{name}.java").write_text(text)
    service.index("src").refresh()
    texts = [each["text"] for each in call(service, "search", query="sort items")["results"]]
    assert [text.count("step(") for text in texts] == [18, 18, 6]
    assert [text.splitlines()[0] for text in texts[:2]] == ["@Loud", "@Loud"]
    assert sum(map(len, texts)) < 1_200


def test_paths_are_below_the_indexed_folder_or_the_name_of_an_indexed_file() -> None:
    roots = ("/home/ada/src", "/home/ada/src/deep", "/home/ada/one.py")
    assert path_below(roots, "/home/ada/src/a.py") == "a.py"
    assert path_below(roots, "/home/ada/src/deep/b.py") == "b.py"
    assert path_below(roots, "/home/ada/one.py") == "one.py"
    assert path_below(roots, "/home/ada/src2/c.py") == "/home/ada/src2/c.py"
