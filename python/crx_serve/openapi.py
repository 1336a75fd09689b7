"""OpenAPI description of the server, from the Structs that validate its requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from crx_serve.failures import Failed
from crx_serve.operation import Operation
from crx_serve.requests import AskQuery, PageQuery
from crx_serve.responses import AnswerCitation, FinishedAnswer

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")


def describe_operations(operations: Sequence[Operation]) -> dict[str, object]:
    """Return the OpenAPI 3.1 description of the JSON operations and of the other routes."""
    bodies = [each.body for each in operations]
    answers = [each.answer for each in operations]
    types = [*bodies, *answers, AskQuery, PageQuery, AnswerCitation, FinishedAnswer, Failed]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    described = dict(zip(map(_name, types), schemas, strict=True))
    paths: dict[str, dict[str, object]] = {}
    for each in operations:
        paths.setdefault(_PARAMETER.sub(r"{\1}", each.path), {})[each.method.lower()] = _describe(
            each, described, components
        )
    paths["/v1/ask"] = {"post": _describe_ask(described)}
    paths["/v1/documents/{id}/page"] = {"get": _describe_page(described, components)}
    paths["/health"] = {"get": _describe_health(described)}
    paths["/metrics"] = {"get": _describe_metrics(described)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "crx", "version": version("crx")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _describe(
    operation: Operation, schemas: dict[str, Any], components: dict[str, Any]
) -> dict[str, object]:
    described: dict[str, object] = {
        "summary": operation.summary,
        "responses": _responses("application/json", schemas[_name(operation.answer)], schemas),
    }
    in_path = _PARAMETER.findall(operation.path)
    if operation.method == "POST":
        described["requestBody"] = _body(schemas[_name(operation.body)])
        described["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in in_path
        ]
        return described
    described["parameters"] = _parameters(components[operation.body.__name__], in_path)
    return described


def _parameters(struct: dict[str, Any], in_path: Sequence[str]) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in struct.get("required", ()),
            "schema": schema,
        }
        for name, schema in struct["properties"].items()
    ]


def _describe_page(schemas: dict[str, Any], components: dict[str, Any]) -> dict[str, object]:
    return {
        "summary": "Draw a page of a PDF, with a span of its text marked.",
        "parameters": _parameters(components[PageQuery.__name__], ["id"]),
        "responses": _responses("image/png", {"type": "string", "format": "binary"}, schemas),
    }


def _describe_ask(schemas: dict[str, Any]) -> dict[str, object]:
    return {
        "summary": "Answer a question, as server-sent events: delta, citation, delay, done, error.",
        "requestBody": _body(schemas[_name(AskQuery)]),
        "responses": _responses("text/event-stream", {"type": "string"}, schemas),
    }


def _describe_health(schemas: dict[str, Any]) -> dict[str, object]:
    status = {"type": "string", "enum": ["ready", "loading models"]}
    answer = {"type": "object", "properties": {"status": status}, "required": ["status"]}
    return {
        "summary": "Return whether the models are loaded.",
        "parameters": [],
        "responses": _responses("application/json", answer, schemas),
    }


def _describe_metrics(schemas: dict[str, Any]) -> dict[str, object]:
    return {
        "summary": "Return requests, times by stage, sizes, lag and cache hits, for Prometheus.",
        "parameters": [],
        "responses": _responses("text/plain", {"type": "string"}, schemas),
    }


def _body(schema: object) -> dict[str, object]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _responses(media_type: str, schema: object, schemas: dict[str, Any]) -> dict[str, object]:
    failed = {"application/json": {"schema": schemas[_name(Failed)]}}
    return {
        "200": {"description": "The answer.", "content": {media_type: {"schema": schema}}},
        "default": {"description": "A failure.", "content": failed},
    }


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))
