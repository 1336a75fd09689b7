"""Markup that is indexed as written: its title and headings, and nothing that looks like one."""

from __future__ import annotations

import pytest

from crx.ingest.formats import is_as_written
from crx.ingest.read import read_bytes
from crx.types import Document

TEXTS = {
    "a.rst": (
        "=====\nGuide\n=====\n\nwords\n\nThe :ref:`first` *step*\n-------------------------\n\n"
        "Deep\n''''\n\n::\n\n"
        "    Code\n    ----\n\n====  ====\na     b\n====  ====\n\n----\n\nend\n",
        "Guide",
        [(1, "Guide"), (2, "The first step"), (3, "Deep")],
    ),
    "a.adoc": (
        "= Guide\n:toc:\n\n== First `step` ==\n\n----\n== code\n----\n\n////\n= comment\n////\n\n"
        "=== Deep\n\n====\nexample\n====\n",
        "Guide",
        [(1, "Guide"), (2, "First step"), (3, "Deep")],
    ),
    "a.org": (
        "#+TITLE: Guide\n\n* TODO First =step=   :tag:work:\n*bold* words\n#+begin_src sh\n* code\n"
        "#+end_src\n** Deep\n",
        "Guide",
        [(1, "First step"), (2, "Deep")],
    ),
    "a.tex": (
        "\\title{The \\emph{Guide}}\n% \\section{No}\n"
        "\\section[short]{First~step\\label{s}}\nwords\n"
        "\\subsection*{Deep\n {\\bf er}}\n",
        "The Guide",
        [(3, "First step"), (4, "Deep er")],
    ),
    "a.wiki": (
        "{{DISPLAYTITLE:The ''Guide''}}\nwords\n== First [[step|''step'']] ==\n<pre>\n== No ==\n"
        "</pre>\n<!--\n== Nor this ==\n-->\n=== Deep ===\n== uneven ===\n ==no==\n",
        "The Guide",
        [(2, "First step"), (3, "Deep")],
    ),
}


def one(text: str, name: str) -> Document:
    """Read a text that holds one document."""
    (document,) = read_bytes(text.encode(), name=name)
    return document


@pytest.mark.parametrize("name", TEXTS)
def test_headings_of_markup_are_found_and_the_text_is_as_written(name: str) -> None:
    text, title, headings = TEXTS[name]
    document = one(text, name)
    assert document.text == text
    assert document.title == title
    assert [(mark.level, mark.label) for mark in document.marks] == headings
    assert is_as_written(name, {**document.metadata, "path": name})


def test_a_title_with_an_overline_begins_at_it() -> None:
    text, _, _ = TEXTS["a.rst"]
    assert one(text, "a.rst").marks[0].start == 0


@pytest.mark.parametrize("text", ["Mar 1 10:00 host: words\n", ".SH is no page without a title\n"])
def test_a_log_with_the_name_of_a_man_page_is_text(text: str) -> None:
    document = one(text, "syslog.1")
    assert (document.metadata["format"], document.marks) == ("text", ())


@pytest.mark.parametrize(
    "text", ["\\section{" * 20_000, "=" * 100_000, "* " * 50_000, "=\n" * 50_000, ".SH " * 50_000]
)
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_takes_long(name: str, text: str) -> None:
    assert one(text, name).text == text
