"""Answers to questions from passages, with checked citations.

These modules are imported on first access: `crx index` does not need them for unchanged files.
"""

from typing import TYPE_CHECKING

from crx._import_on_access import import_on_access

if TYPE_CHECKING:
    from crx._answer import corpus, prompt, stream

__all__ = ["corpus", "prompt", "stream"]

__getattr__ = import_on_access(__name__, __all__)
