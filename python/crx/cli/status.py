"""`crx status`: print what an index holds and what it lacks."""

from __future__ import annotations

from dataclasses import asdict

import click

from crx.answer.corpus import MAX_CORPUS_TOKENS
from crx.cli.embedder_speed import remembered_seconds
from crx.cli.options import index_option, json_option, searchable_index
from crx.cli.output import display_path, print_json, print_line, print_note, print_text
from crx.cli.progress import format_duration
from crx.cli.tables import format_table
from crx.context.cache import ORIGINS, read_origins
from crx.context.report import OutcomeCounts, compute_coverage
from crx.index.reader import open_reader
from crx.ingest.open_store import BASE, UNFINISHED_COPY
from crx.ingest.roots import SETTINGS_OF_ROOTS, read_skipped
from crx.registry import NO_EMBEDDER
from crx.remote.pending_jobs import PENDING_JOBS, read_pending_jobs
from crx.retrieve.dense_languages import EMBEDDER_LANGUAGES
from crx.types import Status

MAX_LANGUAGES_SHOWN = 8


@click.command()
@index_option
@click.option("--documents", is_flag=True, help="List the documents instead.")
@click.option(
    "--skipped",
    is_flag=True,
    help="List instead the files and folders that were met and not indexed, with the reason.",
)
@json_option
def command(*, folder: str | None, documents: bool, skipped: bool, as_json: bool) -> None:
    """Print what the index holds, what it was built with and what it lacks."""
    index_path = searchable_index(folder)
    with open_reader(index_path) as index:
        status = index.status()
        rows = index.store.documents() if documents else []
        passed_over = []
        if not isinstance(index_path, str):
            passed_over = read_skipped(index.store)
    if as_json:
        listed = [
            {"uri": r.uri, "title": r.title, "lang": r.lang, "chunks": r.chunks} for r in rows
        ]
        covered = {"coverage": compute_coverage(status.counts)}
        asked = {
            **({"documents": listed} if documents else {}),
            **({"skipped": [asdict(each) for each in passed_over]} if skipped else {}),
        }
        print_json({**asdict(status), **covered, **asked})
        return
    for row in rows:
        print_line(display_path(row.uri))
    if skipped:
        for each in passed_over:
            print_line(f"{display_path(each.uri)}: {each.reason}")
    if not documents and not skipped:
        _print(status)
        if passed_over:
            print_line(f'{len(passed_over)} paths not indexed; "crx status --skipped" lists them')
    for uri, reason in status.failures:
        print_note(f"{display_path(uri)}: {reason}")
    for line in status.notes:
        print_note(line)


def _print(status: Status) -> None:
    print_line(display_path(status.path))
    if status.counts["chunks"]:
        covered = f"{compute_coverage(status.counts):.1%} of the chunks have a context"
        print_line(f"{covered} besides the outline")
        if rejected := OutcomeCounts.from_stats(status.counts).describe_rejected():
            print_line(rejected)
    else:
        print_line('no documents yet; "crx index PATH" adds some')
    if status.counts["pending"]:
        print_line(_describe_vectors(status))
    counts = [[name, f"{count:,}"] for name, count in status.counts.items()]
    print_text(format_table(counts, right=(1,)))
    print_text(format_table(_built_with(status)))
    print_line(f"reranker: {status.reranker or 'none'}")
    if 0 < status.counts["tokens"] <= MAX_CORPUS_TOKENS:
        tokens = f"{status.counts['tokens']:,}"
        print_line(f"all documents are {tokens} tokens: crx ask --whole reads all of them")
    print_line(f"dense search: {_dense_search(status)}")


def _describe_vectors(status: Status) -> str:
    """Return the share of chunks with a vector, and how long the others take here, if known."""
    chunks, pending = status.counts["chunks"], status.counts["pending"]
    share = f"{1 - pending / chunks:.1%} of the chunks have their vector"
    seconds = remembered_seconds(status.settings.get("embedder_fingerprint", ""), status.counts)
    left = f", about {format_duration(seconds)} left on this machine" if seconds else ""
    return f"{share}{left}"


def _built_with(status: Status) -> list[list[str]]:
    hidden = (
        ORIGINS,
        PENDING_JOBS,
        BASE,
        UNFINISHED_COPY,
        EMBEDDER_LANGUAGES,
        *SETTINGS_OF_ROOTS,
    )
    built = [[name, value] for name, value in status.settings.items() if name not in hidden]
    if languages := status.settings.get(EMBEDDER_LANGUAGES, "").split():
        few = len(languages) <= MAX_LANGUAGES_SHOWN
        shown = ", ".join(languages) if few else f"{len(languages)} languages"
        built.append(["the embedder reads", shown])
    built += [["contexts by", origin.fingerprint] for origin in read_origins(status.settings)]
    built += [
        ["under way", f"{name}, of {fingerprint}"]
        for fingerprint, names in read_pending_jobs(status.settings).items()
        for name in names
    ]
    return built


def _dense_search(status: Status) -> str:
    if status.settings["embedder"] == NO_EMBEDDER:
        return "off; the index was made with --embedder none"
    return status.dense_search
