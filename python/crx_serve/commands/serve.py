"""`crx serve`: answer searches over HTTP until stopped."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from starlette.middleware.cors import CORSMiddleware

from crx._cli.index import summarize
from crx._cli.options import existing_index, parse_settings, set_option
from crx._cli.output import print_json_line, print_note
from crx.errors import NotAnIndex, UsageError
from crx_serve.access import make_policy
from crx_serve.added_folders import FolderAdder
from crx_serve.app import create_app
from crx_serve.behind_proxy import UnderPath, parse_root_path
from crx_serve.guard import Guard
from crx_serve.local_search import local_search_extension
from crx_serve.local_socket import local_sockets
from crx_serve.page.add_folder import add_folder_extension
from crx_serve.page.routes import page_extension
from crx_serve.page.sign_in import sign_in_extension
from crx_serve.process_memory import limit_heaps
from crx_serve.served_index import open_indexes
from crx_serve.server import bind, run_server
from crx_serve.service import SearchService
from crx_serve.watch import BackgroundEmbedder
from crx_serve.watched_index import IndexWatch

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from crx_serve.access import AccessPolicy
    from crx_serve.app import Extension
    from crx_serve.guard import AccessEntry
    from crx_serve.served_index import ServedIndex
    from crx_serve.service import SearchService
    from crx_serve.watch import Visit
    from crx_serve.watched_index import IndexWatch

TOKEN_VARIABLE = "CRX_TOKEN"
# A server on all addresses of a machine has none that every client reaches.
_ANY_ADDRESS = ("0.0.0.0", "::")


@click.command()
@click.argument("indexes", nargs=-1, metavar="[INDEX...]")
@click.option(
    "--index",
    "more_indexes",
    metavar="INDEX",
    multiple=True,
    help="An index to serve, as the argument is; repeatable.",
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    help="Port to listen on; 0: a free one.  [default: 8000]",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of the token that clients must send.  [default: the variable CRX_TOKEN; none is "
    "needed on 127.0.0.1]",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Name by which clients reach the server, such as that of a proxy; repeatable.",
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="URL",
    multiple=True,
    help="Origin, such as http://localhost:3000, whose pages may use /v1/; repeatable.  "
    "[default: none]",
)
@click.option(
    "--root-path",
    default="",
    metavar="PATH",
    help="Path below which a proxy serves this server, such as /search.  [default: /]",
)
@click.option(
    "--with",
    "generator",
    default="",
    metavar="MODEL",
    help="Model that answers questions: llama:PATH, ollama:NAME, claude:MODEL or "
    "openai:URL#MODEL.  [default: the setting generator]",
)
@click.option(
    "--watch",
    "watched",
    is_flag=True,
    help='Keep the indexes equal to the folders that were indexed, as "crx watch" does.',
)
@click.option(
    "--keep-missing",
    is_flag=True,
    help='With --watch: keep the documents of files that are deleted; "crx remove" or "crx index" '
    "removes them.",
)
@click.option(
    "--on-battery",
    is_flag=True,
    help="Make the vectors that the indexes lack also while the machine runs on its battery.",
)
@click.option(
    "--allow-add",
    "addable",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Folder below which the page may add folders to the indexes, with the token of the "
    "server; repeatable.  [default: none, the page changes nothing]",
)
@click.option("-q", "--quiet", is_flag=True, help="Write no access log.")
@set_option
def command(
    *,
    indexes: tuple[str, ...],
    more_indexes: tuple[str, ...],
    host: str,
    port: int,
    token_file: Path | None,
    allowed_hosts: tuple[str, ...],
    origins: tuple[str, ...],
    root_path: str,
    generator: str,
    watched: bool,
    keep_missing: bool,
    on_battery: bool,
    addable: tuple[Path, ...],
    quiet: bool,
    assignments: tuple[str, ...],
) -> int:
    """Answer searches over HTTP until stopped, with the models loaded once.

    INDEX is an index folder, or NAME=FOLDER; without one it is found as by "crx search". On
    another address than 127.0.0.1 a token is needed. The access log is JSON lines on stderr. With
    --watch, changed files are indexed while the server runs. Chunks that have no vector yet are
    embedded in the time that searches leave over, not on a battery.
    """
    if keep_missing and not watched:
        raise UsageError("--keep-missing wants --watch")
    policy = make_policy(
        host=host, token=_read_token(token_file), allowed_hosts=allowed_hosts, origins=origins
    )
    root = parse_root_path(root_path)
    if addable and not policy.token:
        raise UsageError("--allow-add wants a token; set CRX_TOKEN or --token-file")
    specs = (*indexes, *more_indexes) or (str(existing_index(None)),)
    limit_heaps()
    opened = open_indexes(specs, settings=parse_settings(assignments))
    watches = _make_watches(opened, keep_missing=keep_missing, quiet=quiet) if watched else {}
    embedders = [
        BackgroundEmbedder(
            each.get,
            on_battery=on_battery,
            is_searching=lambda: _is_searching(opened),
            on_problem=partial(_report_problem, each.name),
        )
        for each in opened
    ]
    service = SearchService(opened, generator=generator, watches=watches, embedders=embedders)
    adder = FolderAdder(service, allowed=addable) if addable else None
    try:
        listening = bind(host, port)
        address = f"http://{_bracketed(host)}:{listening.getsockname()[1]}"
        service.page_url = "" if host in _ANY_ADDRESS else f"{address}{root}"
        guarded = Guard(
            create_app(service, extensions=load_extensions(service, policy, adder)),
            policy=policy,
            metrics=service.metrics,
            on_access=None if quiet else _log,
        )
        app = open_to(guarded, root_path=root, origins=origins)
        with local_sockets([each.path for each in opened]) as (sockets, without):
            print_note(f"serving {', '.join(service.names)} at {address}")
            for path in without:
                print_note(f"{path}: another server answers the command line; this one HTTP alone")
            for watch in watches.values():
                watch.start()
            for embedder in embedders:
                embedder.start()
            service.start_warming()
            run_server(app, [listening, *sockets], on_overdue=_end_process)
    finally:
        if adder is not None:
            adder.close()
        service.close()
    print_note("stopped")
    return 0


def open_to(app: ASGIApp, *, root_path: str, origins: Sequence[str]) -> ASGIApp:
    """Return an application with a guard that a proxy and pages of other origins may use."""
    if root_path:
        app = UnderPath(app, root_path=root_path)
    if origins:
        # Without the cookie of the page: who uses the API of a server with a token has it.
        headers = ["authorization", "content-type"]
        methods = ["GET", "POST"]
        app = CORSMiddleware(
            app, allow_origins=origins, allow_methods=methods, allow_headers=headers
        )
    return app


def _end_process() -> None:
    """End the process as it is: an index is consistent after every end."""
    print_note("stopped")
    os._exit(0)


def _make_watches(
    opened: Sequence[ServedIndex], *, keep_missing: bool, quiet: bool
) -> dict[str, IndexWatch]:
    """Return the watches of indexes; raises `UsageError` for one without folders."""
    for each in opened:
        if not each.get().roots:
            raise UsageError(
                f'{each.path}: no folder was indexed, so none is watched; "crx index PATH" adds one'
            )
    report = _report_nothing if quiet else _report_visit
    return {
        each.name: IndexWatch(
            each,
            keep_missing=keep_missing,
            leave_many=True,
            on_visit=report,
            on_problem=_report_problem,
        )
        for each in opened
    }


def _report_visit(name: str, visit: Visit) -> None:
    print_note(f"{name}: {summarize(visit.report)}")


def _is_searching(indexes: Iterable[ServedIndex]) -> bool:
    """Return whether a search of any index runs; one that is gone has none."""
    for each in indexes:
        with contextlib.suppress(NotAnIndex):
            if each.get().is_searching:
                return True
    return False


def _report_problem(name: str, problem: str) -> None:
    print_note(f"{name}: {problem}")


def _report_nothing(name: str, visit: Visit) -> None:
    pass


def load_extensions(
    service: SearchService, policy: AccessPolicy, adder: FolderAdder | None
) -> list[Extension]:
    """Return the routes of the page and of `crx search`, and `/mcp` if the SDK is installed."""
    own = [page_extension(service, adder=adder), local_search_extension(service)]
    if adder is not None:
        own.append(add_folder_extension(adder, policy=policy))
    if policy.token:
        own.append(sign_in_extension(policy))
    if importlib.util.find_spec("mcp") is None:
        return own
    # Imported here: the SDK is an extra.
    from crx_serve.mcp.http import create_extension

    return [*own, create_extension(service)]


def _read_token(file: Path | None) -> str:
    """Return the token of a file or of the environment, "" if there is none."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip()
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: the token cannot be read: {error}") from None
    if not token:
        raise UsageError(f'{file}: holds no token; "openssl rand -hex 32" makes one')
    return token


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _log(entry: AccessEntry) -> None:
    print_json_line(entry)
