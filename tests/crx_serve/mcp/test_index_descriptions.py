"""What agents are told of indexes: from which file it comes, and that its quotes are closed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp")

from served import SETTINGS

from crx_serve.mcp.server import describe_server
from crx_serve.served_index import open_indexes
from crx_serve.service import SearchService

OF_DOCUMENTS = "1 document, of kind markdown (1)"


def test_a_crx_toml_that_is_a_link_out_of_its_folder_describes_no_index(
    service: SearchService, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "other.toml").write_text('description = "Not of this folder."\n')
    (folders[0].parent / "crx.toml").symlink_to(tmp_path / "other.toml")
    assert service.description("sea").startswith(OF_DOCUMENTS)


def test_the_settings_of_the_process_describe_no_index(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "crx.toml").write_text('description = "Notes of here."\n')
    monkeypatch.chdir(here)
    for variable in ("", "Notes of the variable."):
        if variable:
            monkeypatch.setenv("CRX_DESCRIPTION", variable)
        made = SearchService(open_indexes(list(map(str, folders)), settings=SETTINGS))
        for name in made.names:
            assert made.description(name).startswith(OF_DOCUMENTS)
        made.close()


class Described:
    """A service of many indexes with a long description each."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def description(self, name: str) -> str:
        return "x" * 300


@pytest.mark.parametrize("count", [1, 2, 7, 12, 13, 100, 1000])
def test_a_description_is_never_cut_within_its_quotes(count: int) -> None:
    for length in range(1, 60):
        names = [f"{n:0{length}}" for n in range(count)]
        told = describe_server(Described(*names))  # type: ignore[arg-type]
        listed = told.partition("indexes: ")[2].partition(". Call")[0]
        entries = listed.split(", ")
        if entries[-1].startswith("and "):
            assert entries.pop() == f"and {count - len(entries)} more"
        assert [entry.partition(" (")[0] for entry in entries] == names[: len(entries)]
        assert all(entry.endswith('")') for entry in entries if "(" in entry)
        assert len(told) <= 2048
