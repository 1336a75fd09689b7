"""`POST /retrieval`: Dify's external knowledge API. `knowledge_id` is the name of an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from crx.errors import UsageError
from crx_serve.compatible.passages import Attribute, above, attributes_of, name_of, score_of
from crx_serve.operation import Operation
from crx_serve.requests import MAX_HITS, MAX_QUERY_CHARS, Filter, SearchQuery
from crx_serve.service import SearchService

# Operators of a condition by those of a filter.
_OPERATORS = {
    "is": "=",
    "=": "=",
    "is not": "!=",
    "≠": "!=",
    ">": ">",
    "<": "<",
    "≥": ">=",
    "≤": "<=",
    "before": "<",
    "after": ">",
    "start with": "prefix",
    "contains": "glob",
    "end with": "glob",
    "in": "in",
}


class DifySetting(Struct, frozen=True, kw_only=True):
    """How many records are wanted, and the score that they must have."""

    top_k: Annotated[int, Meta(ge=1, le=MAX_HITS)] = 5
    score_threshold: float | None = None


class DifyCondition(Struct, frozen=True, kw_only=True):
    """A condition on one field of a document's metadata; a list of names means any of them."""

    name: str | list[str]
    comparison_operator: str
    value: Any = None


class DifyConditions(Struct, frozen=True, kw_only=True):
    """Conditions on the metadata of documents."""

    logical_operator: Literal["and", "or"] = "and"
    conditions: list[DifyCondition] = field(default_factory=list)


class DifyQuery(Struct, frozen=True, kw_only=True):
    """A request of Dify."""

    knowledge_id: str
    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    retrieval_setting: DifySetting
    metadata_condition: DifyConditions | None = None


class DifyRecord(Struct, frozen=True, kw_only=True):
    """A passage for Dify."""

    content: str
    score: float
    title: str
    metadata: dict[str, Attribute]


class DifyRecords(Struct, frozen=True, kw_only=True):
    """The answer to Dify."""

    records: list[DifyRecord]


def retrieve(service: SearchService, request: DifyQuery, _: Mapping[str, str]) -> DifyRecords:
    """Return the records for a request of Dify."""
    setting = request.retrieval_setting
    found = service.search(
        SearchQuery(
            query=request.query,
            index=request.knowledge_id,
            limit=setting.top_k,
            where=_filter(request.metadata_condition),
        )
    )
    return DifyRecords(
        records=[
            DifyRecord(
                content=each.text,
                score=score_of(each),
                title=each.title or name_of(each),
                metadata=attributes_of(each),
            )
            for each in above(setting.score_threshold, found.passages, service)
        ]
    )


def _filter(conditions: DifyConditions | None) -> Filter | None:
    if conditions is None or not conditions.conditions:
        return None
    if conditions.logical_operator == "or" and len(conditions.conditions) > 1:
        raise UsageError("metadata_condition: or is not supported; use and, or the operator in")
    where: dict[str, dict[str, Any]] = {}
    for each in conditions.conditions:
        operator, value = _condition(each)
        if isinstance(each.name, list) and len(each.name) != 1:
            raise UsageError("metadata_condition: a condition has one name here")
        name = each.name if isinstance(each.name, str) else each.name[0]
        where.setdefault(name, {})[operator] = value
    return {**where}


def _condition(condition: DifyCondition) -> tuple[str, Any]:
    name, value = condition.comparison_operator, condition.value
    if name not in _OPERATORS:
        raise UsageError(
            f'metadata_condition: no operator "{name[:50]}" here; there is {", ".join(_OPERATORS)}'
        )
    if name in ("contains", "end with"):
        value = f"**{_literal(str(value))}" + ("**" if name == "contains" else "")
    elif name == "in" and isinstance(value, str):
        value = [each.strip() for each in value.split(",")]
    return _OPERATORS[name], value


def _literal(text: str) -> str:
    """Return a glob that matches this text and no other."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in text)


OPERATION = Operation(
    method="POST",
    path="/retrieval",
    summary="Search as Dify's external knowledge API does.",
    body=DifyQuery,
    answer=DifyRecords,
    run=retrieve,
)
