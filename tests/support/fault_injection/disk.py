"""A disk that loses power: what a folder may hold after a prefix of its file operations.

What was written to a file is durable after a sync of the file, and its name after a sync of its
folder. Of everything else, a disk may hold nothing, all, zeros, or some of the sectors.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from fault_injection.recording import Operation

SECTOR = 512
# A memory that processes share; SQLite makes it again after a crash.
_NOT_ON_DISK = "-shm"

Loss = Literal["dropped", "kept", "zeroed", "torn"]
LOSSES: tuple[Loss, ...] = get_args(Loss)


@dataclass(slots=True)
class _Node:
    """A file or a folder: its durable content, and the changes since."""

    is_folder: bool = False
    durable: bytes = b""
    changes: list[Operation] = field(default_factory=list)
    # Of a folder: its durable entries, and those that were set or removed (None) since.
    names: dict[str, _Node] = field(default_factory=dict)
    entries: list[tuple[str, _Node | None]] = field(default_factory=list)

    def sync(self) -> None:
        """Make everything durable."""
        self.durable = _applied(self.durable, self.changes)
        self.names = _named(self.names, self.entries)
        self.changes, self.entries = [], []

    def content(self, loss: Loss, chance: random.Random) -> bytes:
        """Return the content after a loss of power."""
        match loss:
            case "dropped":
                return self.durable
            case "kept":
                return _applied(self.durable, self.changes)
            case "zeroed":
                return _applied(self.durable, map(_zeroed, self.changes))
            case "torn":
                sectors = [part for change in self.changes for part in _sectors(change)]
                return _applied(self.durable, [each for each in sectors if chance.random() < 0.5])

    def children(self, loss: Loss, chance: random.Random) -> dict[str, _Node]:
        """Return the entries of a folder after a loss of power."""
        match loss:
            case "dropped":
                return self.names
            case "torn":
                return _named(self.names, self.entries[: chance.randint(0, len(self.entries))])
            case _:
                return _named(self.names, self.entries)


class Disk:
    """The folder that was recorded. It exists durably; with `sync=False` no sync has an effect."""

    def __init__(self, *, sync: bool = True) -> None:
        self._root = _Node(is_folder=True)
        self._syncs = sync

    def apply(self, operation: Operation) -> None:
        """Do one operation."""
        match operation.kind:
            case "create":
                self._link(operation.path, _Node())
            case "folder" if operation.path:
                self._link(operation.path, _Node(is_folder=True))
            case "write" | "truncate":
                if node := self._find(operation.path):
                    node.changes.append(operation)
            case "rename":
                self._link(operation.other, self._find(operation.path))
                self._link(operation.path, None)
            case "remove":
                self._link(operation.path, None)
            case "sync" if self._syncs:
                if node := self._find(operation.path):
                    node.sync()

    def write_to(self, folder: Path, loss: Loss, chance: random.Random) -> None:
        """Write what is left after a loss of power."""
        _write(self._root, folder, loss, chance)

    def _find(self, path: str) -> _Node | None:
        node: _Node | None = self._root
        for name in PurePosixPath(path).parts:
            node = node and _named(node.names, node.entries).get(name)
        return node

    def _link(self, path: str, node: _Node | None) -> None:
        parent = self._find(str(PurePosixPath(path).parent))
        if parent is not None:
            parent.entries.append((PurePosixPath(path).name, node))


def _write(node: _Node, folder: Path, loss: Loss, chance: random.Random) -> None:
    folder.mkdir()
    for name, child in node.children(loss, chance).items():
        if child.is_folder:
            _write(child, folder / name, loss, chance)
        elif not name.endswith(_NOT_ON_DISK):
            (folder / name).write_bytes(child.content(loss, chance))


def _named(
    names: dict[str, _Node], entries: Iterable[tuple[str, _Node | None]]
) -> dict[str, _Node]:
    names = dict(names)
    for name, node in entries:
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node
    return names


def _applied(content: bytes, changes: Iterable[Operation]) -> bytes:
    data = bytearray(content)
    for change in changes:
        end = change.at + len(change.data)
        if len(data) < end or change.kind == "truncate":
            data = (
                data[:end].ljust(end, b"\0")
                if change.kind == "truncate"
                else data.ljust(end, b"\0")
            )
        data[change.at : end] = change.data
    return bytes(data)


def _zeroed(change: Operation) -> Operation:
    return Operation(change.kind, change.path, bytes(len(change.data)), change.at)


def _sectors(change: Operation) -> list[Operation]:
    """Return a write as writes of one sector each."""
    if change.kind == "truncate":
        return [change]
    end = change.at + len(change.data)
    bounds = [change.at, *range((change.at // SECTOR + 1) * SECTOR, end, SECTOR), end]
    return [
        Operation("write", change.path, change.data[start - change.at : stop - change.at], start)
        for start, stop in pairwise(bounds)
    ]
