"""Boilerplate of a web page: navigation, breadcrumbs, tables of contents, page footers.

It is recognised by HTML's own elements and roles (WAI-ARIA), by the class names and ids of common
generators (DocBook, Publican, Sphinx, Texinfo, AsciiDoc, MkDocs, MediaWiki), and by links: a list
that only links to anchors on the same page repeats its headings.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

# Boilerplate wherever it is.
_ALWAYS = ", ".join((
    "nav",
    *(f"[role={role}]" for role in (
        "navigation", "search", "doc-toc", "menu", "menubar", "toolbar",
    )),
    *(f".{name}" for name in (
        "navheader", "navfooter", "navbar", "nav-panel", "docnav", "navigation", "breadcrumb",
        "breadcrumbs", "toc", "TOC", "table-of-contents", "tableofcontents", "section-toc",
        "Contents_element", "Shortcontents_element", "element-contents", "element-shortcontents",
        "sphinxsidebar", "headerlink", "heading-anchor", "skip-link", "skip-to-content",
        "mw-editsection", "edit-page-link",
    )),
    "table.nav", "div.nav", "ul.nav",
    "#toc", "#SEC_Contents", "#SEC_Shortcontents", "#breadcrumbs", "#catlinks",
))  # fmt: skip
# Boilerplate unless it is part of an article.
_AROUND = "footer, aside, [role=contentinfo], .footer, #footer, #footer-text, #banner"
_ARTICLES = frozenset(("main", "article", "section", "blockquote", "figure"))
# Boilerplate if it has no heading of its own and most of it is links.
_IF_LINKS = "header, [role=banner], .header, .contents, #header, .menu, .sidebar"
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_LINK = "a[href]"
_LISTS = "ul, ol, dl"
_MAIN = "main, [role=main]"
# The least share of a page's text that its main element contains if the rest is to be left out.
_MAIN_SHARE = 0.25
_LINKED = 0.5  # share of the text that is in links
# Links of a list to anchors on its own page that make it a table of contents.
_FEWEST_LINKS = 3


def find_main(parser: LexborHTMLParser) -> LexborNode | None:
    """Return the element that contains the page's content: its only `<main>`, or its body."""
    body = parser.body or parser.root
    mains = parser.css(_MAIN)
    if body is None or len(mains) != 1:
        return body
    whole = len(body.text())
    return mains[0] if len(mains[0].text()) >= _MAIN_SHARE * whole else body


def find_boilerplate(root: LexborNode) -> set[int]:
    """Return the ids (`mem_id`) of the elements below a page's root that are boilerplate."""
    found = {node.mem_id for node in root.css(_ALWAYS)}
    around, heads, lists = (
        {node.mem_id for node in root.css(selector)} for selector in (_AROUND, _IF_LINKS, _LISTS)
    )
    if not around and root.css_first(_LINK) is None:
        return found
    measured = _measure(root, around | heads | lists)
    found.update(id_ for id_ in around if not measured[id_].in_article)
    found.update(id_ for id_ in heads if measured[id_].is_linked and not measured[id_].headings)
    found.update(id_ for id_ in lists if measured[id_].is_contents)
    return found


@dataclass(slots=True)
class _Measured:
    """Counts of an element: characters, those in links, links, those to the same page, headings."""

    in_article: bool
    chars: int = 0
    linked: int = 0
    links: int = 0
    fragments: int = 0
    headings: int = 0

    @property
    def is_linked(self) -> bool:
        return self.linked >= _LINKED * self.chars

    @property
    def is_contents(self) -> bool:
        return self.links == self.fragments >= _FEWEST_LINKS and self.is_linked

    def add(self, inner: _Measured) -> None:
        self.chars += inner.chars
        self.linked += inner.linked
        self.links += inner.links
        self.fragments += inner.fragments
        self.headings += inner.headings


def _measure(root: LexborNode, ids: Container[int]) -> dict[int, _Measured]:
    """Return the counts of some elements, in one pass: they may nest as deep as they like."""
    measured: dict[int, _Measured] = {}
    around = [_Measured(in_article=False)]
    in_link = in_article = 0
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, closing = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            chars = len("".join((node.text(deep=False) or "").split()))
            around[-1].chars += chars
            around[-1].linked += chars if in_link else 0
            continue
        if tag.startswith("-"):
            continue
        target = node.attributes.get("href") if tag == "a" else None
        if closing:
            in_link -= target is not None
            in_article -= tag in _ARTICLES
            if node.mem_id in ids:
                inner = measured[node.mem_id] = around.pop()
                around[-1].add(inner)
            continue
        if node.mem_id in ids:
            around.append(_Measured(in_article=in_article > 0))
        around[-1].headings += tag in _HEADINGS
        in_article += tag in _ARTICLES
        if target is not None:
            in_link += 1
            around[-1].links += 1
            around[-1].fragments += target.startswith("#")
        stack.append((node, True))
        stack.extend((child, False) for child in node.iter(include_text=True))
    return measured
