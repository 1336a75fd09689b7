"""JSON Schemas of the tools, from the Structs that validate, in as few tokens as they can be.

A model reads the schemas in every conversation. Left out is what it does not need: titles, lengths
of texts, least and largest numbers, the types of a filter's values, and null as the alternative of
a value that may be left out anyway. Validation is by the Struct.
"""

from __future__ import annotations

from typing import Any

import msgspec

_REFERENCE = "#/$defs/"
# What a person may give and no model needs: rules to leave out, to see what each does.
_HIDDEN = frozenset({"without"})
_LEFT_OUT = frozenset({"title", "maxLength", "minLength", "maximum", "minimum", "minItems"})


def input_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of a tool's arguments; the tool has a description of its own."""
    schema = _compact(_inline(struct))
    return {name: value for name, value in schema.items() if name != "description"}


def output_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of what a tool's answer always has, without descriptions."""
    return _always(_compact(_inline(struct)))


def _inline(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of a Struct with the schemas of the Structs within it."""
    _, components = msgspec.json.schema_components([struct], ref_template=_REFERENCE + "{name}")

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            if reference := value.get("$ref"):
                return resolve(components[reference.removeprefix(_REFERENCE)])
            return {name: resolve(each) for name, each in value.items()}
        return [resolve(each) for each in value] if isinstance(value, list) else value

    resolved: dict[str, Any] = resolve(components[struct.__name__])
    return resolved


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without what a model does not need."""
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            kept[name] = {
                field: _compact(each) for field, each in value.items() if field not in _HIDDEN
            }
        elif name == "anyOf":
            kept |= _compact_choice([each for each in value if each != {"type": "null"}])
        elif name == "items":
            kept[name] = _compact(value)
        elif name == "additionalProperties":
            kept |= {name: False} if value is False else {}
        elif name not in _LEFT_OUT and not (name in ("default", "required") and not value):
            kept[name] = value
    return kept


def _compact_choice(alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    compacted = [_compact(each) for each in alternatives]
    return compacted[0] if len(compacted) == 1 else {"anyOf": compacted}


def _always(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in schema.items() if name != "description"}
    if "properties" in kept:
        required = kept.get("required", ())
        kept["properties"] = {
            field: _always(each) for field, each in kept["properties"].items() if field in required
        }
    if "items" in kept:
        kept["items"] = _always(kept["items"])
    return kept
