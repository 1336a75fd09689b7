"""The server on standard input and output, as a client starts it."""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from crx_serve.mcp.fresh import IndexRefresher
from crx_serve.mcp.server import create_server
from crx_serve.service import SearchService


def run_stdio(service: SearchService, *, allow_write: bool, refresh: bool) -> None:
    """Serve until standard input ends; models are loaded meanwhile.

    From now on, whatever writes to standard output writes to standard error: standard output
    carries the protocol alone, and models may still be loading when the server ends.
    """
    refresher = IndexRefresher(service) if refresh else None
    anyio.run(_serve, service, create_server(service, allow_write=allow_write, refresh=refresher))


async def _serve(service: SearchService, server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        # What Python's stream buffers would be written after the descriptor is restored.
        sys.stdout = sys.stderr
        # Only now, so that a client is answered at once, and no library prints into the protocol.
        service.start_warming()
        await server.run(reading, writing, server.create_initialization_options())
    os.dup2(2, 1)
