"""Values between the engine and models: prompts, hosts, the work and price of a run, batch jobs.

These modules are imported on first access: `crx index` does not need them for unchanged files.
"""

from typing import TYPE_CHECKING

from crx._import_on_access import import_on_access

if TYPE_CHECKING:
    from crx._services import prompt, service_usage

__all__ = ["prompt", "service_usage"]

__getattr__ = import_on_access(__name__, __all__)
