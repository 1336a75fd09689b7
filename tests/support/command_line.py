"""The command line in this process and in a process or pseudo-terminal of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from crx._cli import run

WHALES = "# Whales\n\nBlue whales eat krill.\n\n## Song\n\nHumpbacks sing for hours.\n"
BREAD = "# Bread\n\nBake at 240 degrees with steam.\n"
BINARY = bytes(range(256)) * 20


@dataclass(frozen=True)
class Done:
    """What a command printed and exited with."""

    code: int
    out: str
    err: str


class Crx:
    """Runs commands in this process, in the current folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Done:
        self._capsys.readouterr()
        code = run([str(each) for each in arguments])
        return Done(code, *self._capsys.readouterr())


MAIN = "from crx._cli import main; main()"


def process(*arguments: object, code: str = MAIN) -> list[str]:
    """Return the words of a command that runs in a process of its own."""
    return [sys.executable, "-c", code, *map(str, arguments)]


def run_process(*arguments: object, env: Mapping[str, str] | None = None) -> Done:
    """Run crx in a process of its own, without a terminal."""
    done = subprocess.run(
        process(*arguments),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Done(done.returncode, done.stdout, done.stderr)


def run_terminal(
    *arguments: object, code: str = MAIN, lines: int = 24, columns: int = 80, typed: str = ""
) -> tuple[int, str]:
    """Run crx in a pseudo-terminal of this size; return its exit code and what was shown.

    `typed` is what the user types, whenever it is read.
    """
    import fcntl
    import pty
    import struct
    import termios

    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    words = process(*arguments, code=code)
    with subprocess.Popen(words, stdin=end, stdout=end, stderr=end) as child:
        os.close(end)
        os.write(terminal, typed.encode())
        shown = b""
        while True:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # Linux: the child has closed its end
                break
            if not data:
                break
            shown += data
    os.close(terminal)
    return child.returncode, shown.decode("utf-8").replace("\r\n", "\n")


def flip(path: Path, at: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def model_store(tmp_path: Path) -> Path:
    """Return a store with one tiny model."""
    from tiny_model import make_model

    from crx._models.store import add_model

    add_model(make_model(tmp_path / "tiny"), into=tmp_path / "store")
    return tmp_path / "store"


def question_set(folder: Path) -> Path:
    """Write a set of one document and one question."""
    place = folder / "set"
    place.mkdir()
    corpus = {"doc_id": "w", "title": "Whales", "text": WHALES}
    gold = [{"any": [{"doc_id": "w", "start": 10, "end": 32}]}]
    query = {"query_id": "1", "query": "what do whales eat", "gold": gold}
    (place / "corpus.jsonl").write_text(json.dumps(corpus) + "\n")
    (place / "queries.jsonl").write_text(json.dumps(query) + "\n")
    return place
