"""Language detection for queries."""

from __future__ import annotations

import pytest

from crx.retrieve.query_language import detect_query_langs


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
