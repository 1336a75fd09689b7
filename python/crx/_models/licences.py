"""Licences of models: which ones are taken without a question.

Names are the identifiers of model cards on the Hugging Face Hub, in lower case. This is a check
against surprises, not legal advice.
"""

from __future__ import annotations

import re

from crx.errors import UsageError

UNKNOWN = "unknown"

_PERMISSIVE = re.compile(
    r"mit(-0)?|apache-2\.0|bsd(-[23]-clause(-clear)?)?|isc|0bsd|zlib|unlicense|wtfpl|bsl-1\.0"
    r"|ms-pl|postgresql|ncsa|afl-3\.0|ecl-2\.0|artistic-2\.0|cc0-1\.0|cc-by-[234]\.0|cdla-permissive-[12]\.0"
)
_NON_COMMERCIAL = re.compile(r"(^|[-_. ])(nc|non-?commercial|research-only)([-_. ]|$)")


def is_permissive(licence: str) -> bool:
    """Return whether a licence is known to allow any use, if its notice is kept."""
    return _PERMISSIVE.fullmatch(licence.lower()) is not None


def forbids_commercial_use(licence: str) -> bool:
    """Return whether the name of a licence says that it forbids commercial use."""
    return _NON_COMMERCIAL.search(licence.lower()) is not None


def require_accepted(name: str, licence: str, accepted: str | None) -> None:
    """Raise `UsageError` if a licence is not permissive and was not accepted by its name."""
    if not is_permissive(licence):
        _require_same(name, licence or UNKNOWN, accepted)


def require_accepted_if_non_commercial(name: str, licence: str, accepted: str | None) -> None:
    """Raise `UsageError` if a licence forbids commercial use and was not accepted by its name."""
    if forbids_commercial_use(licence):
        _require_same(name, licence, accepted)


def _require_same(name: str, licence: str, accepted: str | None) -> None:
    if (accepted or "").lower() == licence.lower():
        return
    if licence == UNKNOWN:
        why = "its licence is unknown"
    elif forbids_commercial_use(licence):
        why = f"its licence, {licence}, forbids commercial use"
    else:
        why = f"its licence, {licence}, is not among the permissive ones that crx knows"
    raise UsageError(f"{name}: {why}; if it allows your use: --accept-licence {licence}")
