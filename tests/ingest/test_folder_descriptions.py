"""Descriptions of folders (`[folders]` of crx.toml): in outlines, with hits, and after an edit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from zipped import zipped

import crx
from crx.config import trust
from crx.config._folder_descriptions import NO_DESCRIPTIONS, FolderDescriptions
from crx.config._resolve import ConfigWarning, resolve
from crx.errors import UsageError
from crx.ingest.describe_folders import redescribed

CONTRACT = "# ACME\n\nThe term is five years.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    for name in ("contracts/2023/a.md", "contracts/2023/old/b.md", "notes/c.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{CONTRACT}\nThis is {name}.")
    monkeypatch.chdir(folder)
    return folder


def index(project: Path, descriptions: dict[str, str]) -> crx.Index:
    lines = [f'"{folder}" = "{text}"' for folder, text in descriptions.items()]
    (project / "crx.toml").write_text("\n".join(["[folders]", *lines, ""]))
    index = crx.open(project / ".crx", settings={"embedder": "hashed"})
    index.add(project / "contracts", project / "notes")
    return index


def outlines(index: crx.Index) -> dict[str, str]:
    chunks = [
        chunk
        for row in index.store.documents()
        for chunk in index.store.chunks(index.store.chunk_keys(row.doc))
    ]
    return {Path(chunk.uri).name: chunk.outline.partition(" | ")[0] for chunk in chunks}


def chunk_keys(index: crx.Index) -> dict[str, list[int]]:
    """Return the keys of the chunks of each document, which are new when it is put again."""
    keys = index.store.chunk_keys
    return {Path(row.uri).name: keys(row.doc).tolist() for row in index.store.documents()}


def test_a_description_goes_into_outlines_and_is_shown_with_hits(project: Path) -> None:
    found = index(project, {"contracts/2023": "signed supply contracts", "notes": "drafts"})
    assert outlines(found)["a.md"].startswith("signed supply contracts > ACME")
    assert outlines(found)["b.md"].startswith("signed supply contracts > ACME")
    assert outlines(found)["c.md"].startswith("drafts > ACME")
    best = found.search("supply contracts term five years")[0]
    assert best.folder == "signed supply contracts"


def test_the_innermost_folder_describes_a_document(project: Path) -> None:
    found = index(project, {"contracts": "contracts", "contracts/2023/old": "expired contracts"})
    assert outlines(found)["a.md"].startswith("contracts > ACME")
    assert outlines(found)["b.md"].startswith("expired contracts > ACME")
    assert outlines(found)["c.md"].startswith("ACME")


def test_an_edit_rewrites_the_documents_below_the_folder_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = index(project, {"contracts/2023": "supply contracts"})
    before = chunk_keys(first)
    monkeypatch.setattr("crx.ingest._worker.isolated_reader.IsolatedReader.submit", None)
    again = index(project, {"contracts/2023": "signed supply contracts"})  # reads no file
    after = chunk_keys(again)
    assert {name for name in before if before[name] != after[name]} == {"a.md", "b.md"}
    assert outlines(again)["b.md"].startswith("signed supply contracts > ACME")
    assert again.store.stats()["pending"] == 0  # the vectors follow
    assert chunk_keys(index(project, {"contracts/2023": "signed supply contracts"})) == after
    removed = index(project, {})
    assert outlines(removed)["a.md"].startswith("ACME")
    assert chunk_keys(removed)["c.md"] == before["c.md"]


def test_without_descriptions_no_document_is_read_for_them(project: Path) -> None:
    class Unread:
        def metadata_fields(self) -> set[str]:
            return {"path"}

    found = index(project, {})
    descriptions = resolve(folder=project).descriptions
    assert descriptions.project
    assert "folder_description" not in found.store.metadata_fields()
    assert not [*redescribed(Unread(), descriptions)]  # type: ignore[arg-type]


def test_a_pass_reads_no_document_for_descriptions_that_all_have(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptions = {"notes": "drafts"}
    index(project, descriptions).close()
    reads: list[object] = []

    def read_documents(*given: object) -> list[object]:
        reads.append(given)
        return []

    monkeypatch.setattr("crx.ingest.write.redescribed", read_documents)
    (project / "notes" / "d.md").write_text("# New\n\nA text.")
    again = index(project, descriptions)
    assert outlines(again)["d.md"].startswith("drafts > New")
    again.close()
    assert reads == []
    index(project, {"notes": "sketches"}).close()
    assert len(reads) == 1


def test_what_a_run_from_elsewhere_adds_is_described_by_the_next_of_the_project(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(project, {"notes": "drafts"}).close()
    (project / "notes" / "d.md").write_text("# New\n\nA text.")
    monkeypatch.chdir(tmp_path)
    with crx.open(project / ".crx") as elsewhere:
        elsewhere.add(project / "notes")
        assert outlines(elsewhere)["d.md"].startswith("New")
    monkeypatch.chdir(project)
    assert outlines(index(project, {"notes": "drafts"}))["d.md"].startswith("drafts > New")


def test_the_innermost_project_describes_a_document_wherever_a_run_is_made(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "contracts"
    (inner / "crx.toml").write_text('[folders]\n"2023" = "signed contracts"\n')
    monkeypatch.chdir(inner)
    with crx.open(project / ".crx", settings={"embedder": "hashed"}) as index_of_inner:
        index_of_inner.add(inner)
    monkeypatch.chdir(project)
    found = index(project, {"contracts": "old contracts", "notes": "drafts"})
    assert outlines(found)["a.md"].startswith("signed contracts > ACME")
    assert outlines(found)["c.md"].startswith("drafts > ACME")


def test_what_is_added_in_part_from_elsewhere_is_described_by_the_next_run_of_the_project(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = project / "notes" / "d.zip"
    archive.write_bytes(zipped({"a.md": b"# A\n\nA text.", "../b.md": b"no"}))
    index(project, {"notes": "drafts"}).close()
    archive.write_bytes(zipped({"a.md": b"# A\n\nA.", "d.md": b"# New\n\nB.", "../b.md": b"no"}))
    monkeypatch.chdir(tmp_path)
    with crx.open(project / ".crx") as elsewhere:
        elsewhere.add(project / "notes")
        assert outlines(elsewhere)["d.zip#d.md"].startswith("New")
    monkeypatch.chdir(project)
    again = outlines(index(project, {"notes": "drafts"}))
    assert again["d.zip#d.md"].startswith("drafts > New")


def test_a_folder_that_no_longer_describes_itself_is_described_by_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "contracts" / "crx.toml"
    inner.write_text('[folders]\n"2023" = "signed contracts"\n')
    monkeypatch.chdir(inner.parent)
    with crx.open(project / ".crx", settings={"embedder": "hashed"}) as first:
        first.add(inner.parent)
    monkeypatch.chdir(project)
    found = index(project, {"contracts": "old contracts"})
    assert outlines(found)["a.md"].startswith("signed contracts > ACME")
    inner.unlink()
    found.add(project / "contracts")  # by the same object, as a long run does it
    assert outlines(found)["a.md"].startswith("old contracts > ACME")
    keys = chunk_keys(found)
    assert chunk_keys(index(project, {"contracts": "old contracts"})) == keys


def test_a_run_from_elsewhere_leaves_descriptions_as_they_are(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(project, {"notes": "drafts"}).close()
    monkeypatch.chdir(tmp_path)
    (project / "notes" / "c.md").write_text("# Changed\n\nAnother text.")
    again = crx.open(project / ".crx")
    again.add(project / "notes")
    assert outlines(again)["c.md"].startswith("drafts > Changed")


def test_a_document_does_not_describe_its_folder_itself(project: Path) -> None:
    (project / "notes" / "c.md").write_text("---\nfolder_description: trust me\n---\n# C\n\nText.")
    assert outlines(index(project, {}))["c.md"].startswith("C")


def test_a_file_that_is_moved_gets_the_description_of_its_folder(project: Path) -> None:
    descriptions = {"notes": "drafts", "contracts": "contracts"}
    index(project, descriptions).close()
    (project / "notes" / "c.md").rename(project / "contracts" / "c.md")
    assert outlines(index(project, descriptions))["c.md"].startswith("contracts > ACME")


def test_a_description_is_one_line_without_controls(project: Path) -> None:
    toml = '[folders]\nnotes = "a\\u001b[31m red\\n\\tline \\u202e x"\n'
    (project / "crx.toml").write_text(toml)
    (description,) = resolve(folder=project).descriptions.by_folder.values()
    assert description == "a [31m red line x"


@pytest.mark.parametrize("value", ['"' + "x" * 201 + '"', "3", '{ a = "b" }'])
def test_a_wrong_description_is_refused(project: Path, value: str) -> None:
    (project / "crx.toml").write_text(f"[folders]\nnotes = {value}\n")
    with pytest.raises(UsageError, match=r"crx\.toml: \[folders\]"):
        resolve(folder=project)


def test_folders_outside_the_files_own_are_described_once_it_is_trusted(
    project: Path, tmp_path: Path
) -> None:
    (project / "crx.toml").write_text('[folders]\n"../other" = "not theirs"\nnotes = "drafts"\n')
    with pytest.warns(ConfigWarning, match=r"ignored \[folders\], because the file is not trusted"):
        assert not resolve(folder=project).descriptions
    trust(project / "crx.toml")
    described = resolve(folder=project).descriptions
    assert described.of(f"{tmp_path}/other/x.md", present="") == "not theirs"


def presents(folder: Path) -> bool:
    """Return whether a file in `sub` keeps its description, because `sub` describes itself."""
    descriptions = FolderDescriptions({str(folder): "outer"}, str(folder))
    return descriptions.of(f"{folder}/sub/a.txt", present="inner") == "inner"


@pytest.mark.parametrize(
    ("text", "describes"),
    [
        ('[folders]\n"." = "x"', True),
        ('["folders"]\n"." = "x"', True),
        ('folders = { "." = "x" }', True),
        ('folders."." = "x"', True),
        ('top_k = 3\na = """\n[folders]\n"""', False),
        ("[folders", False),
        ("[folders]\nx." + "a." * 20_000 + "a = 1", False),
        ("[folders]\nx = " + "[" * 200_000, False),
        ("#" * 1_000_000 + "\n[folders]", False),
    ],
    ids=["table", "quoted", "inline", "dotted", "string", "damaged", "dots", "deep", "long"],
)
def test_a_folder_describes_itself_by_a_table_of_its_file(
    tmp_path: Path, text: str, *, describes: bool
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "crx.toml").write_text(text)
    start = time.process_time()
    assert presents(tmp_path) == describes
    assert time.process_time() - start < 1


def test_a_settings_file_in_the_tree_is_read_only_if_it_is_a_file_within(tmp_path: Path) -> None:
    folder, sub = tmp_path / "project", tmp_path / "project" / "sub"
    sub.mkdir(parents=True)
    os.mkfifo(sub / "crx.toml")
    assert not presents(folder)
    for target in ("/dev/zero", sub / "crx.toml", tmp_path / "outside.toml"):
        (sub / "crx.toml").unlink()
        (sub / "crx.toml").symlink_to(target)
        (tmp_path / "outside.toml").write_text('[folders]\n"." = "x"')
        assert not presents(folder)
    (sub / "crx.toml").unlink()
    (sub / "own.toml").write_text('[folders]\n"." = "x"')
    (sub / "crx.toml").symlink_to("own.toml")
    assert presents(folder)


def test_without_descriptions_no_settings_file_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crx.config._folder_descriptions.find_toml", None)
    assert NO_DESCRIPTIONS.of("/a/b.txt", present="inner") == "inner"
