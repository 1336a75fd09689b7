"""`crx prompt`: print what `crx ask` would ask a model."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx import index as handle
from crx.cli.options import existing_index, index_option, json_option, set_option, settings_of
from crx.cli.output import note, say, say_json
from crx.cli.search import parse_where, parse_window
from crx.errors import UsageError


@click.command()
@click.argument("question")
@index_option
@click.option("-k", type=int, metavar="N", help="Hits wanted.  [default: 20]")
@click.option("--window", metavar="auto|N", help="As in search.  [default: auto]")
@click.option("--where", "conditions", metavar="FIELD=VALUE", multiple=True, help="As in search.")
@click.option("--whole", is_flag=True, help="The whole corpus, where a prompt can hold it.")
@set_option
@json_option
def command(
    *,
    question: str,
    folder: str | None,
    k: int | None,
    window: str | None,
    conditions: tuple[str, ...],
    whole: bool,
    assignments: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the prompt that has a model answer QUESTION, to be pasted anywhere.

    With --whole, every document in an order that stays and the question at the end, so that a
    model that keeps the beginnings of prompts reads the corpus once.
    """
    refuse_both(whole=whole, k=k, window=window, conditions=conditions)
    place = existing_index(folder)
    with handle.open(place, create=False, settings=settings_of(assignments)) as index:
        quoted = index.prompt(
            question,
            k=k,
            window=parse_window(window or "auto"),
            where=parse_where(conditions),
            whole=whole,
        )
    if as_json:
        say_json(
            {
                "question": question,
                "prompt": quoted.text,
                "head": len(quoted.head),
                "tokens": quoted.tokens,
                "passages": [asdict(passage) for passage in quoted.passages],
            }
        )
    elif quoted.passages:
        say(quoted.text)
    for line in quoted.notes:
        note(line)
    if not quoted.passages:
        note("nothing found")
        return 1
    note(
        f"passages: {len(quoted.passages):,}; tokens: {quoted.tokens:,}, as the index's embedder "
        "counts them; another model counts otherwise"
    )
    return 0


def refuse_both(
    *, whole: bool, k: int | None, window: str | None, conditions: tuple[str, ...]
) -> None:
    """Refuse to choose passages where all of them are asked for."""
    given = {"-k": k is not None, "--window": window is not None, "--where": bool(conditions)}
    if whole and any(given.values()):
        flags = " and ".join(flag for flag, there in given.items() if there)
        raise UsageError(f"--whole reads everything; leave out {flags}")
