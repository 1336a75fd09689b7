"""XML: documents without their tags, data as it is written."""

from __future__ import annotations

import pytest

from crx.ingest.read import read_bytes
from crx.types import Document

BOOK = """<?xml version="1.0" encoding="UTF-8"?>
<book><info><title>The locks of the canal</title></info>
<chapter><title>Winter</title>
<para>The <emphasis>keeper</emphasis> of the upper lock leaves the house when the ice comes.</para>
<section><title>Boats on the ice</title>
<para>Nobody is allowed to cross the canal on foot before February &amp; after dark.</para>
</section></chapter></book>"""

FEED = """<rss><channel><title>News of the quay</title>
<item><title>Herons came back to the quay</title>
<description>&lt;p&gt;Three &lt;b&gt;herons&lt;/b&gt; were seen at the old quay this
morning, and the keeper of the lock says that they will stay for the whole
summer.&lt;/p&gt;</description></item></channel></rss>"""

SETTINGS = '<project name="ferry"><dependency><artifactId>winch</artifactId></dependency></project>'


def read(text: str, *, name: str = "a.xml") -> Document:
    return next(iter(read_bytes(text.encode(), name=name)))


def test_a_document_is_read_without_its_tags_under_the_titles_of_its_sections() -> None:
    book = read(BOOK)
    assert book.title == "The locks of the canal"
    assert book.text.split("\n\n") == [
        "The locks of the canal",
        "Winter",
        "The keeper of the upper lock leaves the house when the ice comes.",
        "Boats on the ice",
        "Nobody is allowed to cross the canal on foot before February & after dark.",
    ]
    levels = [(mark.label, mark.level) for mark in book.marks]
    assert levels == [("The locks of the canal", 1), ("Winter", 1), ("Boats on the ice", 2)]


def test_the_markup_within_a_feed_is_read_as_a_page() -> None:
    assert read(FEED, name="news.rss").text.split("\n\n") == [
        "News of the quay",
        "Herons came back to the quay",
        "Three herons were seen at the old quay this morning, and the keeper of the lock says that "
        "they will stay for the whole summer.",
    ]


def test_the_attributes_of_markup_in_cdata_make_no_data_of_a_feed() -> None:
    sources = ", ".join(f"https://cdn.example/herons-{width}.jpg {width}w" for width in "1234567")
    text = "Three herons were seen at the old quay this morning."
    page = f'<![CDATA[<p><img srcset="{sources}">{text}</p>]]>'
    feed = f"<rss><channel><item><description>{page}</description></item></channel></rss>"
    assert read(feed, name="news.rss").text == text


PICTURE = "iVBORw0KGgo" * 50 + "\n" + "AAAANSUhEUgAA" * 50
NOTES = f"""<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export2.dtd">
<en-export><note><title>Berths of the harbour</title><content><![CDATA[<!DOCTYPE en-note
SYSTEM "http://xml.evernote.com/pub/enml2.dtd"><en-note><div>The third berth is kept free for the
pilot boat, and nobody else may lie there overnight.</div><div>The fee is due on Fridays, before
the office closes for the weekend.</div></en-note>]]></content>
<resource><data encoding="base64">{PICTURE}</data></resource></note></en-export>"""


def test_notes_and_books_are_read_without_their_pictures() -> None:
    assert read(NOTES, name="notes.enex").text.splitlines() == [
        "Berths of the harbour",
        "",
        "The third berth is kept free for the pilot boat, and nobody else may lie there overnight.",
        "The fee is due on Fridays, before the office closes for the weekend.",
    ]
    book = BOOK.replace("Nobody", "Nobody, not even the keeper,")
    with_cover = book.replace("</book>", f"<binary>{PICTURE}</binary></book>")
    assert read(with_cover, name="a.fb2").text == read(book).text


def test_numbers_of_data_are_left_out() -> None:
    track = "<track>" + "54.32 10.14\n" * 100 + "</track>"
    assert read(track).text.split() == ["<track>", "</track>"]


def test_a_named_text_keeps_its_name() -> None:
    texts = [f"The boat {n} leaves the old harbour at noon" for n in range(3)]
    items = "".join(f'<string name="key{n}">{text}</string>' for n, text in enumerate(texts))
    assert read(f"<r>{items}</r>").text.split("\n\n") == [
        f"key{n}: {text}" for n, text in enumerate(texts)
    ]


def test_data_malformed_xml_and_what_has_entities_are_as_written() -> None:
    entities = f'<!DOCTYPE book [<!ENTITY ice "snow">]>{BOOK.partition("?>")[2]}'
    for written in (SETTINGS, BOOK[:-7], entities):
        assert read(written).text == written


def test_data_with_elements_named_as_documents_are_and_what_has_no_text_are_as_written() -> None:
    items = "".join(f'<article key="a{n}" value="hello"/>' for n in range(3))
    priced = '<author>Gambardella</author><price currency="USD">44.95</price>'
    for written in (
        f"<config>{items}</config>",
        f'<catalog><book id="bk101" genre="Computer">{priced}</book></catalog>',
        '<?xml version="1.0"?><!-- <rss> --><book id="bk101"><author name="Gambardella"/></book>',
        '<article key="a1" value="hello"/>',
    ):
        assert read(written).text == written


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        (
            "<FictionBook><description><book-title>Fens</book-title></description><body><title>"
            "<p>One</p><p>Eels</p></title><p>Mud.</p></body><binary>QUJD</binary></FictionBook>",
            "Fens", "Fens\n\nOne Eels\n\nMud.",
        ),
        (
            "<en-export><note><title>Rye</title><content><![CDATA[<en-note><p>Sow.</p></en-note>]]>"
            "</content><data encoding='base64'>QUJD</data></note></en-export>",
            "Rye", "Rye\n\nSow.",
        ),
        ("<rss><title>Tides &amp;amp; reefs</title></rss>", "Tides & reefs", "Tides & reefs"),
        (
            "<article><article-title>On <i>Zea</i> mays</article-title><sec><title>Plots</title>"
            "<p>Ten.</p></sec></article>",
            "On Zea mays", "On Zea mays\n\nPlots\n\nTen.",
        ),
    ],
)  # fmt: skip
def test_a_known_format_is_a_document_however_short(source: str, title: str, text: str) -> None:
    document = read(source)
    assert (document.title, document.text) == (title, text)


@pytest.mark.parametrize("name", ["a.xml", "a.doc"])
def test_xml_of_word_is_read_by_its_paragraphs(name: str) -> None:
    runs = "<w:r><w:t>Bar</w:t></w:r><w:r><w:t>ley</w:t></w:r>"
    source = f'<?mso-application progid="Word.Document"?><w:wordDocument xmlns:w="w"><w:p>{runs}'
    assert read(f"{source}</w:p></w:wordDocument>", name=name).text == "Barley"
