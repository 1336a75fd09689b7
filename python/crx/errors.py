"""Exceptions of crx, and the exit code of each.

- CrxError
  - UsageError (2)
    - MissingExtra
    - NotAnIndex
    - NotFound
    - Offline
    - Untrusted
  - InputError (3)
    - NotText
      - NothingToRead
  - IndexFailure (4)
    - Damaged
    - Incompatible
  - Locked (5)
  - NoRoom (6)
  - SystemFailure (6)
    - Busy
    - Interrupted
  - ModelError (7)
    - NotInstalled
    - Unavailable
  - BudgetSpent (0)

A message is one lower-case line that names the thing, the fact and the next step. An invalid
argument of a function raises `ValueError`.
"""

from __future__ import annotations

from typing import ClassVar


class CrxError(Exception):
    """The base class of all exceptions of crx. `exit_code` is the exit code of the command line."""

    exit_code: ClassVar[int] = 1


class UsageError(CrxError):
    """A command or a setting is invalid, or a path does not exist."""

    exit_code = 2


class MissingExtra(UsageError):
    """A package is missing that an extra of crx installs; `extra` is its name."""

    def __init__(self, message: str, *, extra: str) -> None:
        super().__init__(message)
        self.extra = extra


class NotAnIndex(UsageError):
    """The path is not an index folder."""


class NotFound(UsageError):
    """A server was asked for an index or a document that it does not have."""


class Offline(UsageError):
    """`CRX_OFFLINE` is set and the command needs the network."""


class Untrusted(UsageError):
    """An index from elsewhere asks for what the user has not allowed it."""


class InputError(CrxError):
    """An input could not be read. The message is only the reason; the caller adds the file."""

    exit_code = 3


class NotText(InputError):
    """The input is not text or contains none.

    A file in a folder is then skipped and counted, unless its suffix is that of a text format. A
    file that was named explicitly counts as failed.
    """


class NothingToRead(NotText):
    """The input was read, and there is no text in it: an empty calendar, slides of pictures.

    It is skipped and counted, whatever its suffix promises.
    """


class IndexFailure(CrxError):
    """The index or the bundle cannot be used in its current state."""

    exit_code = 4


class Damaged(IndexFailure):
    """A row or a file of the index, or a file of a bundle, does not match its hash."""


class Incompatible(IndexFailure):
    """The index differs from what is requested, or a bundle is for another Python or machine."""


class Locked(CrxError):
    """Another process is writing to the index."""

    exit_code = 5


class NoRoom(CrxError):
    """A disk is full or read-only, or memory is exhausted."""

    exit_code = 6


class SystemFailure(CrxError):
    """A call of the operating system or of a library failed."""

    exit_code = 6


class Busy(SystemFailure):
    """A server answers as many questions at a time as it can."""


class Interrupted(SystemFailure):
    """A search was given up: its time was over, or nobody waits for its answer."""


class ModelError(CrxError):
    """A model is missing, damaged or of an unknown kind, or it failed."""

    exit_code = 7


class NotInstalled(ModelError):
    """The model that is named is not on this machine."""


class Unavailable(ModelError):
    """A model's service cannot be reached, or fails also after all retries."""


class BudgetSpent(CrxError):
    """The run reached its budget and stopped; completed work is kept."""

    exit_code = 0


def fact(message: str) -> str:
    """Return an error message without its next step."""
    return message.partition("; ")[0]
