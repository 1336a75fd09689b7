"""The frame of every page, and the headers it is sent with."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import HTMLResponse

from crx_serve.page.templates import render

# Nothing but the page's own files is loaded, no script or style in the markup runs, and no other
# page may frame it.
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


def render_page(title: str, *main: Markup, state: Markup | str = "", kind: str = "") -> Markup:
    """Return a whole page; `kind` is the class of its body."""
    return Markup("").join((render_start(title, state=state, kind=kind), *main, render_end()))


def render_start(title: str, *, state: Markup | str = "", kind: str = "") -> Markup:
    """Return a page up to the start of its main part, for a page that is sent as it is made."""
    return render("page_start.html", {"title": title, "state": state, "kind": kind})


def render_end() -> Markup:
    """Return a page from the end of its main part on."""
    return render("page_end.html", {})


def html_response(markup: str, *, status: int = 200) -> HTMLResponse:
    """Return markup with the headers that confine it."""
    return HTMLResponse(markup, status, SECURITY_HEADERS)
