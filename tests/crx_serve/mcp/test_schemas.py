"""Schemas of the tools: what models read of the Structs that validate."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer

pytest.importorskip("mcp")

from crx._models.store import find_model
from crx_serve.mcp.tools import READING, WRITING

# Structure of a schema that some clients do not resolve.
_REFERENCES = ("$ref", "$defs")


# Tools for source code, which have a bound of their own.
_CODE = ("outline", "references", "related")


def listed() -> list[dict[str, object]]:
    tools = [tool.describe() for tool in READING + WRITING]
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]


@pytest.mark.parametrize(("is_code", "most"), [(False, 1500), (True, 500)])
def test_the_tools_take_less_than_1500_tokens_and_those_for_code_500(
    *, is_code: bool, most: int
) -> None:
    tools = [tool for tool in listed() if (tool["name"] in _CODE) == is_code]
    text = json.dumps(tools, separators=(",", ":"))
    # A WordPiece tokenizer takes every quote and bracket as a token: a bound for those of models.
    tokenizer = Tokenizer.from_file(str(find_model("crx") / "tokenizer.json"))
    assert len(tokenizer.encode(text, add_special_tokens=False).ids) < most
    assert not any(name in text for name in _REFERENCES)


def test_the_schema_of_fetch_says_what_its_struct_checks() -> None:
    (fetch,) = [tool for tool in listed() if tool["name"] == "fetch"]
    assert fetch["inputSchema"] == {
        "type": "object",
        "properties": {
            "id": {"description": "Id of a document from a search or list.", "type": "string"},
            "start": {"description": "First character to return.", "type": "integer"},
            "end": {
                "description": "End of the characters to return; at most 200,000 are returned.",
                "type": "integer",
            },
            "lines": {"description": "As 3-40.", "type": "string"},
            "page": {"description": "As 7 or slide 3.", "type": "string"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("name", "keys"),
    [("search", {"results"}), ("fetch", {"id", "title", "text", "url", "metadata"})],
)
def test_the_tools_of_connectors_declare_their_answers(name: str, keys: set[str]) -> None:
    (tool,) = [tool for tool in listed() if tool["name"] == name]
    schema = tool["outputSchema"]
    assert isinstance(schema, dict)
    assert set(schema["required"]) == keys
    if name == "search":
        item = schema["properties"]["results"]["items"]
        assert {"id", "title", "url"} <= set(item["required"])


def test_reading_tools_are_marked_read_only_and_refresh_is_not() -> None:
    hints = {tool.name: tool.describe().annotations for tool in READING + WRITING}
    assert {name for name, each in hints.items() if each and each.read_only_hint} == {
        "search",
        "fetch",
        "outline",
        "references",
        "related",
        "list",
        "status",
    }
    assert {each.open_world_hint for each in hints.values() if each} == {False}
