"""The outline: names of a document, and the position of a chunk in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._context.names import proper_names
from crx._context.opening import OPENING_CHARS
from crx._context.outline import outline
from crx.ingest.embedding_prefix import embedding_prefix
from crx.ingest.readers.structure import structure
from crx.ingest.split import sections_at
from crx.types import Chunk, Document, Mark

CONTRACT = """EXHIBIT 10.2

This distributor agreement is made as of January 15, 2008 between Ingram Micro Inc, a Delaware
corporation, and Netgear International Ltd. The distributor sells what Netgear makes. Ingram
Micro pays within thirty days. The agreement ends when Netgear says so.
"""

CODE = '''class Registry:
    """Holds handlers."""

    def register(self, name):
        self.handlers[name] = name


def load(path):
    return open(path).read()
'''


def situated(text: str, at: str, **fields: object) -> list[str]:
    """Return the lines of the outline of the chunk that starts at some words of a text."""
    _, marks = structure(text, name=str(fields.pop("name", "")))
    document = Document("mem:1", text, marks=marks, **fields)  # type: ignore[arg-type]
    start = text.index(at)
    section = sections_at(marks, [start])[0]
    (lines,) = outline(document, [Chunk(0, start, len(text), 0, 0, section, text[start:])])
    return lines.split("\n")


def test_the_outline_of_a_contract_has_its_parties_and_its_date() -> None:
    (first, *_) = situated(CONTRACT, "The agreement ends", title="DISTRIBUTOR AGREEMENT")
    assert first.startswith("DISTRIBUTOR AGREEMENT: ")
    assert "Ingram Micro Inc" in first
    assert "Netgear International Ltd" in first
    assert "January 15, 2008" in first


def test_a_word_that_also_occurs_in_lower_case_is_not_a_name() -> None:
    text = "The Agreement between Acme Corp and the supplier. An agreement ends. Acme Corp pays."
    assert proper_names(text) == ["Acme Corp"]


def test_the_first_word_of_a_sentence_is_not_a_name() -> None:
    text = "Nearby lies Warsaw. Polish kings lived in Warsaw."
    assert proper_names(text) == ["Warsaw"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Since the Debian kernel is free, use Debian.", ["Debian"]),
        ("B.1.1. Les étapes\nChapter 2\nTable of Contents\nSat, 4 Feb\nZip Code: Yes", []),
        ("Cliquez sur Kate. Ici, Kate édite.", ["Kate"]),
        ("Recent kernels boot Alpha. A recent disk boots Alpha.", ["Alpha"]),
        ("Recent Alpha disks boot. Alpha is a recent disk.", ["Alpha"]),
        ("First Data Corp sells. At first, First Data Corp paid.", ["First Data Corp"]),
        ("Some say so: the UN and a Dr met. Later the UN met.", ["UN"]),
    ],
)
def test_common_words_numbers_and_abbreviated_dates_are_not_names(
    text: str, names: list[str]
) -> None:
    assert proper_names(text) == names


def test_a_vietnamese_syllable_is_not_a_name() -> None:
    text = "Sửa ký hiệu của Calc. Nếu Calc chạy ở Hà Nội thì Văn bản đổi."
    assert proper_names(text, lang="vi") == ["Calc", "Hà Nội"]


def test_bracketed_titles_and_transcribed_names_are_names_without_capitals() -> None:
    assert proper_names("《紅樓夢》有一百二十回。") == ["紅樓夢"]
    assert proper_names("ジョン・スミスは『雪国』を読む。") == ["雪国", "ジョン・スミス"]


def test_a_name_is_not_cut_where_the_opening_ends() -> None:
    text = f"an Alpha {'x' * (OPENING_CHARS - 12)} Thunderbird"
    assert proper_names(text) == ["Alpha"]


def test_the_outline_of_a_page_has_its_book_and_its_keywords() -> None:
    metadata = {"part_of": "The Guide > 2. Roads", "keywords": "gravel, tar"}
    lines = situated("They cross.", "They", title="2.1. Bridges", metadata=metadata)
    assert lines == ["The Guide > 2. Roads > 2.1. Bridges", "gravel, tar"]


def test_joining_words_are_part_of_a_name() -> None:
    text = "Il écrit au Ministère de la Jeunesse, puis à Jean de La Fontaine."
    assert proper_names(text) == ["Ministère de la Jeunesse", "Jean de La Fontaine"]


def test_the_outline_of_a_method_has_its_class_and_the_definitions_of_its_file() -> None:
    (first, *_) = situated(CODE, "def register", name="registry.py")
    head, place = first.split(" | ")
    assert head.startswith("class Registry, def load")
    assert place == "class Registry > def register, def load"


def test_the_outline_of_source_code_has_the_definitions_that_begin_in_the_chunk() -> None:
    (first, *_) = situated(CODE, '    """Holds', name="registry.py")
    assert first == "class Registry, def load | class Registry, def register, def load"


def test_the_second_line_has_the_names_of_the_folder_and_of_the_file() -> None:
    (chunk,) = [Chunk(0, 0, 5, 0, 0, 0, "x = 1")]
    for uri, found in {
        "src/lang/lovins.py": ["lang, lovins"],
        "a.zip#lang/lovins.py": ["lang, lovins"],
        "lovins.py": ["lovins"],
        "lang/lovins.md": ["lang, lovins"],
        "lang/lovins": ["lang, lovins"],
        "2031/TaxReturn2031_b.txt": ["2031, TaxReturn2031_b, TaxReturn 2031_b"],
        "lang/all.jsonl#lovins": [""],
        "mail/all.mbox#12": [""],
        "mail/all.mbox#12/1-lovins.md": ["12, 1-lovins"],
        "mem:1": [""],
    }.items():
        (lines,) = outline(Document(uri, "x = 1"), [chunk])
        assert lines.split("\n") == found


def test_a_single_capitalised_word_of_source_code_is_not_a_name() -> None:
    code = 'def load():\n    """Read what Ada Lovelace wrote as a BytesIO, or Nothing."""\n'
    assert situated(code, "def load", name="load.py") == ["def load, Ada Lovelace | def load"]


def test_the_outline_of_a_chunk_with_many_definitions_has_the_first_of_them() -> None:
    code = "".join(f"def generated_{number}():\n    pass\n" for number in range(1000))
    (first, *_) = situated(code, "def generated_0", name="generated.py")
    assert "def generated_1, def generated_2, def generated_3" in first
    assert len(first) < 600


def test_the_outline_of_a_paragraph_has_its_headings() -> None:
    text = "# Whales\n\n## Food\n\nThey eat krill.\n"
    assert situated(text, "They eat", name="w.md", title="Whales") == ["Whales | Food"]


def test_the_outline_of_a_chinese_text_has_its_title_and_latin_names() -> None:
    text = "華沙位於波蘭。Ogród Saski 是一座公園,建於1724年。"
    (first, *_) = situated(text, "華沙", title="華沙")
    assert first.startswith("華沙: Ogród Saski")
    assert "1724年" in first


def test_a_text_without_names_has_an_empty_outline() -> None:
    assert situated("all lower case, no names.", "all") == [""]


def test_the_names_of_a_text_without_title_and_file_are_on_the_second_line_alone() -> None:
    first, second = situated(CONTRACT.removeprefix("EXHIBIT 10.2"), "The agreement ends")
    assert first == ""
    for name in ("Ingram Micro Inc", "Netgear International Ltd", "January 15, 2008"):
        assert name in second
    assert embedding_prefix("\n".join((first, second)), "") == ""


def test_an_edit_elsewhere_does_not_change_the_first_line() -> None:
    body = CONTRACT + "\n\nLater words." * 200
    before = situated(body, "The agreement ends")
    assert situated(body + "\nA new last line about Oslo.", "The agreement ends") == before


@given(st.text(max_size=400))
def test_any_text_has_an_outline_of_at_most_two_lines_for_each_chunk(text: str) -> None:
    chunks = [Chunk(0, 0, len(text), 0, 0, 0, text)] * 3
    outlines = outline(Document("mem:1", text), chunks)
    assert len(outlines) == 3
    assert all(len(lines.split("\n")) <= 2 for lines in outlines)


spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 40)).map(lambda t: (t[0], t[0] + t[1])), max_size=6
)


def nested(pairs: list[tuple[int, int]]) -> tuple[Mark, ...]:
    """Return marks for the pairs that cross none before them."""
    kept: list[tuple[int, int]] = []
    for start, end in pairs:
        if all(e <= start or end <= s or (s <= start and end <= e) for s, e in kept):
            kept.append((start, end))
    return tuple(Mark("heading", start, end, str(i), 1) for i, (start, end) in enumerate(kept))


@given(spans, st.lists(st.integers(0, 90), max_size=10).map(sorted))
def test_the_section_of_a_position_is_the_smallest_mark_around_it(
    pairs: list[tuple[int, int]], positions: list[int]
) -> None:
    marks = nested(sorted(pairs, key=lambda p: (p[0], -p[1])))
    for position, section in zip(positions, sections_at(marks, positions), strict=True):
        around = [mark for mark in marks if mark.start <= position < mark.end]
        smallest = min((mark.end - mark.start for mark in around), default=0)
        assert (section == 0) == (not around)
        if section:
            mark = marks[section - 1]
            assert mark in around
            assert mark.end - mark.start == smallest
