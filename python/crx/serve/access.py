"""Who may use the server: the Host, the Origin and the token of a request.

A page of another site must not reach a server on this machine, neither by a form or a script
(Origin, Sec-Fetch-Site, the type of a body) nor by a name of its own that leads to 127.0.0.1
(Host).
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from crx.errors import UsageError

MIN_TOKEN_CHARS = 20
# Answered without a token, so that a supervisor can ask.
OPEN_PATHS = ("/health",)

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d*)?")
_JSON = "application/json"


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
    a token, also to any IP address. `hosts` are names besides.
    """

    loopback: bool = True
    hosts: frozenset[str] = frozenset()
    token: str = ""

    def refuse(self, method: str, path: str, headers: Headers) -> Refusal | None:
        """Return why a request is refused, or None."""
        host = headers.get("host", "")
        if not self._is_own(host):
            return Refusal(
                400, f"{host[:100]}: not a name of this server; crx serve --allow-host adds one"
            )
        if self._is_foreign(method, headers, host):
            return Refusal(403, "pages of other sites may not use this server")
        if method not in _SAFE_METHODS and not _is_json(headers):
            return Refusal(415, f"the body must be {_JSON}; send that as Content-Type")
        if path not in OPEN_PATHS and not self._has_token(headers):
            return Refusal(
                401,
                "no or a wrong token; send Authorization: Bearer",
                {"www-authenticate": _challenge(headers)},
            )
        return None

    def _is_own(self, host: str) -> bool:
        name = _hostname(host)
        if name in ("localhost", *self.hosts):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def _is_foreign(self, method: str, headers: Headers, host: str) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            return urlsplit(origin).netloc != host
        site = headers.get("sec-fetch-site", "none")
        # A link on another page may lead to a page of this server.
        followed = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        return site not in ("none", "same-origin") and not followed

    def _has_token(self, headers: Headers) -> bool:
        if not self.token:
            return True
        return _same(_given_token(headers.get("authorization", "")), self.token)


def make_policy(*, host: str, token: str, allowed_hosts: tuple[str, ...] = ()) -> AccessPolicy:
    """Return the policy of a server that listens on `host`.

    Raises `UsageError` for a token that is too short, and for an address that other machines reach
    without a token.
    """
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
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _hostname(host: str) -> str:
    """Return the name in a Host header, without its port; "" if there is none."""
    found = _HOST.fullmatch(host.lower())
    return (found["address"] or found["name"]) if found else ""


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON


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


def _challenge(headers: Headers) -> str:
    """Return what a client that sent no token is asked for: a browser shows a prompt for Basic."""
    wants_page = "text/html" in headers.get("accept", "")
    return 'Basic realm="crx: any name, and the token"' if wants_page else "Bearer"
