"""Searches for a pattern, over an index folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.operators import Match

TEXTS = {
    "log.md": "# Log\n\nERR-104 at noon.\n\nerr-7 was Nothing.",
    "notes.md": "# Notes\n\nThe licence (2024) of a.b is here, and ERR-9.",
    "other.md": "# Other\n\nAxb and l'été.",
}


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    index = crx.open(tmp_path / "town.crx", settings={"embedder": "none"})
    index.add(folder)
    return index


def names(result: crx.Result) -> list[str]:
    return [Path(hit.uri).name for hit in result.hits]


@pytest.mark.parametrize(
    ("query", "match", "found"),
    [
        (r"re:ERR-\d+", "words", ["log.md", "notes.md"]),
        (r"re:ERR-\d$", "words", []),
        (r"re:^err-\d\b", "words", ["log.md"]),
        (r"err-\d+", "regex", ["log.md", "notes.md"]),
        (r"^# (Notes|Other)$", "regex", ["notes.md", "other.md"]),
        ("a.b", "literal", ["notes.md"]),
        ("(2024)", "literal", ["notes.md"]),
        ("L'Été", "literal", []),
        ("l'été", "literal", ["other.md"]),
        ("licence -notes", "literal", []),
        (r"noon\.\s+err", "regex", ["log.md"]),
    ],
)
def test_a_pattern_finds_the_chunks_in_which_it_matches(
    index: crx.Index, query: str, match: Match, found: list[str]
) -> None:
    assert names(index.search(query, match=match)) == found


def test_a_filter_restricts_a_pattern(index: crx.Index) -> None:
    result = index.search("re:ERR", where={"title": "Notes"})
    assert names(result) == ["notes.md"]


def test_a_note_says_that_more_chunks_match(index: crx.Index) -> None:
    result = index.search("re:ERR", k=1)
    assert names(result) == ["log.md"]
    assert result.notes == (
        "more than 1 chunks match; these are the first, and a larger k gives more",
    )


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("re:", "the pattern is empty"),
        ("re:(", "unclosed group"),
        ("re:a*", "it matches the empty text"),
        (r"re:((\w{100}){100}){100}", "compiled it has more than 1536 kB"),
        ("re:" + "x" * 5000, "more than 4096 bytes"),
    ],
)
def test_a_pattern_that_is_not_valid_is_refused(index: crx.Index, query: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason.replace("(", r"\(")):
        index.search(query)


def test_nested_quantifiers_end_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 200_000)
    index = crx.open(tmp_path / "i.crx", settings={"embedder": "none"})
    index.add(tmp_path / "a.txt")
    result = index.search("re:(a+)+b|(a|aa)+c")
    assert (list(result.hits), list(result.notes)) == ([], [])  # a note would say: out of time


def test_matches_are_found_wherever_they_are_in_a_long_text(tmp_path: Path) -> None:
    lines = [f"Line {number} of the text, ünd mark{number:05}.\n" for number in range(5_000)]
    (tmp_path / "long.txt").write_text("".join(lines))
    index = crx.open(tmp_path / "i.crx", settings={"embedder": "none"})
    index.add(tmp_path / "long.txt")
    for _ in range(2):  # the second time, by the trigrams that the first one kept
        for number in range(0, 5_000, 37):
            hits = index.search(f"mark{number:05}", match="literal").hits
            assert [f"mark{number:05}" in hit.text for hit in hits] == [True]
        assert len(index.search("re:mark0000[0-9]", k=100).hits) > 0
        assert not index.search("mark99999", match="literal").hits


def test_what_is_added_changed_or_removed_is_found_as_it_is(
    index: crx.Index, tmp_path: Path
) -> None:
    assert not index.search("re:zebra").hits
    path = tmp_path / "docs" / "new.md"
    path.write_text("# New\n\nA zebra.")
    index.add(tmp_path / "docs")
    assert names(index.search("re:zebra")) == ["new.md"]
    path.write_text("# New\n\nA horse.")
    index.add(tmp_path / "docs")
    assert not index.search("re:zebra").hits
    assert names(index.search("re:horse")) == ["new.md"]


def make_long_index(tmp_path: Path) -> crx.Index:
    """Return an index whose texts are long enough that their trigrams are published."""
    folder = tmp_path / "long"
    folder.mkdir()
    for number in range(30):
        lines = [f"line {number}.{line} has key{number * 2000 + line:05}\n" for line in range(2000)]
        (folder / f"{number:02}.txt").write_text("".join(lines))
    index = crx.open(tmp_path / "long.crx", settings={"embedder": "none"})
    index.add(folder)
    return index


def published(tmp_path: Path) -> list[str]:
    derived = tmp_path / "long.crx" / "derived"
    return sorted(path.name for path in derived.glob("trigrams*"))


PATTERNS = [
    r"key1401[34]",
    r"line 7\.\d+ has key\d*77$",
    r"^line 12\.1999",
    r"1999 has key\d+\nline 3\.0 ",
    r"(?s)2\.1990 .{150,300}2\.1999",
    r"k[aeiou]y59999",
    r"key60000",
]


def test_published_trigrams_leave_out_no_match(tmp_path: Path) -> None:
    index = make_long_index(tmp_path)
    assert published(tmp_path) == ["trigrams-1.bits"]
    filtered = [names(index.search(each, match="regex", k=500)) for each in PATTERNS]
    (tmp_path / "long.crx" / "derived" / "trigrams-1.bits").unlink()
    again = crx.open(tmp_path / "long.crx")
    found = [again.search(each, match="regex", k=500) for each in PATTERNS]
    assert filtered == [names(each) for each in found]
    assert [len(each) > 0 for each in filtered] == [True, True, True, False, True, True, False]
    assert "all texts are searched for a pattern" in " ".join(found[0].notes)


def test_trigrams_are_published_again_when_much_is_new(tmp_path: Path) -> None:
    index = make_long_index(tmp_path)
    folder = tmp_path / "long"
    (folder / "new.txt").write_text("a heron\n")
    index.add(folder)
    assert published(tmp_path) == ["trigrams-1.bits"]
    assert names(index.search("re:her[ox]n")) == ["new.txt"]
    (folder / "newer.txt").write_text("an egret\n" + "some other line\n" * 100_000)
    (folder / "00.txt").write_text("a stork\n")
    index.add(folder)
    assert published(tmp_path) == ["trigrams-2.bits"]
    for pattern, name in [("heron", "new.txt"), ("an egret", "newer.txt"), ("stork", "00.txt")]:
        assert names(index.search(pattern, match="literal")) == [name]
    assert not index.search("re:key00005").hits


def test_damaged_trigrams_are_not_used_and_made_anew(tmp_path: Path) -> None:
    make_long_index(tmp_path).close()
    path = tmp_path / "long.crx" / "derived" / "trigrams-1.bits"
    content = bytearray(path.read_bytes())
    content[:-4096] = bytes(len(content) - 4096)  # no trigram is anywhere
    path.write_bytes(content)
    index = crx.open(tmp_path / "long.crx")
    result = index.search("key14013", match="literal")
    assert names(result) == ["07.txt"]
    assert "does not match its seal; all texts are searched for a pattern" in result.notes[0]
    assert "trigrams-1.bits" in index.verify().repaired[0]
    assert published(tmp_path) == ["trigrams-2.bits"]
    assert not crx.open(tmp_path / "long.crx").search("key14013", match="literal").notes


def test_few_texts_need_no_trigrams(tmp_path: Path, index: crx.Index) -> None:
    assert not list((tmp_path / "town.crx" / "derived").glob("trigrams*"))
