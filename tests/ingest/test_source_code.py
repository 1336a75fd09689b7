"""Detection of source code."""

from __future__ import annotations

from pathlib import Path

import crx
from crx._native import is_source_code
from crx.ingest.formats import path_names

C = """
static int parse(const char *line, size_t n) {
    if (n == 0 || line[0] == '#') return 0;
    return strtol(line, NULL, 10) > 0 ? 1 : -1;
}
"""
PROSE = """
Either party may end this agreement with thirty (30) days' notice; the notice must be in writing.
The fees ("Fees") that were paid before are not paid back.
"""
MANUAL = """
The -l option prints one name a line. Without it, names are printed in columns, sorted by name.
With --time=atime the time of the last access is printed instead of that of the last change.
"""


def test_code_is_told_from_prose() -> None:
    assert is_source_code(C)
    assert [text for text in (PROSE, MANUAL, "") if is_source_code(text)] == []


def test_the_sources_of_this_package_are_code() -> None:
    sources = Path(crx.__file__).parent.rglob("*.py")
    chunks = [text[at : at + 700] for text in (p.read_text() for p in sources) for at in (1500,)]
    found = [is_source_code(chunk) for chunk in chunks if len(chunk) == 700]
    assert len(found) >= 8
    assert sum(found) / len(found) >= 0.7


def test_a_compressed_source_file_is_found_by_its_names() -> None:
    assert path_names("/a/roads/tar.py.gz") == ("roads", "tar")
    assert path_names("x.zip#src/b.rs.ZST") == ("src", "b")
    assert path_names("/a/tar.gz") == ("a", "tar")
