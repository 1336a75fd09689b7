"""Hits that are copies: they are counted, and other texts take their ranks."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

import pytest

import crx
from crx.retrieve import search as search_module
from crx.retrieve._legs.leg_search import search_legs
from crx.retrieve.fusion import fuse_legs
from crx.retrieve.rules.copies import _all_copies
from crx.retrieve.search_state import Search
from crx.types import Document

FOOTER = (
    "You receive this mail because you are on the list of the harbour. To leave the list, send an "
    "empty mail to the address below. Do not answer this mail, nobody reads what is sent to it. "
)
WORDS = {"embedder": "none", "reranker": ""}


def index_texts(path: Path, texts: dict[str, str]) -> None:
    """Index texts by URI, for searches by words."""
    with crx.open(path, settings=WORDS) as index:
        index.add_documents([Document(uri=uri, text=text) for uri, text in texts.items()])


def test_a_footer_is_one_hit_with_the_count_of_its_copies(tmp_path: Path) -> None:
    texts = {f"mails/{n}": f"{FOOTER}Sent by buoy {n}." for n in range(2000)}
    texts["docs/leave.md"] = "To leave the list of the harbour one writes to the harbour master."
    index_texts(tmp_path / "index", texts)
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        hits = index.search("leave the list", k=5).hits
        assert [hit.uri.split("/")[0] for hit in hits] == ["docs", "mails"] or [
            hit.uri.split("/")[0] for hit in hits
        ] == ["mails", "docs"]
        mail = next(hit for hit in hits if hit.uri.startswith("mails"))
        assert mail.copies >= 149
        assert len(set(mail.also_in)) == 10
        assert mail.uri not in mail.also_in


def test_a_hit_from_the_deeper_search_names_its_stage(tmp_path: Path) -> None:
    texts = {f"mails/{n}": f"{FOOTER}Sent by buoy {n}." for n in range(400)}
    texts["docs/masts.md"] = (
        f"Masts stand on deck. {'They are made of spruce. ' * 20}A list is kept."
    )
    index_texts(tmp_path / "index", texts)
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        hits = index.search("leave the list", k=5).hits
    assert {hit.uri.split("/")[0] for hit in hits} == {"docs", "mails"}
    ranks = {hit.uri.split("/")[0]: hit.stages["bm25"].rank for hit in hits if hit.stages}
    assert ranks["docs"] > 150 > ranks["mails"]


def test_a_leg_that_fails_in_the_deeper_search_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search_bm25_alone(search: Search) -> Search:
        """Search as if the embedder's service had stopped since the first search."""
        if search.parameters.weights.depth == 150:
            return search_legs(search)
        bm25_alone = search.parameters._replace(embedder=None)
        return search_legs(search._replace(parameters=bm25_alone).noting("dense leg left out"))

    steps = [("retrieve", search_bm25_alone), ("fuse", fuse_legs)]
    monkeypatch.setattr(search_module, "LEG_STEPS", steps)
    texts = {f"mails/{n}": f"{FOOTER}Sent by buoy {n}." for n in range(400)}
    settings = {"embedder": "hashed", "reranker": ""}
    with crx.open(tmp_path / "index", settings=settings) as index:
        index.add_documents([Document(uri=uri, text=text) for uri, text in texts.items()])
        assert index.search("leave the list").notes == ("dense leg left out",)


def test_the_copy_that_the_query_names_is_a_hit_of_its_own(tmp_path: Path) -> None:
    texts = {f"mails/{n}": f"{FOOTER}Sent by {name}." for n, name in enumerate(["Ann", "Bea"])}
    index_texts(tmp_path / "index", texts)
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        assert len(index.search("leave the list").hits) == 1
        assert len(index.search("leave the list Ann or Bea").hits) == 2
        assert len(index.search("re:leave the list").hits) == 2


def test_copies_are_hits_if_the_setting_is_off(tmp_path: Path) -> None:
    index_texts(tmp_path / "index", {"a": FOOTER, "b": FOOTER})
    settings = {**WORDS, "rank.copies.share": 0}
    with crx.open_reader(tmp_path / "index", settings=settings) as index:
        assert [hit.copies for hit in index.search("leave the list").hits] == [0, 0]


def test_a_quoted_phrase_is_found_once(tmp_path: Path) -> None:
    texts = {f"mails/{n}": f"{FOOTER}Sent by buoy {n}." for n in range(60)}
    texts["docs/list.md"] = "The harbour has a list; send an empty mail to the address below."
    index_texts(tmp_path / "index", texts)
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        found = [hit.uri for hit in index.search('"send an empty mail" list', k=3).hits]
    assert len(found) == 2
    assert "docs/list.md" in found


def test_licences_of_installed_packages_collapse(tmp_path: Path) -> None:
    texts = {
        str(file): text
        for package in distributions()
        for file in package.files or ()
        if "licen" in file.name.lower() and ".dist-info" in str(file)
        if len(text := Path(str(file.locate())).read_text(errors="replace")) > 500
    }
    if len(texts) < 20:
        pytest.skip("hardly any package here has its licence")
    index_texts(tmp_path / "index", {f"{n}/{u}": t for n in range(9) for u, t in texts.items()})
    query = "permission granted, redistribution, warranty, liability"
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        hits = index.search(query, k=10).hits
    assert len({" ".join(hit.text.split()) for hit in hits}) == len(hits) > 5
    assert sum(hit.copies for hit in hits) > 80


def test_a_copy_that_is_promoted_is_no_copy_of_itself() -> None:
    """An exact match is put above the text that it copies, and then that text copies it."""
    assert _all_copies(2, (1,), {1: (2,)}) == (1,)


TEXT = "The pilot boards at the outer buoy, and leaves at the lock."


@pytest.mark.parametrize(
    ("uris", "first"),
    [
        (["/a/old.zip#docs/pilot.md", "/a/docs/pilot.md"], "/a/docs/pilot.md"),
        (["/a/pilot.md", "/a/old.zip#pilot.md"], "/a/pilot.md"),
        (["/a/mirror/of/docs/pilot.md", "/a/docs/pilot.md"], "/a/docs/pilot.md"),
        (["/a/x.zip#longer/pilot.md", "/a/x.zip#pilot.md"], "/a/x.zip#pilot.md"),
    ],
)
def test_of_equal_texts_the_file_with_the_shortest_path_is_the_hit(
    tmp_path: Path, uris: list[str], first: str
) -> None:
    index_texts(tmp_path / "index", dict.fromkeys(uris, TEXT))
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        (hit,) = index.search("where does the pilot board").hits
    assert hit.uri == first
    assert hit.also_in == tuple(uri for uri in uris if uri != first)


def test_a_folder_with_a_number_sign_in_its_name_is_no_archive(tmp_path: Path) -> None:
    files = [tmp_path / "C#" / "pilot.md", tmp_path / "a" / "mirror" / "pilot.md"]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text(TEXT)
    with crx.open(tmp_path / "index", settings=WORDS) as index:
        index.add(*(file.parent for file in files))
        (hit,) = index.search("where does the pilot board").hits
        assert hit.uri == str(files[0])
        index.add_documents([Document(uri="/C#/p", text=TEXT), Document(uri="/a/b/p", text=TEXT)])
        (hit,) = index.search("where does the pilot board").hits
        assert hit.uri == "/C#/p"


def test_a_copy_whose_path_the_query_names_stays_first(tmp_path: Path) -> None:
    uris = ["/a/mirror/of/docs/pilot.md", "/a/docs/pilot.md"]
    index_texts(tmp_path / "index", dict.fromkeys(uris, TEXT))
    with crx.open_reader(tmp_path / "index", settings=WORDS) as index:
        hits = index.search("pilot mirror").hits
    assert hits[0].uri == uris[0]
