"""`crx ask`: have a model answer from the passages that were found."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx import index as handle
from crx.answer.stream import AnswerStream
from crx.cli import INTERRUPTED
from crx.cli.options import existing_index, index_option, json_option, set_option, settings_of
from crx.cli.output import note, say, say_json
from crx.cli.prompt import refuse_both
from crx.cli.search import parse_where, parse_window, place_of
from crx.errors import ModelError
from crx.types import Answer


@click.command()
@click.argument("question")
@index_option
@click.option(
    "--with",
    "generator",
    default="",
    metavar="MODEL",
    help="llama:PATH, claude:MODEL, openai:URL#MODEL.  [default: the setting generator]",
)
@click.option("-k", type=int, metavar="N", help="Hits wanted.  [default: 20]")
@click.option("--window", metavar="auto|N", help="As in search.  [default: auto]")
@click.option("--where", "conditions", metavar="FIELD=VALUE", multiple=True, help="As in search.")
@click.option("--whole", is_flag=True, help="From the whole corpus, where a prompt can hold it.")
@set_option
@json_option
def command(
    *,
    question: str,
    folder: str | None,
    generator: str,
    k: int | None,
    window: str | None,
    conditions: tuple[str, ...],
    whole: bool,
    assignments: tuple[str, ...],
    as_json: bool,
) -> int:
    """Answer QUESTION from the passages that are found, and cite them.

    A citation that names no passage is taken out and counted. Where the documents do not say, the
    answer says so, and the exit code is 1.
    """
    refuse_both(whole=whole, k=k, window=window, conditions=conditions)
    place = existing_index(folder)
    with handle.open(place, create=False, settings=settings_of(assignments)) as index:
        asking = index.asking(
            question,
            with_=generator,
            k=k,
            window=parse_window(window or "auto"),
            where=parse_where(conditions),
            whole=whole,
        )
        try:
            _hear(asking, aloud=not as_json)
        except KeyboardInterrupt:
            _print(question, asking.answer, as_json=as_json, complete=False)
            note("interrupted; this is what came of the answer")
            return INTERRUPTED
        except ModelError:
            _print(question, asking.answer, as_json=as_json, complete=False)
            raise
    _print(question, asking.answer, as_json=as_json, complete=True)
    return 0 if asking.answer.found else 1


def _hear(asking: AnswerStream, *, aloud: bool) -> None:
    for text in asking:
        if aloud:
            click.echo(text, nl=False)


def _print(question: str, answer: Answer, *, as_json: bool, complete: bool) -> None:
    """Print what follows an answer that was printed as it came; as JSON, all of it."""
    if as_json:
        say_json({"question": question, **asdict(answer), "complete": complete})
    elif answer.text:
        if not answer.text.endswith("\n"):
            say()
        if answer.citations:
            say()
        for citation in sorted(answer.citations, key=lambda each: each.number):
            title = click.style(citation.title, dim=True)
            say(f"[{citation.number}] {place_of(citation)}  {title}".rstrip())
    for line in answer.notes:
        note(line)
    if answer.removed:
        few = "citation that names" if answer.removed == 1 else "citations that name"
        note(f"{answer.removed} {few} no passage: taken out")
    if dollars := answer.usage.get("dollars"):
        note(f"${dollars:.4f}")
    if complete and answer.found and not answer.citations:
        note("the answer cites no passage: nothing in it can be checked")
