"""The reading order of PDF pages: columns, tables, headings, footnotes, headers and footers."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from pdfs import glyph_numbers, placed, unnamed, vertical

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.pdf import _ReadPage, _write_pages
from crx.ingest.readers.pdf_page import PageLine
from crx.types import Document

Texts = list[tuple[float, float, float, str]]

LEFT = ["The parties agree that the rent", "is paid on the first day of each", "month, in pounds."]
RIGHT = ["Repairs of the roof are made by", "the owner within thirty days of", "a written notice."]
ROWS = [["Region", "2022", "2023"], ["North", "14.5", "15.1"], ["South", "9.8", "10.4"]]


def read(data: bytes) -> Document:
    (document,) = read_bytes(data, name="a.pdf")
    return document


def column(lines: Sequence[str], *, x: float, y: float = 700, size: float = 10) -> Texts:
    return [(x, y - 12 * at, size, line) for at, line in enumerate(lines)]


def table(rows: Sequence[Sequence[str]], *, y: float = 600) -> Texts:
    return [
        (72 + 120 * cell, y - 14 * row, 10, text)
        for row, cells in enumerate(rows)
        for cell, text in enumerate(cells)
    ]


def headings(document: Document) -> list[tuple[int, str]]:
    return [(mark.level, mark.label) for mark in document.marks if mark.kind == "heading"]


class TestColumns:
    def test_columns_are_read_one_after_the_other(self) -> None:
        pages = [[*column(LEFT, x=72), *column(RIGHT, x=320)]]
        assert read(placed(pages)).text.split() == " ".join(LEFT + RIGHT).split()

    def test_columns_whose_lines_are_drawn_across_are_too(self) -> None:
        left, right = LEFT[:2] * 4, RIGHT[:2] * 4
        lines = zip(column(left, x=72), column(right, x=320), strict=True)
        text = read(placed([[text for pair in lines for text in pair]])).text
        assert text.split() == " ".join(left + right).split()

    def test_a_sentence_that_goes_on_in_the_next_column_is_not_parted(self) -> None:
        pages = [
            [*column([*LEFT[:2], "month, and that the"], x=72), *column(["rent rises"] * 3, x=320)]
        ]
        assert "month, and that the\nrent rises" in read(placed(pages)).text

    def test_a_footnote_of_the_first_column_follows_the_text(self) -> None:
        body = [*column(LEFT * 8, x=72), *column(RIGHT * 8, x=320)]
        note = [(72.0, 390.0, 7.0, "1 In force since May.")]
        text = read(placed([[*body, *note]])).text
        assert text.endswith("1 In force since May.")


class TestTables:
    def test_a_row_is_a_line_with_tabs_between_its_cells(self) -> None:
        assert read(placed([table(ROWS)])).text == "\n".join(map("\t".join, ROWS))

    def test_the_names_of_columns_are_repeated_in_a_long_table(self) -> None:
        rows = [ROWS[0], *([f"District number {row}", "14.5", "15.1"] for row in range(40))]
        document = read(placed([table(rows, y=780)]))
        parts = document.text.split("\n\n")
        assert len(parts) > 1
        assert all(part.startswith("Region\t2022\t2023\n") for part in parts)

    def test_the_names_of_columns_are_repeated_on_each_of_forty_pages(self) -> None:
        pages = [
            table([*ROWS[: page == 0], *([f"Place {page} {row}", "1", "2"] for row in range(12))])
            for page in range(40)
        ]
        document = read(placed(pages))
        pages_read = [document.text[m.start : m.end] for m in document.marks if m.kind == "page"]
        assert len(pages_read) == 40
        assert all(text.startswith("Region\t2022\t2023\n") for text in pages_read)

    def test_a_cell_of_two_lines_is_one_cell(self) -> None:
        texts = [
            (72.0, 700.0, 10.0, "-a"),
            (200.0, 700.0, 10.0, "lists all files, also"),
            (200.0, 688.0, 10.0, "those with a dot"),
            (72.0, 676.0, 10.0, "-l"),
            (200.0, 676.0, 10.0, "lists sizes"),
        ]
        assert read(placed([texts])).text == (
            "-a\tlists all files, also those with a dot\n-l\tlists sizes"
        )


class TestHeadings:
    def test_larger_lines_are_headings_by_their_size(self) -> None:
        texts: Texts = [
            (72, 740, 20, "Lease of a barn"),
            (72, 700, 14, "Rent"),
            *column(LEFT, x=72, y=680),
            (72, 600, 14, "Repairs"),
            *column(RIGHT * 3, x=72, y=580),
        ]
        assert headings(read(placed([texts]))) == [
            (1, "Lease of a barn"),
            (2, "Rent"),
            (2, "Repairs"),
        ]

    def test_bold_lines_of_their_own_are_headings(self) -> None:
        texts: Texts = [
            (72, 740, 10, "Rent"),
            *column(LEFT * 2, x=72, y=720),
            (72, 600, 10, "Repairs"),
            *column(RIGHT * 2, x=72, y=580),
        ]
        assert headings(read(placed([texts], bold="Rent\nRepairs"))) == [
            (1, "Rent"),
            (1, "Repairs"),
        ]


class TestFurniture:
    def test_headers_and_page_numbers_are_dropped_after_the_first(self) -> None:
        pages: list[Texts] = [
            [
                (72, 760, 9, "Annual report of the barn"),
                *column([f"Part {page} of it.", *LEFT], x=72),
                (300, 40, 9, f"{page + 10}"),
            ]
            for page in range(4)
        ]
        text = read(placed(pages)).text
        assert text.count("Annual report of the barn") == 1
        assert "12" not in text
        assert "Part 3 of it." in text

    @pytest.mark.parametrize("line", ["No. 4711", "12/2023", "EUR 1,250.00"])
    def test_figures_at_the_edge_of_all_pages_are_kept_once(self, line: str) -> None:
        pages = [[(72, 760, 9, line), *column([*LEFT, f"Part {n}."], x=72)] for n in range(4)]
        assert read(placed(pages)).text.count(line) == 1

    @pytest.mark.parametrize("form", ["{}", "- {} -"])
    def test_page_numbers_that_begin_anew_are_dropped(self, form: str) -> None:
        numbers = [form.format(1 + page % 4) for page in range(8)]
        pages = [
            [*column([*LEFT, f"Part {page}."], x=72), (72, 40, 9, number)]
            for page, number in enumerate(numbers)
        ]
        assert not {*numbers} & {*read(placed(pages)).text.split("\n")}

    @pytest.mark.parametrize(
        ("numbers", "heights"),
        [
            (["17"] * 6, [40] * 6),  # the last row of a table, on each page
            (["17", "18", "90", "17", "18", "90"], [40] * 6),
            (["1", "9", "3", "9", "5", "9"], [40] * 6),  # grows with the pages, on each second one
            (["1", "2", "3", "4", "5", "6"], [40, 80, 120, 40, 80, 120]),
        ],
    )
    def test_a_number_alone_that_counts_no_pages_stays(
        self, numbers: list[str], heights: list[int]
    ) -> None:
        pages = [
            [*column([*LEFT, f"Part {page}."], x=72), (72, height, 9, number)]
            for page, (number, height) in enumerate(zip(numbers, heights, strict=True))
        ]
        lines = read(placed(pages)).text.split("\n")
        assert [line for line in lines if line in numbers] == numbers

    def test_the_number_of_a_page_after_one_without_is_dropped(self) -> None:
        numbers = ["1", "2", "3", "", "5", "6"]
        pages = [
            [*column([*LEFT, f"Part {page}."], x=72), *([(72, 40, 9, number)] if number else [])]
            for page, number in enumerate(numbers)
        ]
        assert not {*numbers} & {*filter(None, read(placed(pages)).text.split("\n"))}

    def test_lines_of_short_pages_that_differ_in_their_figures_stay(self) -> None:
        pages = [
            [
                (72.0, 700.0, 10.0, f"Payslip for employee number {page}"),
                (72.0, 650.0, 10.0, f"Gross salary in month {page} of the year"),
                (72.0, 600.0, 10.0, f"Net pay: {2137.10 + 61.5 * page:.2f} EUR"),
            ]
            for page in range(1, 7)
        ]
        text = read(placed(pages)).text
        for page in range(1, 7):
            assert f"Net pay: {2137.10 + 61.5 * page:.2f} EUR" in text
            assert f"Gross salary in month {page} of the year" in text

    def test_headings_whose_numbers_are_not_those_of_the_pages_stay(self) -> None:
        numbers = [3, 12, 17, 40, 41]
        pages = [[(72, 760, 9, f"Problem {number}"), *column(LEFT, x=72)] for number in numbers]
        text = read(placed(pages)).text
        assert all(f"Problem {number}\n" in text for number in numbers)

    def test_a_header_of_each_chapter_is_kept_once_for_each(self) -> None:
        pages = [
            [(72, 760, 9, f"Chapter {1 + page // 4}"), *column([*LEFT, f"Part {page}."], x=72)]
            for page in range(8)
        ]
        text = read(placed(pages)).text
        assert (text.count("Chapter 1"), text.count("Chapter 2")) == (1, 1)

    @pytest.mark.parametrize("form", ["Page {} of 40", "- {} -", "Report of 2023, page {}"])
    def test_page_numbers_beside_other_numbers_are_dropped(self, form: str) -> None:
        pages = [
            [*column([*LEFT, f"Part {page}."], x=72), (72, 40, 9, form.format(page))]
            for page in range(9, 13)
        ]
        assert form.format(11) not in read(placed(pages)).text

    def test_a_line_that_is_not_apart_from_the_text_stays(self) -> None:
        pages = [column([*LEFT, f"{page}"], x=72) for page in range(4)]
        assert read(placed(pages)).text.count(LEFT[0]) == 4


class TestCharacters:
    def test_a_raised_number_is_not_part_of_the_word(self) -> None:
        texts: Texts = [
            (72, 700, 10, "of the notes"),
            (130.6, 704, 6, "12"),
            (140, 700, 10, "here"),
        ]
        assert read(placed([texts])).text.startswith("of the notes ¹²")

    def test_a_lowered_number_is_part_of_the_word(self) -> None:
        texts: Texts = [
            (72, 700, 10, "cold H"),
            (100.3, 695, 8, "2"),
            (104.8, 700, 10, "O and CO"),
            (149, 695, 8, "2"),
            (157, 700, 10, "of it"),
        ]
        assert read(placed([texts])).text.startswith("cold H2O and CO2 of it")

    def test_vertical_writing_is_read_from_the_right(self) -> None:
        columns = ["吾輩は猫である", "名前はまだ無い", "どこで生れたか"]
        assert read(vertical(columns)).text.replace("\n", "") == "".join(columns)

    def test_a_page_whose_fonts_name_no_characters_is_a_scan(self) -> None:
        with pytest.raises(InputError, match="has no text"):
            read(glyph_numbers(["Lorem ipsum dolor sit amet", "consectetur elit"], moved=29))

    def test_it_is_read_if_its_codes_are_those_of_the_characters(self) -> None:
        lines = ["Lorem ipsum dolor sit amet", "consectetur adipiscing elit"]
        assert read(unnamed(lines)).text == "\n".join(lines)


class TestBounds:
    @pytest.mark.parametrize("box", ["0 0 1 1", "0 0 9000000 9000000", "500 500 0 0", "0 0 0 0"])
    def test_a_page_that_lies_about_its_size_is_read(self, box: str) -> None:
        assert read(placed([table(ROWS)], box=box)).text == "\n".join(map("\t".join, ROWS))

    @pytest.mark.parametrize("end", ["", "-", "\xad", "-\u7530"])
    def test_time_grows_with_the_length_of_a_line_without_spaces(self, end: str) -> None:
        line = PageLine(
            "\u7530" * 60_000 + end,
            (0, 0, 9, 9),
            10,
            is_bold=False,
            is_row=False,
            opens=True,
            block=0,
        )
        start = time.process_time()
        page = _ReadPage([line, line._replace(text="next")], (), "1", is_scan=False, is_cut=False)
        _write_pages([page], 10, LeftOut())
        assert time.process_time() - start < 2

    def test_a_page_with_more_characters_than_are_read_is_counted(self) -> None:
        line = "word " * 1000
        lines: Texts = [(72, 780 - at, 1, line) for at in range(90)]
        assert read(placed([lines])).metadata["pages_cut"] == 1
        assert "pages_cut" not in read(placed([lines[:9]])).metadata

    def test_a_page_of_many_texts_anywhere_takes_little_time(self) -> None:
        texts: Texts = [
            (at * 37 % 600, at * 91 % 780, 3 + at % 9, f"word {at}") for at in range(20_000)
        ]
        start = time.process_time()
        assert "word 19999" in read(placed([texts])).text
        assert time.process_time() - start < 20
