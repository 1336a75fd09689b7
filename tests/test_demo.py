"""The commands that the demonstration ends with."""

from __future__ import annotations

import re
from pathlib import Path

from benches.demo import REPOSITORY_PATHS, next_commands

from crx._cli import COMMANDS


def test_the_demonstration_names_commands_that_exist(tmp_path: Path) -> None:
    lines = "\n".join(next_commands(tmp_path / "demo.crx"))
    named = re.findall(r"\bcrx (\w+)", lines)
    assert named == ["index", "search", "serve", "mcp"]
    assert set(named) <= COMMANDS.keys()
    assert lines.count(str(tmp_path / "demo.crx")) == 3


def test_the_files_of_the_demonstration_exist() -> None:
    root = Path(__file__).parent.parent
    assert [name for name in REPOSITORY_PATHS if not (root / name).exists()] == []
