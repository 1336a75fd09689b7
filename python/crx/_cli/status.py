"""`crx status`: print what an index holds and what it lacks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from crx._answer.corpus import MAX_CORPUS_TOKENS
from crx._cli.embedder_speed import remembered_seconds
from crx._cli.options import index_option, json_option, searchable_index
from crx._cli.output import display_path, print_json, print_line, print_note, print_text
from crx._cli.progress import format_duration
from crx._cli.tables import format_table
from crx._context.cache import ORIGINS, read_origins
from crx._context.report import OutcomeCounts, compute_coverage
from crx._index.open_store import BASE, UNFINISHED_COPY
from crx._index.reader import open_reader
from crx._services.pending_jobs import PENDING_JOBS, read_pending_jobs
from crx.ingest.incomplete import read_incomplete
from crx.ingest.paths import path_of
from crx.ingest.roots import SETTINGS_OF_ROOTS, RememberedRoots, read_skipped
from crx.labels import count_label, format_size
from crx.registry import NO_EMBEDDER
from crx.retrieve.query_language import EMBEDDER_LANGUAGES
from crx.types import Status

_MAX_LANGUAGES_SHOWN = 8


@click.command()
@index_option
@click.option("--documents", is_flag=True, help="List the documents instead.")
@click.option(
    "--skipped",
    is_flag=True,
    help="List instead the files and folders that were met and not indexed, with the reason, and "
    "the documents of which a part failed to be read.",
)
@click.option(
    "--all", "in_numbers", is_flag=True, help="Print also all counts and how the index was built."
)
@json_option
def command(
    *, folder: str | None, documents: bool, skipped: bool, in_numbers: bool, as_json: bool
) -> None:
    """Print what the index holds, from where and when, and what it lacks."""
    index_path = searchable_index(folder)
    with open_reader(index_path) as index:
        status = index.status()
        rows = index.store.documents() if documents else []
        passed_over, roots, incomplete = [], RememberedRoots(), []
        if isinstance(index_path, Path):
            passed_over, roots = read_skipped(index.store), RememberedRoots.read(index.store)
            incomplete = read_incomplete(index.store)
    written = _last_written(index_path)
    if as_json:
        listed = [
            {"uri": r.uri, "title": r.title, "lang": r.lang, "chunks": r.chunks} for r in rows
        ]
        not_read = [{"uri": each.uri, "reason": each.reason} for each in passed_over]
        covered = {"coverage": compute_coverage(status.counts)}
        asked = {
            **({"documents": listed} if documents else {}),
            **({"skipped": not_read} if skipped else {}),
            **({"incomplete": [asdict(each) for each in incomplete]} if skipped else {}),
        }
        sources = {"roots": _root_objects(roots), "written": written}
        print_json({**asdict(status), **covered, **sources, **asked})
        return
    for row in rows:
        print_line(display_path(row.uri))
    if skipped:
        for each in passed_over:
            print_line(f"{display_path(each.uri)}: {each.reason}")
        for document in incomplete:
            print_line(f"{display_path(document.uri)}: without {', '.join(document.left_out)}")
    if not documents and not skipped:
        ignored = sum(each.is_ignored for each in passed_over)
        counts = {"skipped": len(passed_over) - ignored, "ignored by a rule": ignored}
        _print_in_words(status, roots, written=written, passed_over=counts)
        if incomplete:
            affected = count_label(len(incomplete), "document")
            print_line(f'parts of {affected} were not read; "crx status --skipped" names them')
        if in_numbers:
            print_line()
            _print_details(status)
    for uri, reason in status.failures:
        print_note(f"{display_path(uri)}: {reason}")
    for line in status.notes:
        print_note(line)


def _print_in_words(
    status: Status, roots: RememberedRoots, *, written: str, passed_over: Mapping[str, int]
) -> None:
    """Print what is indexed, from where, when, how large it is, and what is missing."""
    counts = status.counts
    print_line(display_path(status.path))
    if counts["chunks"]:
        documents = count_label(counts["documents"], "document")
        held = f"{documents} in {count_label(counts['chunks'], 'chunk')}"
        size = f", {format_size(counts['bytes'])} on disk" if counts.get("bytes") else ""
        print_line(f"{held}, {count_label(counts['tokens'], 'token')}{size}")
    else:
        print_line('no documents yet; "crx index PATH" adds some')
    for line in _root_lines(roots):
        print_line(line)
    if written:
        print_line(f"last written on {_local_time(written)}")
    if counts["chunks"]:
        print_line(_describe_vectors(status))
        reranked = f"reranked by {status.reranker}" if status.reranker else "not reranked"
        print_line(f"searches are {reranked}")
        if counts.get("contexts"):
            print_line(f"{compute_coverage(counts):.1%} of the chunks have a model's context")
        if rejected := OutcomeCounts.from_stats(counts).describe_rejected():
            print_line(rejected)
    for fingerprint, names in read_pending_jobs(status.settings).items():
        for name in names:
            print_line(f"under way: {name}, of {fingerprint}")
    if status.failures:
        files = count_label(len(status.failures), "file")
        print_line(f"{files} could not be read, as named below")
    if named := ", ".join(f"{count:,} {word}" for word, count in passed_over.items() if count):
        print_line(f'files and folders: {named}; "crx status --skipped" lists them')
    if 0 < counts["tokens"] <= MAX_CORPUS_TOKENS:
        print_line(f"a prompt can hold all {counts['tokens']:,} tokens: crx ask --whole")


def _print_details(status: Status) -> None:
    counts = [[name, f"{count:,}"] for name, count in status.counts.items()]
    print_text(format_table(counts, right=(1,)))
    print_text(format_table(_built_with(status)))
    print_line(f"dense search: {_dense_search(status)}")


def _root_lines(roots: RememberedRoots) -> list[str]:
    """Return a line for each file and folder that was indexed: its excludes, its latest change."""
    lines = []
    for root in roots.roots:
        path = path_of(root.uri)
        without = f" without {', '.join(root.exclude)}" if root.exclude else ""
        changed = roots.changes.get(root.uri)
        latest = f", changed last on {_local_time(_iso(changed))}" if changed else ""
        if not os.path.exists(path):
            state = ", which is not there now"
        elif changed is None:
            state = ', not read to the end yet; "crx index" goes on'
        else:
            state = ""
        lines.append(f"from {display_path(path)}{without}{latest}{state}")
    return lines


def _root_objects(roots: RememberedRoots) -> list[dict[str, object]]:
    return [
        {
            "path": path_of(root.uri),
            "exclude": list(root.exclude),
            "changed": _iso(roots.changes.get(root.uri, 0)),
            "complete": root.uri in roots.changes,
        }
        for root in roots.roots
    ]


def _last_written(index_path: Path | str) -> str:
    """Return when the index was changed last, "" for one in a database."""
    if isinstance(index_path, str):
        return ""
    logs = (index_path / "crx.db", index_path / "crx.db-wal")
    return _iso(max(each.stat().st_mtime_ns for each in logs if each.is_file()))


def _iso(time_ns: int) -> str:
    """Return a time in nanoseconds since 1970 with its offset from UTC, "" for none."""
    if not time_ns:
        return ""
    return datetime.fromtimestamp(time_ns / 1e9).astimezone().isoformat(timespec="seconds")


def _local_time(iso: str) -> str:
    return datetime.fromisoformat(iso).strftime("%Y-%m-%d %H:%M")


def _describe_vectors(status: Status) -> str:
    """Return the share of chunks with a vector, and how long the others take here, if known."""
    if status.settings["embedder"] == NO_EMBEDDER:
        return "no vectors; the index was made with --embedder none"
    if not status.counts["pending"]:
        return "every chunk has its vector"
    chunks, pending = status.counts["chunks"], status.counts["pending"]
    share = f"{1 - pending / chunks:.1%} of the chunks have their vector"
    seconds = remembered_seconds(status.settings.get("embedder_fingerprint", ""), status.counts)
    left = f", about {format_duration(seconds)} left on this machine" if seconds else ""
    return f"{share}{left}"


def _built_with(status: Status) -> list[list[str]]:
    hidden = (ORIGINS, PENDING_JOBS, BASE, UNFINISHED_COPY, EMBEDDER_LANGUAGES, *SETTINGS_OF_ROOTS)
    built = [[name, value] for name, value in status.settings.items() if name not in hidden]
    if languages := status.settings.get(EMBEDDER_LANGUAGES, "").split():
        few = len(languages) <= _MAX_LANGUAGES_SHOWN
        shown = ", ".join(languages) if few else f"{len(languages)} languages"
        built.append(["the embedder reads", shown])
    built += [["contexts by", origin.fingerprint] for origin in read_origins(status.settings)]
    return built


def _dense_search(status: Status) -> str:
    if status.settings["embedder"] == NO_EMBEDDER:
        return "off; the index was made with --embedder none"
    return status.dense_search
