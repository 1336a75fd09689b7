"""The net under a reader: an improvement or a part that fails is left out, and its name is kept.

A reader has a plain form of the text and improvements of it, such as moved footnotes. It also has
parts, such as chapters and attachments. Whatever one of them raises costs that one alone; the
metadata of the document names it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeVar

from crx.errors import InputError
from crx.ingest.readers.file_title import squeeze
from crx.types import Scalar

# The metadata of a document: the names of what was left out of it, and why, in the same order.
LEFT_OUT, LEFT_OUT_REASONS = "left_out", "left_out_reasons"

# Names that the metadata lists; a damaged file may have thousands of bad parts.
_MOST_NAMES = 20
_REASON_CHARS = 200

_Form = TypeVar("_Form")
_Plain = TypeVar("_Plain")


class LeftOut:
    """What was left out of a document, by name, with the reason of its first failure."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def attempt(self, name: str, make: Callable[[], _Form], *, plain: _Plain) -> _Form | _Plain:
        """Return what `make` returns, or `plain` if it raises; then `name` is left out.

        `make` must not return a lazy iterator, which would fail outside.
        """
        try:
            return make()
        except BaseException as failed:
            # A panic of Rust is no `Exception`, and its class has no module.
            if not isinstance(failed, Exception) and type(failed).__name__ != "PanicException":
                raise
            self.add(name, failed)
            return plain

    def add(self, name: str, reason: BaseException | str) -> None:
        """Record that an improvement or a part was left out."""
        if isinstance(reason, BaseException) and not isinstance(reason, InputError):
            reason = f"{type(reason).__name__}: {reason}"
        self._reasons.setdefault(name, squeeze(str(reason))[:_REASON_CHARS])

    def metadata(self) -> dict[str, Scalar | list[Scalar]]:
        """Return the names and the reasons for the document's metadata, nothing if there are none.

        Of many, the first are listed, and a last name says how many more there are.
        """
        if not self._reasons:
            return {}
        names: list[Scalar] = [*islice(self._reasons, _MOST_NAMES)]
        reasons: list[Scalar] = [*islice(self._reasons.values(), _MOST_NAMES)]
        if len(self._reasons) > _MOST_NAMES:
            names.append(f"{len(self._reasons) - _MOST_NAMES} more")
            reasons.append("")
        return {LEFT_OUT: names, LEFT_OUT_REASONS: reasons}

    def describe(self) -> str:
        """Return the first name with its reason, for the error of a document that has no text."""
        name, reason = next(iter(self._reasons.items()))
        return f"{name}: {reason}"

    def lines(self) -> list[str]:
        """Return each name with its reason, for an error."""
        return [f"{name}: {reason}" for name, reason in self._reasons.items()]

    def __bool__(self) -> bool:
        return bool(self._reasons)
