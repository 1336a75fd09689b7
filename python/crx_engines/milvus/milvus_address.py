"""URLs of indexes in Milvus and in Milvus Lite."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from crx.errors import UsageError
from crx.plugins import without_password
from crx_engines.url_parameters import parse_parameters, parse_timeout

_DEFAULT_COLLECTION = "crx"
_DEFAULT_PORT = 19530
_DEFAULT_TIMEOUT_S = 30.0
_LITE = "milvus-lite:"
_PARAMETERS = ("collection", "secure", "timeout")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MilvusAddress:
    """Where an index is: a server, or the folder of Milvus Lite.

    `folder` is absolute, "" for a server. The names of the index's collections begin with
    `collection`; `timeout_s` is how long one request may take.
    """

    folder: str = ""
    host: str = ""
    port: int = _DEFAULT_PORT
    database: str = ""
    user: str = ""
    token: str = ""
    is_secure: bool = False
    collection: str = _DEFAULT_COLLECTION
    timeout_s: float = _DEFAULT_TIMEOUT_S

    @property
    def name(self) -> str:
        """The URL without a password."""
        query = "" if self.collection == _DEFAULT_COLLECTION else f"?collection={self.collection}"
        if self.folder:
            return f"{_LITE}{self.folder}{query}"
        login = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"milvus://{login}{host}:{self.port}/{self.database}{query}"


def parse_milvus_address(url: str, *, environ: Mapping[str, str] = os.environ) -> MilvusAddress:
    """Parse `milvus://user:password@host:port/database` or `milvus-lite:FOLDER`.

    Both may end with `?collection=NAME&timeout=SECONDS`. What a server is told to log in with is
    taken from MILVUS_TOKEN if the URL has no password. Raises `UsageError`.
    """
    shown = without_password(url)
    location, _, query = url.partition("?")
    given = parse_parameters(query, known=_PARAMETERS, shown=shown)
    collection = given.get("collection", _DEFAULT_COLLECTION)
    if not _IDENTIFIER.fullmatch(collection):
        raise UsageError(
            f"{collection}: not a name of a collection; use letters, digits and underscores"
        )
    timeout_s = parse_timeout(given, default_s=_DEFAULT_TIMEOUT_S)
    if location.lower().startswith(_LITE):
        return MilvusAddress(
            folder=_folder(location, shown=shown), collection=collection, timeout_s=timeout_s
        )
    secure = given.get("secure", "0")
    if secure not in ("0", "1"):
        raise UsageError(f"secure={secure}: no such choice; use 1 for TLS, or 0")
    return _server(
        location,
        shown=shown,
        environ=environ,
        is_secure=secure == "1",
        collection=collection,
        timeout_s=timeout_s,
    )


def _folder(location: str, *, shown: str) -> str:
    path = location[len(_LITE) :]
    if path.startswith("//"):
        # As in a URL of a file: milvus-lite:///notes.db has an empty host.
        host, slash, rest = path[2:].partition("/")
        if host:
            raise UsageError(f"{shown}: Milvus Lite is a folder on this machine; write {_LITE}PATH")
        path = slash + rest
    if not path:
        raise UsageError(f"{shown}: names no folder; write {_LITE}PATH")
    return os.path.abspath(path)


def _server(
    location: str,
    *,
    shown: str,
    environ: Mapping[str, str],
    is_secure: bool,
    collection: str,
    timeout_s: float,
) -> MilvusAddress:
    try:
        parts = urlsplit(location)
        port = parts.port or _DEFAULT_PORT
    except ValueError as error:
        raise UsageError(f"{shown}: not a URL of a server ({error})") from None
    if not parts.hostname:
        raise UsageError(f"{shown}: names no server; write milvus://HOST:{_DEFAULT_PORT}")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    login = f"{user}:{password}" if user else password
    return MilvusAddress(
        host=parts.hostname,
        port=port,
        database=unquote(parts.path.strip("/")),
        user=user,
        token=login if password else environ.get("MILVUS_TOKEN", ""),
        is_secure=is_secure,
        collection=collection,
        timeout_s=timeout_s,
    )
