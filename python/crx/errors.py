"""Everything crx raises, and the exit code of each.

- CrxError
  - UsageError (2)
    - NotAnIndex
    - Offline
  - InputError (3)
    - NotText
  - IndexFailure (4)
    - Damaged
    - Incompatible
  - Locked (5)
  - NoRoom (6)
  - SystemFailure (6)
  - ModelError (7)
  - BudgetSpent (0)

A message is one line, lower case: the thing, the fact, the next step. A bad argument of a
function is a `ValueError`.
"""

from __future__ import annotations

from typing import ClassVar


class CrxError(Exception):
    """The root of the tree. `exit_code` is what the command line exits with."""

    exit_code: ClassVar[int] = 1


class UsageError(CrxError):
    """The command or a setting is wrong, or a path does not exist."""

    exit_code = 2


class NotAnIndex(UsageError):
    """The path is not an index folder."""


class Offline(UsageError):
    """`CRX_OFFLINE` is set and the command's purpose is the network."""


class InputError(CrxError):
    """An input could not be read. The message is the reason alone; the caller names the file."""

    exit_code = 3


class NotText(InputError):
    """The input is no text, or holds none. Found in a folder it is skipped and counted, unless its
    name promises text; named outright, it failed."""


class IndexFailure(CrxError):
    """The index cannot be used as it is."""

    exit_code = 4


class Damaged(IndexFailure):
    """A row or a file of the index does not match its hash."""


class Incompatible(IndexFailure):
    """The index was built with another format, embedder, splitter or context than asked for."""


class Locked(CrxError):
    """Another process is writing to the index."""

    exit_code = 5


class NoRoom(CrxError):
    """A disk is full or read-only, or memory ran out."""

    exit_code = 6


class SystemFailure(CrxError):
    """The operating system or a library refused."""

    exit_code = 6


class ModelError(CrxError):
    """A model is missing, damaged, of an unknown kind, or failed."""

    exit_code = 7


class BudgetSpent(CrxError):
    """The run stopped where it was told to; what was done before is kept."""

    exit_code = 0
