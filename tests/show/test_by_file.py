"""The list of files of a search, each with its best lines."""

from __future__ import annotations

from pathlib import Path

import crx
from crx._show.by_file import FileLine, group_by_file

KETTLE = """import water


def boil(kettle):
    \"\"\"Heat the water until it boils.\"\"\"
    return kettle.heat(100)
"""


def test_a_file_is_listed_once_with_the_lines_that_answer(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "kettle.py").write_text(KETTLE)
    (folder / "cup.py").write_text("import kettle\n\nkettle.boil(water)\n")
    settings = {"embedder": "none", "reranker": ""}
    with crx.open(tmp_path / "x.crx", settings=settings) as index:
        index.add(folder)
        passages = index.search("boil", window=0).passages
        files = group_by_file(passages, query="boil", lines=2)
    assert [Path(file.uri).name for file in files] == ["kettle.py", "cup.py"]
    assert FileLine(4, "def boil(kettle):") in files[0].lines
    assert FileLine(3, "kettle.boil(water)") in files[1].lines
    assert all(len(file.lines) <= 2 for file in files)
    assert [file.hits for file in files] == [1, 1]
    assert files[0].score > files[1].score


def test_no_passages_are_no_files() -> None:
    assert group_by_file([], query="boil") == []
