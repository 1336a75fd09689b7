"""A query of one word: what has it as a whole comes before names that it is a part of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from memory_searcher import PARAMETERS, MemoryChunk, MemorySearcher

import crx
from crx._text.query_terms import analyze_query
from crx.retrieve.ports import Keys
from crx.retrieve.request import SearchRequest
from crx.retrieve.rules.verbatim import Verbatim
from crx.retrieve.search_state import start_search
from crx.types import Document, Ranking

PARTS = "def _apply_header(x):\n    unapply_header(x)\n\n\ndef unapply_header(x):\n    get(x)\n"
WHOLE = "A server that trusts a proxy reads the header of the request, and takes its address.\n"
OTHER = "The kettle boils, and nobody is in the kitchen to pour the water into the cup of tea.\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("header Headers header", (3, 0)),
        ("_apply_header applyHeader x-header", (1, 2)),
        ("self.header = header", (2, 0)),
        ("nothing of it", (0, 0)),
    ],
)
def test_occurrences_are_whole_or_parts_of_names(text: str, counts: tuple[int, int]) -> None:
    assert analyze_query("header").count_word([text]) == [counts]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("eleve", "élève"),
        ("eleve", "e\u0301le\u0300ve"),
        ("résumé", "resume"),
        ("Ärger", "arger"),
        ("skies", "sky"),
        ("lying", "lie"),
        ("ｆｉｎｅ", "fine"),
        ("cooperer", "co\u00adopérer"),
    ],
)
def test_a_word_is_whole_in_each_of_its_spellings(word: str, text: str) -> None:
    assert analyze_query(word).count_word([text]) == [(1, 0)]


@pytest.mark.parametrize("query", ["parse_args", "two words", "HttpClient", "", "機械学習", "-x"])
def test_other_queries_are_no_plain_word(query: str) -> None:
    assert not analyze_query(query).is_plain_word


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(30):
        (folder / f"parts{number}.py").write_text(f"# {number}\n{PARTS}")
    (folder / "whole.md").write_text(f"{OTHER * 6}{WHOLE}{OTHER * 6}")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "none"})
    index.add(folder)
    return index


def test_a_text_with_the_word_comes_before_names_of_it(index: crx.Index) -> None:
    found = index.search("header", k=5, window=0)
    assert found.hits[0].uri.endswith("whole.md")
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert not index.search("header trusts", k=5).hits[0].uri.endswith(".py")


def test_names_are_found_if_no_text_has_the_word(index: crx.Index) -> None:
    assert index.search("unapply", k=5).hits[0].uri.endswith(".py")


def index_texts(path: Path, texts: dict[str, str], **settings: object) -> crx.Index:
    index = crx.open(path, settings={"embedder": "none", "reranker": "", **settings})
    index.add_documents([Document(uri=uri, text=text) for uri, text in texts.items()])
    return index


def names_of(word: str, count: int) -> dict[str, str]:
    """Return texts that differ, each with names that a word is a part of."""
    return {f"names/{n}": f"set_{word} mast{n} boom{n} keel{n} {word}_x{n}." for n in range(count)}


@pytest.mark.parametrize("copy_share", [0.8, 0])
def test_copies_with_the_word_displace_no_other_hits(tmp_path: Path, copy_share: float) -> None:
    copies = {f"copies/{n}": f"{OTHER * 4}A quoll. {OTHER * 4}" for n in range(20)}
    texts = names_of("quoll", 25) | copies
    with index_texts(tmp_path / "index", texts, **{"rank.copies.share": copy_share}) as index:
        hits = index.search("quoll", k=10).hits
    folders = [hit.uri.split("/")[0] for hit in hits]
    assert folders == (["copies"] + ["names"] * 9 if copy_share else ["copies"] * 10)


def test_a_text_with_the_word_many_times_comes_before_a_mention_though_it_has_names(
    tmp_path: Path,
) -> None:
    texts = names_of("quoll", 5)
    texts["about"] = "A quoll eats. The quoll sleeps: set_quoll, quoll_id, get_quoll."
    texts["mention"] = f"{OTHER * 3}A quoll. {OTHER * 3}"
    with index_texts(tmp_path / "index", texts) as index:
        assert [hit.uri for hit in index.search("quoll", k=2).hits] == ["about", "mention"]


def test_a_text_with_an_accented_word_is_not_behind_names_of_it(tmp_path: Path) -> None:
    texts = names_of("eleve", 5) | {"whole": f"{OTHER * 3}Un élève. {OTHER * 3}"}
    with index_texts(tmp_path / "index", texts) as index:
        assert index.search("eleve", k=2).hits[0].uri == "whole"


def test_source_code_that_declares_the_word_comes_before_uses_of_it(tmp_path: Path) -> None:
    texts = {f"src/use{n}.py": f"x{n} = quoll(quoll, boom{n})\n" * 5 for n in range(5)}
    rest = "".join(f"    mast{n}: int,\n" for n in range(20))
    texts["src/far/start.py"] = f"def start(\n{rest}    quoll: bool = False,\n):\n    pass\n"
    texts["src/far/run.py"] = f"start(\n{rest.replace('mast', 'boom')}    quoll=True,\n)\n"
    with index_texts(tmp_path / "index", texts) as index:
        hits = index.search("quoll", k=7).hits
    assert hits[0].uri == "src/far/start.py"
    assert hits[6].uri == "src/far/run.py"


def test_the_dense_leg_alone_keeps_its_order(tmp_path: Path) -> None:
    texts = names_of("quoll", 5) | {"whole": f"{OTHER * 3}A quoll. {OTHER * 3}"}
    with index_texts(tmp_path / "index", texts, embedder="hashed") as index:
        hits = index.search("quoll", legs=["dense"]).hits
    assert [hit.stages["dense"].rank for hit in hits] == list(range(1, 7))


@dataclass(frozen=True)
class NumberedSearcher(MemorySearcher):
    """A searcher whose chunks have "timeout" as a whole if their keys are odd, else in a name."""

    def chunks(self, keys: Iterable[int] | Keys) -> list[MemoryChunk]:
        texts = ("set_timeout", "a timeout")
        return [MemoryChunk(key=key, text=texts[key % 2]) for key in map(int, keys)]


def promote(
    keys: Sequence[int],
    *,
    bm25: Sequence[int],
    dropped: Sequence[int] = (),
    searcher: type[MemorySearcher] = NumberedSearcher,
    code: bool = False,
) -> list[int]:
    """Return the keys of a ranking after the rule, without those that an earlier one dropped."""
    search = start_search(
        SearchRequest(query="timeout"), parameters=PARAMETERS, searcher=searcher([])
    )
    rankings = {"bm25": rank(bm25)}
    if code:
        rankings["code"] = rank(keys)
    search = search._replace(
        ranking=rank(keys), rankings=rankings, dropped=frozenset(dropped), copies={}
    )
    ranking = Verbatim().apply(search).ranking
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)
    ordered: list[int] = ranking.keys.tolist()
    return ordered


def rank(keys: Sequence[int]) -> Ranking:
    return Ranking(np.array(keys, np.int64), np.linspace(1, 0.5, len(keys), dtype=np.float32))


def test_further_chunks_with_the_word_make_the_ranking_longer() -> None:
    assert promote([2, 4, 1], bm25=[2, 4, 6, 3, 5]) == [1, 3, 5, 2, 4]


@dataclass(frozen=True)
class ProseSearcher(MemorySearcher):
    """A searcher of prose, in which no name has the word; chunk 1 lacks it."""

    def chunks(self, keys: Iterable[int] | Keys) -> list[MemoryChunk]:
        texts = {1: "The server waits for an answer."}
        return [MemoryChunk(key=key, text=texts.get(key, "a timeout")) for key in map(int, keys)]


@pytest.mark.parametrize("code", [False, True])
def test_prose_keeps_its_ranks_where_no_name_has_the_word(*, code: bool) -> None:
    ranked = promote([1, 2, 5, 3], bm25=[2, 3, 4], searcher=ProseSearcher, code=code)
    assert ranked == [1, 2, 5, 3]


def test_chunks_that_the_reranker_dropped_stay_out() -> None:
    assert promote([2, 4], bm25=[2, 3, 4, 5], dropped=[3]) == [5, 2, 4]
