"""The file operations of a process, as `strace` saw them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# System calls that change files, and those that are needed to understand them.
_CALLS = (
    "open,openat,creat,write,pwrite64,writev,pwritev,ftruncate,truncate,rename,renameat,renameat2,"
    "unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,lseek,link,linkat,copy_file_range,fallocate"
)
_LINE = re.compile(r"^(\d+) +(.*)$")
_UNFINISHED = re.compile(r"^(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(?:<[^>]*>)?(?: \w+ \(.*\))?$")
_BYTES = re.compile(r"^(?:\\x[0-9a-f]{2})*$")

Kind = Literal["create", "write", "truncate", "rename", "remove", "folder", "sync", "mark"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of a file, a sync, or a mark; `path` is below the recorded folder.

    `other` is the new path of a rename. `at` is the offset of a write or the size of a truncation.
    """

    kind: Kind
    path: str
    data: bytes = b""
    at: int = 0
    other: str = ""


def record(
    arguments: list[str], *, folder: Path, marks: Path, environ: dict[str, str]
) -> list[Operation]:
    """Run a Python program under `strace`; return what it did in a folder, and its marks."""
    trace = folder.with_name("trace.txt")
    command = ["strace", "-f", "-y", "-xx", "-s", "100000000", "-e", f"trace={_CALLS}"]
    command += ["-o", str(trace), sys.executable, *arguments]
    # Compiled modules are not written: the trace is of the index alone.
    environ = {**os.environ, **environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environ, check=True, capture_output=True)
    try:
        return list(_Parser(folder, marks).parse(trace))
    finally:
        trace.unlink()


class _Parser:
    """Turns the lines of a trace into operations."""

    def __init__(self, folder: Path, marks: Path) -> None:
        self._folder = str(folder)
        self._marks = str(marks)
        self._offsets: dict[int, int] = {}
        self._known: set[str] = set()

    def parse(self, trace: Path) -> Iterator[Operation]:
        begun: dict[str, str] = {}
        with open(trace, encoding="ascii") as lines:
            for line in lines:
                found = _LINE.match(line.rstrip("\n"))
                assert found is not None, line[:200]
                process, text = found.groups()
                if part := _UNFINISHED.match(text):
                    begun[process] = part[1]
                    continue
                if part := _RESUMED.match(text):
                    text = begun.pop(process) + part[1]
                # A call that failed, and the lines of signals and exits, changed nothing.
                if (called := _CALL.match(text)) and int(called[3]) >= 0:
                    yield from self._operation(called[1], _split(called[2]), int(called[3]))

    def _operation(self, name: str, words: list[str], result: int) -> Iterator[Operation]:
        match name:
            case "open" | "openat" | "creat":
                yield from self._open(words[1 if name == "openat" else 0 :], result)
            case "write" | "pwrite64":
                yield from self._write(words, result)
            case "lseek":
                self._offsets[_number(words[0])] = result
            case "fsync" | "fdatasync":
                yield from self._on("sync", _path(words[0]))
            case "ftruncate":
                yield from self._on("truncate", _path(words[0]), at=int(words[1]))
            case "rename" | "renameat" | "renameat2":
                old, new = _paths(words)
                yield from self._on("rename", old, other=self._below(new) or "")
            case "unlink" | "rmdir" | "unlinkat":
                yield from self._on("remove", _paths(words)[0])
            case "mkdir" | "mkdirat":
                yield from self._on("folder", _paths(words)[0])
            case _:
                assert self._folder.encode() not in _text(" ".join(words)), (name, words)

    def _open(self, words: list[str], descriptor: int) -> Iterator[Operation]:
        path, flags = os.path.abspath(_text(words[0]).decode()), words[1] if len(words) > 1 else ""
        self._offsets[descriptor] = 0
        if self._below(path) is None or "O_DIRECTORY" in flags:
            return
        if "O_CREAT" in flags and path not in self._known:
            self._known.add(path)
            yield from self._on("create", path)
        if "O_TRUNC" in flags:
            yield from self._on("truncate", path)

    def _write(self, words: list[str], written: int) -> Iterator[Operation]:
        path, data = _path(words[0]), _text(words[1])[:written]
        if path == self._marks:
            yield Operation("mark", "", data=data)
            return
        descriptor = _number(words[0])
        at = int(words[3]) if len(words) == 4 else self._offsets.get(descriptor, 0)
        if len(words) == 3:
            self._offsets[descriptor] = at + written
        yield from self._on("write", path, data=data, at=at)

    def _on(
        self, kind: Kind, path: str, *, data: bytes = b"", at: int = 0, other: str = ""
    ) -> Iterator[Operation]:
        below = self._below(path)
        if kind == "remove" or kind == "rename":
            self._known.discard(path)
        if kind == "rename":
            self._known.add(os.path.join(self._folder, other))
        if below is not None:
            yield Operation(kind, below, data, at, other)

    def _below(self, path: str) -> str | None:
        """Return a path relative to the folder, None for one elsewhere."""
        if path == self._folder:
            return ""
        return path[len(self._folder) + 1 :] if path.startswith(self._folder + "/") else None


def _split(arguments: str) -> list[str]:
    """Return the arguments of a call; a text is hexadecimal, so it holds no comma."""
    return [each.strip() for each in arguments.split(", ")]


def _text(word: str) -> bytes:
    text = word.strip('"')
    return bytes.fromhex(text.replace("\\x", "")) if _BYTES.match(text) else text.encode()


def _number(word: str) -> int:
    return int(word.partition("<")[0])


def _path(word: str) -> str:
    """Return the path of a descriptor."""
    return _text(word.partition("<")[2].rpartition(">")[0]).decode(errors="replace")


def _paths(words: list[str]) -> list[str]:
    """Return the paths among arguments, each relative to the descriptor before it."""
    found = []
    folder = ""
    for word in words:
        if word.startswith('"'):
            found.append(os.path.normpath(os.path.join(folder, _text(word).decode())))
        elif "<" in word:
            folder = _path(word)
    return found
