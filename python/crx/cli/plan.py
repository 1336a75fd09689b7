"""`crx plan`: what an index would take, before anything is spent."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path

import click

from crx.cli.options import json_option, set_option, settings_of
from crx.cli.output import note, say, say_json, table
from crx.config import resolve
from crx.context.estimate import Plan, plan
from crx.context.prompt import Prompt
from crx.protocols import Closeable
from crx.registry import load_cost_model, load_embedder


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--with", "source", default="", metavar="SOURCE", help="llama:PATH, claude:MODEL, ..."
)
@click.option("--embedder", metavar="SPEC", help="A model's name, st:PATH, hashed, ...")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out; as in .gitignore.")
@click.option("--prompt", type=click.Path(path_type=Path), metavar="FILE", help="A template.")
@click.option("--glossary", type=click.Path(path_type=Path), metavar="FILE", help="Terms.")
@click.option(
    "--requests-per-minute",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="What your account with a service allows; its minutes rest on that.",
)
@set_option
@json_option
def command(
    *,
    paths: tuple[Path, ...],
    source: str,
    embedder: str | None,
    exclude: tuple[str, ...],
    prompt: Path | None,
    glossary: Path | None,
    requests_per_minute: float | None,
    assignments: tuple[str, ...],
    as_json: bool,
) -> None:
    """Tell how many chunks PATHS have and what each way to situate them takes.

    Minutes come from a probe of this machine of about ten seconds. Requests, tokens and dollars of
    a service come from the lengths of the texts and published prices; nobody is asked. Its minutes
    are told for --requests-per-minute, since they rest on the limits of your account.
    """
    settings = settings_of(assignments)
    settings |= {name: v for name, v in (("embedder", embedder),) if v is not None}
    chosen = resolve(settings).settings
    template = Prompt.read(prompt, glossary=glossary) if prompt or glossary else None
    costs = load_cost_model(source, prompt=template)
    with contextlib.ExitStack() as stack:
        if isinstance(costs.contextualizer, Closeable):
            stack.callback(costs.contextualizer.close)
        planned = plan(
            paths,
            embedder=load_embedder(chosen.embedder),
            scratch_embedder=load_embedder("hashed"),
            costs=costs,
            requests_per_minute=requests_per_minute or 0.0,
            chunk_tokens=chosen.chunk_tokens,
            chunk_chars=chosen.chunk_chars,
            chunk_overlap=chosen.chunk_overlap,
            exclude=exclude,
            max_file_mb=chosen.max_file_mb,
        )
    if as_json:
        say_json(asdict(planned))
    else:
        _print(planned)
    for line in planned.notes:
        note(line)
    for failure in planned.failures:
        note(f"{failure.uri}: {failure.reason}")


def _print(planned: Plan) -> None:
    say(f"{planned.documents:,} documents, {planned.chunks:,} chunks, {planned.tokens:,} tokens")
    rows = [
        ["read and cut", _minutes(planned.reading_seconds)],
        ["embed", _minutes(planned.embedding_seconds)],
        *([rung.name, _minutes(rung.seconds)] for rung in planned.rungs),
    ]
    if len(planned.rungs) > 1:
        rows.append(["embed again, with contexts", _minutes(planned.embedding_seconds)])
    say(table(rows, right=(1,)))
    cost = planned.estimate
    if cost is None:
        return
    used = cost.usage
    say(planned.priced)
    say(
        f"{used.requests:,} requests, {used.prompt:,} tokens sent ({used.read:,} of them read from"
        f" its cache), {used.output:,} answered"
    )
    if planned.service_seconds is not None:
        say(f"{_minutes(planned.service_seconds)} at the given requests a minute")
    if cost.dollars is None:
        say("dollars unknown; give the price after the model, as in :price=1/5")
        return
    priced = [
        ("with caching", cost.dollars),
        ("with caching, in batches", cost.dollars_batch),
        ("without caching", cost.dollars_uncached),
    ]
    say(table([[name, _dollars(amount)] for name, amount in priced], right=(1,)))


def _dollars(amount: float | None) -> str:
    if amount is None:
        return "unknown"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:.1f} s"
