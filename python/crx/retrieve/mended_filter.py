"""Values of a filter, in the form in which documents have them.

A person writes `ext=.MD` or `from=zofia`; documents have `md` and `zofia.nowak@example.org`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

Condition: TypeAlias = object
# Fields that name people, of which a part in any case is enough.
_PEOPLE = ("author", "from", "to")
# A longer name is compared as it is: each of its letters is four characters of a glob, whose
# longest has 1,000.
_LONGEST_NAME = 200
_WILDCARDS = "*?["


def mend_filter(where: Mapping[str, Condition]) -> dict[str, Condition]:
    """Return a filter in which `ext` has no dot, and a part of a person's name matches."""
    return {field: _mend(field, condition) for field, condition in where.items()}


def _mend(field: str, condition: Condition) -> Condition:
    if field == "ext":
        return _apply(condition, _bare_extension)
    if field in _PEOPLE and isinstance(condition, str):
        return _contains(condition)
    if field in _PEOPLE and isinstance(condition, Mapping) and condition.keys() == {"="}:
        return _contains(condition["="])
    return condition


def _apply(condition: Condition, mend: Callable[[Condition], Condition]) -> Condition:
    """Return a condition with each of its values mended."""
    if isinstance(condition, Mapping):
        return {sign: _apply(value, mend) for sign, value in condition.items()}
    if isinstance(condition, list | tuple):
        return [mend(value) for value in condition]
    return mend(condition)


def _bare_extension(value: Condition) -> Condition:
    return value.removeprefix(".").lower() if isinstance(value, str) else value


def _contains(value: Condition) -> Condition:
    """Return the condition of a text that has this one somewhere, in any case."""
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        return {"=": value}
    return {"glob": f"**{''.join(map(_any_case, value.strip('*')))}**"}


def _any_case(sign: str) -> str:
    lower, upper = sign.lower(), sign.upper()
    if lower != upper and len(lower) == len(upper) == 1:
        return f"[{lower}{upper}]"
    return f"[{sign}]" if sign in _WILDCARDS else sign
