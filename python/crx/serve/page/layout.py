"""The frame of every page: its head, its bar, its keys, and the headers it is sent with."""

from __future__ import annotations

from starlette.responses import HTMLResponse

from crx.serve.page.markup import Markup, Node, join, tag

# Nothing but the page's own files is loaded, no script or style in the markup runs, and no other
# page may frame it.
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}

_KEYS = (("/", "search"), ("j k", "next, previous"), ("Enter", "open"), ("Esc", "back"))


def render_page(title: str, *main: Node, state: Node = "", kind: str = "") -> Markup:
    """Return a whole page; `kind` is the class of its body."""
    return join(Markup("<!doctype html>"), open_page(title, state=state, kind=kind), *main, CLOSING)


def open_page(title: str, *, state: Node = "", kind: str = "") -> Markup:
    """Return a page up to the start of its main part, for a page that is sent as it is made."""
    head = tag(
        "head",
        {},
        tag("meta", {"charset": "utf-8"}),
        tag("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        tag("meta", {"name": "color-scheme", "content": "light dark"}),
        tag("title", {}, title),
        tag("link", {"rel": "icon", "href": "/assets/icon.svg", "type": "image/svg+xml"}),
        tag("link", {"rel": "stylesheet", "href": "/assets/page.css"}),
        tag("script", {"src": "/assets/page.js", "defer": True}),
    )
    bar = tag(
        "header",
        {"class": "bar"},
        tag("a", {"class": "skip", "href": "#main"}, "Skip to the content"),
        tag("a", {"class": "brand", "href": "/"}, "crx"),
        tag("nav", {"aria-label": "Pages"}, tag("a", {"href": "/status"}, "Status")),
    )
    opening = f'<html lang="en">{head}<body class="{kind}">{bar}{state}<main id="main">'
    return Markup(opening)


CLOSING = join(
    Markup("</main>"),
    tag(
        "footer",
        {"class": "keys"},
        *(tag("span", {}, tag("kbd", {}, key), f" {what}") for key, what in _KEYS),
    ),
    Markup("</body></html>"),
)


def html_response(markup: str, *, status: int = 200) -> HTMLResponse:
    """Return markup with the headers that confine it."""
    return HTMLResponse(markup, status, SECURITY_HEADERS)
