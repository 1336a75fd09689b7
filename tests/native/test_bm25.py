"""BM25 over tantivy's postings: what it promises of scores, order, deletion and damage."""

from __future__ import annotations

import math
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crx._native import Lexical, analyze
from crx.errors import Damaged


@dataclass(frozen=True)
class Setting:
    """What a search may set."""

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)


#: The function words among the words below; in a query they weigh a quarter.
FUNCTION = {"the", "of", "a"}

Chunk = tuple[str, str, str]
Index = dict[int, tuple[list[int], list[Chunk]]]


def reference(index: Index, query: str, s: Setting, *, name: str = "") -> dict[int, float]:
    """Score every chunk by the formula, in the plainest way."""
    rows = {
        key: chunk
        for keys, chunks in index.values()
        for key, chunk in zip(keys, chunks, strict=True)
    }
    tf: dict[int, dict[str, float]] = {key: defaultdict(float) for key in rows}
    length = dict.fromkeys(rows, 0.0)
    for key, chunk in rows.items():
        for weight, field in zip(s.weights, chunk, strict=True):
            terms = analyze(field, "en")
            length[key] += weight * len(terms)
            for term in terms:
                tf[key][term] += weight
    mean = sum(length.values()) / max(1, len(rows))
    scores = dict.fromkeys(rows, 0.0)
    for term, count in Counter(analyze(query, "en")).items():
        holders = [key for key in rows if tf[key][term] > 0]
        idf = math.log(1 + (len(rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        weight = 0.25 if term in FUNCTION else 1 + math.log(count)
        if name:
            weight = min(weight, 1) * (0.5 if term in analyze(name, "en") else 1)
        worth = weight * idf * (s.k1 + 1)
        for key in holders:
            norm = s.k1 * (1 - s.b + s.b * length[key] / mean)
            scores[key] += worth * tf[key][term] / (tf[key][term] + norm)
    return {key: score for key, score in scores.items() if score > 0}


def put(lexical: Lexical, doc: int, keys: Sequence[int], chunks: Sequence[Chunk]) -> None:
    texts, outlines, contexts = ([chunk[i] for chunk in chunks] for i in range(3))
    lexical.put(doc, np.array(keys, dtype=np.int64), "en", texts, outlines, contexts)


def small(tmp_path: Path, seq: int = 1) -> Lexical:
    """Return a writer of an index of one chunk."""
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    put(lexical, 1, [1], [("the cat of the house", "", "")])
    lexical.commit(seq)
    return lexical


WORDS = st.sampled_from(["the", "of", "a", "cat", "runs", "quickly", "parse_args", "alpha", "rare"])
FIELD = st.lists(WORDS, max_size=12).map(" ".join)
CHUNK = st.tuples(FIELD, FIELD, FIELD)
WEIGHT = st.sampled_from([0.0, 0.4, 1.0, 2.5])
SETTING = st.builds(
    Setting,
    k1=st.sampled_from([0.0, 0.9, 1.2, 3.0]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
    weights=st.tuples(WEIGHT, WEIGHT, WEIGHT),
)
CHANGE = st.tuples(st.integers(0, 5), st.lists(CHUNK, max_size=5))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(
    commits=st.lists(st.lists(CHANGE, max_size=5), min_size=1, max_size=4),
    queries=st.lists(st.tuples(FIELD, FIELD, SETTING, st.integers(1, 12)), min_size=1, max_size=5),
)
def test_scores_equal_the_formula_after_any_puts_replacements_and_removals(
    tmp_path_factory: pytest.TempPathFactory,
    commits: list[list[tuple[int, list[Chunk]]]],
    queries: list[tuple[str, str, Setting, int]],
) -> None:
    lexical = Lexical.open(str(tmp_path_factory.mktemp("bm25")), write=True)
    index: Index = {}
    fresh = 0
    for seq, changes in enumerate(commits, 1):
        for doc, chunks in changes:
            keys = list(range(fresh, fresh + len(chunks)))
            fresh += len(chunks)
            put(lexical, doc, keys, chunks)
            index[doc] = (keys, chunks)
        lexical.commit(seq)
    assert lexical.seq == len(commits)
    assert len(lexical) == sum(len(keys) for keys, _ in index.values())
    for query, name, s, k in queries:
        found, scores = lexical.search(query, k=k, name=name, k1=s.k1, b=s.b, weights=s.weights)
        want = reference(index, query, s, name=name)
        assert len(found) == min(k, len(want))
        assert scores.tolist() == pytest.approx(sorted(want.values(), reverse=True)[:k], rel=1e-5)
        assert scores.tolist() == pytest.approx([want[key] for key in found.tolist()], rel=1e-5)


def zipf_corpus(chunks: int) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return texts of frequent and rare words, and which word stands where: (chunks, 20)."""
    rng = np.random.default_rng(5)
    words = np.minimum(rng.zipf(1.3, size=(chunks, 20)), 500)
    lengths = rng.integers(1, 21, size=chunks)
    texts = [
        " ".join(f"w{w}" for w in row[:n].tolist()) for row, n in zip(words, lengths, strict=True)
    ]
    return texts, np.where(np.arange(20) < lengths[:, None], words, 0), lengths


def zipf_scores(words: NDArray[np.int64], lengths: NDArray[np.int64], query: set[int]) -> Any:
    """Return every chunk's score by the formula."""
    norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    scores = np.zeros(len(words))
    for word in query:
        tf = (words == word).sum(axis=1)
        idf = math.log(1 + (len(words) - (tf > 0).sum() + 0.5) / ((tf > 0).sum() + 0.5))
        scores += idf * 2.2 * tf / (tf + norm)
    return scores


@pytest.fixture(scope="module")
def texts_and_truth() -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    return zipf_corpus(20_000)


@pytest.mark.parametrize("commits", [1, 3])
def test_the_best_are_found_in_a_large_index_without_reading_it_all(
    tmp_path: Path,
    texts_and_truth: tuple[list[str], NDArray[np.int64], NDArray[np.int64]],
    commits: int,
) -> None:
    texts, words, lengths = texts_and_truth
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    for commit, part in enumerate(np.array_split(np.arange(len(texts)), commits), 1):
        for rows in np.array_split(part, 20):
            none = [""] * len(rows)
            lexical.put(int(rows[0]), rows, "xx", [texts[row] for row in rows], none, none)
        lexical.commit(commit)
    rng = np.random.default_rng(9)
    for _ in range(40):
        query = set(np.minimum(rng.zipf(1.3, size=rng.integers(1, 9)), 500).tolist())
        k = int(rng.choice([1, 10, 150]))
        want = zipf_scores(words, lengths, query)
        keys, scores = lexical.search(" ".join(f"w{w}" for w in query), k=k, langs=["xx"])
        assert scores.tolist() == pytest.approx(np.sort(want)[::-1][: len(scores)], rel=1e-5)
        assert want[keys] == pytest.approx(scores, rel=1e-5)
        assert len(keys) == min(k, int((want > 0).sum()))


@pytest.mark.parametrize("order", [[3, 1, 2], [1, 2, 3]])
def test_equal_scores_go_to_the_smaller_key(tmp_path: Path, order: list[int]) -> None:
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    for seq, key in enumerate(order, 1):
        put(lexical, key, [key], [("same words", "", "")])
        lexical.commit(seq)
    assert lexical.search("words", k=2)[0].tolist() == [1, 2]


def test_a_field_without_weight_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    put(lexical, 1, [1, 2], [("cat", "", "dog"), ("dog", "", "cat")])
    lexical.commit(1)
    assert lexical.search("dog", k=5, weights=(1.0, 1.0, 0.0))[0].tolist() == [2]


def test_terms_like_a_word_are_those_with_fewest_edits_in_most_chunks(tmp_path: Path) -> None:
    lexical = Lexical.open(str(tmp_path), write=True)
    chunks = [
        ("the anacron jobs", "", ""),
        ("anacrons configuration", "anatron", ""),
        ("cron", "", ""),
    ]
    put(lexical, 1, [1, 2, 3], chunks)
    lexical.commit(1)
    assert lexical.similar_terms("anacorn", k=9) == ["anacron"]
    assert lexical.similar_terms("anacrron", k=9) == ["anacron", "anatron"]
    assert lexical.similar_terms("confgurations", k=9) == ["configur"]
    assert lexical.similar_terms("job", k=9) == []
    assert [lexical.has_term(term) for term in ("anatron", "anacrons", "")] == [True, False, False]


def test_chunks_with_a_term_are_the_live_ones_with_the_smallest_keys(tmp_path: Path) -> None:
    lexical = Lexical.open(str(tmp_path), write=True)
    put(lexical, 1, [5, 6], [("the jobs", "", ""), ("a job", "jobs", "")])
    put(lexical, 2, [1], [("", "", "job")])
    lexical.commit(1)
    put(lexical, 3, [3], [("jobs", "", "")])
    lexical.commit(2)
    assert lexical.chunks_with("job", k=9).tolist() == [1, 3, 5, 6]
    assert lexical.chunks_with("job", k=2).tolist() == [1, 3]
    put(lexical, 2, [7], [("cat", "", "")])
    lexical.commit(3)
    assert lexical.chunks_with("job", k=9).tolist() == [3, 5, 6]
    assert lexical.chunks_with("jobs", k=9).tolist() == []


def test_a_word_is_known_if_the_index_has_a_term_of_it_in_a_language(tmp_path: Path) -> None:
    lexical = small(tmp_path)
    lexical.put(2, np.array([2]), "fr", ["les chevaux chantaient"], [""], [""])
    lexical.commit(2)
    words = ["chantaient", "chantera", "housing", "seals", ""]
    assert lexical.are_known(words, langs=["fr"]) == [True, True, False, False, False]
    assert lexical.are_known(words, langs=["en"]) == [False, False, True, False, False]
    assert lexical.are_known(words, langs=["en", "fr"]) == [True, True, True, False, False]


@pytest.mark.parametrize("order", [[3, 1, 2], [1, 2, 3]])
def test_the_chunks_that_hold_all_words_in_their_text_keep_their_order(
    tmp_path: Path, order: list[int]
) -> None:
    lexical = Lexical.open(str(tmp_path / "bm25"), write=True)
    chunks = [("Whales eat krill", "", ""), ("krill eats", "whale", ""), ("a whale eats", "", "")]
    put(lexical, 1, order, chunks)
    lexical.commit(1)
    put(lexical, 2, [4], [("the whale that ate and eats", "", "")])
    lexical.commit(2)
    whales, krill, eater = order
    keys = np.array([4, eater, krill, whales, 9])

    def containing(*words: str) -> list[int]:
        return list(lexical.containing(keys, words=words, langs=["fr", "en"]))

    assert containing("whales", "eat") == [4, eater, whales]
    assert containing("krill") == [krill, whales]
    assert containing("squid") == containing("squid", "eat") == []
    assert containing() == [4, eater, krill, whales]


def test_fields_that_are_not_named_are_not_kept(tmp_path: Path) -> None:
    lexical = Lexical.open(str(tmp_path / "bm25"), fields=["text"], write=True)
    put(lexical, 1, [1], [("cat", "dog", "dog")])
    lexical.commit(1)
    assert lexical.search("dog", k=5)[0].tolist() == []
    with pytest.raises(ValueError, match="page: no such field"):
        Lexical.open(str(tmp_path / "bm25"), fields=["page"])


@pytest.mark.parametrize("query", ["", "   ", "!?", "zzz"])
def test_a_query_that_asks_for_nothing_finds_nothing(tmp_path: Path, query: str) -> None:
    keys, scores = small(tmp_path).search(query, k=5)
    assert (keys.tolist(), scores.tolist()) == ([], [])
    assert (keys.dtype.name, scores.dtype.name) == ("int64", "float32")


def test_a_query_of_function_words_is_ranked_by_them(tmp_path: Path) -> None:
    assert small(tmp_path).search("the of", k=5)[0].tolist() == [1]


def test_a_query_may_be_as_long_as_a_document(tmp_path: Path) -> None:
    query = " ".join(f"word{i} cat" for i in range(10_000))
    assert small(tmp_path).search(query, k=5)[0].tolist() == [1]


@pytest.mark.parametrize(
    "bad", [{"k": 0}, {"k1": -1.0}, {"b": 2.0}, {"weights": (1.0, -1.0, 1.0)}, {"k1": math.nan}]
)
def test_settings_without_meaning_are_refused(tmp_path: Path, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        small(tmp_path).search("cat", **{"k": 5, **bad})


def test_what_was_put_is_seen_after_commit_and_by_the_next_reader(tmp_path: Path) -> None:
    lexical = small(tmp_path)
    put(lexical, 2, [9], [("a second cat", "", "")])
    assert lexical.search("second", k=5)[0].tolist() == []
    lexical.commit(8)
    assert lexical.search("second", k=5)[0].tolist() == [9]
    reader = Lexical.open(str(tmp_path / "bm25"))
    assert (reader.seq, len(reader)) == (8, 2)


def test_a_document_that_is_put_repeatedly_between_commits_has_its_last_chunks(
    tmp_path: Path,
) -> None:
    lexical = small(tmp_path)
    put(lexical, 1, [], [])
    for key, word in enumerate(["heron", "stork", "crane"], 2):
        put(lexical, 1, [key], [(word, "", "")])
    lexical.commit(2)
    assert len(lexical) == 1
    assert [lexical.search(word, k=9)[0].tolist() for word in ("stork", "crane")] == [[], [4]]
    # The deletions of before are not applied to what is merged later.
    for seq in range(3, 20):
        put(lexical, seq, [10 * seq], [("crane", "", "")])
        lexical.commit(seq)
    assert sorted(lexical.search("crane", k=99)[0].tolist()) == [4, *range(30, 200, 10)]


def test_a_reader_does_not_write(tmp_path: Path) -> None:
    small(tmp_path)
    with pytest.raises(ValueError, match="opened for reading"):
        put(Lexical.open(str(tmp_path / "bm25")), 2, [9], [("cat", "", "")])


def test_a_writer_opens_after_another_was_closed_or_left(tmp_path: Path) -> None:
    for seq in (2, 3):
        lexical = small(tmp_path, seq=seq)
        if seq == 2:
            lexical.close()
        del lexical
    (tmp_path / "bm25" / ".tantivy-writer.lock").touch()
    assert small(tmp_path, seq=4).seq == 4


def test_a_folder_of_other_fields_is_made_anew_by_a_writer_only(tmp_path: Path) -> None:
    small(tmp_path).close()
    with pytest.raises(Damaged, match="other fields"):
        Lexical.open(str(tmp_path / "bm25"), fields=["text"])
    lexical = Lexical.open(str(tmp_path / "bm25"), fields=["text"], write=True)
    assert (lexical.seq, len(lexical)) == (0, 0)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two segments, one of which has a deleted chunk."""
    folder = tmp_path_factory.mktemp("sound")
    lexical = small(folder)
    put(lexical, 2, list(range(2, 12)), [(f"another dog {i}", "", "") for i in range(10)])
    put(lexical, 3, [20], [("a dog alone", "", "")])
    lexical.commit(2)
    put(lexical, 3, [], [])
    lexical.commit(3)
    lexical.close()
    return folder / "bm25"


@settings(max_examples=100)
# The name of the field of deletions in the list of segments.
@example(suffix=".json", which=1, where=0.11328125, bit=0)
@given(
    suffix=st.sampled_from([".json", ".term", ".idx", ".pos", ".fast", ".del", ".store"]),
    which=st.integers(0, 1),
    where=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 8),
)
def test_a_damaged_folder_is_refused_or_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory,
    sound: Path,
    suffix: str,
    which: int,
    where: float,
    bit: int,
) -> None:
    folder = tmp_path_factory.mktemp("damage") / "bm25"
    shutil.copytree(sound, folder)
    files = sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    path = files[which % len(files)]
    content = bytearray(path.read_bytes())
    at = int(where * len(content))
    if bit == 8:
        del content[at:]
    else:
        content[at] ^= 1 << bit
    path.write_bytes(content)
    try:
        reader = Lexical.open(str(folder))
    except Damaged:
        writer = Lexical.open(str(folder), write=True)
        assert (writer.seq, len(writer)) == (0, 0)
    else:
        want = Lexical.open(str(sound)).search("cat dog", k=5)
        assert reader.seq == 3
        assert [part.tolist() for part in reader.search("cat dog", k=5)] == [
            part.tolist() for part in want
        ]


@pytest.mark.parametrize("length", range(10))
def test_a_file_of_a_few_bytes_is_damaged(tmp_path: Path, sound: Path, length: int) -> None:
    folder = tmp_path / "bm25"
    shutil.copytree(sound, folder)
    path = min(folder.glob("*.term"))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(Damaged):
        Lexical.open(str(folder))


def test_a_folder_that_is_not_there_is_damaged_to_a_reader(tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        Lexical.open(str(tmp_path / "none"))


def segment_files(folder: Path) -> set[str]:
    return {each.name for each in folder.rglob("*") if each.suffix not in (".json", ".lock")}


def test_a_document_is_written_again_only_if_its_chunks_are_others(tmp_path: Path) -> None:
    with closing(Lexical.open(str(tmp_path), write=True)) as lexical:
        for seq, text in enumerate(["krill", "krill", "herring", "krill"], 1):
            before = segment_files(tmp_path)
            put(lexical, 7, [1], [(text, "", "")])
            lexical.commit(seq)
            assert lexical.seq == seq
            assert (segment_files(tmp_path) == before) == (seq == 2)
            assert lexical.search(text, k=9)[0].tolist() == [1]
        put(lexical, 7, [], [])
        lexical.commit(5)
        put(lexical, 7, [1], [("krill", "", "")])
        lexical.commit(6)
        assert len(lexical) == 1
