"""Exact matches: what counts as a phrase, and its place before all else."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import crx
from crx._native import Lexical
from crx._text.phrases import inner_words
from crx.retrieve.rules.verbatim import find_phrases, promote_exact
from crx.types import Ranking


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("error:  No such\nfile", ["error: no such file"]),
        ("parseArgs", ["parseargs"]),
        ("--guess-dummy", ["--guess-dummy"]),
        ("lxc.start.order", ["lxc.start.order"]),
        ('what does "too many levels" mean', ["too many levels"]),
        ("what do whales eat?", []),
        ("whales", []),
        ("Whales", []),
        ("a b", ["a b"]),
        ('the "krill" question', ['the "krill" question']),
    ],
)
def test_phrases_are_whole_queries_identifiers_and_what_is_quoted(
    query: str, phrases: list[str]
) -> None:
    assert find_phrases(query) == phrases


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    folder = tmp_path / "docs"
    folder.mkdir()
    many = "The disk is full. Full disk, no space, device left: space on the device is left. "
    for number in range(8):
        (folder / f"near{number}.md").write_text(f"# Space on the device {number}\n\n{many * 2}\n")
    (folder / "exact.md").write_text(
        "# Notes\n\n" + "A long page about many other things. " * 8 + "No space left\non device\n"
    )
    (folder / "order.md").write_text("# Start\n\nOrder lxc to start: lxc start, start order.\n")
    (folder / "option.md").write_text("# Other\n\nAmong others there is lxc.start.order, too.\n")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed", "chunk_chars": 800})
    index.add(folder)
    return index


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("no space left on device", "exact.md"),
        ('why "no space left" on the device disk', "exact.md"),
        ("lxc.start.order", "option.md"),
    ],
)
def test_the_chunk_that_holds_the_query_as_it_is_comes_first(
    index: crx.Index, query: str, name: str
) -> None:
    result = index.search(query, k=5)
    assert Path(result[0].uri).name == name
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(result.hits) == 5
    assert [hit.stages["verbatim"].rank for hit in result.hits if "verbatim" in hit.stages] == [1]


def test_a_phrase_that_ends_within_a_word_is_no_match(index: crx.Index) -> None:
    exact = index.search("no space left on dev", k=5).hits[0]
    assert Path(exact.uri).name != "exact.md"


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("no space left on device", ["space", "left", "on"]),
        ("set lxc.start.order to utf8 now", ["to", "utf8"]),
        ("la clé élue d'un coffre est là", ["coffre", "est"]),
        ("to be or not to be", ["be", "or", "not", "to"]),
        (f"an {'x' * 65} in between", ["in"]),
        ("space left", []),
        ("whales", []),
    ],
)
def test_the_words_within_a_phrase_are_plain_and_between_others(
    phrase: str, words: list[str]
) -> None:
    assert inner_words([phrase]) == words


def test_words_of_several_phrases_are_named_once() -> None:
    assert inner_words(["a cat sat", "the cat ran off"]) == ["cat", "ran"]


TEXTS = {
    "en": "The well-known URLs of APIs don't list C++ users' parseArgs in 1,000 000 cases.",
    "fr": "L’œuvre qu'il a faite d'un nationaux\u00a0trait\u2003est aujourd'hui les nations unies.",
    "de": "Die Straße zum MASSE-Konto Häuser (siehe Haus\u00adrat) ist OHNE Ende ﬁnal.",
    "vi": "Các URLs của Đường nations ma má mà được ghi trong tệp cấu hình nào đó.",
    "ja": "次の URLs を settings へ追加し て nations を utf8 で保存する。",
    "": "x = readAllLines( the nations ) ; fooBAR.baz_quux -> v1.2.3 HTTPServer HTTPServers ok",
}


def test_bm25_knows_the_words_within_each_phrase_of_a_text(tmp_path: Path) -> None:
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    for key, (lang, text) in enumerate(TEXTS.items()):
        lexical.put(key, np.array([key]), lang, [text], [""], [""])
    lexical.commit(1)
    for key, text in enumerate(TEXTS.values()):
        words = text.split()
        for first, last in combinations(range(len(words) + 1), 2):
            span = " ".join(words[first:last])
            for query in (span, span.upper(), span.title(), span.partition("-")[2] or span):
                phrase = find_phrases(query)
                held = lexical.containing(
                    np.array([key]), words=inner_words(phrase), langs=list(TEXTS)
                )
                assert held.tolist() == [key], query


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("There is NO  space\nleft.", 2),
        ("There is no space lefty, and no space left", 2),
        ("There is no space_left", 1),
        ("There is casino space left", 1),
        ("There is no space left_", 1),
    ],
)
def test_a_phrase_is_held_between_ends_of_words(text: str, first: int) -> None:
    ranking = Ranking(np.array([1]), np.array([0.5], np.float32))
    rows = {1: SimpleNamespace(text="space no left"), 2: SimpleNamespace(text=text)}
    promoted = promote_exact(["no space left"], ranking, [2], cast(Any, rows))
    assert promoted.keys.tolist() == [first]


def test_what_holds_the_query_scores_above_the_others_also_if_all_scores_are_negative() -> None:
    ranking = Ranking(np.array([1, 2, 3]), np.array([-0.1, -0.2, -0.3], np.float32))
    rows = {key: SimpleNamespace(text=f"text {key}") for key in (1, 2, 3)}
    promoted = promote_exact(["text 2"], ranking, [], cast(Any, rows))
    assert promoted.keys.tolist() == [2, 1, 3]
    assert promoted.scores.tolist() == sorted(promoted.scores.tolist(), reverse=True)


def test_of_a_name_its_definition_comes_first_then_the_shortest_path(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    use = "rows = self.parse_known_args(rows); parse_known_args(args)\n" * 9
    for name, text in {
        "use.py": f"import sys\n{use}",
        "a/b/c/uses.py": f"import os\n{use}{use}",
        "a/b/defines.py": "def other(x):\n    return x\n\n\ndef parse_known_args(self): pass\n",
        "near.py": "def parse_args(known): parse(known, args)\n" * 9,
    }.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    with crx.open(tmp_path / "code.crx", settings={"embedder": "none"}) as index:
        index.add(docs)
        hits = index.search("parse_known_args", k=4).hits
    names = list(dict.fromkeys(Path(hit.uri).name for hit in hits))
    assert names[:3] == ["defines.py", "use.py", "uses.py"]


def test_of_a_name_without_a_definition_what_has_it_as_a_member_comes_first(tmp_path: Path) -> None:
    texts = {f"use{n}.py": f"x{n} = run(rows, max_rows, boom{n}, max_rows)\n" * 9 for n in range(3)}
    texts["far/call.py"] = "run(\n    rows,\n    max_rows=3,\n)\n"
    texts["far/start.py"] = "def start(\n    rows,\n    max_rows: int = 3,\n):\n    pass\n"
    with crx.open(tmp_path / "code.crx", settings={"embedder": "none"}) as index:
        index.add_documents([crx.Document(uri=uri, text=text) for uri, text in texts.items()])
        hits = index.search("max_rows", k=5).hits
    assert hits[0].uri == "far/start.py"
    assert hits[1].uri != "far/call.py"
