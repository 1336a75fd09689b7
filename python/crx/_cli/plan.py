"""`crx plan`: estimate what an index would take, before anything is spent."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path

import click

from crx._cli.options import (
    embedder_option,
    exclude_option,
    json_option,
    parse_settings,
    prompt_options,
    set_option,
)
from crx._cli.output import display_path, print_json, print_line, print_note, print_text
from crx._cli.tables import format_table
from crx._context.estimate import CostModel, Plan, plan
from crx._context.report import OutcomeCounts
from crx._services.prompt import Prompt
from crx.config import resolve
from crx.context_registry import load_contextualizer
from crx.plugins import load_shipped
from crx.protocols import Closeable, CostEstimator
from crx.registry import load_embedder

# The model whose time and prices are shown for a rate of requests without a service: the cheapest
# one with known prices.
PRICED = "claude:claude-haiku-5-5"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--with",
    "source",
    default="",
    metavar="SOURCE",
    help="What would write contexts: llama:PATH, ollama:NAME, claude:MODEL or openai:URL#MODEL.  "
    "[default: the outline alone]",
)
@embedder_option
@exclude_option
@prompt_options
@click.option(
    "--requests-per-minute",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Requests a minute that your account with a service allows; its time is estimated from "
    "that.  [default: no estimate of its time]",
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
    """Estimate the chunks of PATHS and the time and cost of each kind of context.

    Times come from a probe of this machine of about ten seconds, or up to a minute if a model on it
    writes contexts in groups of chunks. Requests, tokens and dollars of a service are computed from
    the lengths of the texts and published prices, without a request.
    """
    settings = parse_settings(assignments)
    settings |= {name: v for name, v in (("embedder", embedder),) if v is not None}
    chosen = resolve(settings).settings
    template = Prompt.read(prompt, glossary=glossary) if prompt or glossary else None
    priced = PRICED if requests_per_minute is not None else ""
    costs = load_cost_model(source, prompt=template, priced=priced)
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
        print_json(asdict(planned))
    else:
        _print(planned)
    for line in planned.notes:
        print_note(line)
    for failure in planned.failures:
        print_note(f"{display_path(failure.uri)}: {failure.reason}")


def _print(planned: Plan) -> None:
    print_line(
        f"{planned.documents:,} documents, {planned.chunks:,} chunks, {planned.tokens:,} tokens"
    )
    rows = [
        ["read and cut", _minutes(planned.reading_seconds)],
        ["embed", _minutes(planned.embedding_seconds)],
        *([rung.name, _minutes(rung.seconds)] for rung in planned.rungs),
    ]
    if len(planned.rungs) > 1:
        rows.append(["embed again, with contexts", _minutes(planned.embedding_seconds)])
    print_text(format_table(rows, right=(1,)))
    if rejected := OutcomeCounts.from_made(planned.trial).describe_rejected():
        print_line(f"trial: {rejected}")
    cost = planned.estimate
    if cost is None:
        return
    used = cost.usage
    print_line(planned.priced)
    print_line(
        f"{used.requests:,} requests, {used.prompt:,} tokens sent ({used.read:,} of them read from"
        f" its cache), {used.output:,} answered"
    )
    if planned.service_seconds is not None:
        print_line(f"{_minutes(planned.service_seconds)} at the given requests a minute")
    if cost.dollars is None:
        print_line("dollars unknown; give the price after the model, as in :price=1/5")
        return
    priced = [
        ("with caching", cost.dollars),
        ("with caching, in batches", cost.dollars_batch),
        ("without caching", cost.dollars_uncached),
    ]
    print_text(format_table([[name, _dollars(amount)] for name, amount in priced], right=(1,)))


def _dollars(amount: float | None) -> str:
    if amount is None:
        return "unknown"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:,.1f} min" if seconds >= 60 else f"{seconds:.1f} s"


def load_cost_model(
    source: str = "", *, prompt: Prompt | None = None, priced: str = ""
) -> CostModel:
    """Return the cost model of contexts from a source; "" is the outline alone.

    For a source that costs money, `contextualizer` is None, so that it is not run, and `pricing` is
    its own. For any other source, and for "", it is that of the model `priced`, if there is one.
    Raises what `crx.context_registry.load_contextualizer` raises.
    """
    name, _, _ = source.partition(":")
    priced = source if name == "claude" else priced
    if name == "claude" or not source:
        return CostModel(source, None, priced, _claude_pricing(priced, prompt))
    contextualizer = load_contextualizer(source, prompt=prompt)
    if isinstance(contextualizer, CostEstimator):
        return CostModel(source, None, source, contextualizer)
    return CostModel(source, contextualizer, priced, _claude_pricing(priced, prompt))


def _claude_pricing(priced: str, prompt: Prompt | None) -> CostEstimator | None:
    if not priced:
        return None
    rest = priced.partition(":")[2]
    pricing: CostEstimator = load_shipped("crx.prices", "claude")(rest, prompt=prompt)
    return pricing
