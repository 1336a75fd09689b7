"""`crx search`: print the passages that answer a query."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from crx._cli.file_list import SHOWN_FILES, as_file_object, file_rows, print_files
from crx._cli.filters import parse_where, parse_window
from crx._cli.last_search import find_hit, remember_hits
from crx._cli.locations import file_lines, location_lines
from crx._cli.options import (
    index_option,
    k_option,
    parse_settings,
    searchable_index,
    set_option,
    time_options,
    where_option,
)
from crx._cli.output import print_hint, print_note, to_json
from crx._cli.passages import SHOWN, choose_shown, layout_passages
from crx._cli.screen import Screen, own_screen
from crx._cli.value_completion import complete_query
from crx._cli.vimgrep import pattern_lines, vimgrep_lines
from crx._index.socket_paths import own_sockets
from crx._show.copies import fold_copies
from crx._show.excerpt import columns
from crx._show.notes import choose_notes
from crx.config import resolve
from crx.errors import UsageError
from crx.plugins import load_shipped
from crx.retrieve.likeness import search_like
from crx.retrieve.operators import Match, QueryPattern, matched_text, parse_pattern
from crx.retrieve.query_fields import FieldQuery, split_fields
from crx.types import LEGS, Passage, Result

if TYPE_CHECKING:
    from crx._index.reader import IndexReader
    from crx.retrieve.request import SearchRequest, Where

_Format = Literal["text", "json", "jsonl", "vimgrep", "locations", "files"]
# What takes longest of a search for words, of which the last is typed only in part.
_TYPING_LEAVES_OUT = ("spelling", "copies")
# Kinds of notes that are printed before what is found.
_BEFORE = ("query", "near")
FORMATS: tuple[_Format, ...] = ("text", "json", "jsonl", "vimgrep", "locations", "files")


@click.command()
@click.argument("words", nargs=-1, metavar="QUERY...", shell_complete=complete_query)
@index_option
@click.option(
    "-i",
    "interactive",
    is_flag=True,
    help="Search while you type, in a list with a preview: Enter opens a passage in the editor, "
    "Ctrl-O its original.",
)
@click.option("-g", "everywhere", is_flag=True, help='Search all indexes that "crx list" lists.')
@click.option(
    "--like",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instead of QUERY: passages of other documents that are like the N-th of the last search "
    "on a terminal.",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Passages to print.  [default: {SHOWN}; all with --more and in other formats than text]",
)
@click.option("--more", is_flag=True, help="Print all passages, not only the best.")
@click.option("--full", is_flag=True, help="Print passages whole, not what fits on a screen.")
@k_option
@click.option(
    "--window",
    default="auto",
    metavar="auto|grow|N",
    help=(
        "How chunks grow to passages: the neighbours that are worth most within one budget for "
        "all; each chunk to a budget of its own; or N chunks on each side.  [default: auto]"
    ),
)
@click.option(
    "--budget-tokens",
    type=int,
    metavar="N",
    help="Tokens of all passages together, for --window auto; lists of files and lines have no "
    "budget.  [default: the setting budget_tokens, 4000]",
)
@click.option("--within-section", is_flag=True, help="Grow no passage beyond its section.")
@where_option
@time_options
@click.option(
    "--leg",
    "legs",
    type=click.Choice(LEGS),
    multiple=True,
    help="Search with this leg only.  [default: both]",
)
@click.option(
    "--by",
    "order",
    type=click.Choice(("score", "document", "file")),
    default="score",
    help="Order of the passages: best first, or as in their documents; or as many files, each once "
    "with its best lines.  [default: score]",
)
@click.option(
    "--regex",
    "match",
    flag_value="regex",
    default=None,
    help="Take QUERY as a regular expression, as re:PATTERN.  Case counts if it has a capital.",
)
@click.option(
    "--literal",
    "match",
    flag_value="literal",
    help="Take QUERY as a text, every character as it is.  Case counts if it has a capital.",
)
@click.option(
    "--rerank/--no-rerank",
    default=None,
    help="Rerank the best chunks, or not.  [default: rerank prose, unless the "
    "setting reranker is empty or --leg or --like is given]",
)
@click.option(
    "--rerank-ms",
    type=float,
    metavar="N",
    help="Rerank as many of the best chunks as fit into N milliseconds; 0: no limit.  "
    "[default: 300]",
)
@click.option(
    "--min-relevance",
    type=float,
    metavar="X",
    help="Drop reranked chunks that score less than X, 0 to 1.  [default: 0]",
)
@click.option(
    "--without",
    multiple=True,
    metavar="RULE",
    help="Leave out a rule of the order, such as code, copies or verbatim; may be repeated.",
)
@click.option(
    "--explain", is_flag=True, help="Print the rank and score of each chunk in each stage."
)
@click.option(
    "--no-server",
    is_flag=True,
    help='Search in this process, also if a "crx serve" of the index is running.',
)
@set_option
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    help="text; one JSON value; a line of JSON for each passage; path:line:column:text for each "
    "line that answers, as editors read it; path:line and the best line of each passage; or the "
    "paths alone.  [default: text]",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
@click.option("--files-only", "form", flag_value="files", help="The same as --format files.")
def command(
    *,
    words: tuple[str, ...],
    folder: str | None,
    interactive: bool,
    everywhere: bool,
    like: int | None,
    count: int | None,
    more: bool,
    full: bool,
    k: int | None,
    window: str,
    budget_tokens: int | None,
    within_section: bool,
    conditions: tuple[str, ...],
    since: str,
    before: str,
    legs: tuple[str, ...],
    order: str,
    match: Match | None,
    rerank: bool | None,
    rerank_ms: float | None,
    min_relevance: float | None,
    without: tuple[str, ...],
    explain: bool,
    no_server: bool,
    assignments: tuple[str, ...],
    form: _Format,
) -> int:
    """Print the passages that answer QUERY, best first; its words need no quotes.

    What is printed fits on a screen, 30 lines in a pipe: the best chunk whole, others as far as
    there is room, cut to what follows the words of QUERY, and less relevant passages in a line
    each, if their locations fit into one. --full, --more and -n print more. An error message, an
    identifier or a "quoted phrase" that a document holds as it is comes first, a name's definition
    before other texts that say it, and a single word before names that it is a part of. If
    "crx serve" serves the index, it does the search.

    In one argument, 'budget -draft' leaves out passages with "draft" or "drafts", and
    're:ERR-[0-9]+' finds a regular expression in the text of all formats. path:, ext:, from:, to:,
    after: and before: limit the search, as in path:docs after:30d.
    """
    screen = own_screen()
    query = " ".join(words)

    def take_fields(query: str) -> FieldQuery:
        return FieldQuery(query) if match else split_fields(query)

    def where_of(fields: FieldQuery) -> Where | None:
        where = parse_where(
            conditions, here=screen.folder, since=since, before=before, fields=fields
        )
        return where or None

    if like is not None and (words or interactive or match):
        raise UsageError("--like stands instead of a query; leave out QUERY and -i")
    if not words and not interactive and like is None:
        raise UsageError('QUERY is missing; crx search "QUESTION", or crx search -i')
    if everywhere and (folder or interactive):
        raise UsageError("-g searches all indexes; leave out --index and -i")
    if interactive and (count or more or full or explain or form != "text"):
        raise UsageError("-i shows a list; leave out -n, --more, --full, --explain and --format")
    hit = find_hit(like) if like is not None else None
    index_path: Path | str | None = None
    if not everywhere:
        index_path = hit.location if hit and folder is None else searchable_index(folder)
    flags = {"rank.rerank.ms": rerank_ms, "rank.rerank.min_relevance": min_relevance}
    given = {name: value for name, value in flags.items() if value is not None}
    settings = {**parse_settings(assignments), **given}
    fields = take_fields(query)
    by_file = order == "file"
    is_list = by_file or form in ("files", "locations", "vimgrep")
    arguments = {
        "k": k,
        # Files and lines are listed for the chunks that were found, without what is around them.
        "window": 0 if is_list and window == "auto" else parse_window(window),
        "budget_tokens": None if is_list else budget_tokens,
        "where": where_of(fields),
        "legs": legs or LEGS,
        "within_section": within_section,
        "by": "file" if by_file else "passage",
        "order": "score" if by_file else order,
        "rerank": rerank,
        "match": match or "words",
        "without": list(without),
    }
    if hit:
        found = search_like(hit.text, uri=hit.uri, where=where_of(fields), rerank=rerank)
        fields = FieldQuery(found.query)
        arguments |= {"where": found.where, "without": [*without, *found.without]}
    if interactive:

        def arguments_of(query: str) -> dict[str, Any]:
            typed = take_fields(query)
            return {**arguments, "query": typed.text, "where": where_of(typed)}

        quickly: dict[str, Any] = {"rerank": False, "without": [*_TYPING_LEAVES_OUT, *without]}
        if not legs:
            quickly["legs"] = ("bm25",)
        _pick(index_path, query, arguments_of, settings, quickly=quickly)
        return 0
    query = fields.text
    result = None
    index_of: dict[int, Path] = {}
    if index_path is None:
        result, index_of = _search_everywhere(query, arguments, settings)
    elif not no_server:
        result = _search_served(index_path, query, arguments, settings)
    if result is None:
        assert index_path is not None
        result = search_here(index_path, query, arguments, settings)
    # Who sets a limit, or wants a reranker, is told what that did.
    is_asked = explain or bool(rerank) or bool(given) or budget_tokens is not None
    told = choose_notes(result.notes, passages=len(result), explain=is_asked)
    pattern = parse_pattern(query, match=match or "words")
    # What is found is read in the light of how the query was understood.
    for note in told:
        if note.kind in _BEFORE:
            print_note(note)
    notes = [note for note in told if note.kind not in _BEFORE]
    if by_file and form in ("text", "json", "jsonl"):
        printed = _print_files(
            screen,
            query,
            result,
            form=form,
            count=count,
            more=more,
            pattern=pattern,
            explain=explain,
        )
    elif form == "text":
        shown = _highlighted(pattern, result.passages) if pattern else query
        limit = len(result.passages) if more and count is None else count
        printed = _print(screen, shown, result, count=limit, full=full, explain=explain, notes=told)
    elif form == "json":
        click.echo(to_json(_as_object(query, result, count=count), indent=True))
    elif form == "jsonl":
        for passage in result.passages[:count]:
            click.echo(to_json(asdict(passage)))
    elif form == "locations":
        passages = result.passages[:count]
        for line in location_lines(passages, query=query, pattern=pattern, folder=screen.folder):
            click.echo(line)
    elif form == "files":
        for line in islice(file_lines(result.passages, folder=screen.folder), count):
            click.echo(line)
    else:
        _print_vimgrep(screen, query, result.passages[:count], pattern=pattern)
    if form == "text" and screen.is_terminal:
        indexes = [index_of.get(id(each), index_path) for each in printed]
        remember_hits(printed, indexes=[str(each) for each in indexes])
    for note in notes:
        print_note(note)
    return 0 if result.passages else 1


def _print_files(
    screen: Screen,
    query: str,
    result: Result,
    *,
    form: _Format,
    count: int | None,
    more: bool,
    pattern: QueryPattern | None,
    explain: bool,
) -> list[Passage]:
    """Print the files of a result in a format; return the best passage of each, as text."""
    if form == "json":
        click.echo(to_json(as_file_object(query, result, count=count), indent=True))
    elif form == "jsonl":
        for row in file_rows(query, result, count=count):
            click.echo(row)
    else:
        limit = None if more and count is None else count or SHOWN_FILES
        shown = _highlighted(pattern, result.passages) if pattern else query
        print_files(screen, query, result, count=limit, shown=shown, explain=explain)
        best_of: dict[str, Passage] = {}
        for passage in sorted(result.passages, key=lambda each: -each.score):
            best_of.setdefault(passage.uri, passage)
        return [*best_of.values()][:limit]
    return []


def search_here(
    index_path: Path | str, query: str, arguments: Mapping[str, Any], settings: Mapping[str, object]
) -> Result:
    """Search an index in this process."""
    with _open(index_path, settings) as index:
        return index.run(_request(query=query, **arguments))


def _open(index_path: Path | str, settings: Mapping[str, object]) -> IndexReader:
    # Imported here: a search by a server is over before this is.
    from crx._index.reader import open_reader

    return open_reader(index_path, settings=settings)


def _request(**arguments: Any) -> SearchRequest:
    from crx.retrieve.request import SearchRequest  # as in `_open`

    return SearchRequest(**arguments)


def _pick(
    index_path: Path | str | None,
    query: str,
    arguments_of: Callable[[str], dict[str, Any]],
    settings: Mapping[str, object],
    *,
    quickly: Mapping[str, Any],
) -> None:
    """Search while one types, with the arguments of `quickly` at every key."""
    assert index_path is not None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("-i wants a terminal")
    if os.environ.get("TERM") == "dumb":
        raise UsageError("-i moves the cursor, which this terminal cannot (TERM=dumb)")
    run_picker = load_shipped("crx.pickers", "terminal", option="-i")
    with _open(index_path, settings) as index:

        def find(changed: Mapping[str, Any], query: str) -> list[Passage]:
            asked = _request(**{**arguments_of(query), **changed})
            return [each.passage for each in fold_copies(index.run(asked).passages, query=query)]

        run_picker(partial(find, quickly), partial(find, {}), query=query)


def _search_everywhere(
    query: str, arguments: Mapping[str, Any], settings: Mapping[str, object]
) -> tuple[Result, dict[int, Path]]:
    """Search all indexes of the user; return what is found, and the index of each passage's id."""
    # Imported here: an ordinary search does without.
    from crx.config._own_indexes import read_own_indexes

    paths = read_own_indexes(os.environ)
    if not paths:
        raise UsageError('no index yet; "crx index PATH" makes one')
    search_all = load_shipped("crx.joint", "search", option="-g")
    request = _request(query=query, **arguments)
    result, positions = search_all(paths, request, settings=settings)
    index_of = {id(each): paths[at] for each, at in zip(result.passages, positions, strict=True)}
    return result, index_of


def _search_served(
    index_path: Path | str, query: str, arguments: Mapping[str, Any], settings: Mapping[str, object]
) -> Result | None:
    """Return the answer of a server of the index, None if there is none that gives one."""
    sockets = [] if isinstance(index_path, str) else own_sockets(index_path)
    if isinstance(index_path, str) or not sockets:
        return None
    try:
        ask_server = load_shipped("crx.served", "search")
    except UsageError:  # who serves the index has what that takes, this installation has not
        return None
    found: Result | None = ask_server(
        sockets, {"query": query, **arguments}, index=index_path, resolved=resolve(settings)
    )
    return found


def _as_object(query: str, result: Result, *, count: int | None = None) -> dict[str, object]:
    """Return a result as plain objects; with a count, so many of its passages."""
    return {
        "query": query,
        "passages": [asdict(passage) for passage in result.passages[:count]],
        "notes": list(result.notes),
        "timings_ms": dict(result.timings_ms or {}),
    }


def _print(
    screen: Screen,
    query: str,
    result: Result,
    *,
    count: int | None,
    full: bool,
    explain: bool,
    notes: Sequence[str],
) -> list[Passage]:
    """Print passages; return those that were printed, in their order."""
    found = fold_copies(result.passages, query=query)
    is_whole = full or explain
    limit = SHOWN if count is None and is_whole else count
    shown = choose_shown(found, screen) if limit is None else found[:limit]
    lines, cut = layout_passages(
        shown,
        query=query,
        screen=screen,
        full=full,
        explain=explain,
        notes=sum(-(-columns(f"crx: {note}") // screen.columns) for note in notes),
    )
    for line in lines:
        click.echo(line)
    hints = ["--more"] * (len(shown) < len(found)) + ["--full"] * cut
    if hints:
        print_hint(f"{len(shown)} of {len(found)}", *hints)
    return [each.passage for each in shown]


def _highlighted(pattern: QueryPattern, passages: Sequence[Passage]) -> str:
    """Return what a pattern matches in passages, whose words are shown as those of a query are."""
    return matched_text(pattern, (passage.text for passage in passages))


def _print_vimgrep(
    screen: Screen, query: str, passages: Sequence[Passage], *, pattern: QueryPattern | None
) -> None:
    for passage in passages:
        lines = (
            pattern_lines(passage, pattern=pattern, folder=screen.folder)
            if pattern
            else vimgrep_lines(passage, query=query, folder=screen.folder)
        )
        for line in lines:
            click.echo(line)
    # Vim reads this line into its list, too: it is worth one only if there is no other.
    if passages and all(passage.lines is None for passage in passages):
        print_note("what is found is in files without lines; --format text prints it")
