"""A small hub on this machine: the routes of the Hugging Face Hub that its client uses.

`/api/models/...` gives a model and its tree, `/OWNER/NAME/resolve/...` a file with its etag; a file
of `LARGE_BYTES` or more is redirected to `/cdn/...` of another host, which serves ranges, as the
hub's storage does.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE_BYTES = 1_000

_MODEL = re.compile(r"/api/models/(?P<name>[^/]+/[^/?]+)(/revision/(?P<revision>[^/?]+))?")
_TREE = re.compile(r"/api/models/(?P<name>[^/]+/[^/]+)/tree/(?P<revision>[^/?]+)")
_RESOLVE = re.compile(r"/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>[^?]+)")
_CDN = re.compile(r"/cdn/(?P<name>[^/]+/[^/]+)/(?P<file>[^?]+)")


@dataclass
class HubRepository:
    """A model on the hub: its files, and what its page says."""

    files: dict[str, bytes]
    card: dict[str, Any] = field(default_factory=lambda: {"license": "mit", "language": "en"})
    token: str = ""
    gated: bool = False


@dataclass
class Hub:
    """The hub's models and faults, and the requests that were made.

    `cut` is how many bytes of the next large files are sent before the connection breaks.
    `garbled` names files whose content differs from their hash. `html` answers everything.
    """

    url: str
    models: dict[str, HubRepository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    garbled: set[str] = field(default_factory=set)
    html: bool = False


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """Serve an empty hub on a free port until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = Hub(f"http://127.0.0.1:{server.server_address[1]}")
    server.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder by their paths."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    @property
    def hub(self) -> Hub:
        return self.server.hub  # type: ignore[attr-defined, no-any-return]

    def _answer(self) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        if self.hub.html:
            return self._send(
                200, b"<html>Sign in to the network</html>", {"Content-Type": "text/html"}
            )
        for pattern, answer in (
            (_TREE, self._tree),
            (_MODEL, self._model),
            (_CDN, self._cdn),
            (_RESOLVE, self._resolve),
        ):
            if (found := pattern.match(self.path)) is not None:
                parts = found.groupdict()
                repository = self._repository(parts["name"])
                if repository is not None:
                    answer(repository, parts)
                return None
        return self._refuse(404, "EntryNotFound", "no such route")

    def _repository(self, name: str) -> HubRepository | None:
        """Return a model, or None after an answer that refuses it."""
        repository = self.hub.models.get(name)
        sent = self.headers.get("authorization", "")
        if repository is None:
            # So does the hub for a client without a token, not to tell which names are private.
            self._refuse(401, "RepoNotFound", "Repository not found")
        elif self.path.startswith("/cdn/"):
            assert not sent, "the client sends its token to the storage"
            return repository
        elif repository.token and sent != f"Bearer {repository.token}":
            self._refuse(401, "RepoNotFound", "Repository not found")
        elif repository.gated and "/resolve/" in self.path:
            self._refuse(403, "GatedRepo", "Access to the model is restricted")
        else:
            return repository
        return None

    def _model(self, repository: HubRepository, parts: dict[str, str]) -> None:
        if parts["revision"] not in (None, "main", "v1", COMMIT):
            return self._refuse(404, "RevisionNotFound", "no such revision")
        siblings = [{"rfilename": name} for name in repository.files]
        self._send_json(
            {
                "id": parts["name"],
                "sha": COMMIT,
                "cardData": repository.card,
                "siblings": siblings,
                "gated": "manual" if repository.gated else False,
            }
        )
        return None

    def _tree(self, repository: HubRepository, parts: dict[str, str]) -> None:
        self._send_json([_entry(name, data) for name, data in repository.files.items()])

    def _resolve(self, repository: HubRepository, parts: dict[str, str]) -> None:
        data = repository.files.get(parts["file"])
        if data is None:
            return self._refuse(404, "EntryNotFound", "no such file")
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_blob_id(data)}"'}
        if len(data) < LARGE_BYTES:
            return self._send(200, self._content(parts["file"], data), headers)
        headers |= {"X-Linked-ETag": f'"{_sha256(data)}"', "X-Linked-Size": str(len(data))}
        # Another host by name, to which the client sends no token.
        storage = self.hub.url.replace("127.0.0.1", "localhost")
        headers["Location"] = f"{storage}/cdn/{parts['name']}/{parts['file']}"
        return self._send(302, b"", headers)

    def _cdn(self, repository: HubRepository, parts: dict[str, str]) -> None:
        data = self._content(parts["file"], repository.files[parts["file"]])
        start = 0
        if found := re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", "")):
            start = int(found[1])
            self.hub.ranges.append(self.headers["range"])
        headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        self._send(206 if start else 200, data[start:], headers)

    def _content(self, name: str, data: bytes) -> bytes:
        return bytes(len(data)) if name in self.hub.garbled else data

    def _refuse(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message}
        self._send(status, json.dumps({"error": message}).encode(), headers)

    def _send_json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.hub.cut and self.path.startswith("/cdn/"):
            self.wfile.write(body[: self.hub.cut.pop(0)])
            self.close_connection = True
            return
        self.wfile.write(body)


def _entry(name: str, data: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "file",
        "path": name,
        "size": len(data),
        "oid": _blob_id(data),
    }
    if len(data) >= LARGE_BYTES:
        entry["lfs"] = {"oid": _sha256(data), "size": len(data), "pointerSize": 130}
    return entry


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
