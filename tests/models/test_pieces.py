"""The piece file of a large vocabulary, and the tokenizers built from it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from crx._models.pieces import PieceVocabulary, is_large_unigram, write_pieces
from crx._models.tokenizer import ModelTokenizer
from crx.errors import ModelError

LETTERS = "abcé第 \n"


def unigram() -> str:
    """Return the JSON of a Unigram tokenizer with pieces of one to four characters."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *(letter for letter in "abc第")]
    pieces += [first + second for first in "▁abc第" for second in "abc第"]
    pieces += ["▁abc", "abc", "cab", "第ab", "<mask>"]
    scores = [0.0] * 4 + [-1.0 - (at * 7 % 13) / 3 for at in range(len(pieces) - 4)]
    model = tokenizers.models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=3)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " ")
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<mask>"])
    return str(tokenizer.to_str())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pieces") / "pieces.npz"
    write_pieces(unigram(), path)
    return path


@settings(max_examples=300)
@given(texts=st.lists(st.text(LETTERS, max_size=30), max_size=3))
def test_a_subset_of_the_vocabulary_gives_the_same_tokens(path: Path, texts: list[str]) -> None:
    full = ModelTokenizer(unigram(), sequence=12)
    subset = ModelTokenizer("", sequence=12, pieces=path)
    for found, expected in zip(subset.encode(texts), full.encode(texts), strict=True):
        assert found.tolist() == expected.tolist()
    for text in texts:
        assert subset.token_starts(text).tolist() == full.token_starts(text).tolist()


@pytest.mark.parametrize("text", ["<mask> a", "<s>a</s>", "<unk>", "zzz", "第ab<mask>"])
def test_special_tokens_in_a_text_get_the_same_ids(path: Path, text: str) -> None:
    full = ModelTokenizer(unigram(), sequence=12)
    subset = ModelTokenizer("", sequence=12, pieces=path)
    assert subset.encode([text])[0].tolist() == full.encode([text])[0].tolist()


def test_pieces_with_equal_checksums_are_distinguished(tmp_path: Path) -> None:
    config = json.loads(unigram())
    # Both have the same CRC-32.
    config["model"]["vocab"] += [["plumless", -1.0], ["buckeroo", -2.0]]
    write_pieces(json.dumps(config), tmp_path / "pieces.npz")
    full = ModelTokenizer(json.dumps(config), sequence=12)
    subset = ModelTokenizer("", sequence=12, pieces=tmp_path / "pieces.npz")
    for text in ("plumless", "buckeroo"):
        assert subset.encode([text])[0].tolist() == full.encode([text])[0].tolist()


def test_the_full_tokenizer_is_loaded_only_for_long_texts(path: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    tokens = ModelTokenizer(tmp_path / "tokenizer.json", sequence=12, pieces=path)
    tokens.encode(["abc " * 10])
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer"):
        tokens.encode(["abc " * 10_000])


def test_only_a_large_unigram_vocabulary_gets_a_piece_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_large_unigram(unigram())
    monkeypatch.setattr("crx._models.pieces.LARGE_VOCABULARY", 30)
    assert is_large_unigram(unigram())


def test_the_same_vocabulary_gives_the_same_file(path: Path, tmp_path: Path) -> None:
    write_pieces(unigram(), tmp_path / "pieces.npz")
    assert (tmp_path / "pieces.npz").read_bytes() == path.read_bytes()


def test_a_damaged_piece_file_is_named(path: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "pieces.npz"
    damaged.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ModelError, match=r"pieces\.npz: not readable"):
        PieceVocabulary(damaged)
    np.savez(damaged, text=np.zeros(1, np.uint8))
    with pytest.raises(ModelError, match=r"pieces\.npz: not readable"):
        PieceVocabulary(damaged)


def test_no_number_of_queries_has_the_full_tokenizer_loaded(path: Path, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    tokens = ModelTokenizer(tmp_path / "tokenizer.json", sequence=12, pieces=path)
    for _ in range(300):
        tokens.encode(["abc " * 25], query=True)
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer"):
        tokens.encode(["abc " * 10_000], query=True)
