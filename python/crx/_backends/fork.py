"""Detection of models that a process inherited through `os.fork()`."""

from __future__ import annotations

import os

from crx.errors import ModelError


class ForkGuard:
    """The process that loaded a model.

    Only the thread that forks exists in the new process. A model that runs on other threads, or on
    a GPU, would wait there for ever.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def inherited(self) -> bool:
        """Whether this process is a fork of the one that loaded the model."""
        return os.getpid() != self._pid

    def check(self, model: str) -> None:
        """Raise `ModelError` in a fork of the process that loaded the model."""
        if self.inherited:
            raise ModelError(
                f"{model}: cannot run in a fork of the process that loaded it; "
                f'load it in the new process, or start processes by "spawn"'
            )
