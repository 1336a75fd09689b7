"""Passages as text: each cut to the lines that answer, so that all fit on a screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from crx._cli.excerpt import Body, best_row, count_rows, excerpt, prefix, share_rows, whole_lines
from crx._cli.output import Text, bold, dim, display_path, format_line
from crx._cli.screen import Screen
from crx._cli.visible import visible_line
from crx._show.copies import Copies, copy_uris
from crx._show.excerpt import columns, split_matches
from crx._show.shown_text import text_ngrams
from crx._text.query_terms import marked_terms
from crx.types import Citation, Hit, Passage

# The label of a context: a model's words about a document are not taken for the document's own.
GENERATED_CONTEXT = "context (generated)"

# Passages that are printed unless another number is asked for.
SHOWN = 5
# Passages that are printed however long their location is.
_WITH_TEXT = 3

_INDENT = "   "
# The line above passages that score much lower than the best.
_TAIL = "less relevant:"
# Columns of the section and the row of a passage that has one line; fewer of a row tell nothing.
_MOST_COLUMNS, _FEWEST_COLUMNS = 36, 20
# Instead of the indent of the first line of a passage from which lines before it are left out.
_CUT_BEFORE = "..."
# The line of the screen for the shell's prompt, and the columns of how many passages there are.
_PROMPT_LINES = 1
_HINT_COLUMNS = 26


def choose_shown(found: Sequence[Copies[Passage]], screen: Screen) -> Sequence[Copies[Passage]]:
    """Return the best passages that are printed unless a number is asked for.

    A passage after those that have text is left out if its location alone takes more than a row:
    a path tells little, and a row of text of a better passage more.
    """
    shown = found[:SHOWN]
    return [
        each
        for rank, each in enumerate(shown, start=1)
        if rank <= _WITH_TEXT or columns(_heading(rank, each.passage, screen)) <= screen.columns
    ]


def layout_passages(
    found: Sequence[Copies[Passage]],
    *,
    query: str,
    screen: Screen,
    full: bool = False,
    explain: bool = False,
    notes: int = 0,
) -> tuple[list[str], bool]:
    """Return the lines of passages, best first, whole or cut to a screen, and if any was cut.

    `notes` is how many lines of the screen notes take besides.
    """
    written: list[str] = []

    def write(*parts: Text) -> None:
        written.append(format_line(parts, is_styled=screen.is_styled))

    def marked(line: str) -> Iterable[Text]:
        return _marked(line, terms) if screen.is_styled else (line.rstrip(),)

    width = max(1, screen.columns - len(_INDENT))
    passages = [each.passage for each in found]
    headings = [_heading(rank, each, screen) for rank, each in enumerate(passages, start=1)]
    near = len(found) if full or explain else _count_near(passages)
    reserved = int(near < len(found))
    if screen.is_terminal:
        reserved += _PROMPT_LINES - (-_HINT_COLUMNS // screen.columns) + notes
    height = (screen.lines - reserved) * max(len(found), SHOWN) // SHOWN
    free = max(0, height - sum(-(-columns(heading) // screen.columns) for heading in headings))
    needed = [count_rows(passage, width=width) for passage in passages[:near]]
    # Blank lines between passages take no rows away from them.
    spaced = full or explain or sum(needed) + len(found) <= free
    shares = share_rows(passages[:near], needed=needed, total=free, width=width)
    shares += [[] for _ in passages[near:]]
    cut = False
    shown: set[str] = set()
    for at, (each, heading, counts) in enumerate(zip(found, headings, shares, strict=True)):
        if at == near:
            write(dim(_TAIL))
        passage = each.passage
        terms = marked_terms(query, passage.text) if screen.is_styled else set()
        copies = f"({each.count} more like it)" if each.count else ""
        body = Body([], "")
        if full:
            body = Body(whole_lines(passage), "")
        elif any(counts):
            body = excerpt(passage, query=query, counts=counts, width=width, shown=shown)
        if body.lines:
            beside = screen.columns - columns(heading) - 2
            # What fits whole has room for all headings in a pipe.
            has_room = full or (spaced and not screen.is_terminal)
            about = [part for part in (body.left, copies) if part]
            trail = _trail(passage, about, None if has_room else beside)
            # A second row would take one away from the text.
            if not has_room:
                trail = _whole_words(trail, beside)
            write(bold(heading, url=screen.link(passage)), *(("  ", dim(trail)) if trail else ()))
        else:
            best = best_row(passage, query=query, width=width, shown=shown)
            section, text = _one_line(passage, best, screen.columns - columns(heading))
            write(bold(heading, url=screen.link(passage)), dim(section), *marked(text))
        for row, line in enumerate(body.lines):
            write(
                _CUT_BEFORE if row == 0 and body.cut_before else _INDENT if line.strip() else "",
                *marked(line),
            )
        shown |= text_ngrams(body.lines)
        if full:
            for where in _also_in(each, folder=screen.folder):
                write(dim(f"{_INDENT}also in {where}"))
        if explain:
            for hit in passage.hits:
                write(dim(f"{_INDENT}{describe_stages(hit)}"))
        if spaced and at < near:
            write()
        cut = cut or bool(body.left) or not body.lines
    return written, cut


def _count_near(passages: Sequence[Passage]) -> int:
    """Return how many passages stand before those that are less relevant, which follow last."""
    near = len(passages)
    while near and passages[near - 1].less_relevant:
        near -= 1
    return near


def _also_in(found: Copies[Passage], *, folder: str) -> list[str]:
    """Return where copies of a passage are: passages with their lines, then further documents."""
    others = {other.uri: location(other, folder=folder) for other in found.others}
    further = [uri for uri in copy_uris(found) if uri not in others]
    return [*others.values(), *(display_path(uri, folder=folder) for uri in further)]


def _trail(passage: Passage, about: Sequence[str], width: int | None) -> str:
    """Return what is said of a passage and its headings, the innermost alone if not all fit."""
    headings = list(passage.headings) or [passage.title]
    headings = [*([passage.folder] if passage.folder else []), *headings]
    trails = [
        "  ".join(filter(None, (*about, visible_line(each))))
        for each in (" > ".join(headings), headings[-1])
    ]
    return trails[width is not None and columns(trails[0]) > width]


def _one_line(passage: Passage, row: str, width: int) -> tuple[str, str]:
    """Return the innermost section of a passage and one of its rows, as they fit into a width.

    The row has at least half of it, or is left out.
    """
    width = min(width, _MOST_COLUMNS)
    name = visible_line((passage.title, *passage.headings)[-1])
    half = max(width // 2, width - columns(f"  {row}"))
    section = _whole_words(f"  {name}", half) if name else ""
    left = width - columns(section)
    if left >= _FEWEST_COLUMNS:
        return section, _cut(f"  {row}", left)
    return _whole_words(f"  {name}", width) if name else "", ""


def _whole_words(text: str, width: int) -> str:
    """Return the text cut to a width at the end of a word, "" if that leaves less than half.

    A text without blanks, as Chinese and Japanese have none, is cut where the width ends. Of what
    is told in parentheses nothing is cut off: it is left out.
    """
    if columns(text) <= width:
        return text
    if " " not in text.strip():
        return _cut(text, width)
    start = prefix(text, width - 2)
    start = start[: start.rfind(" ")].rstrip()
    if start.count("(") > start.count(")"):
        start = start[: start.rfind("(")].rstrip()
    return f"{start}..." if start.strip() and 2 * columns(start) >= width else ""


def _heading(rank: int, passage: Passage, screen: Screen) -> str:
    """Return the rank and the location, without a text fragment that takes more than the row.

    Of a path that takes more than the row, folders are left out if it is a link.
    """
    number = f"{rank}. "
    path = display_path(passage.uri, folder=screen.folder)
    position = _position(passage)
    if passage.fragment and columns(number + path + position) > screen.columns:
        position = _position(replace(passage, fragment=""))
    left = screen.columns - columns(number + position)
    if columns(path) > left and "://" not in path and screen.link(passage):
        path = _without_folders(path, left)
    return number + path + position


def _without_folders(path: str, width: int) -> str:
    """Return a path with dots instead of as many inner folders as do not fit."""
    *first, name = path.split("/")
    outer, inner = "/".join(first[:1]), first[1:]
    short = path
    while inner and columns(short) > width:
        del inner[0]
        short = "/".join((outer, "...", *inner, name))
    return short if columns(short) < columns(path) else path


def _marked(line: str, terms: set[str]) -> Iterator[Text]:
    """Yield the pieces of a line; the words of the query are bold."""
    for piece, matches in split_matches(line.rstrip(), terms):
        yield bold(piece) if matches else piece


def location(passage: Passage | Citation, *, folder: str = ".") -> str:
    """Return where a passage is: path:line, path and page or anchor, or a URL with fragment.

    It is the position of the line that answers. Paths below the folder are relative to it.
    """
    return display_path(passage.uri, folder=folder) + _position(passage)


def _position(passage: Passage | Citation) -> str:
    """Return what follows the path in a location."""
    if passage.pages:
        first, last = map(visible_line, passage.pages)
        return f", page {first}" if first == last else f", pages {first}-{last}"
    line = ""
    if passage.line:
        line = f":{passage.line}"
    elif passage.lines:
        line = f":{passage.lines[0]}-{passage.lines[1]}"
    if passage.anchor:
        return f"{line}, {visible_line(passage.anchor.label)}"
    return line + passage.fragment


def describe_stages(hit: Hit) -> str:
    """Return the rank and score of a hit in each stage, its outline and context, in one line."""
    stages = ", ".join(
        f"{name} {stage.rank} ({stage.score:.3f})" for name, stage in hit.stages.items()
    )
    situating = ("outline", hit.outline), (GENERATED_CONTEXT, hit.context)
    labelled = "".join(f"; {label}: {' '.join(text.split())}" for label, text in situating if text)
    return f"chunk {hit.ordinal}: score {hit.score:.4f}; {stages}{labelled}"


def _cut(text: str, width: int) -> str:
    """Return the text cut to a width, with dots at its end if it was; "" if only dots fit."""
    if columns(text) <= width:
        return text
    return f"{prefix(text, width - 3)}..." if width > 3 else ""
