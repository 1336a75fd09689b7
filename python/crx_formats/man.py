"""Reader of man pages: the text that a terminal shows, with sections and options.

Both sets of macros are read, `man` and `mdoc`. Paragraphs are lines of their own, an option or
another term is a line above its text, which is indented. The same page gives the same text on
every machine, whether or not it has a formatter.
"""

from __future__ import annotations

import re

from crx.errors import NotText
from crx.ingest.readers.decode import Decoded
from crx.types import Document, Scalar
from crx_formats.man_text import (
    MIXED_FONTS,
    LineForm,
    ManText,
    join_words,
    lines_outside_tables,
)
from crx_formats.mdoc import show_mdoc
from crx_formats.roff import Line, Roff

# A longer text is generated data.
LARGEST = 20_000_000
_SNIFFED_CHARS = 20_000
_TITLE = re.compile(r"^[.'][ \t]*(TH|Dt)[ \t]+(\S[^\n]*)", re.MULTILINE)
_SECTION = re.compile(r"^[.'][ \t]*S[hHsS](?:[ \t]|$)", re.MULTILINE)
_REDIRECT = re.compile(r"""(?:[.']\\"[^\n]*\n)*[.']so[ \t]+\S+\s*""")
_FONTS = frozenset(("B", "I", "SB", "SM", "CW"))
_BEFORE_PARAGRAPH = frozenset(("PP", "LP", "P", "sp", "Sp", "HP", "Pp"))
_FORMS: dict[str, LineForm] = {
    **dict.fromkeys(("nf", "EX", "Vb"), "literal"),
    **dict.fromkeys(("fi", "EE", "Ve"), "filled"),
}
_NUMBERED = re.compile(r"[\[(]?\w{1,3}[.\])]|[•*o+-]|--?|[–—·○□✓]")


def find_page(decoded: Decoded, *, name: str) -> Document | None:
    """Return the man page that a text is, None for any other text.

    Raises `NotText` for a page that has the text of another.
    """
    if is_redirect(decoded.text):
        raise NotText("is the name of another man page")
    if not is_man_page(decoded.text[:_SNIFFED_CHARS]) or len(decoded.text) > LARGEST:
        return None
    page = read_page(decoded, name=name)
    return page if page.text else None


def is_man_page(text: str) -> bool:
    """Return True for a text with the title and a section of a man page."""
    return _TITLE.search(text) is not None and _SECTION.search(text) is not None


def is_redirect(text: str) -> bool:
    """Return True for a page that has the text of another, which it names."""
    return text[:1] in (".", "'") and _REDIRECT.fullmatch(text) is not None


def read_page(decoded: Decoded, *, name: str) -> Document:
    """Return a man page as a terminal shows it."""
    roff = Roff(decoded.text)
    page = ManText()
    title = _title(roff, decoded.text)
    match = _TITLE.search(decoded.text)
    if match is not None and match[1] == "Dt":
        show_mdoc(page, roff)
    else:
        _show_man(page, roff)
    metadata: dict[str, Scalar | list[Scalar]] = {**decoded.metadata(), "format": "man"}
    return page.build(name, title=title, metadata=metadata)


def _title(roff: Roff, text: str) -> str:
    """Return the name of the page and its section, such as "ls(1)"."""
    match = _TITLE.search(text)
    name, *rest = roff.arguments(match[2]) if match else [""]
    return f"{name.lower()}({rest[0]})" if rest else name.lower()


def _show_man(page: ManText, roff: Roff) -> None:
    """Show the lines of a page in the macros of `man`."""
    address = ""
    for line in lines_outside_tables(page, roff):
        macro = line.macro
        if not macro:
            text = roff.plain(line.rest)
            page.add_line(text, goes_on=line.rest.endswith("\\c"))
        elif macro in ("SH", "SS"):
            page.open_heading(" ".join(roff.arguments(line.rest)), level=1 if macro == "SH" else 2)
        elif macro in _BEFORE_PARAGRAPH:
            page.end_paragraph()
            if macro not in ("sp", "Sp"):
                page.end_item()
        elif macro in ("TP", "TQ"):
            page.open_item()
            page.expect_tag()
        elif macro == "IP":
            page.open_item()
            tag = next(iter(roff.arguments(line.rest)), "")
            if _NUMBERED.fullmatch(tag):
                page.add_marker(tag)
            elif tag:
                page.add_tag(tag)
        elif macro in ("RS", "RE"):
            page.indent(1 if macro == "RS" else -1)
        elif macro in _FORMS:
            page.set_form(_FORMS[macro])
        elif macro in _FONTS or macro in MIXED_FONTS:
            _add_font(page, roff, line)
        elif macro in ("br", "SY"):
            page.end_line()
            if macro == "SY":
                page.add_line(" ".join(roff.arguments(line.rest)))
        elif macro == "OP":
            page.add_line(f"[{' '.join(roff.arguments(line.rest))}]")
        elif macro in ("URL", "MTO"):
            target, label, after = [*roff.arguments(line.rest), "", "", ""][:3]
            page.add_line(f"{label} <{target}>{after}".strip())
        elif macro in ("UR", "MT"):
            address = "".join(roff.arguments(line.rest)[:1])
        elif macro in ("UE", "ME") and address:
            page.add_line(f"<{address}>{''.join(roff.arguments(line.rest)[:1])}")
            address = ""


def _add_font(page: ManText, roff: Roff, line: Line) -> None:
    """Add words in one font, or in two that take turns; without words, the next line has it."""
    if joined := join_words(roff, line):
        page.add_line(joined, goes_on=line.rest.endswith("\\c"))
