"""`crx show`: which document a name means."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Crx, Done


@pytest.fixture
def papers(tmp_path: Path, crx: Crx, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of three papers, two of them with the same name."""
    monkeypatch.chdir(tmp_path)
    for name in ("own/passport.md", "own/lease.md", "old/lease.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"The text of {name}.")
    assert crx("index", "own", "old", "-q", "--embedder", "none").code == 0


@pytest.mark.usefixtures("papers")
def test_the_end_of_a_path_names_the_document_that_alone_has_it(crx: Crx) -> None:
    assert crx("show", "passport.md") == Done(0, "The text of own/passport.md.\n", "")
    assert crx("show", "old/lease.md") == Done(0, "The text of old/lease.md.\n", "")


@pytest.mark.usefixtures("papers")
def test_a_name_of_several_documents_or_of_none_is_told_with_those_that_are_meant(crx: Crx) -> None:
    both = "2 documents end so: old/lease.md, own/lease.md; give a longer path"
    assert crx("show", "lease.md") == Done(2, "", f"crx: lease.md: {both}\n")
    near = "not in the index; did you mean own/passport.md?"
    assert crx("show", "pasport.md") == Done(2, "", f"crx: pasport.md: {near}\n")
