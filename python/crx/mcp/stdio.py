"""The server on standard input and output, as a client starts it."""

from __future__ import annotations

import contextlib
import sys
import threading

import anyio
from mcp.server.stdio import stdio_server

from crx.mcp.server import create_server
from crx.serve.service import SearchService


def run_stdio(service: SearchService, *, allow_write: bool) -> None:
    """Serve until standard input ends; models are loaded meanwhile.

    As long as it runs, whatever writes to standard output writes to standard error: standard output
    carries the protocol alone.
    """
    anyio.run(_serve, service, allow_write)


async def _serve(service: SearchService, allow_write: bool) -> None:  # noqa: FBT001
    server = create_server(service, allow_write=allow_write)
    async with stdio_server() as (reading, writing):
        # Only now, so that a client is answered at once, and no library prints into the protocol.
        threading.Thread(target=service.warm, name="crx-warm", daemon=True).start()
        # What Python's stream buffers would be written after the descriptor is restored.
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(reading, writing, server.create_initialization_options())
