"""Reading of files in a worker process with limits, for formats that are not plain text.

These modules are imported on first access: `crx index` does not need them for unchanged files.
"""

from typing import TYPE_CHECKING

from crx._import_on_access import import_on_access

if TYPE_CHECKING:
    from crx.ingest._worker import isolated_reader

__all__ = ["isolated_reader"]

__getattr__ = import_on_access(__name__, __all__)
