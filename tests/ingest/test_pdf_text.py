"""What a PDF shows beside upright lines from left to right: all of it is read in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from pdfs import drawn, lettered

from crx.ingest.read import read_bytes
from crx.types import Document

LINES = ["The ferry leaves at noon", "Tickets are sold on board"]


# The widths of some letters of Helvetica, in heights of type.
WIDTHS = {
    **dict.fromkeys("abhnou", 0.556), **dict.fromkeys("lri", 0.26), **dict.fromkeys("t y", 0.35),
    **dict.fromkeys("HAB", 0.7),
}  # fmt: skip


def read_all(data: bytes) -> list[Document]:
    return [*read_bytes(data, name="a.pdf")]


def read(data: bytes) -> Document:
    (document,) = read_all(data)
    return document


def turned(lines: Sequence[str], degrees: float, *, x: float = 300, y: float = 400) -> str:
    """Return the content that draws lines around a point at an angle counterclockwise."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    shown = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
    return f"BT /F1 12 Tf {cos:.5f} {sin:.5f} {-sin:.5f} {cos:.5f} {x} {y} Tm {shown} ET\n"


class TestTurnedText:
    @pytest.mark.parametrize("rotation", [0, 90, 180, 270])
    @pytest.mark.parametrize("degrees", [0, 90, 180, 270])
    def test_text_set_sideways_is_read_as_it_is_meant(self, degrees: int, rotation: int) -> None:
        content = turned(LINES, degrees)
        assert read(drawn(content, page=f"/Rotate {rotation}")).text == "\n".join(LINES)

    @pytest.mark.parametrize("degrees", [7, 30, 45, 60, 135, 200, 315])
    def test_so_is_text_at_any_other_angle(self, degrees: int) -> None:
        assert read(drawn(turned(LINES, degrees))).text == "\n".join(LINES)

    def test_a_page_scanned_askew_is_read_by_lines(self) -> None:
        assert read(drawn(turned(LINES, 1.5))).text == "\n".join(LINES)

    def test_type_of_a_negative_size_is_turned_round(self) -> None:
        content = f"BT /F1 -12 Tf -1 0 0 -1 100 400 Tm ({LINES[0]}) Tj ET"
        assert read(drawn(content)).text == LINES[0]

    def test_the_letters_around_a_seal_are_words(self) -> None:
        text, radius, angle, content = "Harbour Authority", 60, math.radians(150), ""
        for letter in text:
            x, y = 300 + radius * math.cos(angle), 400 + radius * math.sin(angle)
            content += turned([letter], math.degrees(angle) - 90, x=x, y=y)
            angle -= 12 * WIDTHS[letter] / radius
        assert read(drawn(content)).text == text

    def test_a_stamp_beside_upright_text_is_read_after_it(self) -> None:
        content = turned(LINES, 0, x=72, y=700) + turned(["Received on 4 May"], 90, x=560, y=300)
        assert read(drawn(content)).text.split("\n") == [*LINES, "", "Received on 4 May"]


class TestRightToLeft:
    def test_hebrew_lines_are_in_the_order_in_which_they_are_read(self) -> None:
        lines = ["המעבורת יוצאת בצהריים", "הכרטיסים נמכרים על הסיפון"]
        texts = [(300, 700 - 20 * at, 12, line[::-1]) for at, line in enumerate(lines)]
        assert read(lettered(texts)).text == "\n".join(lines)

    def test_numbers_and_other_words_within_them_too(self) -> None:
        line = "המעבורת Aurora יוצאת בשעה 12:30 מרציף 4"
        shown = "4 ףיצרמ 12:30 העשב תאצוי Aurora תרובעמה"
        assert read(lettered([(100, 700, 12, shown)])).text == line

    def test_arabic_is_too(self) -> None:
        line = "العبارة تغادر ظهرا"
        assert read(lettered([(300, 700, 12, line[::-1])])).text == line

    def test_letters_that_are_each_drawn_from_the_right_too(self) -> None:
        texts = [(500 - 9 * at, 700, 12, letter) for at, letter in enumerate("המעבורת")]
        assert read(lettered(texts)).text == "המעבורת"

    def test_a_word_of_them_within_an_english_line_too(self) -> None:
        shown = "The ferry תרובעמה leaves"
        assert read(lettered([(100, 700, 12, shown)])).text == "The ferry המעבורת leaves"

    def test_columns_are_read_from_the_right(self) -> None:
        right = ["המעבורת יוצאת בצהריים", "הכרטיסים נמכרים על", "הסיפון בכל יום"]
        left = ["הדרך אל המגדלור ארוכה", "וחסומה בחורף לכלי", "רכב בגלל השלג"]
        texts = [
            (x, 700 - 14 * at, 10, line[::-1])
            for x, column in ((72, left), (330, right))
            for at, line in enumerate(column)
        ]
        assert read(lettered(texts)).text.split() == " ".join(right + left).split()

    def test_a_row_of_a_table_is_read_from_the_right(self) -> None:
        rows = [["אזור", "שנה", "סכום"], ["צפון", "2022", "14"], ["דרום", "2023", "9"]]
        texts = [
            (400 - 130 * cell, 700 - 16 * row, 10, text if text.isdecimal() else text[::-1])
            for row, cells in enumerate(rows)
            for cell, text in enumerate(cells)
        ]
        assert read(lettered(texts)).text == "\n".join(map("\t".join, rows))


def field(kind: str, value: str, *, at: str = "200 690 400 710", more: str = "") -> str:
    return (
        f"<< /Type /Annot /Subtype /Widget /FT /{kind} /T (field) {value} /Rect [{at}] {more} "
        "/F 4 /P 3 0 R >>"
    )


FORM = "/AcroForm << /Fields [10 0 R] >>"
LINE = "Name of the vessel:"
LABEL = f"BT /F1 12 Tf 72 697 Td ({LINE}) Tj ET"


class TestForms:
    def test_a_value_is_read_on_the_line_of_its_label(self) -> None:
        data = drawn(LABEL, annotations=[field("Tx", "/V (Nordlys)")], catalog=FORM)
        assert read(data).text == "Name of the vessel: Nordlys"

    def test_so_is_the_value_that_a_field_has_from_its_parent(self) -> None:
        parent = "<< /FT /Tx /T (vessel) /V (Nordlys) /Kids [11 0 R] >>"
        kid = "<< /Type /Annot /Subtype /Widget /Parent 10 0 R /Rect [200 690 400 710] /F 4 >>"
        content = LABEL
        data = drawn(content, annotations=[parent, kid], catalog=FORM)
        assert "Nordlys" in read(data).text

    def test_a_choice_is_read_and_a_password_is_not(self) -> None:
        choice = field("Ch", "/V (w) /Opt [[(m) (Monthly)] [(w) (Weekly)]]", more="/Ff 131072")
        assert "Weekly" in read(drawn(LABEL, annotations=[choice], catalog=FORM)).text
        password = field("Tx", "/V (hunter2)", more="/Ff 8192")
        assert "hunter2" not in read(drawn(LABEL, annotations=[password], catalog=FORM)).text

    def test_so_are_the_values_on_a_page_without_the_form_that_it_was_taken_from(self) -> None:
        value = field("Tx", "/V (Nordlys)")
        assert read(drawn(LABEL, annotations=[value])).text == "Name of the vessel: Nordlys"
        password = field("Tx", "/V (hunter2)", more="/Ff 8192")
        assert read(drawn(LABEL, annotations=[password])).text == LINE
        assert read(drawn(LABEL, annotations=[field("Btn", "/V /Yes /AS /Yes")])).text == LINE

    def test_a_checked_box_has_a_cross(self) -> None:
        checked = field("Btn", "/V /Yes /AS /Yes", at="60 693 70 703", more=BOX)
        unchecked = field("Btn", "/V /Off /AS /Off", at="60 693 70 703", more=BOX)
        shown = {100: "<< /Subtype /Form /BBox [0 0 9 9] /Length 0 >>\nstream\n\nendstream"}
        for box, expected in ((checked, "☒ Name of the vessel:"), (unchecked, LINE)):
            data = drawn(LABEL, annotations=[box], catalog=FORM, objects=shown)
            assert read(data).text == expected

    def test_a_hidden_value_is_not_read(self) -> None:
        hidden = field("Tx", "/V (Nordlys)").replace("/F 4", "/F 2")
        assert read(drawn(LABEL, annotations=[hidden], catalog=FORM)).text == LINE

    def test_lines_of_a_value_are_lines(self) -> None:
        value = field("Tx", r"/V (Nordlys\nof Bergen)", at="200 640 400 710", more="/Ff 4096")
        text = read(drawn(LABEL, annotations=[value], catalog=FORM)).text
        assert text.replace("\n", " ").split()[-3:] == ["Nordlys", "of", "Bergen"]

    def test_scripts_do_not_run(self) -> None:
        script = "/AA << /C << /S /JavaScript /JS (this.getField('field').value = 'changed';) >> >>"
        opened = "/OpenAction << /S /JavaScript /JS (this.getField('field').value = 'run';) >>"
        data = drawn(
            LABEL,
            annotations=[field("Tx", "/V (Nordlys)", more=script)],
            catalog=f"{FORM} {opened}",
        )
        assert read(data).text == "Name of the vessel: Nordlys"


BOX = "/AP << /N << /Yes 100 0 R /Off 100 0 R >> >> /MK << /CA (4) >>"


class TestNotes:
    def test_text_typed_on_a_page_is_read_where_it_stands(self) -> None:
        typed = (
            "<< /Type /Annot /Subtype /FreeText /Rect [200 690 400 710] /F 4 "
            "/DA (/Helv 12 Tf) /Contents (Nordlys) >>"
        )
        assert read(drawn(LABEL, annotations=[typed])).text == "Name of the vessel: Nordlys"

    def test_a_note_follows_the_text_of_its_page_with_its_author(self) -> None:
        note = (
            "<< /Type /Annot /Subtype /Text /Rect [500 600 520 620] /F 4 /T (Inga Vik) "
            "/Contents (Ask the surveyor about the keel) >>"
        )
        text = read(drawn(LABEL, annotations=[note])).text
        assert text == "Name of the vessel:\n\nInga Vik: Ask the surveyor about the keel"

    def test_a_comment_on_marked_text_is_a_note(self) -> None:
        comment = (
            "<< /Type /Annot /Subtype /Highlight /Rect [72 690 200 710] /F 4 "
            "/QuadPoints [72 710 200 710 72 690 200 690] /Contents (Misspelled) >>"
        )
        assert read(drawn(LABEL, annotations=[comment])).text.endswith("\n\nMisspelled")

    def test_a_note_of_ten_megabytes_is_cut(self) -> None:
        note = (
            "<< /Type /Annot /Subtype /Text /Rect [500 600 520 620] /F 4 "
            f"/Contents ({'word ' * 2_000_000}) >>"
        )
        assert 100_000 < len(read(drawn(LABEL, annotations=[note])).text) < 500_000


STAMP = "<< /Type /Annot /Subtype /Stamp /Rect [300 690 400 710] /F 4 /AP << /N 100 0 R >> >>"


def appearance(content: str) -> dict[int, str]:
    font = "/Resources << /Font << /F1 5 0 R >> >>"
    written = f"/Subtype /Form /BBox [0 0 100 20] {font} /Length {len(content)}"
    return {100: f"<< {written} >>\nstream\n{content}\nendstream"}


class TestStamps:
    def test_the_text_of_a_stamp_is_read_where_it_stands(self) -> None:
        drawing = appearance("BT /F1 12 Tf 4 7 Td (Paid on 4 May) Tj ET")
        data = drawn(LABEL, annotations=[field("Tx", "/V (Nordlys)"), STAMP], objects=drawing)
        assert read(data).text == "Name of the vessel: Nordlys Paid on 4 May"

    def test_a_fault_costs_the_stamp_and_not_the_page(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawing = appearance("BT /F1 12 Tf 4 7 Td (Paid on 4 May) Tj ET")
        monkeypatch.setattr("crx.ingest.readers.pdf.draw_stamps", None)
        document = read(drawn(LABEL, annotations=[STAMP], objects=drawing))
        assert (document.text, document.metadata["left_out"]) == (LINE, ["stamps"])

    def test_a_scan_with_a_stamp_or_a_note_is_recognized_all_the_same(self) -> None:
        drawing = appearance("BT /F1 12 Tf 4 7 Td (Paid on 4 May) Tj ET")
        note = "<< /Type /Annot /Subtype /Text /Rect [9 9 20 20] /Contents (Ask Inga) >>"
        data = drawn("", annotations=[STAMP, note], objects=drawing)
        (document,) = read_bytes(data, name="a.pdf", recognize=lambda _: "Invoice for two boats")
        assert document.text == "Paid on 4 May\n\nAsk Inga\n\nInvoice for two boats"
        (unread,) = read_bytes(data, name="a.pdf")
        assert unread.metadata["pages_without_text"] == 1


class TestWhatIsSeen:
    def test_text_outside_of_the_page_is_not_read(self) -> None:
        content = turned(LINES, 0, x=72, y=700) + turned(["Cutting mark"], 0, x=-300, y=700)
        assert read(drawn(content)).text == "\n".join(LINES)

    def test_text_outside_of_what_is_cut_out_of_the_page_is_not_read(self) -> None:
        content = turned(LINES, 0, x=72, y=700) + turned(["Cutting mark"], 0, x=72, y=20)
        assert read(drawn(content, page="/CropBox [50 50 562 742]")).text == "\n".join(LINES)

    def test_text_with_a_shadow_is_read_once(self) -> None:
        content = turned(LINES, 0, x=73, y=699) + turned(LINES, 0, x=72, y=700)
        assert read(drawn(content)).text == "\n".join(LINES)

    def test_letters_that_are_each_drawn_twice_are_read_once(self) -> None:
        content, x = "", 72.0
        for letter in "Balloon":
            content += turned([letter], 0, x=x, y=700) + turned([letter], 0, x=x + 0.4, y=700)
            x += 12 * WIDTHS[letter]
        assert read(drawn(content)).text == "Balloon"

    def test_a_number_that_stands_in_two_cells_is_read_twice(self) -> None:
        rows = [["Region", "2022", "2023"], ["North", "15", "15"], ["South", "9", "9"]]
        content = "".join(
            turned([text], 0, x=72 + 60 * cell, y=700 - 16 * row)
            for row, cells in enumerate(rows)
            for cell, text in enumerate(cells)
        )
        assert read(drawn(content)).text == "\n".join(map("\t".join, rows))


def attach(*files: tuple[str, str]) -> dict[int, str]:
    """Return the objects of attached files from 101, and of the tree that names them, 100."""
    objects = {}
    names = ""
    for at, (file, content) in enumerate(files):
        objects[101 + 2 * at] = (
            f"<< /Type /Filespec /F ({file}) /UF ({file}) /EF << /F {102 + 2 * at} 0 R >> >>"
        )
        objects[102 + 2 * at] = (
            f"<< /Type /EmbeddedFile /Length {len(content)} >>\nstream\n{content}\nendstream"
        )
        names += f"({file}) {101 + 2 * at} 0 R "
    objects[100] = f"<< /Names [{names}] >>"
    return objects


PORTFOLIO = "/Names << /EmbeddedFiles 100 0 R >> /Collection << /View /T >>"


class TestAttachedFiles:
    def test_the_files_of_a_portfolio_are_documents_of_their_own(self) -> None:
        letter = drawn(turned(LINES, 0)).decode("cp1252")
        objects = attach(("tide.txt", "High water at six."), ("letter.pdf", letter))
        found = read_all(drawn(LABEL, catalog=PORTFOLIO, objects=objects))
        assert [(document.uri, document.text) for document in found] == [
            ("a.pdf", "Name of the vessel:"),
            ("a.pdf#1-tide.txt", "High water at six."),
            ("a.pdf#2-letter.pdf", "\n".join(LINES)),
        ]

    def test_they_are_read_though_the_cover_has_no_text(self) -> None:
        objects = attach(("tide.txt", "High water at six."))
        (found,) = read_all(drawn("", catalog=PORTFOLIO, objects=objects))
        assert found.text == "High water at six."

    def test_one_that_cannot_be_read_costs_that_one(self) -> None:
        objects = attach(("bad.pdf", "%PDF-1.7 nothing"), ("tide.txt", "High water at six."))
        cover, tide = read_all(drawn(LABEL, catalog=PORTFOLIO, objects=objects))
        assert cover.metadata["left_out"] == ["bad.pdf"]
        assert tide.text == "High water at six."
