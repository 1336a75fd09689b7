"""Documents as the page shows them: rendered, in colours, in the preview, and their originals."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from zipfile import ZipFile

import pytest
from pdfs import pdf
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.app import create_app
from crx_serve.page.coloured_code import colour_code
from crx_serve.page.markup_writer import MarkupWriter, check_url
from crx_serve.page.rendered_markdown import render_markdown
from crx_serve.page.rendered_text import TextLine, render_text
from crx_serve.page.routes import page_extension
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService
from crx_serve.text_lines import SHOWN_CHARS

SHOWN = {
    "p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "hr", "table",
    "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "a", "br", "span", "div", "mark",
}  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <b onmouseover=alert(1)>bold</b> <!-- comment --> <?php ?> <![CDATA[x]]>",
    "[link](javascript:alert(1)) [link](data:text/html,x) <javascript:alert(1)>",
    "[link](JaVaScRiPt:alert(1)) [link](\x01javascript:alert(1)) [x](//evil.example/x)",
    "![image](https://evil.example/track.png) ![image](javascript:alert(1))",
    '[a](https://example.org/"onmouseover="alert(1) "title\\" onclick=x")',
    '```html" onclick="alert(1)\n<script>alert(1)</script>\n```',
    "| <script> | b |\n|---|---|\n| <svg onload=alert(1)> | [x](vbscript:x) |",
    "# <style>*{display:none}</style> &lt;script&gt; &#x3C;script&#x3E;",
    "<iframe src=javascript:alert(1)></iframe>\n\n<math><mtext></table><mglyph><style><img>",
    "> > > > > > > > > > > > > > > > > > > > > > > > > > <script>",
)


class Shown(HTMLParser):
    """Collects the elements, the attributes and the text of markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(str(markup))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def markdown(text: str, *, lines: tuple[int, int] | None = None, terms: str = "") -> str:
    return render_markdown(text, lines=lines, terms=set(terms.split()), resolve=lambda path: "")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_becomes_no_other_elements_attributes_and_schemes(text: str) -> None:
    shown = Shown(markdown(text, lines=(0, 9), terms="script alert"))
    assert set(shown.elements) <= SHOWN
    assert {name for name, _ in shown.attributes} <= {"class", "href", "rel", "id", "start"}
    links = [value or "" for name, value in shown.attributes if name == "href"]
    assert all(link.startswith(("https://", "http://", "mailto:")) for link in links), links


def test_markup_in_markdown_is_shown_as_it_is_written() -> None:
    assert "<script>alert(1)</script>" in Shown(markdown("a <script>alert(1)</script>")).text
    assert Shown(markdown("![a chart](x.png)")).text.strip() == "a chart"


def test_blocks_and_inline_elements_of_markdown_are_rendered() -> None:
    text = "# Top\n\n* one\n* two `x`\n\n3. three\n\n| a | b |\n|---|---|\n| c | **d** |\n\n---\n"
    html = markdown(text)
    assert "<h2>Top</h2>" in html
    assert '<ul><li><p class="tight">one</p></li>' in html
    assert "<code>x</code>" in html
    assert '<ol start="3">' in html
    assert "<td><strong>d</strong></td>" in html
    assert "<hr>" in html


def test_examples_of_a_known_language_are_coloured_in_markdown_too() -> None:
    html = markdown("```python\ndef a(): ...\n```\n\n```klingon\ndef a\n```\n")
    assert '<pre><code><span class="tok-keyword">def</span>' in html
    assert html.count("tok-keyword") == 1


def test_the_blocks_of_the_span_are_marked_with_the_words_of_the_query_in_them() -> None:
    html = markdown("krill\n\nWhales eat krill.\n\nkrill\n", lines=(2, 2), terms="krill")
    assert html == (
        '<p>krill</p><p id="passage" class="span">Whales eat <mark>krill</mark>.</p><p>krill</p>'
    )


def test_a_relative_link_leads_to_the_document_that_the_index_has() -> None:
    resolve = {"b.md": "/documents/x"}.get
    assert check_url("b.md", resolve=lambda url: resolve(url, "")) == "/documents/x"
    assert check_url("c.md", resolve=lambda url: resolve(url, "")) == ""
    assert check_url("b.md?id=3#part", resolve=lambda url: url) == "b.md?id=3#part"
    assert check_url("?id=3", resolve=lambda url: url) == "?id=3"
    assert check_url("http://[", resolve=lambda path: "x") == ""
    assert check_url("#part", resolve=lambda path: "x") == ""


@pytest.mark.parametrize(
    "text",
    ["[" * 12_000, "*a " * 4000, "> " * 6000, "`" * 12_000, "![" * 6000, "|a" * 6000 + "\n|-|\n"],
    ids=["brackets", "stars", "quotes", "ticks", "images", "cells"],
)
def test_hostile_nesting_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    markdown(text, lines=(0, 1), terms="a")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("\n" * 20_000, "c"),
        ("\n" * 20_000, "java"),
        ("'\\" * 20_000, "javascript"),
        ("x" * 40_000, "console"),
    ],
    ids=["blank lines in C", "blank lines in Java", "quotes", "a session"],
)
def test_hostile_code_takes_no_long_time_and_loses_nothing(text: str, language: str) -> None:
    began = time.process_time()
    lines = colour_code(text, language=language, span=(0, 0), terms=set())
    assert time.process_time() - began < 2
    assert "\n".join(Shown(line).text for line in lines) == text


def test_the_examples_of_a_page_share_the_time_for_colours() -> None:
    example = "```c\n" + "\n" * 5000 + "```\n\n"
    began = time.process_time()
    html = markdown(example * 8 + "```python\ndef a(): ...\n```\n")
    assert time.process_time() - began < 3
    assert "def a(): ..." in Shown(html).text


def test_the_writer_knows_no_other_element_and_class() -> None:
    for element, css in (("script", ""), ("img", ""), ("p", 'x" onclick="y')):
        with pytest.raises(ValueError, match="no element that is shown"):
            MarkupWriter(set()).start(element, css=css)


def test_code_is_coloured_line_by_line_and_loses_nothing() -> None:
    source = 'def fuse(a):\n    """Say <b>.\n\n    Go."""\n    return "x"  # why\n'
    lines = colour_code(source, language="python", span=(0, 12), terms={"fuse"})
    assert [Shown(line).text for line in lines] == source.split("\n")
    assert lines[0].startswith('<span class="tok-keyword">def</span>')
    assert '<span class="tok-name"><mark>fuse</mark></span>' in lines[0]
    assert "<mark>" not in "".join(lines[1:])
    assert '<span class="tok-comment"># why</span>' in lines[4]


def test_code_of_a_language_that_is_not_known_has_no_colours() -> None:
    assert colour_code("a < b", language="klingon", span=(0, 0), terms=set()) == ["a &lt; b"]


def test_extracted_text_gets_its_headings_lists_and_tables_back() -> None:
    plain = TextLine("One line", level=0, is_span=False, divider="")
    spanned = plain._replace(is_span=True)
    lines = [
        TextLine("Whales", level=1, is_span=False, divider="page 1"),
        plain,
        spanned._replace(text="and <another>."),
        spanned._replace(text=""),
        spanned._replace(text="- krill"),
        plain._replace(text="a\tb"),
    ]
    assert render_text(lines, terms={"krill"}) == (
        '<p class="divider">page 1</p><h2>Whales</h2>'
        '<p class="lines"><span class="run">One line</span>'
        '<span id="passage" class="run span">and &lt;another&gt;.</span></p>'
        '<ul class="plain"><li class="span">- <mark>krill</mark></li></ul>'
        '<div class="wide"><table><tr><td>a</td><td>b</td></tr></table></div>'
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of documents of several kinds."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "whales.md").write_text(
        "---\nby: me\n---\n# Whales\n\nSee [the net](net.html#mesh).\n"
    )
    (folder / "net.html").write_text(
        "<title>Net</title><h1>Net</h1><p>A plankton net.</p><script>alert(1)</script>"
    )
    (folder / "report.pdf").write_bytes(pdf([["Whales eat krill."], ["Bread needs salt."]]))
    (folder / "fuse.py").write_text("def fuse(rankings):\n    return sorted(rankings)\n")
    return folder


@pytest.fixture
def client(files: Path, tmp_path: Path) -> Iterator[Client]:
    """A client of a server of these documents."""
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(files)
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as made:
        yield made
    service.close()


def id_of(client: Client, name: str) -> str:
    return str(client.get(f"/v1/documents?contains={name}").json["documents"][0]["id"])


def show(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status == 200, answer.body
    return answer.body.decode()


def test_a_document_is_rendered_unless_its_text_is_asked_for(client: Client) -> None:
    path = f"/documents/{id_of(client, 'whales.md')}"
    html = show(client, path)
    assert "<h2>Whales</h2>" in html
    assert f'<a href="/documents/{id_of(client, "net.html")}" rel=' in html
    assert "by: me" not in html.partition('class="text')[2]
    assert 'id="L4"' in show(client, f"{path}?view=text")
    assert 'id="L4"' in show(client, f"{path}?lines=4")


LONG_LINES = {
    "tide.py": "tide = [" + "1, 2, " * 60_000 + "]",
    "tide.md": "The *tide* [rises](x.md). " * 20_000,
    "tide.html": "<p>" + "The tide rises here. " * 20_000,
}


@pytest.mark.parametrize("name", LONG_LINES)
def test_a_long_line_is_shown_in_part(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(LONG_LINES[name])
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / name)
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        document_id = id_of(client, name)
        for path, most in (("documents", 2 * SHOWN_CHARS), ("preview", SHOWN_CHARS)):
            html = show(client, f"/{path}/{document_id}?start=200000&end=200900&q=tide")
            text = html.partition('<div class="text')[2].partition("</div>")[0]
            assert len(Shown(text).text) < most + 100
            assert text.count('<span class="cut">…</span>') == 2
            assert 'id="passage"' in text
            assert "tok-" not in text
        earlier, later = re.findall(
            r'<p class="more"><a href="([^"]+)">',
            show(client, f"/documents/{document_id}?start=200000&end=200900"),
        )
        assert "Later text" in show(client, earlier.partition("#")[0].replace("&amp;", "&"))
        assert "Earlier text" in show(client, later.partition("#")[0].replace("&amp;", "&"))
    service.close()


def test_a_relative_link_of_a_web_page_keeps_its_query_and_fragment(tmp_path: Path) -> None:
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add_documents(
            [
                crx.Document(
                    "https://example.org/sea/tides.md",
                    "# Tides\n\nSee [the table](table?id=3#june).\n",
                    metadata={"format": "markdown"},
                )
            ]
        )
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html = show(client, f"/documents/{id_of(client, 'tides')}")
    service.close()
    assert '<a href="https://example.org/sea/table?id=3#june"' in html


def test_a_preview_is_the_document_around_the_passage(client: Client) -> None:
    html = show(client, f"/preview/{id_of(client, 'net.html')}?start=0&end=20&q=plankton")
    assert html.startswith('<aside id="preview"')
    assert '<h2 id="passage" class="span">Net</h2>' in html
    assert "<mark>plankton</mark>" in html
    assert "<html" not in html
    code = show(client, f"/preview/{id_of(client, 'fuse.py')}?start=0&end=5")
    assert '<span class="span" id="passage"><span class="tok-keyword">def</span>' in code
    assert client.get("/preview/sea-9-00000000").status == 404


def test_the_original_is_sent_confined_and_never_as_a_page_of_the_server(client: Client) -> None:
    answer = client.get(f"/original/{id_of(client, 'net.html')}")
    assert answer.status == 200
    assert answer.body.startswith(b"<title>Net")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none';")
    assert "unsafe-inline" not in answer.headers["content-security-policy"].partition("style")[0]
    source = client.get(f"/original/{id_of(client, 'whales.md')}")
    assert source.headers["content-type"] == "text/plain; charset=utf-8"
    assert source.headers["content-disposition"] == "inline; filename*=UTF-8''whales.md"


def test_a_file_that_is_not_the_indexed_one_any_more_is_not_sent(
    client: Client, files: Path, tmp_path: Path
) -> None:
    path = f"/original/{id_of(client, 'fuse.py')}"
    original = (files / "fuse.py").read_text()
    (files / "fuse.py").write_text("x" * len(original))
    assert client.get(path).status == 404
    (files / "fuse.py").unlink()
    assert client.get(path).status == 404
    (tmp_path / "same").write_text(original)
    (files / "fuse.py").symlink_to(tmp_path / "same")
    assert client.get(path).status == 404
    (files / "fuse.py").unlink()
    os.mkfifo(files / "fuse.py")
    assert client.get(path).status == 404
    assert client.get("/original/sea-1-00000000").status == 404
    assert client.get("/original/..%2f..%2fetc%2fpasswd").status == 404


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_the_original_of_a_name_that_is_not_utf8_is_sent(client: Client, tmp_path: Path) -> None:
    named = os.fsencode(tmp_path) + b"/caf\xe9.md"
    with open(named, "w") as file:
        file.write("# Coffee\n")
    with crx.open(tmp_path / "sea.crx", create=False, settings=SETTINGS) as index:
        index.add(os.fsdecode(named))
    assert client.get(f"/original/{id_of(client, 'caf')}").body == b"# Coffee\n"


def test_a_link_under_the_name_of_a_document_is_told(client: Client, files: Path) -> None:
    path = f"/original/{id_of(client, 'fuse.py')}"
    (files / "fuse.py").rename(files / "moved.py")
    (files / "fuse.py").symlink_to(files / "moved.py")
    answer = client.get(path)
    assert answer.status == 404
    assert b"is a link, which is not followed" in answer.body


def test_a_pdf_in_an_archive_has_no_picture(client: Client, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("inner.pdf", pdf([["Crabs dig."]]))
    with crx.open(tmp_path / "sea.crx", create=False, settings=SETTINGS) as index:
        index.add(tmp_path / "packed.zip")
    assert "/page?" not in show(client, f"/documents/{id_of(client, 'inner.pdf')}")


def test_a_pdf_has_the_picture_of_its_page_and_other_documents_have_none(client: Client) -> None:
    document_id = id_of(client, "report.pdf")
    span = "?start=0&end=5"
    url = f"/v1/documents/{document_id}/page?start=0&amp;end=5"
    for path in ("preview", "documents"):
        assert f'src="{url}"' in show(client, f"/{path}/{document_id}{span}")
        assert "page-picture" not in show(client, f"/{path}/{id_of(client, 'net.html')}{span}")
    answer = client.get(url.replace("&amp;", "&"))
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")


def test_the_picture_is_that_of_the_page_that_answers(client: Client) -> None:
    document_id = id_of(client, "report.pdf")
    html = show(client, f"/preview/{document_id}?start=0&end=35&q=salt")
    (url,) = re.findall(r'src="(/v1/documents/[^"]+)"', html)
    answer = client.get(url.replace("&amp;", "&"))
    assert answer.headers["x-crx-page"] == "2"
