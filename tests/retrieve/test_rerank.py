"""The step that reads query and text together, from the models to the search."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from optional import installed
from tiny_model import WORDS, make_model

import crx
import crx.retrieve.rerank
from crx.backends.overlap import OverlapReranker
from crx.errors import ModelError, UsageError
from crx.models import add, find
from crx.models.card import read_card, write_card
from crx.models.convert import reference
from crx.models.convert.weights import read_weights
from crx.models.cross_encoder import PairEncoder
from crx.models.source_folder import read_folder
from crx.protocols import Reranker
from crx.registry import load_reranker
from crx.retrieve.query_language import query_langs
from crx.retrieve.rerank import LanguageLimited, Reranked, ScoreCache, rerank
from crx.types import Ranking

TEXTS = ["the revenue grew", "", "第二", "of", "the " * 60 + "revenue", "grew of the", "\n\n"]
SPECS = [
    "overlap",
    "tiny",
    "onnx:tiny",
    "tiny@int8",
    "onnx:{folder}/bare",
    pytest.param("st:{folder}/tiny", marks=[pytest.mark.st, installed("sentence_transformers")]),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reranker's folder with weights, and one with nothing but an ONNX file and a tokenizer."""
    place = tmp_path_factory.mktemp("source")
    make_model(place / "tiny", head=True)
    bare = make_model(place / "bare", head=True)
    add(bare, into=place / "graphs")
    (bare / "onnx").mkdir()
    (place / "graphs" / "bare" / "model.onnx").rename(bare / "onnx" / "model.onnx")
    (bare / "model.safetensors").unlink()
    return place


@pytest.fixture(scope="session", autouse=True)
def store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("store")
    add(folder / "tiny", into=place)
    add(folder / "tiny", into=place, precision="int8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRX_MODELS", str(place))
        patch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(place / "none"))
        patch.setattr("sys.prefix", str(place / "none"))
        yield place


@pytest.fixture(scope="session", params=SPECS)
def reranker(request: pytest.FixtureRequest, folder: Path, store: Path) -> Reranker:
    return load_reranker(request.param.format(folder=folder))


# the contract


def test_scores_are_float32_between_0_and_1(reranker: Reranker) -> None:
    scores = reranker.score("the revenue", TEXTS)
    assert (scores.shape, scores.dtype) == ((len(TEXTS),), np.float32)
    assert ((scores > 0) & (scores < 1)).all()


def test_no_texts_give_no_scores(reranker: Reranker) -> None:
    assert reranker.score("the revenue", []).shape == (0,)


def test_a_score_does_not_depend_on_the_other_texts(reranker: Reranker) -> None:
    together = reranker.score("revenue", TEXTS * 3)
    alone = np.concatenate([reranker.score("revenue", [text]) for text in TEXTS * 3])
    assert np.abs(together - alone).max() <= 1e-6


def test_a_score_depends_on_the_query(reranker: Reranker) -> None:
    first, second = (reranker.score(query, TEXTS[:4]) for query in ("revenue grew", "第二"))
    assert np.abs(first - second).max() > 1e-3


def test_a_fingerprint_tells_a_model(reranker: Reranker) -> None:
    assert reranker.fingerprint.partition(":")[0] in ("overlap", "onnx", "st")
    assert reranker.fingerprint != load_reranker("tiny@int8").fingerprint or "int8" in (
        reranker.fingerprint
    )


# onnx


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_score_is_the_sigmoid_of_the_references_logit(
    family: str, labels: int, tmp_path: Path
) -> None:
    folder = make_model(tmp_path / "one", family=family, head=True, labels=labels, seed=3)
    card = add(folder, into=tmp_path / "store")
    read = read_folder(folder)
    shape = read.architecture()
    if family == "bert":
        words, segments = "[CLS] the [SEP] revenue grew [SEP]", [0, 0, 0, 1, 1, 1]
    else:
        words, segments = "[CLS] the [SEP] [SEP] revenue grew [SEP]", [0] * 7
    ids = np.array([WORDS.index(word) for word in words.split()])
    logit = reference.score(ids, np.array(segments), read_weights(read, shape), shape)
    found = load_reranker(str(tmp_path / "store" / card.name)).score("the", ["revenue grew"])
    assert found == pytest.approx([1 / (1 + np.exp(-logit))], abs=2e-3)


@pytest.mark.parametrize("spec", ["tiny", "tiny@int8"])
def test_a_score_is_the_same_to_the_last_bit_in_any_batch(spec: str) -> None:
    model = load_reranker(spec)
    texts = [f"{'the ' * (at % 9)}{'of ' * (at % 3)}grew" for at in range(60)]
    together = model.score("revenue", texts)
    assert (together == [model.score("revenue", [text])[0] for text in texts]).all()


def test_the_logits_of_an_int8_graph_do_not_depend_on_their_batch(store: Path) -> None:
    session = onnxruntime.InferenceSession(str(store / "tiny@int8" / "model.onnx"))
    ids = np.random.default_rng(3).integers(0, len(WORDS), (12, 9))
    rows = {
        each.name: ids if each.name == "input_ids" else 0 * ids for each in session.get_inputs()
    }
    (together,) = session.run(["logits"], rows)
    alone = [
        session.run(["logits"], {name: row[at : at + 1] for name, row in rows.items()})[0][0]
        for at in range(len(ids))
    ]
    assert np.ptp(together) > 1e-3
    assert together == pytest.approx(alone, abs=1e-6)


def test_an_int8_reranker_keeps_its_words_in_a_byte_a_value(store: Path) -> None:
    onnx = pytest.importorskip("onnx")
    held = {
        name: [(each.data_type, *each.dims) for each in onnx.load(path).graph.initializer]
        for name in ("tiny", "tiny@int8")
        for path in [store / name / "model.onnx"]
    }
    rows = next(shape for shape in held["tiny"] if shape[1] == len(WORDS))
    table = (onnx.TensorProto.INT8, *rows[1:])
    assert (table in held["tiny"], table in held["tiny@int8"]) == (False, True)
    assert load_reranker("tiny@int8").score("the", TEXTS) == pytest.approx(
        load_reranker("tiny").score("the", TEXTS), abs=0.02
    )


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = []
    for count in ("1", "3"):
        monkeypatch.setenv("CRX_THREADS", count)
        scores.append(load_reranker("tiny").score("revenue", TEXTS * 5))
    assert (scores[0] == scores[1]).all()


def test_a_text_beyond_the_window_scores_as_its_best_window() -> None:
    model = load_reranker("tiny")  # 20 tokens: 3 special ones and the query leave 15
    windows = ["the " * 15, "of " * 15, "grew " * 15]
    scores = model.score("revenue of", windows)
    assert model.score("revenue of", ["".join(windows)]) == scores.max() > scores.min()


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 10))
def test_windows_hold_every_token_of_query_and_text(lengths: list[int], asked: int) -> None:
    pairs = PairEncoder(find("tiny") / "tokenizer.json", sequence=20)
    texts = ["revenue of " * (length // 2) + "grew" * (length % 2) for length in lengths]
    grew, the = WORDS.index("grew"), WORDS.index("the")
    for text, windows in zip(texts, pairs.windows("the " * asked, texts), strict=True):
        read = [pair.ids[pair.segments == 1][:-1].tolist() for pair in windows]
        assert [WORDS[at] for ids in read for at in ids] == text.split()
        assert all(len(pair.ids) <= 20 for pair in windows)
        assert all((pair.ids == the).sum() == asked for pair in windows)
        assert not any(grew in ids for ids in read[:-1])


def test_a_query_that_leaves_no_room_is_refused_not_cut() -> None:
    with pytest.raises(ModelError, match="the query takes 19 of the 20 tokens"):
        load_reranker("tiny").score("the " * 16, ["revenue"])


def bare_copy(folder: Path, target: Path, *, output: Sequence[object]) -> Path:
    """Copy the bare folder with another output: the logits, reshaped."""
    target.mkdir()
    for path in (folder / "bare").glob("*.json"):
        (target / path.name).write_bytes(path.read_bytes())
    model = onnx.load(folder / "bare" / "onnx" / "model.onnx")
    shape = onnx.numpy_helper.from_array(np.array([-1, len(output)], np.int64), "shape_of_labels")
    model.graph.initializer.append(shape)
    parts = []
    for at, scale in enumerate(output):
        name = f"scale_{at}"
        value = np.array(scale, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        parts.append(f"label_{at}")
        model.graph.node.append(onnx.helper.make_node("Mul", ["logits", name], [parts[-1]]))
    axis = onnx.numpy_helper.from_array(np.array([1], np.int64), "axis_of_labels")
    model.graph.initializer.append(axis)
    columns = [f"{part}_column" for part in parts]
    for part, column in zip(parts, columns, strict=True):
        node = onnx.helper.make_node("Unsqueeze", [part, "axis_of_labels"], [column])
        model.graph.node.append(node)
    model.graph.node.append(onnx.helper.make_node("Concat", columns, ["labels"], axis=1))
    del model.graph.output[:]
    value_info = onnx.helper.make_tensor_value_info(
        "labels", onnx.TensorProto.FLOAT, ["n", len(output)]
    )
    model.graph.output.append(value_info)
    onnx.save(model, target / "model.onnx")
    return target


@pytest.mark.parametrize("output", [[1.0], [-0.25, 0.75]])
def test_a_graph_of_ones_own_may_have_one_label_or_two(
    output: list[float], folder: Path, tmp_path: Path
) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=output)
    found = load_reranker(f"onnx:{bare}").score("revenue", TEXTS)
    assert found == pytest.approx(load_reranker("tiny").score("revenue", TEXTS), abs=1e-6)
    add(bare, name="own", into=tmp_path / "store")
    kept = load_reranker(str(tmp_path / "store" / "own"))
    assert (kept.score("revenue", TEXTS) == found).all()


def test_a_graph_of_three_labels_is_no_reranker(folder: Path, tmp_path: Path) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=[1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"gives \(1, 3\), not one or two labels a pair"):
        load_reranker(f"onnx:{bare}")


def test_a_graph_of_other_inputs_is_refused_by_their_names(folder: Path, tmp_path: Path) -> None:
    bare = bare_copy(folder, tmp_path / "own", output=[1.0])
    model = onnx.load(bare / "model.onnx")
    extra = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.INT64, ["n"])
    model.graph.input.append(extra)
    onnx.save(model, bare / "model.onnx")
    with pytest.raises(ModelError, match="the graph wants pixels; crx cannot feed it"):
        load_reranker(f"onnx:{bare}")


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModelError, match="cuda: this onnxruntime has no CUDAExecutionProvider"):
        load_reranker("tiny:device=cuda")


def test_a_folder_of_weights_alone_names_the_command_that_converts_it(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"no ONNX graph; convert it with crx models add"):
        load_reranker(f"onnx:{folder / 'tiny'}")


def test_a_card_says_the_languages_that_the_folder_names(tmp_path: Path) -> None:
    for name, front in {"one": "language: en", "two": "language:\n- en\n- fr"}.items():
        folder = make_model(tmp_path / name, head=True)
        (folder / "README.md").write_text(f"---\nlicense: mit\n{front}\n---\n")
    cards = [add(tmp_path / name, into=tmp_path / "store") for name in ("one", "two")]
    assert [card.languages for card in cards] == [("en",), ("en", "fr")]
    assert [read_card(tmp_path / "store" / card.name) for card in cards] == cards


def test_a_missing_package_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelError, match=r'pip install "crx\[st\]"'):
        load_reranker("st:tiny")


# names


def test_the_reranker_that_ships_ranks_an_answer_first() -> None:
    reranker = load_reranker("crx")
    assert isinstance(reranker, LanguageLimited)
    assert reranker.languages == ("en",)
    query = "when may either party end the agreement?"
    answer = "Either party may terminate this Agreement upon thirty days' written notice."
    others = [
        "The fee is payable within ten days.",
        "This Agreement is governed by the laws of Delaware.",
    ]
    scores = reranker.score(query, [answer, *others])
    assert scores[0] > 2 * scores[1:].max()


def test_the_name_crx_is_what_ships_or_what_the_store_has(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx.registry._SHIPPED_FOLDER", tmp_path / "shipped")
    with pytest.raises(ModelError, match="crx: no reranker ships with this installation; crx mod"):
        load_reranker("crx")
    (tmp_path / "shipped").symlink_to(store / "tiny@int8")
    shipped = load_reranker("crx")
    assert shipped.fingerprint == load_reranker("tiny@int8").fingerprint


def test_an_unknown_name_says_what_is_here() -> None:
    with pytest.raises(ModelError, match="bge: no such model; here: tiny, tiny@int8; add one"):
        load_reranker("bge")


def test_a_plug_of_another_package_is_called_with_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug = EntryPoint("mine", "crx.backends.overlap:load_reranker", "crx.rerankers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    assert load_reranker("mine").fingerprint == "overlap:1"


def test_a_plug_that_is_no_reranker_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    plug = EntryPoint("mine", "builtins:str", "crx.rerankers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    with pytest.raises(ModelError, match="returned str, which is not a Reranker"):
        load_reranker("mine:x")


# the step


class Table:
    """Scores by text; takes `ms` of a clock for each, and counts what it reads."""

    def __init__(self, scores: dict[str, float], *, ms: float = 0) -> None:
        self._scores = scores
        self._ms = ms
        self.read: list[str] = []
        self.now = 0.0

    @property
    def fingerprint(self) -> str:
        return "table"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        self.now += len(texts) * self._ms / 1000
        return np.array([self._scores[text] for text in texts], np.float32)


class Broken(Table):
    """Fails."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelError("table: failed; add it again")


def fused_of(*keys: int) -> Ranking:
    return Ranking(np.array(keys, np.int64), np.linspace(1, 0.5, len(keys), dtype=np.float32))


def reranked(table: Table, *, weight: float = 0.5, k: int = 9, **options: object) -> Reranked:
    fused = fused_of(30, 10, 20)
    texts = ["c", "a", "b"]
    return rerank("q", fused, texts, reranker=table, weight=weight, rrf_k=20.0, k=k, **options)  # type: ignore[arg-type]


RISING = {"c": 0.2, "a": 0.4, "b": 0.9}


def test_the_order_is_the_fusion_of_both_rankings() -> None:
    found = reranked(Table(RISING), weight=0.75)
    assert found.scored.keys.tolist() == [20, 10, 30]
    assert found.scored.scores == pytest.approx([0.9, 0.4, 0.2])
    expected = {20: 0.75 / 21 + 0.25 / 23, 10: 1 / 22, 30: 0.75 / 23 + 0.25 / 21}
    assert found.ranking.keys.tolist() == [20, 10, 30]
    assert found.ranking.scores == pytest.approx([expected[key] for key in (20, 10, 30)])
    assert (found.read, found.notes) == (3, ())


@pytest.mark.parametrize(("weight", "keys"), [(0.0, [30, 10, 20]), (1.0, [20, 10, 30])])
def test_a_weight_of_0_is_the_fused_order_and_of_1_the_rerankers(
    weight: float, keys: list[int]
) -> None:
    assert reranked(Table(RISING), weight=weight).ranking.keys.tolist() == keys


def test_equal_scores_go_to_the_smaller_key() -> None:
    found = reranked(Table(dict.fromkeys("abc", 0.5)), weight=1.0)
    assert found.ranking.keys.tolist() == found.scored.keys.tolist() == [10, 20, 30]


def test_what_is_not_read_keeps_the_fused_order_behind_what_is() -> None:
    keys = range(100, 0, -1)
    texts = [str(key) for key in keys[:10]]
    table = Table({text: int(text) / 1000 for text in texts})
    found = rerank("q", fused_of(*keys), texts, reranker=table, weight=1.0, rrf_k=20.0, k=100)
    assert found.ranking.keys.tolist() == list(keys)
    assert (np.diff(found.ranking.scores) < 0).all()


def test_a_time_limit_reads_as_many_as_fit_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(key) for key in range(150)]
    table = Table(dict.fromkeys(texts, 0.5), ms=5)
    monkeypatch.setattr("crx.retrieve.rerank.time.perf_counter", lambda: table.now)
    found = rerank(
        "q", fused_of(*range(150)), texts, reranker=table, weight=0.5, rrf_k=20.0, k=9, ms=300
    )
    assert table.read == texts[: found.read]
    assert 50 <= found.read <= 60
    assert found.notes == (f"reranked {found.read} of 150 within 300 ms",)


def test_a_time_limit_that_holds_all_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(RISING, ms=1)
    monkeypatch.setattr("crx.retrieve.rerank.time.perf_counter", lambda: table.now)
    assert reranked(table, ms=1000).notes == ()


def test_a_threshold_drops_what_was_read_and_is_below_and_says_so() -> None:
    found = reranked(Table(RISING), min_relevance=0.3, k=1)
    assert found.ranking.keys.tolist() == [20]
    found = reranked(Table(RISING), min_relevance=0.3)
    assert found.ranking.keys.tolist() == [20, 10]
    assert found.notes == ("dropped 1 of 3 below a relevance of 0.3",)


def test_a_reranker_that_fails_leaves_the_fused_order_and_a_note() -> None:
    found = reranked(Broken({}), min_relevance=0.3, k=2)
    assert found.ranking.keys.tolist() == [30, 10]
    assert (found.read, found.scored.keys.tolist()) == (0, [])
    assert found.notes == ("not reranked: table: failed; add it again",)


@pytest.mark.parametrize("score", [0.0, 1.0, float("nan"), -3.0])
def test_a_score_that_is_none_is_a_failure(score: float) -> None:
    (note,) = reranked(Table({"a": 0.5, "b": score, "c": 0.5})).notes
    assert note == "not reranked: table: gave a score that is not between 0 and 1"


def test_a_weight_outside_of_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"from 0 to 1, not 1\.5"):
        reranked(Table(RISING), weight=1.5)


# the cache


def test_a_cache_reads_nothing_twice() -> None:
    table, cache = Table(RISING), ScoreCache()
    first = cache.score(table, "q", ["a", "b", "a"])
    second = cache.score(table, "q", ["c", "a"])
    assert table.read == ["a", "b", "c"]
    assert (first.tolist(), second.tolist()) == (
        np.float32([0.4, 0.9, 0.4]).tolist(),
        np.float32([0.2, 0.4]).tolist(),
    )


def test_a_cache_tells_queries_and_rerankers_apart() -> None:
    table, cache = Table(RISING), ScoreCache()
    cache.score(table, "q", ["a"])
    cache.score(table, "r", ["a"])
    assert table.read == ["a", "a"]
    assert cache.score(OverlapReranker(), "q", ["a"]) == [0.25]


def test_a_cache_is_bounded_and_loses_what_was_not_asked_for_the_longest() -> None:
    table, cache = Table(RISING), ScoreCache(size=2)
    for text in "abac":
        cache.score(table, "q", [text])
    cache.score(table, "q", ["a", "b"])
    assert table.read == ["a", "b", "c", "b"]
    assert len(cache) == 2


# the query's language


@pytest.mark.parametrize(
    ("query", "langs", "expected"),
    [
        ("revenue", ["fr", "en"], ("fr", "en")),
        ("revenue", ["zh"], ()),
        ("revenue", [], ()),
        ("Khi nào hợp đồng kết thúc?", ["en"], ("vi",)),
        ("What is the notice period required to terminate renewal?", ["fr"], ("en",)),
        ("第二季度收入", [], ("zh", "ja")),
        ("東京", ["ja", "en"], ("ja",)),
        ("契約の終了", ["zh"], ("ja",)),
        ("GPT-4 是什么", ["zh", "en"], ("zh",)),
        ("Когда?", ["ru"], ("ru",)),
        ("ＡＢＣ", ["en"], ("en",)),
        ("2023 / 24", ["en"], ()),
    ],
)
def test_a_querys_language_is_told_by_script_then_by_the_index(
    query: str, langs: list[str], expected: tuple[str, ...]
) -> None:
    assert query_langs(query, langs) == expected


def claiming(languages: tuple[str, ...]) -> Table:
    table = Table(RISING)
    table.languages = languages  # type: ignore[attr-defined]
    return table


def test_a_query_in_a_language_that_the_model_does_not_claim_is_not_reranked() -> None:
    table = claiming(("en", "fr"))
    found = rerank(
        "什么",
        fused_of(2, 1),
        ["a", "b"],
        reranker=table,
        weight=1.0,
        rrf_k=20.0,
        k=9,
        langs=["zh"],
    )
    assert (found.ranking.keys.tolist(), found.read, table.read) == ([2, 1], 0, [])
    assert found.notes == ("not reranked: the query is in zh, the reranker reads en, fr",)


@pytest.mark.parametrize("languages", [(), ("en",), ("fr", "en")])
def test_a_model_that_claims_the_language_or_says_nothing_reranks(
    languages: tuple[str, ...],
) -> None:
    assert reranked(claiming(languages), langs=["en", "zh"]).read == 3


# the search

SETTINGS = {"embedder": "hashed", "chunk_chars": 60, "reranker": "overlap"}


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRX_HOME", str(tmp_path / "home"))
    (tmp_path / "whales.md").write_text(
        "# Whales\n\nThe blue whale is the largest animal.\n\n"
        "## Food\n\nBlue whales eat krill, four tonnes a day.\n\n"
        "## Song\n\nHumpbacks sing for hours, and the song changes.\n"
    )
    return tmp_path / "whales.md"


def opened(docs: Path, **options: object) -> crx.Index:
    index = crx.open(docs.parent / "notes.crx", settings={**SETTINGS, **options})
    index.add(docs)
    return index


def test_a_hit_says_what_the_reranker_gave_it(docs: Path) -> None:
    result = opened(docs).search("krill tonnes")
    stage = result.hits[0].stages["rerank"]
    assert (stage.rank, stage.score) == (1, pytest.approx(2.5 / 3))
    assert list(result.hits[0].stages) == ["bm25", "dense", "rerank"]
    assert set(result.timings_ms or {}) == {"retrieve", "fuse", "rerank"}


def test_nothing_found_is_nothing_to_rerank(docs: Path) -> None:
    result = opened(docs).search("zebra", legs=("bm25",))
    assert (result.hits, result.notes) == ((), ())


def test_reranking_is_asked_for_or_not_call_by_call(docs: Path) -> None:
    index = opened(docs)
    stages = [index.search("krill", rerank=asked).hits[0].stages for asked in (None, True, False)]
    assert ["rerank" in each for each in stages] == [True, True, False]
    index = opened(docs, reranker="")
    assert "rerank" not in index.search("krill").hits[0].stages
    assert index.status().reranker == ""


def test_candidates_beyond_the_depth_are_hits_without_a_score(docs: Path) -> None:
    hits = opened(docs, rerank_depth=1).search("whale song").hits
    assert ["rerank" in hit.stages for hit in hits] == [True] + [False] * (len(hits) - 1)
    assert len(hits) > 1


def test_a_threshold_is_on_a_rerankers_scores_alone(docs: Path) -> None:
    result = opened(docs, min_relevance=0.8).search("krill tonnes")
    assert [hit.stages["rerank"].score > 0.8 for hit in result.hits] == [True]
    with pytest.raises(UsageError, match=r"min_relevance is 0\.8, and only a reranker's scores"):
        opened(docs, min_relevance=0.8, reranker="").search("krill")
    with pytest.raises(UsageError, match="only a reranker's scores"):
        opened(docs, min_relevance=0.8).search("krill", rerank=False)


@pytest.mark.parametrize("name", ["min_relevance", "rerank_weight"])
def test_a_share_above_1_is_refused(name: str, docs: Path) -> None:
    with pytest.raises(UsageError, match=f"{name} must be at most 1, not 2"):
        opened(docs, **{name: 2})


def test_a_reranker_that_dies_in_a_search_leaves_the_hits_and_a_note(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(docs)
    plain = index.search("krill", rerank=False)
    monkeypatch.setattr(OverlapReranker, "score", Broken({}).score)
    result = index.search("krill")
    assert [hit.key for hit in result.hits] == [hit.key for hit in plain.hits]
    assert "not reranked: table: failed; add it again" in result.notes


def test_the_same_question_is_read_once(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = opened(docs)
    first = index.search("krill")
    monkeypatch.setattr(OverlapReranker, "score", Broken({}).score)
    assert index.search("krill").hits == first.hits


def test_a_query_in_another_language_than_the_cards_is_not_reranked(
    docs: Path, tmp_path: Path
) -> None:
    card = add(make_model(tmp_path / "english", head=True), into=tmp_path / "store")
    folder = tmp_path / "store" / card.name
    write_card(folder, replace(card, languages=("en",)))
    result = opened(docs, reranker=f"onnx:{folder}").search("鲸鱼吃什么")
    assert "not reranked: the query is in zh or ja, the reranker reads en" in result.notes


# against sentence-transformers


@pytest.mark.st
@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_scores_are_those_of_sentence_transformers(
    family: str, labels: int, tmp_path: Path
) -> None:
    package = pytest.importorskip("sentence_transformers")
    source = make_model(tmp_path / "one", family=family, head=True, labels=labels)
    add(source, into=tmp_path / "store")
    ours = load_reranker(str(tmp_path / "store" / "one"))
    theirs = load_reranker(f"st:{source}")
    assert ours.score("the revenue", TEXTS) == pytest.approx(
        theirs.score("the revenue", TEXTS), abs=5e-3
    )
    short = [text for text in TEXTS if len(text) < 40]
    model = package.CrossEncoder(str(source), device="cpu", local_files_only=True)
    found = model.predict([("the revenue", text) for text in short], apply_softmax=labels == 2)
    wanted = found[:, 1] if labels == 2 else found
    assert theirs.score("the revenue", short) == pytest.approx(wanted, abs=1e-5)
