"""The order of source code: definitions, paths, kinds of files, and hits of one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crx
from crx._native import rank_code
from crx.retrieve.rules.code import CodeOrder
from crx.types import LEGS

SETTINGS = {"embedder": "none", "reranker": ""}
OFF = {
    "rank.code.definition": 0.0,
    "rank.code.names": 0.0,
    "rank.code.file": 0.0,
    "rank.code.aside": 1.0,
}
FILES = {
    "src/kettle.py": "def read_water(kettle):\n    return kettle.water\n",
    "src/cup.py": "read_water(kettle)\nread_water(pot)\nx = read_water(can)\n",
    "tests/test_kettle.py": "def test_read_water():\n    assert read_water(kettle) == read_water\n",
    "README.md": "Call read_water, read_water and read_water again.\n",
}


def found(folder: Path, query: str, **settings: object) -> list[str]:
    """Return the files that answer a query, best first."""
    for name, text in FILES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with crx.open(folder / "x.crx", settings={**SETTINGS, **settings}) as index:
        index.add(folder / "docs")
        root = folder / "docs"
        hits = index.search(query, window=0).hits
        return [str(Path(hit.uri).relative_to(root.resolve())) for hit in hits]


def test_the_file_that_defines_a_symbol_is_first_and_tests_and_prose_are_last(
    tmp_path: Path,
) -> None:
    assert found(tmp_path, "read_water")[:2] == ["src/kettle.py", "src/cup.py"]


def test_a_query_that_asks_for_tests_gets_them(tmp_path: Path) -> None:
    assert found(tmp_path, "test of read_water")[0] == "tests/test_kettle.py"


def test_a_changelog_is_behind_sources_and_manuals_unless_it_is_asked_for(tmp_path: Path) -> None:
    files = {
        "CHANGES": "".join(f"## 1.{n}\n\nFix the water of the kettle.\n\n" for n in range(60)),
        "guide.md": "The water of the kettle boils. Fix the lid of the kettle first.\n",
        "src/kettle.py": "def boil(kettle):\n    # Fix the water of the kettle.\n    return 100\n",
    }
    for name, text in files.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    with crx.open(tmp_path / "x.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "docs")
        names = [
            [Path(hit.uri).name for hit in index.search(query, window=0).hits]
            for query in ("kettle water fix", "changelog of kettle water")
        ]
    assert names[0][0] == "kettle.py"
    assert names[0].index("guide.md") < names[0].index("CHANGES")
    assert names[1][0] == "CHANGES"


def test_without_weights_the_order_is_that_of_the_leg(tmp_path: Path) -> None:
    found(tmp_path, "read water of the kettle")
    with crx.open(tmp_path / "x.crx", settings={**SETTINGS, **OFF}) as index:
        hits = index.search("read water of the kettle").hits
    ranks = [hit.stages["bm25"].rank for hit in hits]
    assert ranks == [1, 2, 3, 4]
    assert [hit.score for hit in hits] == [hit.stages["bm25"].score for hit in hits]


def test_a_search_of_one_leg_shows_the_ranking_of_that_leg(tmp_path: Path) -> None:
    found(tmp_path, "read_water")
    with crx.open(tmp_path / "x.crx", settings=SETTINGS) as index:
        both = index.search("read_water", legs=LEGS).hits[0]
        alone = index.search("read_water", legs=("bm25",)).hits[0]
    assert "code" in both.stages
    assert "code" not in alone.stages


def test_more_hits_than_are_ordered_keep_their_order_behind(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for at in range(180):
        (folder / f"f{at}.py").write_text(f"boil(water)\nx{at} = boil(water, {at})\n")
    with crx.open(tmp_path / "x.crx", settings={**SETTINGS, "rank.fusion.depth": 180}) as index:
        index.add(folder)
        hits = index.search("boil water", k=190, window=0).hits
    scores = [hit.score for hit in hits]
    assert len(hits) == 180
    assert scores == sorted(scores, reverse=True)


def index_uses(folder: Path, *, first: str) -> crx.Index:
    """Return an index that takes five chunks from BM25, of forty that use a name often."""
    (folder / "docs").mkdir(exist_ok=True)
    for at in range(40):
        (folder / "docs" / f"use{at}.py").write_text(f"boil_water(a)\nx{at} = boil_water(b)\n")
    (folder / "docs" / "kettle.py").write_text(f"{first}def boil_water(pot):\n    pot.heat()\n")
    index = crx.open(folder / "x.crx", settings={**SETTINGS, "rank.fusion.depth": 5})
    index.add(folder / "docs")
    return index


def test_a_definition_that_bm25_ranks_low_is_a_candidate(tmp_path: Path) -> None:
    long = "".join(f"other_{at} = {at}\n" for at in range(30))
    with index_uses(tmp_path, first=long) as index:
        assert index.search("boil_water", legs=("bm25",), k=5).hits[0].uri.endswith("use0.py")
        assert Path(index.search("boil_water", k=5).hits[0].uri).name == "kettle.py"


def test_a_name_that_a_candidate_defines_is_looked_for_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = "# boil_water, boil_water, boil_water\n"
    with index_uses(tmp_path, first=often) as index:
        monkeypatch.setattr(CodeOrder, "_find_definitions", lambda *_: pytest.fail("looked for"))
        hits = index.search("boil_water", k=5).hits
    assert Path(hits[0].uri).name == "kettle.py"


def test_a_definition_in_a_test_does_not_end_the_search_for_one(tmp_path: Path) -> None:
    often = "# boil_water, boil_water, boil_water\ndef boil_water(pot):\n    return pot\n"
    (tmp_path / "docs" / "tests").mkdir(parents=True)
    (tmp_path / "docs" / "tests" / "test_pot.py").write_text(often)
    long = "".join(f"other_{at} = {at}\n" for at in range(30))
    with index_uses(tmp_path, first=long) as index:
        assert Path(index.search("boil_water", k=5).hits[0].uri).name == "kettle.py"


def test_a_row_needs_a_score() -> None:
    weights = {
        "definition": 0.0,
        "names": 0.0,
        "path": 0.0,
        "aside": 1.0,
        "prose": 1.0,
        "file": 0.0,
    }
    with pytest.raises(ValueError, match="scores: 0 for 1 rows; give one a row"):
        rank_code("x", [(1, "a.py", "code", "")], np.empty(0, np.float32), **weights)
