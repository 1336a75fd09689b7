"""`crx serve`: answer searches over HTTP until stopped."""

from __future__ import annotations

import threading

import click

from crx.cli.options import existing_index, parse_settings, set_option
from crx.cli.output import print_note


@click.command()
@click.argument("indexes", nargs=-1, metavar="[INDEX...]")
@click.option("--host", default="127.0.0.1", help="Address to listen on.  [default: 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    help="Port to listen on; 0: a free one.  [default: 8000]",
)
@click.option(
    "--with",
    "generator",
    default="",
    metavar="MODEL",
    help="Model that answers questions: llama:PATH, claude:MODEL or openai:URL#MODEL.  [default: "
    "the setting generator]",
)
@set_option
def command(
    *,
    indexes: tuple[str, ...],
    host: str,
    port: int,
    generator: str,
    assignments: tuple[str, ...],
) -> int:
    """Answer searches over HTTP until stopped, with the models loaded once.

    INDEX is an index folder, or NAME=FOLDER; without one it is found as by "crx search".
    """
    from crx.serve.app import create_app
    from crx.serve.served_index import open_indexes
    from crx.serve.server import bind, run_server
    from crx.serve.service import SearchService

    specs = indexes or (str(existing_index(None)),)
    opened = open_indexes(specs, settings=parse_settings(assignments))
    service = SearchService(opened, generator=generator)
    listening = bind(host, port)
    print_note(f"serving {', '.join(service.names)} at http://{host}:{listening.getsockname()[1]}")
    threading.Thread(target=service.warm, name="crx-warm", daemon=True).start()
    try:
        run_server(create_app(service), [listening])
    finally:
        service.close()
    print_note("stopped")
    return 0
