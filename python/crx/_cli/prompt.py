"""`crx prompt`: print the prompt that `crx ask` would send."""

from __future__ import annotations

from dataclasses import asdict

import click

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
from crx._cli.output import print_json, print_note, print_notes, print_text
from crx._index import handle
from crx.errors import UsageError
from crx.retrieve.query_fields import FieldQuery, split_fields


@click.command()
@click.argument("question")
@index_option
@k_option
@answer_window_option
@where_option
@time_options
@click.option(
    "--whole",
    is_flag=True,
    help="Quote all documents, if a prompt can hold them, instead of a search.",
)
@set_option
@json_option
def command(
    *,
    question: str,
    folder: str | None,
    k: int | None,
    window: str | None,
    conditions: tuple[str, ...],
    since: str,
    before: str,
    whole: bool,
    assignments: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the prompt with which a model answers QUESTION, to be pasted anywhere.

    With --whole the documents come in a fixed order and the question last, so that a service that
    caches the beginnings of prompts reads them once.
    """
    fields = split_fields(question)
    question = fields.text
    refuse_choice_of_whole(whole=whole, k=k, window=window, conditions=conditions, fields=fields)
    index_path = searchable_index(folder)
    with handle.open(index_path, create=False, settings=parse_settings(assignments)) as index:
        quoted = (
            index.corpus_prompt(question)
            if whole
            else index.prompt(
                question,
                k=k,
                window=parse_window(window or "auto"),
                where=parse_where(conditions, since=since, before=before, fields=fields),
            )
        )
    if as_json:
        print_json(
            {
                "question": question,
                "prompt": quoted.text,
                "head": len(quoted.head),
                "tokens": quoted.tokens,
                "passages": [asdict(passage) for passage in quoted.passages],
            }
        )
    elif quoted.passages:
        print_text(quoted.text)
    print_notes(quoted.notes, passages=len(quoted.passages))
    if not quoted.passages:
        return 1
    print_note(
        f"passages: {len(quoted.passages):,}; tokens: {quoted.tokens:,}, counted by the index's "
        "embedder; other models count differently"
    )
    return 0


def refuse_choice_of_whole(
    *,
    whole: bool,
    k: int | None,
    window: str | None,
    conditions: tuple[str, ...],
    fields: FieldQuery,
) -> None:
    """Raise `UsageError` for options and fields that choose passages, given with --whole."""
    given = {"-k": k is not None, "--window": window is not None, "--where": bool(conditions)}
    given |= {f"{name}:": True for name, _ in fields.fields}
    if whole and any(given.values()):
        flags = " and ".join(flag for flag, there in given.items() if there)
        raise UsageError(f"--whole reads all documents; leave out {flags}")
