"""The server at `/mcp` of `crx serve`, by Streamable HTTP."""

from __future__ import annotations

from mcp.server.transport_security import TransportSecuritySettings

from crx_serve.app import Extension
from crx_serve.mcp.server import create_server
from crx_serve.service import SearchService

PATH = "/mcp"


def create_extension(service: SearchService) -> Extension:
    """Return the routes of the tools that read; nothing can be written over HTTP.

    Each request is served by itself, without a session. Host, Origin and token are checked by the
    guard of the whole application.
    """
    server = create_server(service, allow_write=False)
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=unguarded
    )
    return Extension(routes=tuple(app.routes), lifespan=server.session_manager.run)
