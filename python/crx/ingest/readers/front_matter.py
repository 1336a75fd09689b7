"""Front matter: the fields at the head of a Markdown file, in YAML, TOML or JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from crx.config._toml_table import parse_toml
from crx.ingest.readers.left_out import LeftOut
from crx.types import Scalar

# Metadata that readers and the index write themselves.
_OWN_METADATA = frozenset((
    "as_written", "compression", "encoding", "ext", "folder_description", "format", "left_out",
    "left_out_reasons", "ocr", "part_of", "path", "source", "title_from", "undecodable", "uri",
))  # fmt: skip
_FENCED = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*$|\+\+\+[ \t]*\n(?P<toml>.*?)^\+\+\+[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_LIMIT = 16 * 1024
# The same parser in Python where PyYAML was built without libyaml.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# A field on a line of its own, in front matter that does not parse, such as `title: On: cats`.
_FIELD = re.compile(r"^([A-Za-z][\w-]*)[ \t]*[:=][ \t]+(\S.*)$", re.MULTILINE)
# Fields that are lists, also if they are written as `a, b`.
_LISTS = frozenset(("tags", "categories", "aliases"))
# `tags: boats, #oars`, as notes are tagged; in YAML a comment begins there.
_HASH_TAGS = re.compile(
    r"^(tags:[ \t]+)\[?([^\n\[\]\"'{]*(?<=[ ,\[])#\w[^\n\]]*)\]?[ \t]*$", re.MULTILINE
)
# A field at the margin and what is indented under it.
_BLOCKS = re.compile(r"^(?=[A-Za-z][\w-]*[ \t]*:)", re.MULTILINE)
_MOST = 10**15  # a larger number is kept as text


def front_matter(text: str) -> tuple[dict[str, Scalar | list[Scalar]], int]:
    """Return the fields of the front matter, and where the body begins.

    Fields of tables are read as if they stood outside, but not those of tables in lists. Of front
    matter that does not parse, the fields that do are read, and others of one line as text;
    `left_out` says why.
    """
    left_out = LeftOut()
    opening = text[:_LIMIT]
    if opening.startswith("{"):
        parsed, body = left_out.attempt("front matter", lambda: _json(opening), plain=({}, 0))
    elif fenced := _FENCED.match(opening):
        kind, source = fenced.lastgroup, fenced[fenced.lastgroup or 0]
        body = fenced.end() + 1
        parse, parse_in_part = (_yaml, _yaml_in_part) if kind == "yaml" else (_toml, _fields)
        parsed = left_out.attempt("front matter", lambda: parse(source), plain=None)
        if left_out:
            parsed = parse_in_part(source)
    else:
        return {}, 0
    if not isinstance(parsed, dict) or not parsed:
        return {}, 0
    fields = {
        name: value
        for name, value in _flat(parsed).items()
        if name not in _OWN_METADATA and value not in ("", [])
    }
    return {**fields, **left_out.metadata()}, min(body, len(text))


def _yaml(source: str) -> Any:
    """Return the values; aliases, which may expand without end, raise `ValueError`."""
    source = _HASH_TAGS.sub(
        lambda tags: tags[1] + json.dumps(re.sub("[ ,]*#", ",", tags[2])), source
    )
    try:
        if "*" in source:
            events = yaml.parse(source, Loader=_LOADER)
            if any(isinstance(event, yaml.AliasEvent) for event in events):
                raise ValueError("has aliases")
        return _value(yaml.compose(source, Loader=_LOADER))
    except yaml.MarkedYAMLError as failed:
        raise ValueError(f"is no YAML: {failed.problem}") from failed


def _yaml_in_part(source: str) -> dict[str, Any]:
    """Return the fields that parse by themselves, and others of one line as text."""
    fields: dict[str, Any] = {}
    for block in _BLOCKS.split(source):
        try:
            parsed = _yaml(block)
        except (ValueError, yaml.YAMLError, RecursionError):
            parsed = _fields(block)
        fields |= parsed if isinstance(parsed, dict) else {}
    return fields


def _fields(source: str) -> dict[str, Any]:
    return dict(_FIELD.findall(source))


def _value(node: Any) -> Any:
    """Return the value of a node: a date is its text, and so is 01234, `1.10` and `no`."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: _value(each) for key, each in node.value if isinstance(key.value, str)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(each) for each in node.value]
    if node is None or node.tag.endswith(":null"):
        return None
    written: str = node.value.strip()
    if node.tag.endswith(":bool") and written.lower() in ("true", "false"):
        return written.lower() == "true"
    for kind, number in ((":int", int), (":float", float)):
        if node.tag.endswith(kind) and re.fullmatch(r"-?\d[\d.]*", written):
            return each if str(each := number(written)) == written else written
    return written


def _toml(source: str) -> Any:
    return parse_toml(source.encode())


def _json(opening: str) -> tuple[Any, int]:
    parsed, end = json.JSONDecoder().raw_decode(opening)
    return parsed, end + 1


def _flat(parsed: dict[str, Any]) -> dict[str, Scalar | list[Scalar]]:
    fields: dict[str, Scalar | list[Scalar]] = {}
    for table in (parsed, *(value for value in parsed.values() if isinstance(value, dict))):
        for key, value in table.items():
            name = key.lower()
            if isinstance(value, str) and name in _LISTS:
                value = [part.strip() for part in value.split(",") if part.strip()]
            if isinstance(value, list):
                items = [_scalar(each) for each in value if not isinstance(each, dict | list)]
                fields.setdefault(name, [each for each in items if each != ""])
            elif not isinstance(value, dict):
                fields.setdefault(name, _scalar(value))
    return fields


def _scalar(value: object) -> Scalar:
    if isinstance(value, int | float) and abs(value) < _MOST:
        return value
    return "" if value is None else str(value)
