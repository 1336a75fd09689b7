"""Documents in ZIP archives: text in reading order, headings, pages, slides and chapters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from zipfile import ZipFile

import pytest
from zipped import (
    WORD,
    damaged,
    damaged_parts,
    docx,
    epub,
    links,
    odf,
    pptx,
    shape,
    zipped,
    zipped_with,
)

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document


def one(data: bytes, name: str) -> Document:
    """Read bytes that hold one document."""
    (document,) = read_bytes(data, name=name)
    return document


def refusal(data: bytes, name: str) -> str:
    """Return the reason why bytes cannot be read, or "" if they can."""
    try:
        list(read_bytes(data, name=name))
    except InputError as why:
        return str(why)
    return ""


def spans(document: Document, kind: str) -> dict[str, str]:
    """Return what each mark of a kind covers, by label."""
    return {m.label: document.text[m.start : m.end] for m in document.marks if m.kind == kind}


def paragraph(text: str, *, properties: str = "") -> str:
    """Return a paragraph of a Word document."""
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


STYLES = (
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="H1"/></w:style>'
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
)
WORD_FILE = docx(
    paragraph("The Handbook", properties='<w:pStyle w:val="T"/>')
    + paragraph("Roads", properties='<w:pStyle w:val="Mine"/>')
    + "<w:p><w:r><w:t>A road</w:t><w:tab/><w:t>is long</w:t><w:footnoteReference w:id='2'/>"
    "</w:r><w:del><w:r><w:t>struck</w:t></w:r></w:del></w:p>"
    + paragraph("tar", properties='<w:numPr><w:numId w:val="1"/></w:numPr>')
    + "<w:tbl><w:tr><w:tc>"
    + paragraph("year")
    + "</w:tc><w:tc>"
    + paragraph("miles")
    + "</w:tc></w:tr><w:tr><w:tc>"
    + paragraph("1901")
    + "</w:tc><w:tc>"
    + paragraph("12")
    + "</w:tc></w:tr></w:tbl>"
    + "<w:p><w:r><w:lastRenderedPageBreak/><w:t>Bridges</w:t></w:r></w:p>"
    + paragraph("Arches", properties='<w:outlineLvl w:val="1"/>'),
    styles=STYLES,
    notes='<w:footnote w:id="2"><w:p><w:r><w:t>In miles.</w:t></w:r></w:p></w:footnote>',
)
SLIDES = pptx(
    {
        "2": shape("second file, first slide") + shape("Roads", placeholder="title"),
        "1": shape("no title here") + shape("7", placeholder="sldNum"),
    },
    notes={"2": shape("Say this", placeholder="body")},
    title="Talk on roads",
)
ODT = odf(
    '<office:text><text:p text:style-name="P1">The  Handbook</text:p>'
    "<text:table-of-content><text:p>Roads 1</text:p></text:table-of-content>"
    '<text:h text:outline-level="2">Roads</text:h>'
    "<text:p>A <text:span>road</text:span><text:s text:c='2'/>is<office:annotation><text:p>why?"
    "</text:p></office:annotation> long<text:note><text:note-citation>1</text:note-citation>"
    "<text:note-body><text:p>In miles.</text:p></text:note-body></text:note>.</text:p>"
    "<text:list><text:list-item><text:p>tar</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>year</text:p></table:table-cell>"
    "<table:table-cell><text:p>miles</text:p></table:table-cell></table:table-row></table:table>"
    "</office:text>",
    styles='<style:style style:name="P1" style:parent-style-name="Title"/>',
)
ODP = odf(
    "<office:presentation><draw:page>"
    '<draw:frame presentation:class="title"><text:p>Roads</text:p></draw:frame>'
    "<draw:frame><text:p>one</text:p><text:p>two</text:p></draw:frame>"
    '<draw:frame presentation:class="footer"><text:p>page 7</text:p></draw:frame>'
    "<presentation:notes><draw:frame><text:p>Say this</text:p></draw:frame></presentation:notes>"
    "</draw:page><draw:page><draw:frame><text:p>three</text:p></draw:frame></draw:page>"
    "</office:presentation>",
    title="Talk on roads",
)
BOOK = epub(
    {
        "two.xhtml": "<html><head><title/><script src='x'/></head><body><h1>Roads</h1>"
        "<p>A road<a id='x'/> is long.</p></body></html>",
        "one.xhtml": "<html><body><h2>Bridges</h2><p>Arches.</p></body></html>",
        "end.xhtml": "<html><body><p>The end.</p></body></html>",
    },
    titles={"two.xhtml": "On Roads"},
    title="The Handbook",
)
SEEDS = {"a.docx": WORD_FILE, "a.pptx": SLIDES, "a.odt": ODT, "a.odp": ODP, "a.epub": BOOK}


def test_a_word_document_has_headings_lists_tables_notes_and_pages() -> None:
    document = one(WORD_FILE, "a.docx")
    assert document.text == (
        "The Handbook\n\nRoads\n\nA road\tis long[1]\n- tar\n\nyear\tmiles\n1901\t12\n\n"
        "Bridges\n\nArches\n\n[1] In miles."
    )
    assert document.title == "The Handbook"
    headings = [(m.level, m.label) for m in document.marks if m.kind == "heading"]
    assert headings == [(1, "Roads"), (2, "Arches")]
    assert spans(document, "page")["2"].startswith("Bridges")
    assert document.metadata == {
        "ext": "docx",
        "author": "Ann",
        "date": "2024-05-01",
        "format": "docx",
    }


def with_parts(body: str, relations: dict[str, str], parts: dict[str, str | bytes]) -> bytes:
    """Return a Word document with other parts, and links to them by id."""
    changes = {f"word/{path}": partial(_replace, new=content) for path, content in parts.items()}
    links_path = "word/_rels/document.xml.rels"
    return zipped_with(docx(body), {**changes, links_path: lambda _: links(**relations)})


def _replace(_old: str, *, new: str | bytes) -> str | bytes:
    return new


def embedded(content: str) -> str:
    """Return a paragraph with a drawing."""
    return f"<w:p><w:r><w:t>See:</w:t></w:r><w:r><w:drawing>{content}</w:drawing></w:r></w:p>"


CHART = (
    '<c:chartSpace xmlns:c="urn:c" xmlns:a="urn:a"><c:title><a:p><a:r><a:t>Dues</a:t></a:r></a:p>'
    "</c:title><c:strCache><c:pt><c:v>North quay</c:v></c:pt></c:strCache>"
    "<c:numCache><c:pt><c:v>17</c:v></c:pt></c:numCache></c:chartSpace>"
)
DIAGRAM = '<d:m xmlns:d="urn:d" xmlns:a="urn:a"><d:t><a:p><a:t>Plan</a:t></a:p></d:t></d:m>'


def test_paragraphs_breaks_and_tabs_of_a_footnote_part_its_words() -> None:
    note = (
        '<w:footnote w:id="2"><w:p><w:r><w:t>See Hvalsund</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>Volume</w:t><w:tab/><w:t>seven</w:t><w:br/><w:t>end</w:t></w:r></w:p>"
        "</w:footnote>"
    )
    body = "<w:p><w:r><w:t>It left</w:t><w:footnoteReference w:id='2'/></w:r></w:p>"
    text = one(docx(body, notes=note), "a.docx").text
    assert text == "It left[1]\n\n[1] See Hvalsund\nVolume\tseven end"


def test_charts_diagrams_and_descriptions_follow_their_paragraph() -> None:
    data = with_parts(
        embedded('<w:docPr descr="A lighthouse at dusk"/><c:chart xmlns:c="urn:c" c:id="c"/>')
        + embedded('<w:docPr descr="image001.png"/><d:relIds xmlns:d="urn:d" d:dm="d" d:lo="x"/>'),
        {"c": "chart c.xml", "d": "diagramData d.xml"},
        {"c.xml": CHART, "d.xml": DIAGRAM},
    )
    assert one(data, "a.docx").text == (
        "See:\n\nA lighthouse at dusk\nDues\nNorth quay\n\nSee:\n\nPlan"
    )


def test_names_of_series_and_categories_of_several_levels_are_read() -> None:
    levels = (
        "<c:ser><c:tx><c:v>Landed</c:v></c:tx></c:ser>"
        "<c:multiLvlStrCache><c:lvl><c:pt><c:v>North quay</c:v></c:pt></c:lvl>"
        "<c:lvl><c:pt><c:v>Bergen</c:v></c:pt></c:lvl></c:multiLvlStrCache>"
    )
    chart = f'<c:chartSpace xmlns:c="urn:c">{levels}</c:chartSpace>'
    parts: dict[str, str | bytes] = {"c.xml": chart}
    data = with_parts(embedded('<c:chart xmlns:c="urn:c" c:id="c"/>'), {"c": "chart c.xml"}, parts)
    assert one(data, "a.docx").text == "See:\n\nLanded\nNorth quay\nBergen"


def test_a_document_within_another_one_is_part_of_it() -> None:
    inner = docx(paragraph("From Word", properties='<w:pStyle w:val="H1"/>'), styles=STYLES)
    data = with_parts(
        '<w:altChunk w:id="h"/>' + paragraph("between") + '<w:altChunk w:id="w"/>',
        {"h": "aFChunk h.html", "w": "aFChunk w.docx"},
        {"h.html": "<h2>From HTML</h2><p>words</p>", "w.docx": inner},
    )
    document = one(data, "a.docx")
    assert document.text == "From HTML\n\nwords\n\nbetween\n\nFrom Word"
    assert [(m.label, m.level) for m in document.marks] == [("From HTML", 2), ("From Word", 1)]


def test_a_document_that_is_within_itself_without_end_is_left_out() -> None:
    body, inner = paragraph("one") + '<w:altChunk w:id="w"/>', docx(paragraph("last"))
    for _ in range(5):
        inner = with_parts(body, {"w": "aFChunk w.docx"}, {"w.docx": inner})
    document = one(inner, "a.docx")
    assert document.text == "one\n\none\n\none\n\none"
    assert document.metadata["left_out"] == ["word/w.docx"]


RUN = "<w:r><w:t>%s</w:t></w:r>"
HIDDEN = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>no</w:t></w:r>"
BOX = "<w:pict><w:txbxContent><w:p>%s</w:p></w:txbxContent></w:pict>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p>{RUN % 'tar'}<w:r><w:br w:type='page'/></w:r>{RUN % 'rope'}</w:p>", "tar\nrope"),
        (f"<w:p><w:r><w:br w:type='column'/></w:r>{RUN % 'tar'}</w:p>", "tar"),
        (f"<w:p>{HIDDEN}{RUN % 'tar'}</w:p>", "tar"),
        (f"<w:p><w:r>{BOX % HIDDEN}<w:t>tar</w:t></w:r></w:p>", "tar"),
        (f"<w:p><w:r><w:vanish/>{BOX % (RUN % 'no')}<w:t>no</w:t></w:r>{RUN % 'tar'}</w:p>", "tar"),
        (f"<w:p><w:num>{RUN % '1'}</w:num><w:den>{RUN % '2'}</w:den></w:p>", "1/2"),
        (
            "<w:p><w:ddList><w:result w:val='1'/><w:listEntry w:val='oak'/>"
            "<w:listEntry w:val='elm'/></w:ddList>"
            "<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox></w:p>",
            "elm☒",
        ),
    ],
)
def test_a_run_is_as_word_shows_it(body: str, text: str) -> None:
    assert one(docx(body), "a.docx").text == text


def test_readings_are_no_part_of_their_words() -> None:
    body = (
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
    )
    assert one(docx(body), "a.docx").text == "東京"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("word/styles.xml", "styles"),
        ("word/footnotes.xml", "footnotes"),
        ("docProps/core.xml", "properties"),
    ],
)
def test_a_damaged_part_of_a_word_document_is_left_out_and_named(part: str, name: str) -> None:
    document = one(zipped_with(WORD_FILE, {part: lambda _: "<broken"}), "a.docx")
    assert "A road\tis long[1]" in document.text
    assert document.metadata["left_out"] == [name]


def test_slides_are_in_the_order_of_the_presentation_and_keep_their_own_sections() -> None:
    document = one(SLIDES, "a.pptx")
    assert document.text == (
        "Roads\n\nsecond file, first slide\n\nNotes: Say this\n\nno title here"
    )
    assert document.title == "Talk on roads"
    first = "Roads\n\nsecond file, first slide\n\nNotes: Say this\n\n"
    assert spans(document, "slide") == {"1": first, "2": "no title here"}
    assert spans(document, "heading") == {"Roads": first}


def item(kind: str = "", level: int = 0, start: int = 1) -> str:
    """Return a paragraph of a slide with a number of a kind, "" for one without a number."""
    auto = f'<a:buAutoNum type="{kind}" startAt="{start}"/>' if kind else "<a:buNone/>"
    return f'<a:p><a:pPr lvl="{level}">{auto}</a:pPr><a:r><a:t>oak</a:t></a:r></a:p>'


TAR = item("arabicPeriod")


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        (item("arabicPeriod", start=2) * 2, ["2.", "3."]),
        (TAR + item("alphaLcParenBoth", 1) + TAR, ["1.", "(a)", "2."]),
        (TAR + item(level=1) + TAR, ["1.", "", "2."]),
        (TAR + item() + TAR, ["1.", "", "1."]),
        (TAR + item("alphaLcParenR") + TAR, ["1.", "a)", "1."]),
        (TAR + item("arabicPeriod", start=5) + TAR, ["1.", "5.", "1."]),
        ((item("romanLcPeriod", 1) + TAR) * 2, ["i.", "1.", "i.", "2."]),
        (item("romanLcPeriod", 1) + item() + item("romanLcPeriod", 1), ["i.", "", "i."]),
        (TAR + "<a:p/>" + TAR, ["1.", "2."]),
    ],
)
def test_paragraphs_of_a_slide_have_their_automatic_numbers(body: str, numbers: list[str]) -> None:
    slides = pptx({"1": shape("tar").replace("<a:p>", f"{body}<a:p>", 1)}, notes={})
    lines = one(slides, "a.pptx").text.split("\n")
    assert [line.removesuffix("oak").strip() for line in lines if "oak" in line] == numbers


def test_an_open_document_text_has_headings_lists_tables_and_notes() -> None:
    document = one(ODT, "a.odt")
    assert document.text == (
        "The Handbook\n\nRoads\n\nA road  is long[1].\n- tar\n\nyear\tmiles\n\n[1] In miles."
    )
    assert document.title == "The Handbook"
    assert spans(document, "heading") == {"Roads": document.text[14:]}
    assert document.metadata == {"ext": "odt", "format": "odt"}


def test_descriptions_of_pictures_follow_their_paragraph() -> None:
    picture = '<draw:frame xmlns:svg="urn:svg-compatible"><svg:desc>A lighthouse</svg:desc>'
    body = f"<office:text><text:p>See {picture}</draw:frame>there.</text:p></office:text>"
    assert one(odf(body), "a.odt").text == "See there.\n\nA lighthouse"


def test_slides_of_an_open_document_have_titles_and_notes() -> None:
    document = one(ODP, "a.odp")
    first = "Roads\n\none\ntwo\n\nNotes: Say this\n\n"
    assert document.text == first + "three"
    assert spans(document, "slide") == {"1": first, "2": "three"}
    assert spans(document, "heading") == {"Roads": first}
    assert document.title == "Talk on roads"


def test_a_flat_open_document_is_the_same_in_one_file() -> None:
    with ZipFile(BytesIO(ODT)) as archive:
        content = archive.read("content.xml")
    assert one(content, "a.fodt").text == one(ODT, "a.odt").text


def test_an_encrypted_open_document_says_so() -> None:
    data = zipped({"META-INF/manifest.xml": "<encryption-data/>", "content.xml": b"\x07\x01"})
    with pytest.raises(InputError, match="is encrypted; save a copy"):
        one(data, "a.odt")


def test_a_book_has_its_chapters_in_the_order_of_its_spine() -> None:
    document = one(BOOK, "a.epub")
    assert spans(document, "chapter") == {
        "On Roads": "Roads\n\nA road is long.\n\n",
        "Bridges": "Bridges\n\nArches.\n\n",
        "3": "The end.",
    }
    assert [(m.level, m.label) for m in document.marks if m.kind == "heading"] == [
        (1, "Roads"),
        (2, "Bridges"),
    ]
    assert (document.title, document.lang) == ("The Handbook", "en")
    assert document.metadata == {"ext": "epub", "author": "Ann", "format": "epub"}


def test_a_protected_book_says_so() -> None:
    with ZipFile(BytesIO(BOOK)) as archive:
        parts = {path: archive.read(path) for path in archive.namelist()}
    locked = b"<encryption><CipherReference URI='OPS/one.xhtml'/></encryption>"
    with pytest.raises(InputError, match=r"is protected \(DRM\)"):
        one(zipped({**parts, "META-INF/encryption.xml": locked}), "a.epub")


def test_a_chapter_that_cannot_be_read_costs_itself_alone() -> None:
    picture = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 20
    for broken in ({"OPS/one.xhtml": lambda _: picture}, {"OPS/toc.ncx": lambda _: "<broken"}):
        document = one(zipped_with(BOOK, broken), "a.epub")
        assert "A road is long.\n\nThe end." in document.text.replace("Bridges\n\nArches.\n\n", "")
        assert document.metadata["left_out"] in (["chapter 2"], ["table of contents"])


def test_a_slide_that_cannot_be_read_costs_itself_alone() -> None:
    broken = zipped_with(SLIDES, {"ppt/slides/slide2.xml": lambda _: "<broken"})
    document = one(broken, "a.pptx")
    assert document.text == "no title here"
    assert document.metadata["left_out"] == ["slide 1"]
    broken = zipped_with(SLIDES, {"ppt/notesSlides/n.xml": lambda _: "<broken"})
    document = one(broken, "a.pptx")
    assert "second file, first slide" in document.text
    assert document.metadata["left_out"] == ["notesSlide of slide 1"]


def test_charts_and_descriptions_of_pictures_are_part_of_a_slide() -> None:
    picture = '<p:pic><p:nvPicPr><p:cNvPr descr="A lighthouse"/></p:nvPicPr></p:pic>'
    data = zipped_with(
        pptx({"1": shape("words") + picture}, notes={}),
        {
            "ppt/slides/_rels/slide1.xml.rels": lambda _: links(c="chart ../c.xml"),
            "ppt/c.xml": lambda _: CHART,
        },
    )
    assert one(data, "a.pptx").text == "words\n\nA lighthouse\n\nDues\nNorth quay"


def test_a_title_that_the_program_wrote_is_not_used() -> None:
    data = docx(paragraph("words"), title="Microsoft Word - Document1")
    assert one(data, "/a/long_roads.docx").title == "long roads"
    assert one(data, "/a/long_roads.docx").metadata["title_from"] == "name"


def test_lines_of_the_file_are_not_cited() -> None:
    document = one(WORD_FILE, "a.docx")
    assert "as_written" not in document.metadata
    assert document.metadata["format"] == "docx"


@pytest.mark.parametrize("name", SEEDS)
def test_a_damaged_file_is_one_line_with_the_reason(name: str) -> None:
    copies = [*damaged(SEEDS[name], count=150), *damaged_parts(SEEDS[name], count=30)]
    reasons = [reason for copy in copies if (reason := refusal(copy, name))]
    assert len(reasons) > len(copies) / 3
    assert all("\n" not in reason for reason in reasons)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.parametrize(
    "data", [b"PK\x03\x04", b"\1\2\3 words", b"\xd0\xcf\x11\xe0" + b"\0" * 600]
)
def test_a_file_that_is_no_archive_says_so(name: str, data: bytes) -> None:
    with pytest.raises(InputError, match=r"not a readable ZIP|is in an old Office format"):
        one(data, name)


def bombs() -> Iterator[tuple[str, bytes]]:
    """Yield archives that expand without bound: compressed zeros, and XML entities."""
    yield "expands too much", b"<w:document>" + b"\0" * 100_000_000
    nested = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    yield "entities", f'<!DOCTYPE d [<!ENTITY e0 "ha">{nested}]><d>&e11;</d>'.encode()
    yield "entities", b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>'
    yield "entities", '<!DOCTYPE d [<!ENTITY x "y">]><d>&x;</d>'.encode("utf-16")


@pytest.mark.parametrize(("reason", "part"), list(bombs()))
def test_what_expands_without_bound_is_refused_fast(reason: str, part: bytes) -> None:
    data = zipped({"word/document.xml": part})
    started = time.process_time()
    with pytest.raises(InputError, match=reason):
        one(data, "a.docx")
    assert time.process_time() - started < 2


def test_elements_may_nest_deeper_than_the_stack_of_python() -> None:
    deep = "<w:p>" * 50_000 + "<w:r><w:t>deep</w:t></w:r>" + "</w:p>" * 50_000
    body = f"<w:document {WORD}><w:body>{deep}</w:body></w:document>"
    assert one(zipped({"word/document.xml": body}), "a.docx").text == "deep"


def test_a_part_is_never_sought_outside_the_archive() -> None:
    parts = {}
    with ZipFile(BytesIO(WORD_FILE)) as archive:
        parts = {path: archive.read(path) for path in archive.namelist()}
    for target in ("../../../../etc/passwd", "file:///etc/passwd", "/etc/passwd"):
        rels = parts["_rels/.rels"].replace(b"word/document.xml", target.encode())
        with pytest.raises(InputError, match="has no part"):
            one(zipped({**parts, "_rels/.rels": rels}), "a.docx")
