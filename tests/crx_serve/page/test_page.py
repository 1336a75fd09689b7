"""The page as HTML, without a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest
from hostile_documents import ATTACK
from jinja2 import UndefinedError
from served import SETTINGS, Client, serving_app

import crx
from crx._cli.filters import parse_where
from crx._text.query_terms import marked_terms
from crx.errors import ModelError, UsageError
from crx.retrieve.query_fields import split_fields
from crx_serve.app import create_app
from crx_serve.facets import Facets, folder_of
from crx_serve.page.form import SearchForm, folder_pattern, read_form
from crx_serve.page.home import describe_age
from crx_serve.page.routes import page_extension
from crx_serve.page.state import render_state
from crx_serve.page.templates import escape_text, make_environment, render
from crx_serve.responses import IndexStatus, ServiceStatus
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService
from crx_serve.text_lines import SHOWN_CHARS, TextLines, Window


class Elements(HTMLParser):
    """Collects the elements of a page, and what is in them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def links(self, kind: str) -> list[str]:
        """Return the targets of the links of a class."""
        return [
            str(a["href"]) for name, a in self.attributes if name == "a" and a.get("class") == kind
        ]


def get(page: Client, path: str) -> str:
    answer = page.get(path)
    assert answer.status == 200, answer.body[:500]
    return answer.body.decode()


def first_link(page: Client, query: str) -> str:
    return Elements(get(page, f"/?q={quote(query)}")).links("open")[0]


def test_a_template_escapes_values_and_replaces_what_html_cannot_hold() -> None:
    template = make_environment().from_string('<a href="{{ url }}">{{ text }}</a>')
    values = {"url": '"><b>', "text": "<i>a\x00b\udce9\n"}
    written = '<a href="&#34;&gt;&lt;b&gt;">&lt;i&gt;a\ufffdb\ufffd\n</a>'
    assert template.render(values) == written
    assert escape_text("<i>\x00") == "&lt;i&gt;\ufffd"


def test_a_template_without_one_of_its_values_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'message' is undefined"):
        render("failure.html", {})


def test_neither_the_package_nor_a_search_imports_jinja() -> None:
    code = "import sys, crx, crx._cli.search, crx_serve.server; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_search_without_a_script_shows_passages_with_the_words_of_the_query(page: Client) -> None:
    html = get(page, "/?q=what+do+whales+eat")
    assert "<mark>whales</mark> <mark>eat</mark> krill" in html
    assert re.search(
        r'<a href="/documents/library-[^"]+#passage" class="anchor" dir="auto">'
        r'<span class="location">line \d+<',
        html,
    )
    assert 'value="what do whales eat"' in html


def test_a_link_of_a_passage_finds_what_is_like_it_in_other_documents(page: Client) -> None:
    found = Elements(get(page, "/?q=what+do+whales+eat"))
    own, url = found.links("open")[0], found.links("like")[0]
    document = own.partition("/documents/")[2].partition("?")[0]
    assert re.fullmatch(rf"/\?like={document}%3A\d+-\d+", url)
    html = get(page, url)
    assert "like the chosen one" in html
    shown = Elements(html).links("open")
    assert shown
    assert not [each for each in shown if document in each]
    for bad in ("x", "x:1-", f"{document}:1-2-3"):
        assert page.get(f"/?like={bad}").status == 400, bad
    assert page.get("/?like=library-1-00000000:0-9").status == 404


def test_every_answer_forbids_foreign_and_inline_scripts(page: Client) -> None:
    for path in (
        "/",
        "/?q=krill",
        "/status",
        "/assets/page.js",
        "/documents/x",
        first_link(page, "krill"),
    ):
        headers = page.get(path.partition("#")[0]).headers
        assert headers["content-security-policy"].startswith("default-src 'self';"), path
        assert "unsafe" not in headers["content-security-policy"]


def test_the_page_loads_nothing_but_its_own_files(page: Client) -> None:
    html = get(page, "/?q=krill")
    elements = Elements(html)
    given = [(tag, *each) for tag, attributes in elements.attributes for each in attributes.items()]
    loaded = [value or "" for _, name, value in given if name in ("src", "href")]
    assert all(url.startswith(("/", "#")) and not url.startswith("//") for url in loaded), loaded
    assert [each for each in given if each[1] == "style" or each[1].startswith("on")] == []
    assert "style" not in elements.names
    assert [a for tag, a in elements.attributes if tag == "script" and "src" not in a] == []
    for url in ("/assets/page.css", "/assets/page.js", "/assets/icon.svg"):
        assert url in html
        assert page.get(url).status == 200
    imported = re.findall(r'from "\./(\w+\.js)"', get(page, "/assets/page.js"))
    assert imported == ["parts.js", "preview.js", "searches.js"]
    for name in imported:
        assert "innerHTML" not in get(page, f"/assets/{name}")
    assert not re.search(r"url\(|@import", get(page, "/assets/page.css"))
    assert "innerHTML" not in get(page, "/assets/page.js")


@pytest.mark.parametrize(
    "path", ["/?q={}", "/ask?q={}", "/?q=plankton+net&path={}", "/?q=x&index={}"]
)
def test_markup_in_a_query_or_filter_stays_text(path: str, page: Client) -> None:
    elements = Elements(page.get(path.format(quote(ATTACK))).body.decode())
    assert "img" not in elements.names
    assert elements.names.count("script") == 1


def test_markup_in_title_text_and_metadata_stays_text(page: Client) -> None:
    for path in ("/?q=plankton+net", "/ask?q=plankton+net", first_link(page, "plankton net")):
        html = get(page, path.partition("#")[0])
        elements = Elements(html)
        assert "img" not in elements.names
        assert elements.names.count("script") == 1
        assert "&lt;script&gt;" in html


def test_filters_narrow_a_search_and_stay_in_the_form(page: Client) -> None:
    html = get(page, "/?q=krill&lang=ja")
    assert Elements(html).links("open")[0]
    assert "鯨の食べ物" in html
    assert "Whales</a>" not in html
    assert '<option value="ja" selected>ja</option>' in html
    assert "search.py" in get(page, "/?q=fuse&type=python")
    assert "No passage matches" in get(page, "/?q=krill&path=*.rb")
    assert "Whales</a>" in get(page, "/?q=krill&from=2024-05&to=2024-05-01")
    assert "No passage matches" in get(page, "/?q=krill&to=2024-04-30")


def test_the_home_page_says_in_words_what_is_here(page: Client) -> None:
    html = get(page, "/")
    assert re.search(
        r"<p>8 documents in \d+ chunks, all of them are found by meaning, too\.</p>", html
    )
    assert '<bdi>markdown</bdi> <span class="count">6</span>' in html
    assert '<bdi>ja</bdi> <span class="count">1</span>' in html
    assert len(re.findall(r"<time datetime=", html)) == 8


def test_a_filter_without_a_query_lists_the_newest_documents_that_it_leaves(page: Client) -> None:
    html = get(page, "/?type=python")
    assert "1 document with these filters" in html
    assert len(re.findall(r"<time datetime=", html)) == 1
    assert Elements(html).links("chip set") == ["/"]


def test_the_passages_of_a_document_stand_together_and_its_path_once(page: Client) -> None:
    html = get(page, "/?q=sea+calm+wind+west+narwhal")
    titles = re.findall(r'class="open" dir="auto">([^<]*)</a>', html)
    assert len(titles) == len(set(titles))
    assert titles[0] == "log.txt"
    shown = html.partition('<li class="result" id="r2">')[0]
    assert re.sub(r"Cite as.*?</p>|data-copy=\S+", "", shown).count("log.txt") == 1


def test_a_passage_is_located_by_the_line_that_answers(page: Client) -> None:
    html = get(page, "/?q=narwhal&path=log.txt")
    passage = page.post("/v1/search", {"query": "narwhal", "limit": 1}).json["passages"][0]
    assert passage["lines"][0] < passage["line"] < passage["lines"][1]
    assert "narwhal" in passage["text"].split("\n")[passage["line"] - passage["lines"][0]]
    assert re.findall(r"line (\d+)</span>", html)[0] == str(passage["line"])
    assert passage["url"].endswith(f"#L{passage['line']}")


def test_lines_that_their_author_wrapped_are_joined_in_an_excerpt(tmp_path: Path) -> None:
    wrapped = "The narwhal is a whale of the Arctic that has one long tusk, which\nis a tooth."
    (tmp_path / "narwhal.md").write_text(f"# Narwhal\n\n{wrapped}\n\n- one\n- two\n")
    # Lines of more columns than a row of an excerpt.
    wide = "Of five hundred males one has two tusks that are as far apart as the ears of a " + (
        "Greenland reindeer, and\nnobody knows for certain what the animals use them for."
    )
    (tmp_path / "males.md").write_text(f"# Males\n\n{wide}\n")
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add([tmp_path / "narwhal.md", tmp_path / "males.md"])
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html = get(client, "/?q=tusk")
    service.close()
    assert "</mark>, which is a tooth." in html
    assert "reindeer, and nobody knows" in html
    assert "• one\n• two" in html


def test_what_the_state_says_is_no_note_on_the_passages_too(tmp_path: Path) -> None:
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add_documents([crx.Document("mem:1", "A narwhal has one tusk.")], words_only=True)
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html = get(client, "/?q=tusk")
        noted = client.post("/v1/search", {"query": "tusk"}).json["notes"]
    service.close()
    assert "Indexing: 1 of 1 chunks are found by their words only" in html
    assert "found by words alone until" in noted[0]
    assert "found by words alone until" not in html


def test_chips_count_the_documents_that_were_found(page: Client) -> None:
    html = get(page, "/?q=krill")
    assert '<bdi>de</bdi> <span class="count">1</span>' in html
    assert "/?q=krill&lang=de" in Elements(html).links("chip")
    assert Elements(get(page, "/?q=krill&lang=de")).links("chip set") == ["/?q=krill"]


def test_function_words_are_marked_only_if_there_are_no_others() -> None:
    text = "What the whales of the sea do"
    assert marked_terms("what do the whales do", text) == {"whale"}
    assert "the" in marked_terms("the who", text)
    assert marked_terms("", text) == set()


def test_folders_are_those_below_the_folder_of_all_files_and_the_hosts_of_urls() -> None:
    facets = Facets(
        folders={"/a/b": 1, "/a/b/c": 2, "/a/b/c/d": 3, "/a/b/e": 4, "https://host": 5},
        folder="/a/b",
    )
    assert facets.folders_in("") == {"/a/b/c": 5, "https://host": 5, "/a/b/e": 4}
    assert facets.folders_in("/a/b/c") == {"/a/b/c/d": 3}
    assert folder_of("https://host/x/y") == "https://host"
    assert folder_of("http://[") == "http://["
    assert folder_of("mem:x") == ""


def test_the_pattern_of_a_folder_has_no_wildcards_of_its_name() -> None:
    assert folder_pattern("/a [b]*\\/") == "/a ?b???/**"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "just now"), (90, "1 minute ago"), (7300, "2 hours ago"), (40 * 86400, ""), (-90, "")],
)
def test_an_age_is_said_in_words(seconds: float, words: str) -> None:
    assert describe_age(seconds) == words


def test_the_form_becomes_a_filter_of_documents() -> None:
    form = SearchForm(query="q", path="docs", format="pdf", lang="de", since="2024", until="2025")
    assert form.where == {
        "uri": {"glob": "**docs**"},
        "format": "pdf",
        "lang": "de",
        "date": {">=": "2024", "<=": "2025~"},
    }
    assert form.url() == "/?q=q&path=docs&type=pdf&lang=de&from=2024&to=2025"
    assert SearchForm(path="/docs/**/*.md").where == {"uri": {"glob": "/docs/**/*.md"}}


def test_fields_of_the_query_mean_what_they_mean_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    query = "krill path:docs ext:md,txt from:zofia before:2024-05"
    form = SearchForm(query=query, here=str(tmp_path))
    assert form.where == {
        "path": {"glob": f"{tmp_path}/docs/**"},
        "ext": {"in": ["md", "txt"]},
        "from": {"=": "zofia"},
        "modified": {"<": "2024-05"},
    }
    fields = split_fields(query)
    assert parse_where((), here=str(tmp_path), fields=fields) == form.where
    assert form.search().query == form.question().question == "krill"


def test_an_age_in_the_query_is_a_time_and_its_path_starts_where_all_files_are(
    tmp_path: Path,
) -> None:
    for name in ("old", "new"):
        (tmp_path / "docs" / name).mkdir(parents=True)
        (tmp_path / f"docs/{name}/{name}.md").write_text(f"The krill of the {name} year.\n")
    os.utime(tmp_path / "docs/old/old.md", (1e9, 1e9))
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "docs")
    service = SearchService([ServedIndex("i", tmp_path / "i.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as page:
        for query, titles in (
            ("krill after:30d", ["new"]),
            ("krill before:30d", ["old"]),
            ("krill path:old", ["old"]),
            ("krill path:*w.md", ["new"]),
        ):
            html = get(page, f"/?q={quote(query)}")
            found = re.findall(r'class="open" dir="auto">(\w+)', html)
            assert found == titles, query
            assert 'data-question="krill"' in html
            assert "<mark>path" not in html
        answer = page.get("/?q=krill+after:soon")
        assert answer.status == 400
        assert b"after:soon: want a date" in answer.body
    service.close()


@pytest.mark.parametrize(
    "given",
    [{"n": "0"}, {"n": "x"}, {"n": "000000001999999"}, {"from": "May"}, {"q": "a" * 9000}],
)
def test_a_bad_parameter_is_an_error_page(given: dict[str, str], page: Client) -> None:
    with pytest.raises(UsageError):
        read_form(given)
    (name, value), *_ = given.items()
    answer = page.get(f"/?{name}={value}")
    assert answer.status == 400
    assert b"That did not work" in answer.body


def test_each_passage_names_its_language_and_leaves_its_direction_to_its_text(page: Client) -> None:
    html = get(page, "/?q=krill")
    langs = set(re.findall(r'<div class="excerpt" lang="(\w+)" dir="auto">', html))
    assert {"de", "ja", "ar", "ru"} <= langs
    assert 'dir="auto">غذاء الحيتان</a>' in html


def test_why_a_hit_was_found_is_shown_with_its_context_apart(page: Client) -> None:
    html = get(page, "/?q=humpbacks+sing")
    assert "<td>Words (BM25)</td><td>1</td>" in html
    assert "<td>Meaning (dense)</td>" in html
    assert "Context, generated by a model; not in the document" in html


def test_a_document_is_shown_around_the_passage(page: Client) -> None:
    html = get(page, first_link(page, "narwhal").partition("#")[0])
    assert html.count('id="passage"') == 1
    assert "<mark>narwhal</mark>" in html
    assert 'id="L2501"' in html
    assert 'id="L1"' not in html
    assert "Earlier text</a>" in html
    assert len(html) < 20 * SHOWN_CHARS


def test_a_document_shows_its_contexts_their_coverage_and_its_outline(page: Client) -> None:
    html = get(page, first_link(page, "humpbacks sing").partition("#")[0])
    assert re.search(r"Contexts: (\d+) of \1 chunks have one \(100%\)", html)
    assert re.search(r'<a href="/documents/[^"]+#passage" dir="auto">Song</a>', html)
    assert "<dt>date</dt>" in html


def test_a_link_to_lines_marks_them(page: Client) -> None:
    path = first_link(page, "humpbacks sing").partition("?")[0]
    html = get(page, f"{path}?lines=4-6")
    assert '<span class="span" id="passage"># Whales</span>' in html
    assert '<span class="span">Blue whales eat krill.</span>' in html
    assert get(page, f"{path}?start=5&end=99999").count('id="passage"') == 0


def test_a_document_that_does_not_exist_is_an_error_page(page: Client) -> None:
    answer = page.get("/documents/library-999-00000000")
    assert answer.status == 404
    assert b"no such document here" in answer.body


def test_an_answer_without_a_script_is_streamed_with_its_citations(page: Client) -> None:
    html = get(page, "/ask?q=what+do+blue+whales+eat")
    assert '<section id="answer"' in html
    assert re.search(r'<li id="cite1" value="1"><a href="/documents/library-', html)
    assert html.endswith("</html>")


LINK = {
    "Sec_Fetch_Site": "cross-site",
    "Sec_Fetch_Mode": "navigate",
    "Sec_Fetch_Dest": "document",
}


class SlowGenerator:
    """Tells that it is slow before it answers, and fails for a question about bread."""

    fingerprint = "slow"

    def notify(self, on_notice: Callable[[str], None]) -> None:
        self._on_notice = on_notice

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        self._on_notice("slow: nothing received for 3 s yet")
        if "bread" in prompt:
            raise ModelError("slow: 500: overloaded")
        yield "Krill [1]."

    def close(self) -> None:
        pass


def test_passages_and_what_delays_an_answer_come_before_it(library: Path) -> None:
    service = SearchService(
        [ServedIndex("library", library, settings=SETTINGS)], generator=SlowGenerator()
    )
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html = get(client, "/ask?q=what+do+whales+eat")
        sought, delay, said, cited = map(
            html.index, ("The answer is sought in", "nothing received", "Krill [1]", 'id="cite1"')
        )
        assert sought < delay < said < cited
        assert 'href="/documents/library-' in html[sought:delay]
        assert "slow: 500: overloaded" in get(client, "/ask?q=whales+bread")
        events = client.post("/v1/ask", {"question": "what do whales eat"}).events
    service.close()
    assert [name for name, _ in events] == ["delay", "delta", "citation", "done"]
    assert events[0][1] == {"text": "slow: nothing received for 3 s yet"}


def test_a_link_of_another_site_fills_the_form_and_searches_for_nothing(page: Client) -> None:
    answer = page.get("/?q=krill", **LINK)
    html = answer.body.decode()
    assert answer.status == 200
    assert 'value="krill"' in html
    assert "Another site asked for this search" in html
    assert 'class="open"' not in html
    assert 'class="open"' in page.get("/?q=krill", Sec_Fetch_Site="same-origin").body.decode()


def test_a_link_of_another_site_does_not_make_a_model_answer(page: Client) -> None:
    assert page.get("/ask?q=krill", **LINK).status == 403


@pytest.mark.parametrize("path", ["/", "/assets/page.js", "/v1/status", "/health", "/nowhere"])
def test_every_answer_is_kept_from_the_pages_of_other_sites(path: str, page: Client) -> None:
    headers = page.get(path).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_the_state_says_what_a_search_lacks_and_the_status_what_there_is(page: Client) -> None:
    assert get(page, "/state") == '<div id="state" role="status"></div>'
    html = get(page, "/status")
    assert "<dt>Documents</dt><dd>8</dd>" in html


def test_lines_are_found_by_offset_and_number() -> None:
    lines = TextLines.of("one\ntwo\n\nfour")
    assert [lines.line_at(at) for at in (0, 3, 4, 8, 9, 99)] == [1, 1, 2, 3, 4, 4]
    assert lines.span(2, 3) == (4, 8)
    assert lines.span(4, 900) == (9, 13)
    assert lines.around(0) == Window(1, 4, 0, 13)


def test_a_long_line_is_cut_around_the_offset() -> None:
    lines = TextLines.of("one\n" + "x" * 1000 + "\nthree")
    window = lines.around(504, before=10, shown=100)
    assert window == Window(2, 2, 444, 644, is_cut=True)
    assert lines.around(1004, before=10, shown=100).end == len(lines.text)
    assert lines.around(0, before=10, shown=100) == Window(1, 2, 0, 200, is_cut=True)
    assert lines.around(504, before=10, shown=500) == Window(2, 2, 4, 1004)


def test_of_blank_lines_a_page_shows_fewer_characters() -> None:
    lines = TextLines.of("\n" * 5000)
    assert lines.around(0, before=100, shown=400) == Window(1, 21, 0, 20)
    assert lines.around(2500, before=100, shown=400) == Window(2496, 2516, 2495, 2515)
    assert lines.around(4999, before=100, shown=400) == Window(4995, 5001, 4994, 5000)


def test_a_document_of_blank_lines_makes_no_large_page(tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text("Krill.\n" + "\n" * 100_000 + "Whales.\n")
    with crx.open(tmp_path / "i.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "blank.txt")
    service = SearchService([ServedIndex("blank", tmp_path / "i.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        url = first_link(client, "whales").partition("#")[0]
        for path in (url, url.replace("/documents/", "/preview/"), f"{url}&view=text"):
            html = get(client, path)
            assert "Whales" in html
            assert len(html) < 1_000_000
        assert "Earlier text" in get(client, url)
    service.close()


def test_passages_while_typing_are_not_reranked_if_an_index_reranks(tmp_path: Path) -> None:
    (tmp_path / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
    settings = {"embedder": "hashed", "reranker": "overlap"}
    with crx.open(tmp_path / "sea.crx", settings=settings) as index:
        index.add(tmp_path / "whales.md")
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=settings)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        quick = get(client, "/results?q=krill&quick=1")
        whole = get(client, "/results?q=krill")
        answers = get(client, "/")
    service.close()
    assert (" data-quick" in quick, "Reranker" in quick) == (True, False)
    assert (" data-quick" in whole, "Reranker" in whole) == (False, True)
    # No generator is set here.
    assert 'id="ask"' not in answers


@pytest.mark.parametrize("gone", [("salt",), ("salt", "sea")])
def test_passages_while_typing_are_those_of_the_indexes_that_are_left(
    gone: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
    served = []
    for name in ("salt", "sea"):
        with crx.open(tmp_path / f"{name}.crx", settings=SETTINGS) as index:
            index.add(tmp_path / "whales.md")
        served.append(ServedIndex(name, tmp_path / f"{name}.crx", settings=SETTINGS))
    service = SearchService(served)
    for name in gone:
        shutil.rmtree(tmp_path / f"{name}.crx")
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        quick, whole = client.get("/results?q=krill&quick=1"), client.get("/results?q=krill")
    service.close()
    statuses = (quick.status, whole.status)
    assert statuses == ((200, 200) if len(gone) == 1 else (503, 503))
    assert (b"<mark>krill</mark>" in quick.body) == (len(gone) == 1)


def test_what_a_search_lacks_is_said_until_it_is_done() -> None:
    counts = {"documents": 2, "chunks": 40, "pending": 30}
    index = IndexStatus(
        name="sea",
        path="/sea",
        counts=counts,
        settings={},
        notes=(),
        failures=(("/a.pdf", "no text"),),
        coverage=0.0,
        dense_search="exact",
        exact=True,
        reranker="",
        lag=3,
    )
    state = ServiceStatus(version="1", ready=False, generator="", indexes=(index,))
    html = render_state(state)
    assert html.startswith('<div id="state" role="status" data-busy>')
    assert "models are being loaded" in html
    assert "30 of 40 chunks are found by their words only" in html
    assert '<progress max="40" value="10"' in html
    assert "lags 3 changes behind" in html
    assert "1 file could not be read" in html


def test_the_page_on_the_api_names_every_operation_and_field_and_loads_nothing_else(
    page: Client,
) -> None:
    html = get(page, "/docs")
    description = page.get("/openapi.json").json
    operations = [
        f"{method.upper()} {path}"
        for path, methods in description["paths"].items()
        for method in methods
    ]
    assert re.findall(r"<h2><code>([A-Z]+ /\S+)</code></h2>", html) == operations
    named = set(re.findall(r"<dt><code>(\w+)</code>", html))
    for schema in description["components"]["schemas"].values():
        assert set(schema.get("properties", ())) <= named
    elements = Elements(html)
    loaded = [a.get("src") or a.get("href") for name, a in elements.attributes if name != "a"]
    assert {each for each in loaded if each and not each.startswith("/assets/")} == set()
    anchors = {str(a["href"]) for name, a in elements.attributes if name == "a"}
    ids = {f"#{a['id']}" for _, a in elements.attributes if a.get("id")}
    assert {each for each in anchors if each.startswith("#")} <= ids
    policy = page.get("/docs").headers["content-security-policy"]
    assert "default-src 'self'" in policy


def test_a_search_without_passages_suggests_what_to_do(page: Client) -> None:
    html = get(page, "/?q=zzyzx+qqwxyzzy&path=nowhere")
    assert '<a href="/?q=zzyzx+qqwxyzzy">Search without the filters</a>' in html
    assert '<a href="/?q=qqwxyzzy&amp;path=nowhere" dir="auto">qqwxyzzy</a> alone' in html
    assert '<a href="/">See what is here</a>' in html


def test_a_document_has_the_day_of_its_file_and_a_rendered_excerpt(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Krill\n\n## Food\n\n- **krill** is eaten\n- so is plankton\n\n```sh\nfish\n```\n"
    )
    os.utime(tmp_path / "a.md", (1_700_000_000, 1_700_000_000))
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "a.md")
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html, home = get(client, "/?q=krill+food"), get(client, "/")
    service.close()
    assert 'datetime="2023-11-14"' in html
    assert "• <mark>krill</mark> is eaten" in html
    assert "## " not in html
    assert "```" not in html
    assert "Try" not in home


def test_an_excerpt_of_markdown_keeps_what_only_looks_like_its_signs(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "Call `eat(**krill)` or eat(**krill, **more) with 2**8 krill, **not\nmore**.\n\n"
        "```sh\n# feed the krill\n- **krill**\n```\n"
    )
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "a.md")
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    with serving_app(create_app(service, extensions=[page_extension(service)])) as client:
        html = get(client, "/?q=krill")
    service.close()
    excerpt = re.findall(r'<div class="excerpt".*?>(.*?)</div>', html, re.DOTALL)
    assert [re.sub("</?mark>", "", each) for each in excerpt] == [
        "Call `eat(**krill)` or eat(**krill, **more) with 2**8 krill, not more.\n"
        "# feed the krill\n- **krill**"
    ]
