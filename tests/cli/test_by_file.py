"""`crx search --by file`: the files that answer, each once with its best lines."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Crx, run_terminal

from crx._cli.excerpt import shorten


def write(folder: Path) -> None:
    (folder / "kettle.py").write_text(
        "import water\n\n\ndef boil_water(kettle):\n    return kettle.heat(100)\n"
    )
    (folder / "cup.py").write_text("import kettle\n\nkettle.boil_water(water)\n")


def test_files_are_listed_with_their_best_lines(crx: Crx, docs: Path) -> None:
    write(docs)
    crx("index", "docs", "-q")
    lines = crx("search", "boil_water", "--by", "file", "-n", 2).out.splitlines()
    assert lines[0] == "1. docs/kettle.py  1 hit"
    assert "   4: def boil_water(kettle):" in lines
    assert "2. docs/cup.py  1 hit" in lines
    assert "   3: kettle.boil_water(water)" in lines


def test_a_terminal_is_told_how_many_files_there_are(crx: Crx, docs: Path) -> None:
    write(docs)
    crx("index", "docs", "-q")
    query = ("search", "boil_water", "--by", "file")
    files = len(json.loads(crx(*query, "--json").out)["files"])
    _, shown = run_terminal(*query, "-n", files - 1)
    assert shown.endswith(f"\x1b[2m{files - 1} of {files} · --more\x1b[0m\n")
    assert crx(*query, "-n", files - 1).err == ""


def test_as_many_files_are_listed_as_are_asked_for(crx: Crx, docs: Path) -> None:
    for number in range(30):
        (docs / f"few{number}.md").write_text(f"# Few\n\nA lease of {number} rooms.\n")
    sections = (f"# Lease {number}\n\n{'A lease and a lease. ' * 30}\n\n" for number in range(60))
    (docs / "many.md").write_text("".join(sections))
    crx("index", "docs", "-q")

    def files(*options: str) -> list[str]:
        found = json.loads(crx("search", "lease", "--by", "file", "--json", *options).out)
        return [each["uri"] for each in found["files"]]

    assert len(files()) == 20
    assert files("-k", "3") == files()[:3]
    assert files("--set", "k=25")[:20] == files()
    assert len(files("--set", "k=25")) == 25


def test_each_file_is_explained_by_the_stages_of_its_best_hit(crx: Crx, docs: Path) -> None:
    crx("index", docs)
    lines = crx("search", "krill", "--by", "file", "--explain").out.splitlines()
    plain = crx("search", "krill", "--by", "file").out.splitlines()
    told = [line for line in lines if line.startswith("   chunk 0: score ")]
    assert [line for line in lines if line not in told] == plain
    assert len(told) == sum(not line.startswith(" ") for line in plain) > 0
    assert set(told) <= set(crx("search", "krill", "--explain").out.splitlines())


def test_files_are_objects_in_json_and_lines_in_jsonl(crx: Crx, docs: Path) -> None:
    write(docs)
    crx("index", "docs", "-q")
    found = json.loads(crx("search", "boil_water", "--by", "file", "--json").out)
    assert {"query", "files", "notes", "timings_ms"} == set(found)
    first = found["files"][0]
    assert Path(first["uri"]).name == "kettle.py"
    assert {"number": 4, "text": "def boil_water(kettle):"} in first["lines"]
    rows = crx("search", "boil_water", "--by", "file", "--format", "jsonl").out.splitlines()
    assert [json.loads(row) for row in rows] == found["files"]


def test_a_long_line_is_cut_between_words_with_a_mark() -> None:
    assert shorten("the tenant may end it", 30) == "the tenant may end it"
    assert shorten("a tenant may end it with six months", 32) == "a tenant may end it with six ..."
    assert [shorten("krill and whales", width) for width in (-1, 0, 4)] == ["", "", "kril"]
    assert shorten("a" * 40, 20) == "a" * 16 + " ..."
    assert shorten("水" * 40, 20) == "水" * 8 + " ..."
