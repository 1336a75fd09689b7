"""Models of the hub that are known, and the one that is better for an index."""

from __future__ import annotations

import json

import pytest
from command_line import Crx

import crx as package
from crx._models.hub_address import parse_hub_address
from crx._models.known import KnownModel, find_better_embedder, known_models
from crx._models.licences import is_permissive


def test_what_is_known_of_a_model_is_well_formed() -> None:
    for each in known_models():
        assert parse_hub_address(f"hf:{each.repository}").repository == each.repository
        assert is_permissive(each.licence)
        assert bool(each.score) == bool(each.benchmark) == each.source.startswith("https://")


def test_they_are_listed_with_their_figures(crx: Crx) -> None:
    out = crx("models").out
    assert "hf:ibm-granite/granite-embedding-97m-multilingual-r2" in out
    assert "60.3 MTEB multilingual retrieval (1)" in out
    (listed,) = (
        each
        for each in json.loads(crx("models", "--json").out)["hub"]
        if each["name"] == "hf:lightonai/DenseOn"
    )
    assert (listed["score"], listed["benchmark"], listed["max_tokens"]) == (56.2, "BEIR", 512)


@pytest.mark.parametrize(
    ("name", "langs", "most", "better"),
    [
        ("e5@int8", ["en", "vi"], 10, "ibm-granite/granite-embedding-311m-multilingual-r2"),
        ("e5@int8", ["en", "vi"], 2, "ibm-granite/granite-embedding-97m-multilingual-r2"),
        ("e5@int8", ["en"], 1, None),
        ("gte-modernbert-base", ["en"], 1, "lightonai/DenseOn"),
        ("gte-modernbert-base", ["en", "vi"], 10, None),
        ("hashed", ["en"], 10, None),
    ],
)
def test_the_best_embedder_reads_all_languages_and_is_quick_enough(
    name: str, langs: list[str], most: float, better: str | None
) -> None:
    found = find_better_embedder(name, langs=langs, most_times_slower=most)
    assert (found and found[0].repository) == better


def test_doctor_names_an_embedder_that_is_better_for_the_index(
    crx: Crx, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(
        name: str, *, langs: list[str], most_times_slower: float
    ) -> tuple[KnownModel, KnownModel]:
        assert (name, langs, most_times_slower) == ("hashed", ["en"], 6)
        return known_models()[0], known_models()[2]

    monkeypatch.setattr("crx._cli.doctor.find_better_embedder", find)
    with package.open(".crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([package.Document("mem:1", "Krill.", lang="en")])
    advice = (
        "another embedder: hf:ibm-granite/granite-embedding-97m-multilingual-r2 has 60.3 in MTEB "
        "multilingual retrieval by its authors, and hashed 50.9; about 16 min here\n"
    )
    assert "another embedder" not in crx("doctor").out
    monkeypatch.setattr("crx._cli.doctor.remembered_seconds", lambda *_: 600.0)
    assert advice in crx("doctor").out
