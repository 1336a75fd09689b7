"""Who may use the server: the Host, the Origin and the token of a request.

A page of another site must not reach a server on this machine, neither by a form, a script, a frame
or a picture (Origin, Sec-Fetch-*, the type of a body) nor by a name of its own that leads to
127.0.0.1 (Host). It may lead its user to a page of the server, which then searches for nothing
before a click.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from crx.errors import UsageError

MIN_TOKEN_CHARS = 20
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
ADD_FOLDER = "/folders"
# The start of the paths that pages of allowed origins may use.
API = "/v1/"
SESSION_COOKIE = "crx-session"
# Answered without a token: a supervisor asks for the first, a browser for the form and its looks.
OPEN_PATHS = (
    "/health",
    SIGN_IN,
    "/assets/icon.svg",
    "/assets/page.css",
    "/assets/page.js",
    "/assets/parts.js",
    "/assets/preview.js",
    "/assets/searches.js",
)
# Pages that a link of another site may lead to, and the start of the paths of others.
_LINKED_PAGES = ("/", "/status", "/docs", SIGN_IN)
_LINKED_DOCUMENTS = "/documents/"
# Paths whose body is that of a form.
FORMS = (SIGN_IN, SIGN_OUT, ADD_FOLDER)
_FORM = "application/x-www-form-urlencoded"

# What no answer of the server is shown in, on whichever page (Sec-Fetch-Dest).
_FRAMES = ("iframe", "frame", "fencedframe", "object", "embed", "portal")

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d*)?")
_JSON = "application/json"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?|https?://\[[0-9a-f:]+\](:\d+)?")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer to a request that is not let through."""

    status: int
    message: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """The names that the server answers to, and the token it wants ("": none).

    On a loopback address it answers to the names of this machine; elsewhere, where it always wants
    a token, also to any IP address. `hosts` are names besides. Pages of `origins` may use its API.
    """

    loopback: bool = True
    hosts: frozenset[str] = frozenset()
    token: str = ""
    origins: frozenset[str] = frozenset()

    def refuse(
        self, method: str, path: str, headers: Headers, *, query: str = ""
    ) -> Refusal | None:
        """Return why a request is refused, or None; `query` is that of its URL."""
        host = headers.get("host", "")
        if not host:
            return Refusal(400, "the request has no Host header; have the proxy keep it")
        if not self._is_own(host):
            return Refusal(
                400, f"{host[:100]}: not a name of this server; crx serve --allow-host adds one"
            )
        if _is_speculative(headers):
            return Refusal(403, "nothing is fetched in advance from this server")
        if _is_framed(headers) or self._is_foreign(method, path, headers, host):
            return Refusal(403, "pages of other sites may not use this server")
        kind = _FORM if path in FORMS else _JSON
        if method not in _SAFE_METHODS and _content_type(headers) != kind:
            return Refusal(415, f"the body must be {kind}; send that as Content-Type")
        if path in OPEN_PATHS or self._has_token(headers):
            return None
        if method == "GET" and "text/html" in headers.get("accept", ""):
            wanted = f"{path}?{query}" if query else path
            target = f"{SIGN_IN}?{urlencode({'next': wanted})}"
            return Refusal(303, "sign in first", {"location": target})
        return Refusal(
            401,
            "no or a wrong token; send Authorization: Bearer",
            {"www-authenticate": "Bearer"},
        )

    @property
    def session(self) -> str:
        """The value of the cookie of a browser that has sent the token; it does not tell it."""
        return hmac.digest(self.token.encode(), b"session of the page", "sha256").hex()

    def is_token(self, given: str) -> bool:
        """Return whether a text is the token."""
        return _same(given, self.token)

    def has_session(self, headers: Headers) -> bool:
        """Return whether a request has the cookie of a browser that has sent the token."""
        return _same(cookie_parser(headers.get("cookie", "")).get(SESSION_COOKIE, ""), self.session)

    def _is_own(self, host: str) -> bool:
        name = _hostname(host)
        if name in ("localhost", *self.hosts):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def _is_foreign(self, method: str, path: str, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        if origin in self.origins and path.startswith(API):
            return False
        if origin is not None:
            return _netloc(origin) != host
        return is_from_elsewhere(headers) and not _is_followed_link(method, path, headers)

    def _has_token(self, headers: Headers) -> bool:
        if not self.token:
            return True
        authorization = headers.get("authorization")
        if authorization is None:
            return self.has_session(headers)
        return self.is_token(_given_token(authorization))


def is_from_elsewhere(headers: Headers) -> bool:
    """Return whether a page of another site caused a request, as the browser says."""
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def make_policy(
    *,
    host: str,
    token: str,
    allowed_hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
) -> AccessPolicy:
    """Return the policy of a server that listens on `host`.

    Raises `UsageError` for a token that is too short, for an address that other machines reach
    without a token, and for an origin that is none.
    """
    for each in origins:
        if not _ORIGIN.fullmatch(each):
            raise UsageError(f"{each}: no origin; name one as http://localhost:3000")
    if token and len(token) < MIN_TOKEN_CHARS:
        raise UsageError(
            f"the token has {len(token)} characters; use at least {MIN_TOKEN_CHARS}, such as those "
            'of "openssl rand -hex 32"'
        )
    if not token.isascii() or any(character.isspace() for character in token):
        raise UsageError(
            "the token has a character that no header can hold; use letters and digits"
        )
    loopback = _is_loopback(host)
    if not loopback and not token:
        raise UsageError(
            f"{host}: other machines could search there without a token; set CRX_TOKEN or "
            "--token-file, or listen on 127.0.0.1"
        )
    own = () if loopback else (host,)
    return AccessPolicy(
        loopback=loopback,
        hosts=frozenset(each.lower() for each in (*own, *allowed_hosts) if each),
        token=token,
        origins=frozenset(origins),
    )


def _is_speculative(headers: Headers) -> bool:
    """Return whether a browser asks for a page that its user may visit later.

    Any page may have it do so, and Chromium then says of the request that no page caused it.
    """
    return "prefetch" in (headers.get("sec-purpose") or headers.get("purpose", ""))


def _is_framed(headers: Headers) -> bool:
    return headers.get("sec-fetch-dest", "") in _FRAMES


def _is_followed_link(method: str, path: str, headers: Headers) -> bool:
    """Return whether a link leads the top window of a browser to a page."""
    is_page = path in _LINKED_PAGES or path.startswith(_LINKED_DOCUMENTS)
    is_top = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == (
        "navigate",
        "document",
    )
    return method == "GET" and is_page and is_top


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _hostname(host: str) -> str:
    """Return the name in a Host header, without its port; "" if there is none."""
    found = _HOST.fullmatch(host.lower())
    return (found["address"] or found["name"]) if found else ""


def _netloc(origin: str) -> str:
    """Return the host and port of an origin, "" if it is no URL."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # an open bracket
        return ""


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _given_token(authorization: str) -> str:
    """Return the token of a header, "" if it has none: that of Bearer, or the password of Basic."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode("latin-1").partition(":")[2]
    except ValueError:
        return ""
