"""`crx status`: what an index holds and what it owes."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx import index as handle
from crx.answer.corpus import MAX_CORPUS_TOKENS
from crx.cli.options import existing_index, index_option, json_option
from crx.cli.output import near, note, say, say_json, table
from crx.context.cache import ORIGINS, read_origins
from crx.context.report import compute_coverage
from crx.remote.pending_jobs import PENDING_JOBS, read_pending_jobs


@click.command()
@index_option
@click.option("--documents", is_flag=True, help="List the documents.")
@json_option
def command(*, folder: str | None, documents: bool, as_json: bool) -> None:
    """Print what the index holds and what it owes."""
    with handle.open(existing_index(folder), create=False) as index:
        status = index.status()
        rows = index.store.documents() if documents else []
    if as_json:
        listed = [
            {"uri": r.uri, "title": r.title, "lang": r.lang, "chunks": r.chunks} for r in rows
        ]
        covered = {"coverage": compute_coverage(status.counts)}
        say_json({**asdict(status), **covered, **({"documents": listed} if documents else {})})
        return
    for row in rows:
        say(near(row.uri))
    if not documents:
        counts = [[name, f"{count:,}"] for name, count in status.counts.items()]
        hidden = (ORIGINS, PENDING_JOBS)
        built = [[name, value] for name, value in status.settings.items() if name not in hidden]
        built += [["contexts by", origin.fingerprint] for origin in read_origins(status.settings)]
        built += [
            ["under way", f"{name}, of {fingerprint}"]
            for fingerprint, names in read_pending_jobs(status.settings).items()
            for name in names
        ]
        say(near(status.path))
        share = f"{compute_coverage(status.counts):.1%} of the chunks"
        say(f"{share} have a context besides the outline")
        say(table(counts, right=(1,)))
        say(table(built))
        say(f"reranker: {status.reranker or 'none'}")
        if 0 < status.counts["tokens"] <= MAX_CORPUS_TOKENS:
            tokens = f"{status.counts['tokens']:,}"
            say(f"the whole corpus is {tokens} tokens: crx ask --whole reads all of it")
        say("dense search: " + ("exact" if status.exact else "HNSW"))
    for uri, reason in status.failures:
        note(f"{near(uri)}: {reason}")
    for line in status.notes:
        note(line)
