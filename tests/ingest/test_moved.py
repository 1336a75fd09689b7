"""Indexes and documents that are moved, renamed or copied: nothing doubles, no model runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from crx_process import CrxHere
from database import run_sql

TEXTS = {
    "docs/whales.md": "# Whales\n\nKrill is what a whale eats.\n",
    "docs/sub/bread.md": "# Bread\n\nFlour and water make bread.\n",
    "docs/records.jsonl": '{"id": "one", "text": "Salt."}\n{"id": "two", "text": "Yeast."}\n',
}
DOCUMENTS = {"whales.md", "bread.md", "records.jsonl#one", "records.jsonl#two"}


@dataclass(frozen=True)
class Place:
    """Where things are after a move: the folder to work in, the documents and the index."""

    cwd: Path
    docs: Path
    index: Path


def move_the_project(at: Place) -> Place:
    target = at.cwd.with_name("moved")
    at.cwd.rename(target)
    return Place(target, target / "docs", target / ".crx")


def move_the_folder_above(at: Place) -> Place:
    above = at.cwd.parent.rename(at.cwd.parent.with_name("above"))
    return Place(above / "project", above / "project" / "docs", above / "project" / ".crx")


def copy_the_project(at: Place) -> Place:
    target = at.cwd.with_name("copy")
    shutil.copytree(at.cwd, target, copy_function=shutil.copy)
    return Place(target, target / "docs", target / ".crx")


def copy_the_project_and_delete_the_original(at: Place) -> Place:
    copy = copy_the_project(at)
    shutil.rmtree(at.cwd)
    return copy


def rename_the_folder_of_documents(at: Place) -> Place:
    return Place(at.cwd, at.docs.rename(at.cwd / "papers"), at.index)


def move_the_documents_away(at: Place) -> Place:
    return Place(at.cwd, at.docs.rename(at.cwd.parent / "elsewhere"), at.index)


def move_a_folder_of_the_documents(at: Place) -> Place:
    (at.docs / "sub").rename(at.docs / "kitchen")
    return at


def rename_the_index(at: Place) -> Place:
    return Place(at.cwd, at.docs, at.index.rename(at.cwd / "notes.crx"))


def move_the_index_away(at: Place) -> Place:
    (at.cwd.parent / "indexes").mkdir()
    index = at.cwd.parent / "indexes" / "notes.crx"
    return Place(at.cwd, at.docs, at.index.rename(index))


def copy_the_index_away(at: Place) -> Place:
    target = at.cwd.parent / "indexes" / "notes.crx"
    shutil.copytree(at.index, target)
    return Place(at.cwd, at.docs, target)


def copy_the_database_alone(at: Place) -> Place:
    target = at.cwd.with_name("copy")
    shutil.copytree(at.docs, target / "docs", copy_function=shutil.copy)
    (target / ".crx").mkdir()
    shutil.copy(at.index / "crx.db", target / ".crx")
    return Place(target, target / "docs", target / ".crx")


def delete_all_but_the_database(at: Place) -> Place:
    for each in at.index.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        elif each.name != "crx.db":
            each.unlink()
    return at


def reach_the_project_by_a_link(at: Place) -> Place:
    link = at.cwd.with_name("link")
    link.symlink_to(at.cwd)
    return Place(link, link / "docs", link / ".crx")


WAYS = [
    move_the_project,
    move_the_folder_above,
    copy_the_project,
    copy_the_project_and_delete_the_original,
    rename_the_folder_of_documents,
    move_the_documents_away,
    move_a_folder_of_the_documents,
    rename_the_index,
    move_the_index_away,
    copy_the_index_away,
    copy_the_database_alone,
    delete_all_but_the_database,
    reach_the_project_by_a_link,
]


@pytest.fixture
def crx(crx_here: CrxHere) -> CrxHere:
    return crx_here


@pytest.fixture
def project(crx: CrxHere) -> Place:
    """Return an indexed project whose chunks have contexts of a model."""
    project = crx.folder / "above_all" / "project"
    for name, text in TEXTS.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    assert crx("index", "-q", "docs", cwd=project).code == 0
    # Texts as short as the bread's are all that could be said about them: two are rejected.
    assert crx("contextualize", "--with", "fake:", "-q", cwd=project).code == 3
    return Place(project, project / "docs", project / ".crx")


def names(crx: CrxHere, place: Place) -> list[str]:
    """Return the last parts of the URIs in an index, which must be those of files that exist."""
    listed = crx("status", "--documents", "--json", "--index", place.index, cwd=place.cwd).json
    uris = [document["uri"] for document in listed["documents"]]
    for uri in uris:
        assert os.path.exists(uri.partition("#")[0]), uri
    return sorted(os.path.basename(uri) for uri in uris)


@pytest.mark.parametrize("move", WAYS, ids=lambda move: move.__name__)
def test_nothing_doubles_is_lost_or_made_again(
    crx: CrxHere, project: Place, move: Callable[[Place], Place]
) -> None:
    place = move(project)
    found = crx("search", "krill", "--index", place.index, "-k", "1", cwd=place.cwd)
    assert (found.code, "Krill" in found.out) == (0, True), found.err
    done = crx("index", "-q", place.docs, "--index", place.index, cwd=place.cwd)
    assert (done.code, "added" in done.out) == (0, False), done
    assert names(crx, place) == sorted(DOCUMENTS)
    again = crx("contextualize", "--with", "fake:", "--json", "--index", place.index, cwd=place.cwd)
    # The context that was rejected stays so.
    assert (again.code, again.json["made"]) == (3, {}), again
    refreshed = crx("index", "-q", "--index", place.index, cwd=place.cwd)
    assert (refreshed.code, "added" in refreshed.out) == (0, False), refreshed
    assert names(crx, place) == sorted(DOCUMENTS)


def test_paths_are_kept_relative_to_the_folder_of_the_index(crx: CrxHere, project: Place) -> None:
    stored = run_sql(project.index, "SELECT uri, metadata ->> 'path' FROM document ORDER BY uri")
    assert stored == [
        ("./docs/records.jsonl#one", "./docs/records.jsonl"),
        ("./docs/records.jsonl#two", "./docs/records.jsonl"),
        ("./docs/sub/bread.md", "./docs/sub/bread.md"),
        ("./docs/whales.md", "./docs/whales.md"),
    ]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("path={docs}/*.md", {"whales.md"}),
        ("path=docs", DOCUMENTS),
        ("path=**/sub/*", {"bread.md"}),
        ("path=docs/records.jsonl", {"records.jsonl#one", "records.jsonl#two"}),
        ("source={docs}/records.jsonl", {"records.jsonl#one", "records.jsonl#two"}),
        ("uri={docs}/whales.md", {"whales.md"}),
        ("uri!={docs}/whales.md", DOCUMENTS - {"whales.md"}),
        ("path>{docs}/s", {"bread.md", "whales.md"}),
    ],
)
def test_filters_on_paths_take_absolute_and_relative_paths(
    crx: CrxHere, project: Place, where: str, found: set[str]
) -> None:
    place = move_the_project(project)
    given = where.format(docs=place.docs)
    done = crx("search", "krill bread salt yeast", "--where", given, "--json", cwd=place.cwd)
    passages = done.json["passages"]
    assert {os.path.basename(passage["uri"]) for passage in passages} == found
