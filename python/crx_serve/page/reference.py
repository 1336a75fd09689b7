"""The page on the HTTP API, made from the OpenAPI description of the server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from crx_serve.page.templates import render

_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request or an answer; `reference` is the schema that its type names, or ""."""

    name: str
    type: str
    reference: str
    is_required: bool
    about: str


@dataclass(frozen=True, slots=True)
class OperationReference:
    """A method of a path and the fields that it takes.

    `body` and `answer` are the schemas of its body and answer, "" for none and for a stream.
    """

    method: str
    path: str
    summary: str
    fields: tuple[Field, ...]
    body: str
    answer: str


def render_reference(description: Mapping[str, Any]) -> Markup:
    """Return the main part of the page for an OpenAPI description."""
    schemas: Mapping[str, Any] = description["components"]["schemas"]
    operations = list(_operations(description["paths"], schemas))
    shown = {each.body for each in operations}
    others = {name: _fields(schema) for name, schema in schemas.items() if name not in shown}
    return render("reference.html", {"operations": operations, "schemas": others})


def _operations(
    paths: Mapping[str, Any], schemas: Mapping[str, Any]
) -> Iterator[OperationReference]:
    for path, methods in paths.items():
        for method, each in methods.items():
            fields = [
                _field(given["name"], given["schema"], is_required=given["required"])
                for given in each.get("parameters", ())
            ]
            content = each.get("requestBody", {}).get("content", {})
            body = _named(content["application/json"]["schema"]) if content else ""
            fields += _fields(schemas[body]) if body else []
            (answer,) = each["responses"]["200"]["content"].values()
            yield OperationReference(
                method.upper(), path, each["summary"], tuple(fields), body, _named(answer["schema"])
            )


def _fields(schema: Mapping[str, Any]) -> list[Field]:
    required = schema.get("required", ())
    return [
        _field(name, each, is_required=name in required)
        for name, each in schema.get("properties", {}).items()
    ]


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> Field:
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    about = schema.get("description") or (choices[0].get("description", "") if choices else "")
    default = schema.get("default")
    said = f" Default: {json.dumps(default)}." if default not in (None, "", []) else ""
    return Field(name, _type(schema), _named(schema), is_required, f"{about}{said}".strip())


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema in words, such as "list of text" or "bm25 or dense"."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    if "anyOf" in schema:
        choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any value")
    if within := _within(schema):
        return f"{'list' if kind == 'array' else 'object'} of {_type(within[0])}"
    return str({"string": "text", "integer": "whole number", "array": "list"}.get(kind, kind))


def _named(schema: Mapping[str, Any]) -> str:
    """Return the name of the schema that one refers to, itself or within, or ""."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_REFERENCE)
    return next(filter(None, map(_named, (*_within(schema), *schema.get("anyOf", ())))), "")


def _within(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas of the items of a list or of the values of an object."""
    each = [*schema.get("prefixItems", ()), schema.get("items"), schema.get("additionalProperties")]
    return [within for within in each if isinstance(within, Mapping) and within]
