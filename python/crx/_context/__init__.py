"""Contexts: the outline, prompts, validation, the cache, runs and estimates.

These modules are imported on first access: `crx index` does not need them for unchanged files.
"""

from typing import TYPE_CHECKING

from crx._import_on_access import import_on_access

if TYPE_CHECKING:
    from crx._context import archive, budget, exchange, outline, records, report, run

__all__ = ["archive", "budget", "exchange", "outline", "records", "report", "run"]

__getattr__ = import_on_access(__name__, __all__)
