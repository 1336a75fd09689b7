"""`crx search --format`: JSON, JSON lines, and lines for editors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import BREAD, Crx
from pdfs import pdf
from tokenizers import Tokenizer

from crx._cli.search import FORMATS
from crx._models.store import find_model


def test_json_lines_are_the_passages_of_the_json_value(crx: Crx, indexed: Path) -> None:
    whole = json.loads(crx("search", "krill bake", "--json").out)
    assert whole == {**json.loads(crx("search", "krill bake", "--format", "json").out),
                     "timings_ms": whole["timings_ms"]}  # fmt: skip
    lines = crx("search", "krill bake", "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == whole["passages"]
    assert len(crx("search", "krill bake", "--format", "jsonl", "-n", 1).out.splitlines()) == 1


@pytest.mark.parametrize("form", ["files", "locations", "vimgrep"])
def test_lists_of_files_and_lines_have_no_budget_of_tokens(crx: Crx, docs: Path, form: str) -> None:
    for n in range(30):
        (docs / f"{n}.md").write_text(f"# Log {n}\n\n" + f"Whale {n} eats krill. " * 40)
    crx("index", "docs", "-q")
    budget = ("--set", "budget_tokens=100", "--budget-tokens", 100)
    done = crx("search", "--literal", "eats krill", "-k", 1000, "--format", form, *budget)
    found = set(re.findall(r"^docs/(\d+)\.md", done.out, re.MULTILINE))
    assert (len(found), done.err) == (30, "")


def test_vimgrep_names_the_line_and_the_column_of_each_line_that_answers(
    crx: Crx, docs: Path
) -> None:
    (docs / "whales.md").write_text("# Wale\n\n\tGröße: blue whales eat krill.\n\nThey sing.\n")
    crx("index", "docs", "-q")
    done = crx("search", "krill", "--format", "vimgrep", "-k", 1)
    assert done.out == "docs/whales.md:3:27:\tGröße: blue whales eat krill.\n"
    line = (docs / "whales.md").read_bytes().split(b"\n")[2]
    assert line[26:].startswith(b"krill")


def test_vimgrep_finds_the_column_in_a_line_of_which_the_passage_is_a_part(
    crx: Crx, docs: Path
) -> None:
    sentences = " ".join(f"Sentence {n} is about bread and butter." for n in range(200))
    text = f"# Food\n\n{sentences} Only here is the krill named. {sentences}\n"
    (docs / "long.md").write_text(text)
    crx("index", "docs", "-q")
    query = ("search", "krill named", "--format", "vimgrep", "--window", 0, "-n", 1)
    (found,) = re.findall(r"^docs/long\.md:3:(\d+):", crx(*query).out)
    assert text.split("\n")[2][int(found) - 1 :].startswith(("krill", "named"))
    (docs / "long.md").unlink()
    assert crx(*query).out.startswith("docs/long.md:3:")


def test_vimgrep_gives_the_line_that_defines_an_identifier_first(crx: Crx, docs: Path) -> None:
    uses = "".join(f"    known{n} = parse_args(args, known)\n" for n in range(9))
    definition = "def parse_known_args(self):\n    return parse_known_args\n"
    (docs / "parser.py").write_text(f"def parse_args(self):\n{uses}\n\n{definition}")
    crx("index", "docs", "-q")
    out = crx("search", "parse_known_args", "--format", "vimgrep", "-n", 1).out
    assert out == (
        "docs/parser.py:13:5:def parse_known_args(self):\n"
        "docs/parser.py:14:12:    return parse_known_args\n"
    )


def test_vimgrep_gives_a_passage_without_a_word_of_the_query_its_first_line(
    crx: Crx, indexed: Path
) -> None:
    out = crx("search", "bake", "--leg", "dense", "--format", "vimgrep").out
    assert f"docs/bread.md:3:1:{BREAD.splitlines()[2]}\n" in out
    assert re.search(r"^docs/whales\.md:\d+:1:", out, re.MULTILINE)


def test_vimgrep_says_if_all_that_is_found_has_no_lines(crx: Crx, docs: Path) -> None:
    (docs / "paper.pdf").write_bytes(pdf([["Plankton drifts."]]))
    crx("index", "docs", "-q")
    done = crx("search", "plankton", "-k", 1, "--format", "vimgrep")
    assert (done.code, done.out) == (0, "")
    assert done.err == ("crx: what is found is in files without lines; --format text prints it\n")


def test_a_pattern_is_searched_in_the_text_of_all_formats(crx: Crx, docs: Path) -> None:
    (docs / "paper.pdf").write_bytes(pdf([["Plankton drifts (2024)."]]))
    crx("index", "docs", "-q")
    for query in (("re:Plank\\w+ drifts",), ("--regex", "plank.*4\\)"), ("--literal", "(2024)")):
        done = crx("search", *query)
        assert (done.code, done.err) == (0, "")
        assert "Plankton drifts (2024)." in done.out
        assert "whales" not in done.out
    assert crx("search", "--literal", "plank.*").code == 1
    bad = crx("search", "--regex", "(plank")
    assert (bad.code, bad.err) == (2, 'crx: "(plank": no such pattern: unclosed group\n')


def test_vimgrep_names_every_line_in_which_a_pattern_matches(crx: Crx, docs: Path) -> None:
    (docs / "whales.md").write_text("# Wale\n\n\tGröße: ERR-1\nno\n\nerr ERR-2, ERR-3\n")
    crx("index", "docs", "-q")
    assert crx("search", "re:ERR-[0-9]", "--format", "vimgrep").out.splitlines() == [
        "docs/whales.md:3:11:\tGröße: ERR-1",
        "docs/whales.md:6:5:err ERR-2, ERR-3",
    ]


def test_locations_are_one_short_line_each(crx: Crx, docs: Path) -> None:
    long = "They sing for hours and dive for minutes. " * 20
    (docs / "whales.md").write_text(f"# Whales\n\nFirst of all.\n\nBlue whales eat krill. {long}\n")
    (docs / "paper.pdf").write_bytes(pdf([["Krill (2024) drifts."]]))
    crx("index", "docs", "-q")
    found = crx("search", "krill", "--leg", "bm25", "--format", "locations").out.splitlines()
    (whales,) = (line for line in found if "whales.md" in line)
    assert whales.startswith("docs/whales.md:5: Blue whales eat krill. They sing")
    assert "docs/paper.pdf, page 1: Krill (2024) drifts." in found
    tokenizer = Tokenizer.from_file(str(find_model("crx") / "tokenizer.json"))
    assert all(len(tokenizer.encode(line).ids) < 40 for line in found)
    (line,) = crx("search", "--literal", "(2024)", "--format", "locations").out.splitlines()
    assert line == "docs/paper.pdf, page 1: Krill (2024) drifts."


@pytest.mark.parametrize("form", ["locations", "vimgrep"])
@pytest.mark.parametrize("query", ["id=01234", "request id=01234", "(id)=(01234"])
def test_the_line_with_a_pair_of_a_name_and_a_value_answers(
    crx: Crx, docs: Path, query: str, form: str
) -> None:
    lines = "".join(f"10:20 INFO request id={n:05} status=200 took=54ms\n" for n in range(1500))
    (docs / "app.log").write_text(lines)
    crx("index", "docs", "-q", "--embedder", "none")
    found = crx("search", query, "--format", form, "-n", 1, "--no-rerank").out
    assert found.startswith("docs/app.log:1235:")


def test_files_only_prints_each_path_once(crx: Crx, indexed: Path) -> None:
    found = crx("search", "krill bake", "--files-only").out.splitlines()
    assert sorted(found) == ["docs/bread.md", "docs/whales.md"]
    assert crx("search", "krill bake", "--files-only", "-n", 1).out.splitlines() == found[:1]


def test_words_after_a_dash_are_left_out(crx: Crx, indexed: Path) -> None:
    assert "docs/whales.md" in crx("search", "krill").out
    done = crx("search", "krill -whale")
    assert "docs/whales.md" not in done.out
    assert done.err.startswith('crx: without passages that hold "whale";')
    # A word is left out only beside others.
    alone = crx("search", "--", "-krill")
    assert alone.code == 0
    assert "docs/whales.md" in alone.out


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_exits_with_1_if_nothing_is_found(crx: Crx, indexed: Path, form: str) -> None:
    assert crx("search", "krill", "--where", "lang=xx", "--format", form).code == 1
