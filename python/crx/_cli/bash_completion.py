"""Completion in bash, which splits words at colons and ends a completed word with a blank."""

from __future__ import annotations

from typing import Any

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from crx.retrieve.query_fields import NAMES

_ADD = "COMPREPLY+=($value)"
# No blank after the name of a field, a folder, and the name of a setting.
_ADD_OPEN = f"""{_ADD}
            [[ $value == *[:/=] ]] && compopt -o nospace"""


@add_completion_class
class _FieldBashComplete(BashComplete):
    """Completes `path:docs` as one word, of which bash replaces what is behind the colon."""

    source_template = BashComplete.source_template.replace(_ADD, _ADD_OPEN)
    _field = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one at it with its field."""
        args, incomplete = super().get_completion_args()
        words = [*args, incomplete]
        at = len(words) - (2 if incomplete == ":" else 3)
        if at >= 0 and words[at] in NAMES and words[at + 1] == ":":
            self._field = f"{words[at]}:"
            return words[:at], self._field + "".join(words[at + 2 :])
        return args, incomplete

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the line of an item, without its field if bash keeps that."""
        return f"{item.type},{item.value.removeprefix(self._field)}"
