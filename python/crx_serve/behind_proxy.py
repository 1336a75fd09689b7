"""ASGI middleware for a server below a path of a proxy, such as https://host/search/.

The application knows no such path: it is taken off a request, unless the proxy has done so, and put
before the paths of this server in pages and redirects. The scripts of the page find it in their own
URL.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crx.errors import UsageError

# The attributes of a page that hold paths of this server. A page escapes the quotes of documents'
# text.
_LINKS = re.compile(rb'\b(href|src|action|formaction)="/(?!/)')
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")


def parse_root_path(text: str) -> str:
    """Return the path without a slash at its end; raises `UsageError` for what is no path."""
    path = text.rstrip("/")
    if path and not _ROOT_PATH.fullmatch(path):
        raise UsageError(f"--root-path {text}: want a path such as /search")
    return path


class UnderPath:
    """Serves an application below a path, which begins with a slash and ends without one."""

    def __init__(self, app: ASGIApp, *, root_path: str) -> None:
        self._app = app
        self._root = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._root or path.startswith(f"{self._root}/"):
                path = path.removeprefix(self._root) or "/"
                scope = {**scope, "path": path, "raw_path": path.encode()}
            send = _Rewriting(send, root=self._root.encode()).send
        await self._app(scope, receive, send)


class _Rewriting:
    """Sends an answer with the path before the links of its page and its redirect."""

    def __init__(self, send: Send, *, root: bytes) -> None:
        self._send = send
        self._root = root
        self._start: Message | None = None
        self._is_page = False

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            headers = [self._redirected(*header) for header in message.get("headers", ())]
            values = {name.lower(): value for name, value in headers}
            # The file of a document has a name of its own, and is sent as it is.
            is_file = b"content-disposition" in values
            self._is_page = (
                values.get(b"content-type", b"").startswith(b"text/html") and not is_file
            )
            message = {**message, "headers": headers}
            if self._is_page:  # its length is known with its body
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._is_page:
            body = _LINKS.sub(rb'\1="' + self._root + b"/", message.get("body", b""))
            message = {**message, "body": body}
            if self._start is not None:
                await self._send(_with_length(self._start, message))
                self._start = None
        await self._send(message)

    def _redirected(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_own = name.lower() == b"location" and value.startswith(b"/")
        return name, self._root + value if is_own else value


def _with_length(start: Message, body: Message) -> Message:
    """Return the start of an answer with the length of its body, without one if more follows."""
    headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
    if not body.get("more_body", False):
        headers.append((b"content-length", str(len(body["body"])).encode()))
    return {**start, "headers": headers}
