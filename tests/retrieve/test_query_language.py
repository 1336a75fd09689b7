"""Language detection for queries."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
from crx.retrieve.query_language import detect_query_langs, hiragana_pairs


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
def test_the_language_follows_from_the_script_then_from_the_index(
    query: str, langs: list[str], expected: tuple[str, ...]
) -> None:
    assert detect_query_langs(query, langs) == expected


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        ("autolog を入れると", "を入 入れ れる ると"),
        ("接続は", "続は"),
        ("メモリ 再開", ""),
        ("how to resume", ""),
    ],
)
def test_pairs_with_hiragana_are_those_of_particles_and_inflections(query: str, pairs: str) -> None:
    assert hiragana_pairs(query) == pairs


def test_an_identifier_outweighs_the_inflections_of_a_japanese_question(tmp_path: Path) -> None:
    texts = {
        "identifier": "autolog 接続 切断",
        "inflections": "機械 どうなる 電源",
    }
    with crx.open(tmp_path / "ix", settings={"embedder": "none"}) as index:
        index.add_documents(
            [crx.Document(uri=uri, text=text, title=uri) for uri, text in texts.items()]
        )
        hits = index.search("autolog の接続はどうなる?").hits
    assert hits[0].uri == "identifier"
