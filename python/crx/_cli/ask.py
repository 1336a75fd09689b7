"""`crx ask`: have a model answer a question from the passages that are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from crx._answer.stream import AnswerStream
from crx._cli import INTERRUPTED
from crx._cli.filters import parse_where, parse_window
from crx._cli.options import (
    answer_window_option,
    index_option,
    json_option,
    k_option,
    parse_settings,
    searchable_index,
    set_option,
    time_options,
    where_option,
)
from crx._cli.output import (
    NotePrinter,
    dim,
    linked,
    print_aside,
    print_json,
    print_line,
    print_note,
    print_piece,
)
from crx._cli.passages import location
from crx._cli.prompt import refuse_choice_of_whole
from crx._cli.screen import own_screen
from crx._cli.value_completion import complete_query
from crx._index import handle
from crx._show.notes import without_quiet
from crx.errors import ModelError
from crx.retrieve.query_fields import split_fields
from crx.types import Answer, Passage

# Locations that are told while there is no answer.
_LOCATIONS = 5


@click.command()
@click.argument(
    "words", nargs=-1, required=True, metavar="QUESTION...", shell_complete=complete_query
)
@index_option
@click.option(
    "--with",
    "generator",
    default="",
    metavar="MODEL",
    help="Model that answers: llama:PATH, ollama:NAME, claude:MODEL or openai:URL#MODEL.  "
    "[default: the setting generator]",
)
@k_option
@answer_window_option
@where_option
@time_options
@click.option(
    "--whole",
    is_flag=True,
    help="Answer from all documents, if a prompt can hold them, instead of a search.",
)
@set_option
@json_option
def command(
    *,
    words: tuple[str, ...],
    folder: str | None,
    generator: str,
    k: int | None,
    window: str | None,
    conditions: tuple[str, ...],
    since: str,
    before: str,
    whole: bool,
    assignments: tuple[str, ...],
    as_json: bool,
) -> int:
    """Answer QUESTION from the passages that are found, with citations; its words need no quotes.

    A citation that names no passage is removed and counted. If the documents do not hold the
    answer, the model is asked to write that, and the exit code is 1. path:, ext:, from:, to:,
    after: and before: limit the search, as in "crx search".
    """
    fields = split_fields(" ".join(words))
    question = fields.text
    refuse_choice_of_whole(whole=whole, k=k, window=window, conditions=conditions, fields=fields)
    index_path = searchable_index(folder)
    notes = NotePrinter()
    with handle.open(index_path, create=False, settings=parse_settings(assignments)) as index:
        prompt = (
            index.corpus_prompt(question)
            if whole
            else index.prompt(
                question,
                k=k,
                window=parse_window(window or "auto"),
                where=parse_where(conditions, since=since, before=before, fields=fields),
            )
        )
        found = _FoundPassages(prompt.passages)

        def tell_delay(notice: str) -> None:
            if stream.answer.text:
                print_aside("")  # the line of the text so far ends
            locations = found.take()
            notes.print(f"{notice}; meanwhile see {locations}" if locations else notice)

        stream = index.stream_answer(
            prompt, with_=generator, on_notice=notes.print, on_delay=tell_delay
        )
        try:
            for text in stream:
                if not as_json:
                    print_piece(text)
        except KeyboardInterrupt:
            _print(question, stream, notes, as_json=as_json, complete=False)
            print_note("interrupted; the answer is cut off here")
            return INTERRUPTED
        except ModelError:
            _print(question, stream, notes, as_json=as_json, complete=False)
            if not stream.answer.text and (locations := found.take()):
                print_note(f"no answer; see {locations}")
            raise
    _print(question, stream, notes, as_json=as_json, complete=True)
    return 0 if stream.answer.found else 1


def _print(
    question: str, stream: AnswerStream, notes: NotePrinter, *, as_json: bool, complete: bool
) -> None:
    """Print what follows the text of an answer; as JSON, all of it."""
    answer = stream.answer
    if as_json:
        print_json({"question": question, **asdict(answer), "complete": complete})
    else:
        _print_citations(answer)
    notes.print(*without_quiet(answer.notes))
    if answer.removed:
        citations = "citation that names" if answer.removed == 1 else "citations that name"
        print_note(f"{answer.removed} {citations} no passage: removed")
    if dollars := answer.usage.get("dollars"):
        print_note(f"${dollars:.4f}")
    if complete and answer.found and not answer.citations:
        print_note("the answer cites no passage, so that it cannot be checked")


class _FoundPassages:
    """Where the best passages are, told once to a person who has no answer yet."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._locations = list(dict.fromkeys(map(location, passages)))[:_LOCATIONS]

    def take(self) -> str:
        """Return the locations, "" after the first time."""
        taken, self._locations = self._locations, []
        return ", ".join(taken)


def _print_citations(answer: Answer) -> None:
    if not answer.text:
        return
    if not answer.text.endswith("\n"):
        print_line()
    if answer.citations:
        print_line()
    screen = own_screen()
    for citation in sorted(answer.citations, key=lambda each: each.number):
        title = ("  ", dim(citation.title)) if citation.title else ()
        cited = linked(location(citation), screen.link(citation))
        print_line(f"[{citation.number}] ", cited, *title)
