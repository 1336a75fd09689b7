"""Number formats of spreadsheets: numbers, dates and texts as a person sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx.ingest.readers.number_format import (
    BUILT_IN,
    GENERAL,
    format_code,
    show_number,
    show_text,
)

NUMBERS = [
    (1234567890.12, GENERAL, "1234567890.12"),
    (123456789.99, GENERAL, "123456789.99"),
    (1234567890123456.0, GENERAL, "1234567890123456"),
    (0.1 + 0.2, GENERAL, "0.3"),
    (54.3232927183, GENERAL, "54.3232927183"),
    (1e20, GENERAL, "1E+20"),
    (-3.0, 'General" units"', "-3 units"),
    (0.157, "0.0%", "15.7%"),
    (1234.0, "00000", "01234"),
    (2.675, "0.00", "2.68"),
    (-0.4, "0", "0"),
    (1234567.891, "#,##0", "1,234,568"),
    (7.0, "0,000", "0,007"),
    (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
    (1234567.0, '0.0,,"M"', "1.2M"),
    (123456789.0, "000-00-0000", "123-45-6789"),
    (5551234567.0, "(000) 000-0000", "(555) 123-4567"),
    (978.0, "0.###", "978"),
    (12.5, ".00", "12.50"),
    (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
    (1234.5, '#,##0.00\\ "kr"', "1,234.50 kr"),
    (0.0, BUILT_IN[44], " $-   "),
    (-5.0, "0;-0;;@", "-5"),
    (0.0, "0;-0;;@", ""),
    (0.25, "[<1]0.00%;[>=1000]#,##0;0.0", "25.00%"),
    (2500.0, "[<1]0.00%;[>=1000]#,##0;0.0", "2,500"),
    (25.0, "[<1]0.00%;[>=1000]#,##0;0.0", "25.0"),
    (12345.678, "0.00E+00", "1.23E+04"),
    (12345.678, "##0.0E+0", "12.3E+3"),
    (9.999, "0.0E+0", "1.0E+1"),
    (3.5, "# ?/?", "3 1/2"),
    (0.5, "# ?/?", "1/2"),
    (-3.25, "# ?/8", "-3 2/8"),
    (2.999, "# ?/?", "3"),
]
DATES = [
    (45000.75, "d/m/yyyy h:mm AM/PM", "15/3/2023 6:00 PM"),
    (45000.5, "dddd, mmmm dd, yyyy", "Wednesday, March 15, 2023"),
    (45000.0, "dd.mm.yy", "15.03.23"),
    (45000.0, "mmm-yy", "Mar-23"),
    (45000.123456, "h:mm:ss.000", "2:57:46.598"),
    (0.36458333333, "h:mm", "8:45"),
    (1.5, "[h]:mm:ss", "36:00:00"),
    (-0.25, "[h]:mm", "-6:00"),
    (0.0007, "mm:ss.0", "01:00.5"),
    (1.0, "yyyy-mm-dd", "1900-01-01"),
    (61.0, "yyyy-mm-dd", "1900-03-01"),
    (45000.0, "[$-F800]dddd\\,\\ mmmm\\ dd", "2023-03-15"),
    (-1.0, "yyyy-mm-dd", "-1"),
    (1e9, "yyyy-mm-dd", "1000000000"),
]


@pytest.mark.parametrize(("value", "code", "shown"), NUMBERS)
def test_a_number_is_shown_as_its_format_says(value: float, code: str, shown: str) -> None:
    assert show_number(value, code) == shown


@pytest.mark.parametrize(("value", "code", "shown"), DATES)
def test_a_date_is_shown_as_its_format_says(value: float, code: str, shown: str) -> None:
    assert show_number(value, code) == shown


def test_days_may_count_from_1904() -> None:
    assert show_number(1.0, "yyyy-mm-dd", from_1904=True) == "1904-01-02"


def test_a_date_that_follows_the_system_is_written_as_iso_8601() -> None:
    assert show_number(45000.0, format_code(14, {14: "m/d/yyyy"})) == "2023-03-15"
    assert show_number(45000.5, format_code(22, {})) == "2023-03-15 12:00"


def test_a_text_is_shown_in_its_section() -> None:
    assert show_text("x", '"Nr. "@') == "Nr. x"
    assert show_text("x", "0;0;0;(@)") == "(x)"
    assert show_text("x", "0.00") == "x"


@given(st.floats(allow_nan=True), st.text(alphabet='0#?,.%;E+-/[]<>=$"\\_*@ymdhsGb', max_size=300))
def test_any_code_shows_any_number(value: float, code: str) -> None:
    assert len(show_number(value, code)) < 2000
    assert len(show_number(value, code, from_1904=True)) < 2000


@pytest.mark.parametrize("piece", ["[", '"', "0", "%", ",", "/", "[h]", "E+", "?/", ";", "_", "#,"])
def test_a_code_that_is_longer_than_a_workbook_may_have_is_the_general_format(piece: str) -> None:
    assert show_number(1.5, piece * 1_000_000) == "1.5"
