"""Every embedder keeps one contract; each then has promises of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import installed
from tiny_model import make_model

from crx._backends.hashed import HashedEmbedder
from crx._models.store import add_model, find_model
from crx._models.tokenizer import ModelTokenizer, batch_by_length
from crx.errors import ModelError, UsageError
from crx.ingest.embed import PREFIX_WEIGHT, Situated, SituatedEmbedder, embed_situated
from crx.protocols import Embedder
from crx.registry import load_embedder

TEXTS = ["the revenue grew", "", "第二", "of", "the " * 300, "grew of the", "\U0001f600 the\n\nof"]


SPECS = [
    "hashed",
    "hashed:d=64",
    "tiny",
    "onnx:tiny",
    "tiny@int8",
    pytest.param("openvino:tiny", marks=installed("openvino")),
    pytest.param("st:{folder}", marks=[pytest.mark.st, installed("sentence_transformers")]),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("source") / "tiny")


@pytest.fixture(scope="session", autouse=True)
def store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("store")
    add_model(folder, into=place)
    add_model(folder, into=place, precision="int8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CRX_MODELS", str(place))
        patch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(place / "none"))
        patch.setattr("sys.prefix", str(place / "none"))
        yield place


@pytest.fixture(scope="session", params=SPECS)
def embedder(request: pytest.FixtureRequest, folder: Path, store: Path) -> Embedder:
    return load_embedder(request.param.format(folder=folder))


# the contract


def test_rows_are_float32_and_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_rows_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    forward, backward = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
    assert np.allclose(forward, backward[::-1], atol=1e-6)


def test_a_row_does_not_depend_on_its_batch(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS * 3)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS * 3])
    assert np.abs(together - alone).max() <= 1e-6


def test_texts_that_differ_have_rows_that_differ(embedder: Embedder) -> None:
    similarity = np.triu(embedder.embed(TEXTS[:4]) @ embedder.embed(TEXTS[:4]).T, 1)
    assert similarity.max() < 0.9999


def test_queries_are_unit_rows_too(embedder: Embedder) -> None:
    assert np.allclose(np.linalg.norm(embedder.embed(["of"], query=True), axis=1), 1, atol=1e-6)


def test_what_lies_beyond_the_limit_is_not_read(embedder: Embedder) -> None:
    limit = embedder.max_tokens
    read, longer, shorter = embedder.embed(["of " * limit, "of " * (limit + 9), "grew " * limit])
    assert np.allclose(read, longer, atol=1e-6)
    assert not np.allclose(read, shorter, atol=1e-3)
    assert not np.allclose(embedder.embed(["of " * (limit - 1) + "grew"])[0], read, atol=1e-6)


def test_tokens_start_where_their_text_does(embedder: Embedder) -> None:
    starts = embedder.token_starts("the  revenue of 第二")
    assert starts.tolist() == [0, 5, 13, 16, 17]
    assert starts.dtype == np.uint32
    assert embedder.token_starts("").tolist() == []


def test_hashed_tokens_are_words_signs_and_characters_of_unspaced_scripts() -> None:
    unspaced = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    token = re.compile(rf"[{unspaced}]|[^\W{unspaced}]+|[^\w\s]")
    every = "".join(map(chr, range(0x110000)))  # among them lone surrogates, as of a file's name
    for text in (every, every[::-7], "a " * (1 << 20)):
        expected = [match.start() for match in token.finditer(text)]
        assert HashedEmbedder().token_starts(text).tolist() == expected


def test_a_fingerprint_is_the_same_in_another_process(embedder: Embedder, folder: Path) -> None:
    kind = embedder.fingerprint.partition(":")[0]
    spec = {"hashed": f"hashed:d={embedder.dimensions}", "st": f"st:{folder}"}.get(kind)
    if spec is None:
        precision = "@int8" if ":int8:" in embedder.fingerprint else ""
        spec = f"{kind}:tiny{precision}"
    code = f"from crx.registry import load_embedder; print(load_embedder({spec!r}).fingerprint)"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        check=True,
        env=environment,
        text=True,
    )
    assert run.stdout.strip() == embedder.fingerprint


# onnx


@pytest.mark.parametrize("spec", ["tiny", "tiny@int8"])
def test_a_row_is_the_same_to_the_last_bit_in_any_batch(spec: str) -> None:
    embedder = load_embedder(spec)
    texts = [f"{'the ' * (at % 20)}{'of ' * (at % 3)}grew" for at in range(60)]
    together = embedder.embed(texts)
    assert (together == np.concatenate([embedder.embed([text]) for text in texts])).all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = []
    for count in ("1", "3"):
        monkeypatch.setenv("CRX_THREADS", count)
        rows.append(load_embedder("tiny").embed(TEXTS * 5))
    assert (rows[0] == rows[1]).all()


def test_a_query_gets_the_folders_prefix() -> None:
    embedder = load_embedder("tiny")
    assert (embedder.embed(["of"], query=True) == embedder.embed(["the of"])).all()


def test_a_precision_has_its_own_fingerprint() -> None:
    assert load_embedder("tiny").fingerprint != load_embedder("tiny@int8").fingerprint


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModelError, match="cuda: this onnxruntime has no CUDAExecutionProvider"):
        load_embedder("tiny:device=cuda")


@pytest.mark.parametrize("count", ["0", "many", "-1"])
def test_a_number_of_threads_that_is_none_is_refused(
    count: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_THREADS", count)
    with pytest.raises(UsageError, match="CRX_THREADS"):
        load_embedder("tiny")


def test_a_long_text_has_the_tokens_that_it_has_as_a_whole() -> None:
    tokens = ModelTokenizer(find_model("tiny") / "tokenizer.json", sequence=20)
    text = "the revenue of 第二 grew " * 9000
    expected = [at + start for at in range(0, len(text), 23) for start in (0, 4, 12, 15, 16, 18)]
    assert len(text) > 1 << 17
    assert tokens.token_starts(text).tolist() == expected


@given(st.text())
def test_tokens_start_in_the_text_and_ascend(text: str) -> None:
    for embedder in (HashedEmbedder(), load_embedder_once()):
        starts = embedder.token_starts(text).astype(int)
        assert (np.diff(starts) >= 0).all()
        assert ((starts >= 0) & (starts < len(text))).all()


@cache
def load_embedder_once() -> Embedder:
    return load_embedder("tiny")


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 30))
def test_batches_hold_each_text_once_and_lengths_are_equal(lengths: list[int], tokens: int) -> None:
    texts = [np.full(length, at) for at, length in enumerate(lengths)]
    batches = list(batch_by_length(texts, tokens=tokens))
    assert sorted(row for rows, _ in batches for row in rows) == list(range(len(lengths)))
    for rows, ids in batches:
        assert ids.tolist() == [texts[row].tolist() for row in rows]
        assert len(rows) == 1 or ids.size <= tokens


# hashed


def test_hashed_vectors_are_the_same_on_every_machine() -> None:
    vector = HashedEmbedder(dimensions=8).embed(["Revenue grew by 3% in 2023."])[0]
    assert vector.tobytes().hex() == GOLDEN


GOLDEN = "c2764a3ed7f986bd5339923ed7f906be0000000038356cbfd7f986bdc9f733bd"


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("revenue recognition", "How revenues are recognised", "The tenant pays the rent"),
        ("Ecole française", "école FRANÇAISE", "une autre maison"),
        ("第二季度收入", "第二季度的收入增长", "合同的终止条款"),
    ],
)
def test_hashed_vectors_tell_what_is_near(query: str, near: str, far: str) -> None:
    vectors = HashedEmbedder().embed([query, near, far])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.15


@pytest.mark.parametrize("options", ["d=x", "d=1", "size=3", "max_tokens=0"])
def test_hashed_refuses_what_it_cannot_be(options: str) -> None:
    with pytest.raises(ModelError):
        load_embedder(f"hashed:{options}")


# the step


class Broken(HashedEmbedder):
    """Gives a row that is not a number."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return super().embed(texts, query=query) * np.float32("nan")


class Short(HashedEmbedder):
    """Loses a row."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return super().embed(texts[1:], query=query)


class Counting(HashedEmbedder):
    """Lists the texts that it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        self.texts += texts
        return super().embed(texts, query=query)


def normalized(row: np.ndarray) -> np.ndarray:
    return np.asarray(row / np.linalg.norm(row))


def test_a_text_that_fits_is_embedded_as_it_is() -> None:
    embedder = HashedEmbedder(max_tokens=8)
    rows, several = embed_situated(embedder, [Situated("Title", "one two"), Situated("", "one")])
    assert several == 0
    np.testing.assert_array_equal(rows, embedder.embed(["Title\none two", "one"]))


def test_a_long_text_is_the_mean_of_its_windows_each_with_what_situates_it() -> None:
    embedder = HashedEmbedder(max_tokens=8)
    text = Situated("Title", "one two three four five six seven eight nine ten")
    rows, several = embed_situated(embedder, [Situated("", "x"), text])
    windows = embedder.embed(["Title\none two three four five ", "Title\nsix seven eight nine ten"])
    mean = windows.sum(axis=0)
    assert several == 1
    np.testing.assert_allclose(rows[1], mean / np.linalg.norm(mean), atol=1e-6)


def test_a_context_longer_than_the_window_is_read_whole_too() -> None:
    embedder = HashedEmbedder(max_tokens=4)
    rows, several = embed_situated(embedder, [Situated("one two three four five six", "seven")])
    whole = embedder.embed(["one two three ", "four five ", "six\nseven"]).sum(axis=0)
    assert several == 1
    assert rows[0] @ (whole / np.linalg.norm(whole)) > 0.9


class CountingTokens(HashedEmbedder):
    """Lists the texts whose tokens it counted."""

    def __init__(self, max_tokens: int) -> None:
        super().__init__(max_tokens=max_tokens)
        self.counted: list[str] = []

    def token_starts(self, text: str) -> np.ndarray:
        self.counted.append(text)
        return super().token_starts(text)


def test_tokens_that_are_known_are_not_counted_again() -> None:
    embedder = CountingTokens(max_tokens=24)
    situated = SituatedEmbedder(embedder)
    situated.embed([Situated("Title", text, 3) for text in ("whales eat krill", "owls eat mice")])
    assert embedder.counted == ["Title"]


def test_a_word_that_was_cut_may_have_more_tokens_than_are_known() -> None:
    embedder = CountingTokens(max_tokens=8)
    text = "1.2.3.4.5 6"  # 10 tokens, of a document in which they were fewer
    _, several = SituatedEmbedder(embedder).embed([Situated("", text, 2)])
    assert several == 1
    assert text in embedder.counted


CODE = "int boil(int n) { return n > 0; }"


def test_source_code_is_embedded_apart_from_its_prefix_which_weighs_less() -> None:
    embedder = HashedEmbedder()
    rows, _ = embed_situated(embedder, [Situated("Title", CODE)])
    title, text = embedder.embed(["Title", CODE])
    np.testing.assert_allclose(rows[0], normalized(text + PREFIX_WEIGHT * title), atol=1e-6)


def test_a_prefix_of_source_code_is_embedded_once_for_all_chunks_that_share_it() -> None:
    embedder = Counting()
    situated = SituatedEmbedder(embedder, max_kept=3)
    first, second, third = (CODE.replace("boil", name) for name in ("melt", "burn", "cool"))
    situated.embed([Situated("Title", first), Situated("Title", second)])
    assert embedder.texts == [first, "Title", second]
    situated.embed([Situated("Title", third), Situated("Other", third)])
    assert embedder.texts[3:] == [third, "Other"]
    situated.embed([Situated("Title", first)])
    assert embedder.texts[5:] == [first]


def test_no_situated_texts_give_no_rows() -> None:
    embedder = HashedEmbedder()
    rows, several = embed_situated(embedder, [])
    assert (rows.shape, several) == ((0, embedder.dimensions), 0)


def test_a_vector_that_is_not_finite_is_an_error() -> None:
    with pytest.raises(ModelError, match="not finite"):
        embed_situated(Broken(), [Situated("", "one")])


def test_a_row_too_few_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"gave float32 \(1, 256\), not float32 \(2, 256\)"):
        embed_situated(Short(), [Situated("", "one"), Situated("", "two")])


def test_an_unknown_name_lists_the_installed_models() -> None:
    with pytest.raises(
        ModelError, match="bge: no such model; installed: crx, tiny, tiny@int8; add one"
    ):
        load_embedder("bge")


def test_an_unknown_option_says_which_are_known() -> None:
    with pytest.raises(ModelError, match="size: no such option of a model; known: device"):
        load_embedder("tiny:size=3")


def test_a_plug_of_another_package_is_called_with_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plug = EntryPoint("mine", "crx._backends.hashed:load_embedder", "crx.embedders")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    assert load_embedder("mine:d=32").dimensions == 32


def test_a_plug_that_is_no_embedder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    plug = EntryPoint("mine", "builtins:str", "crx.embedders")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [plug])
    with pytest.raises(ModelError, match="returned str, which is not an Embedder"):
        load_embedder("mine:x")


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [("openvino:tiny", "openvino", "openvino"), ("st:tiny", "sentence_transformers", "st")],
)
def test_a_missing_package_names_the_command_that_installs_it(
    spec: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=rf'pip install "crx\[{extra}\]"'):
        load_embedder(spec)


def test_the_module_imports_no_runtime() -> None:
    code = "import sys, crx.ingest.embed, crx.registry, crx._models;"
    code += "print(sorted(HEAVY & set(sys.modules)))"
    heavy = {"onnx", "onnxruntime", "safetensors", "tokenizers", "torch", "openvino"}
    code = code.replace("HEAVY", repr(heavy))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert run.stdout.strip() == "[]"


# against sentence-transformers


@pytest.mark.st
@pytest.mark.parametrize(
    ("family", "pooling", "dense"),
    [
        ("bert", "mean_tokens", 0),
        ("bert", "cls_token", 8),
        ("bert", "max_tokens", 0),
        ("bert", "lasttoken", 0),
        ("xlm-roberta", "mean_tokens", 0),
        ("distilbert", "mean_tokens", 0),
    ],
)
def test_vectors_are_those_of_sentence_transformers(
    family: str, pooling: str, dense: int, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers")
    source = make_model(tmp_path / "one", family=family, pooling=pooling, dense=dense)
    add_model(source, into=tmp_path / "store")
    ours, theirs = (
        load_embedder(f"onnx:{tmp_path / 'store' / 'one'}"),
        load_embedder(f"st:{source}"),
    )
    for query in (False, True):
        cosines = (ours.embed(TEXTS, query=query) * theirs.embed(TEXTS, query=query)).sum(axis=1)
        assert cosines.min() > 0.99999
    assert ours.max_tokens == theirs.max_tokens
