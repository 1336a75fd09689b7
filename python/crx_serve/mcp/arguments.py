"""Arguments of a tool as clients send them.

Models write 2 as "2" or 2.0, an object as its JSON text, null for what they leave out, and
a page as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

Request = TypeVar("Request", bound=msgspec.Struct)


def read_arguments(arguments: Mapping[str, Any], request: type[Request]) -> Request:
    """Return the request that arguments describe; raises `msgspec.ValidationError`."""
    texts = {each.name for each in msgspec.structs.fields(request) if _is_text(each.type)}
    given = {
        name: _as_text(value) if name in texts else _decode(value)
        for name, value in arguments.items()
        if value is not None
    }
    return msgspec.convert(given, request, strict=False)


def _is_text(annotation: Any) -> bool:
    return annotation is str or getattr(annotation, "__origin__", None) is str


def _as_text(value: Any) -> Any:
    """Return a number as its text, such as that of a page; any other value as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _decode(value: Any) -> Any:
    """Return the object or list that a text is the JSON of; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value
