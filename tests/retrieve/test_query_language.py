"""Language detection for queries."""

from __future__ import annotations

from pathlib import Path

import pytest

import crx
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
        # A few words are too few for the detector; function words and letters decide.
        ("installer un paquet", ["en", "fr"], ("fr",)),
        ("l’adresse du serveur", ["en", "fr"], ("fr",)),
        ("redémarrer service réseau", ["en", "fr"], ("fr",)),
        ("naïve bayes with priors", ["en", "fr"], ("en",)),
        ("crédit a expiré", ["en", "fr"], ("fr",)),
        ("gói phần mềm", ["en", "fr"], ("vi",)),
        ("colour of the file", ["fr", "en-GB"], ("en",)),
        ("crème", ["en"], ("en",)),
        # Several function words tell of a language that the index has not.
        ("How many points did the team get?", ["zh"], ("en",)),
        ("How many points did the team get?", ["vi", "fr"], ("en",)),
        ("car pour", ["zh"], ()),
        # Of German, whose function words are not known here, they tell nothing.
        ("was so an dem Was in", ["de"], ("de",)),
        # In two languages, neither is certain; the script with most letters decides.
        ("remboursement dans les 30 jours when is the refund paid", ["fr", "en"], ("fr", "en")),
        ("返品 refund policy returns", ["ja", "en"], ("en",)),
    ],
)
def test_the_language_follows_from_the_script_then_from_the_index(
    query: str, langs: list[str], expected: tuple[str, ...]
) -> None:
    assert detect_query_langs(query, langs) == expected


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
