"""Numbers of headings and list items in Word and OpenDocument texts."""

from __future__ import annotations

import pytest
from zipped import WORD, docx, links, odf, zipped_with

from crx.ingest.read import read_bytes
from crx.ingest.readers.list_numbers import format_count
from crx.types import Document


def one(data: bytes, name: str) -> Document:
    """Read bytes that hold one document."""
    (document,) = read_bytes(data, name=name)
    return document


FORMATS = [
    (4, "decimal", "4"), (4, "decimalZero", "04"), (4, "lowerRoman", "iv"),
    (49, "upperRoman", "XLIX"), (2, "lowerLetter", "b"), (28, "upperLetter", "BB"),
    (22, "ordinal", "22nd"), (12, "ordinal", "12th"), (3, "ideographTraditional", "丙"),
    (21, "chineseCounting", "二十一"), (3, "decimalEnclosedCircle", "③"),
    (3, "russianLower", "в"), (0, "lowerLetter", "0"), (5, "hex", "5"), (5, "none", ""),
]  # fmt: skip


@pytest.mark.parametrize(("count", "name", "written"), FORMATS)
def test_a_count_is_written_in_the_format_of_its_level(count: int, name: str, written: str) -> None:
    assert format_count(count, name) == written


def level(at: int, format_: str, text: str, *, more: str = "") -> str:
    """Return a level of a list in `numbering.xml`."""
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{format_}"/>'
        f'{more}<w:lvlText w:val="{text}"/></w:lvl>'
    )


LEVELS = (
    level(0, "decimal", "%1.", more='<w:pStyle w:val="H1"/>')
    + level(1, "decimal", "%1.%2")
    + level(2, "lowerLetter", "(%3)")
)
HEADING = (
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/>'
    '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
)


def item(text: str, *, at: int = 0, list_id: int = 1) -> str:
    """Return a paragraph of a list."""
    number = f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return f"<w:p><w:pPr>{number}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def heading(text: str) -> str:
    """Return a heading, whose style numbers it."""
    return f'<w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'


def contract(body: str, *, levels: str = LEVELS, lists: str = "") -> bytes:
    """Return a Word document with the list 1 and others."""
    numbering = (
        f'<w:numbering {WORD}><w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>{lists}'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>'
    )
    return zipped_with(
        docx(body, styles=HEADING),
        {
            "word/numbering.xml": lambda _: numbering,
            "word/_rels/document.xml.rels": lambda _: links(
                s="styles styles.xml", n="numbering numbering.xml"
            ),
        },
    )


def test_clauses_have_the_numbers_that_word_shows() -> None:
    body = (
        heading("Terms")
        + item("The boat.", at=1)
        + heading("Rent")
        + item("Due monthly.", at=1)
        + item("Late rent", at=1)
        + item("bears interest;", at=2)
        + item("ends the lease.", at=2)
    )
    document = one(contract(body), "a.docx")
    assert document.text == (
        "1. Terms\n1.1 The boat.\n\n2. Rent\n2.1 Due monthly.\n2.2 Late rent\n"
        "(a) bears interest;\n(b) ends the lease."
    )
    assert [m.label for m in document.marks] == ["1. Terms", "2. Rent"]


def test_a_list_may_start_anew_and_another_goes_on() -> None:
    lists = (
        '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>'
    )
    body = item("one") + item("five", list_id=2) + item("six", list_id=2) + item("7", list_id=3)
    assert one(contract(body, lists=lists), "a.docx").text == "1. one\n5. five\n6. six\n7. 7"


def test_an_item_that_was_deleted_is_not_counted() -> None:
    deleted = item("").replace("</w:pPr>", "<w:rPr><w:del/></w:rPr></w:pPr>")
    assert one(contract(item("one") + deleted + item("two")), "a.docx").text == "1. one\n2. two"


def test_a_legal_number_is_decimal_and_a_level_may_never_restart() -> None:
    levels = level(0, "upperRoman", "Article %1") + level(
        1, "decimal", "%1.%2", more="<w:lvlRestart w:val='0'/><w:isLgl/>"
    )
    body = item("A") + item("a", at=1) + item("B") + item("b", at=1)
    text = one(contract(body, levels=levels), "a.docx").text
    assert text == "Article I A\n1.1 a\nArticle II B\n2.2 b"


def test_bullets_are_dashes_and_the_level_of_no_list_is_too() -> None:
    levels = level(0, "bullet", "")
    body = item("a") + item("b", at=5) + item("c", list_id=99)
    assert one(contract(body, levels=levels), "a.docx").text == "- a\n- b\n- c"


def test_without_its_numbering_a_document_is_read_and_says_so() -> None:
    data = zipped_with(contract(item("Late rent")), {"word/numbering.xml": lambda _: "<broken"})
    document = one(data, "a.docx")
    assert document.text == "- Late rent"
    assert document.metadata["left_out"] == ["list numbers"]


LIST_STYLE = (
    '<text:list-style style:name="L1">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/>'
    '<text:list-level-style-bullet text:level="3" text:bullet-char="x"/></text:list-style>'
    '<text:outline-style style:name="O">'
    '<text:outline-level-style text:level="1" style:num-format="I" style:num-prefix="Part "/>'
    "</text:outline-style>"
)


def odt_list(*items: str, attributes: str = 'text:style-name="L1"') -> str:
    """Return a list of an OpenDocument text."""
    return f"<text:list {attributes}>{''.join(items)}</text:list>"


def odt_item(*content: str, attributes: str = "") -> str:
    """Return an item of paragraphs, which are texts, and of lists."""
    parts = (each if each.startswith("<") else f"<text:p>{each}</text:p>" for each in content)
    return f"<text:list-item {attributes}>{''.join(parts)}</text:list-item>"


def odt(body: str) -> Document:
    """Read an OpenDocument text."""
    return one(odf(f"<office:text>{body}</office:text>", styles=LIST_STYLE), "a.odt")


def test_items_of_an_open_document_have_the_numbers_that_it_shows() -> None:
    inner = odt_list(odt_item("due"), odt_item("late", odt_list(odt_item("dot"), attributes="")))
    body = odt_list(
        odt_item("Terms", "more"), odt_item("Rent", inner.replace('text:style-name="L1"', ""))
    )
    assert odt(body).text == "1. Terms\n\nmore\n2. Rent\n2.1 due\n2.2 late\n- dot"


def test_a_list_of_an_open_document_goes_on_or_starts_anew() -> None:
    goes_on = 'text:style-name="L1" text:continue-numbering="true"'
    nested = odt_item(odt_list(odt_item("deep"), attributes=""))
    body = (
        odt_list(odt_item("a"))
        + "<text:p>between</text:p>"
        + odt_list(nested, odt_item("b"), attributes=goes_on)
        + odt_list(odt_item("c"), odt_item("d", attributes='text:start-value="7"'))
    )
    assert odt(body).text == "1. a\n\nbetween\n1.1 deep\n2. b\n1. c\n7. d"


def test_headings_of_an_open_document_have_the_numbers_of_its_outline() -> None:
    document = odt(
        '<text:h text:outline-level="1">Boats</text:h><text:h text:outline-level="2">Oars</text:h>'
        '<text:h text:outline-level="1" text:is-list-header="true">Note</text:h>'
        '<text:h text:outline-level="1">Rent</text:h>'
    )
    assert [m.label for m in document.marks] == ["Part I Boats", "Oars", "Note", "Part II Rent"]


def test_a_number_that_an_open_document_gives_is_taken() -> None:
    assert odt(
        '<text:h text:outline-level="1"><text:number>4.2</text:number>Rent</text:h>'
    ).text == ("4.2 Rent")
