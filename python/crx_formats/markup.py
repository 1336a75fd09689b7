"""Reader of markup that is indexed as written: rst, AsciiDoc, Org, LaTeX, MediaWiki.

Only headings and titles are parsed, so that lines are those of the file. Headings within literal
blocks and comments do not count. Letters of LaTeX are as they are printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from crx.ingest.formats import MARKUP
from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.headings import Heading, sections
from crx.types import Document, Mark, Scalar
from crx_formats.latex_letters import print_letters

extensions = tuple(MARKUP)

# A longer text is generated data.
LARGEST = 20_000_000
# Formats whose first heading is that of a part.
_NAMED_ELSEWHERE = frozenset(("mediawiki",))
_LONGEST = 300  # characters of a line that is a heading
_BLANKS = " \t"

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_ROLE = re.compile(r":[\w:.+-]{1,40}:`([^`]*)`")
_ADOC = re.compile(r"(={1,6}|#{1,6})[ \t]+(?=\S)")
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|/{4,}|\+{4,}|`{3,})[\w,]*[ \t]*")
# TODO and DONE are the states that Org puts before a headline.
_ORG = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE)[ \t]+)?(?=\S)")
_ORG_TAGS = re.compile(r":[\w@:]+:")
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]*)", re.IGNORECASE | re.MULTILINE)
_ORG_BLOCK = re.compile(r"[ \t]*#\+(begin|end)_\w+", re.IGNORECASE)
_WIKI_COMMENT = re.compile(r"=[ \t]*<!--")
_WIKI_LITERAL = re.compile(
    r"<!(--)|<(nowiki|pre|syntaxhighlight|source|math)\b|(--)>"
    r"|</(nowiki|pre|syntaxhighlight|source|math)\s{0,9}>",
    re.IGNORECASE,
)
_WIKI_TITLE = re.compile(r"\{\{\s*DISPLAYTITLE\s*:\s*([^{}|\n]+)", re.IGNORECASE)
_WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_WIKI_STYLE = re.compile(r"'{2,5}|<[^<>]*>")
_TEX_LEVELS = {
    name: level
    for level, name in enumerate(
        ("part", "chapter", "section", "subsection", "subsubsection", "paragraph"), start=1
    )
}
_BRACED = r"((?:[^{}\n]|\n(?!\n)|\{[^{}]*\})*)"
_TEX = re.compile(
    rf"^[ \t]*\\({'|'.join(_TEX_LEVELS)})\*?[ \t]*(?:\[[^\[\]\n]*\][ \t]*)?\{{{_BRACED}\}}",
    re.MULTILINE,
)
_TEX_TITLE = re.compile(
    rf"^[ \t]*\\title[ \t]*(?:\[[^\[\]\n]*\][ \t]*)?\{{{_BRACED}\}}", re.MULTILINE
)
_TEX_COMMAND = re.compile(r"\\(?:label|footnote|index)\{[^{}]*\}|\\[a-zA-Z]+\*?[ \t]*|\\\\|[{}$]")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text as written with its headings."""
    decoded = decode(data)
    format_ = MARKUP[name[name.rfind(".") :].lower()]
    text = print_letters(decoded.text) if format_ == "latex" else decoded.text
    title, marks = parse(text, format_=format_)
    metadata: dict[str, Scalar | list[Scalar]] = {**decoded.metadata(), "format": format_}
    if format_ == "mediawiki" and not title and (title := name_title(name)):
        metadata["title_from"] = "name"
    yield Document(
        uri=name,
        text=text,
        title=title,
        metadata=metadata,
        marks=marks,
    )


def parse(text: str, *, format_: str) -> tuple[str, tuple[Mark, ...]]:
    """Return the title and the sections of a text in one of the formats of `MARKUP`."""
    if len(text) > LARGEST:
        return "", ()
    title, find = _FORMATS[format_]
    headings = [heading for heading in find(text) if heading.label]
    first = headings[0].label if headings and format_ not in _NAMED_ELSEWHERE else ""
    return title(text) or first, sections(headings, end=len(text))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the text of each line, "" for one that is too long for a heading."""
    offset = 0
    for line in text.split("\n"):
        yield offset, line if len(line) <= _LONGEST else ""
        offset += len(line) + 1


def _rst(text: str) -> Iterator[Heading]:
    """Yield titles with an underline, whose levels are in the order of their first use."""
    levels: dict[tuple[str, bool], int] = {}
    lines = [(0, ""), (0, ""), *_lines(text)]
    for (above_at, above), (at, line), (_, under) in zip(lines, lines[1:], lines[2:], strict=False):
        rule = _RULE.fullmatch(under)
        label = line.strip()
        if not rule or not label or len(under.rstrip()) < len(line.rstrip()):
            continue
        over = _RULE.fullmatch(above)
        is_over = over is not None and over[1] == rule[1]
        if _RULE.fullmatch(line) or (not is_over and (above.strip() or line[0].isspace())):
            continue
        level = levels.setdefault((rule[1], is_over), len(levels) + 1)
        yield Heading(above_at if is_over else at, _plain_rst(label), level)


def _plain_rst(label: str) -> str:
    return re.sub(r"[`*]", "", _ROLE.sub(r"\1", label)).strip()


def _asciidoc(text: str) -> Iterator[Heading]:
    fence = ""
    for at, line in _lines(text):
        if match := _ADOC_FENCE.fullmatch(line):
            if not fence or fence == match[1]:
                fence = "" if fence else match[1]
        elif not fence and (match := _ADOC.match(line)):
            label = _without_closing(line[match.end() :].rstrip(_BLANKS), match[1])
            yield Heading(at, re.sub(r"[`*_]", "", label), len(match[1]))


def _without_closing(label: str, marks: str) -> str:
    """Return a label without the marks that may close it, after a blank."""
    rest = label.removesuffix(marks)
    return rest.rstrip(_BLANKS) if rest != label and rest.endswith((" ", "\t")) else label


def _org(text: str) -> Iterator[Heading]:
    in_block = False
    for at, line in _lines(text):
        if match := _ORG_BLOCK.match(line):
            in_block = match[1].lower() == "begin"
        elif (match := _ORG.match(line)) and not in_block:
            label = _without_tags(line[match.end() :].rstrip(_BLANKS))
            yield Heading(at, re.sub(r"[=~]", "", label), len(match[1]))


def _without_tags(label: str) -> str:
    """Return a label without the tags at its end."""
    words = label.split()
    if len(words) < 2 or not _ORG_TAGS.fullmatch(words[-1]):
        return label
    return label.removesuffix(words[-1]).rstrip(_BLANKS)


def _latex(text: str) -> Iterator[Heading]:
    for match in _TEX.finditer(text):
        yield Heading(match.start(), _plain_tex(match[2]), _TEX_LEVELS[match[1]])


def _plain_tex(written: str) -> str:
    return " ".join(_TEX_COMMAND.sub(" ", written).replace("~", " ").split())


def _mediawiki(text: str) -> Iterator[Heading]:
    literal = [(start, end) for start, end in _wiki_literals(text) if "\n" in text[start:end]]
    next_literal = 0
    for at, line in _lines(text):
        while next_literal < len(literal) and literal[next_literal][1] <= at:
            next_literal += 1
        inside = next_literal < len(literal) and literal[next_literal][0] <= at
        if not inside and line.startswith("=") and (label := _wiki_label(line)):
            yield Heading(at, _plain_wiki(label), len(line) - len(line.lstrip("=")))


def _wiki_label(line: str) -> str:
    """Return what stands between the equal numbers of "=" of a heading, "" if it is none."""
    line = line.rstrip(_BLANKS)
    if line.endswith("-->"):
        *_, comment = (None, *_WIKI_COMMENT.finditer(line, 0, len(line) - 3))
        if comment is None:
            return ""
        line = line[: comment.start() + 1]
    level = len(line) - len(line.lstrip("="))
    if not 1 <= level <= 6 or level != len(line) - len(line.rstrip("=")) or 2 * level >= len(line):
        return ""
    label = line[level:-level].strip(_BLANKS)
    return label if label == label.strip("= \t\n\r\f\v") else ""


def _wiki_literals(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of comments and of elements whose content is no markup.

    What is not closed is no literal. Openings and closings are found in one pass, so that a text of
    openings alone takes no longer than another.
    """
    found = list(_WIKI_LITERAL.finditer(text))
    # The next closing of each kind, and the end of the next tag, for each position from behind.
    closings: dict[str, re.Match[str]] = {}
    next_closing: list[re.Match[str] | None] = []
    for match in reversed(found):
        if match[3] or match[4]:
            closings[(match[3] or match[4]).lower()] = match
            next_closing.append(None)
        else:
            next_closing.append(closings.get((match[1] or match[2]).lower()))
    reached = tag_end = 0
    for match, closing in zip(found, reversed(next_closing), strict=True):
        if closing is None or match.start() < reached:
            continue
        if match[2]:
            if tag_end < match.end():
                tag_end = text.find(">", match.end()) + 1 or len(text) + 1
            if closing.start() < tag_end:
                continue
        reached = closing.end()
        yield match.start(), reached


def _plain_wiki(written: str) -> str:
    return " ".join(_WIKI_STYLE.sub("", _WIKI_LINK.sub(r"\1", written)).split())


def _wiki_title(text: str) -> str:
    """Return the title that the page sets itself; its headings are parts of it."""
    match = _WIKI_TITLE.search(text)
    return _plain_wiki(match[1]) if match else ""


def _org_title(text: str) -> str:
    match = _ORG_TITLE.search(text)
    return match[1].strip() if match else ""


def _latex_title(text: str) -> str:
    match = _TEX_TITLE.search(text)
    return _plain_tex(match[1]) if match else ""


def _no_title(text: str) -> str:
    return ""


_FORMATS: dict[str, tuple[Callable[[str], str], Callable[[str], Iterator[Heading]]]] = {
    "rst": (_no_title, _rst),
    "asciidoc": (_no_title, _asciidoc),
    "org": (_org_title, _org),
    "latex": (_latex_title, _latex),
    "mediawiki": (_wiki_title, _mediawiki),
}
