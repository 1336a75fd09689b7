"""Analysis as Python sees it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import (
    Lexical,
    analyze,
    detect_lang,
    digest,
    document_lang,
    letter_scores,
    query_words,
)


def test_terms_come_in_order_with_the_whole_before_its_parts() -> None:
    assert analyze("Use parse_args(), naïvely.", "en") == [
        "use",
        "parsearg",
        "pars",
        "arg",
        "naiv",
    ]


def test_an_unknown_language_is_stemmed_as_english() -> None:
    assert analyze("running tests") == analyze("running tests", "en") == ["run", "test"]


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("The previous quarter's revenue was three hundred million dollars.", "en"),
        ("Les dépenses des ménages représentent plus de la moitié de ces montants.", "fr"),
        ("Đội thủ của Panthers chỉ thua 308 điểm, đứng thứ sáu trong giải đấu.", "vi"),
        ("黑豹队的防守只丢了三百分，在联赛中排名第六。", "zh"),
        ("本項では、奈良県にある寺院に伝来する仏像について説明する。", "ja"),
        ("", ""),
        ("308", ""),
    ],
)
def test_languages_are_told_apart(text: str, lang: str) -> None:
    assert detect_lang(text) == lang


def test_a_digest_tells_where_its_parts_end() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc")
    assert digest(b"ab", b"c") == digest(b"ab", b"c")
    assert len(digest()) == 32


@pytest.mark.parametrize(
    ("text", "lang", "query"),
    [
        ("l'élève préférait lire", "fr", "eleve prefere"),
        ("Đường phố Hà Nội", "vi", "duong pho ha noi"),
        ("ｶﾞｰﾃﾞﾝ ＡＢＣ", "ja", "ガーデン abc"),
        ("die Straße", "de", "STRASSE"),
        ("see parseArgs()", "en", "parse_args"),
        ("Don\u2019t use TS\u2011999", "en", "don't ts999"),
        ("C++ programmers", "en", "c++"),
        ("東京都", "ja", "京都"),
    ],
)
def test_what_is_written_one_way_is_found_by_another(
    tmp_path_factory: pytest.TempPathFactory, text: str, lang: str, query: str
) -> None:
    lexical = Lexical.open(str(tmp_path_factory.mktemp("bm25")), write=True)
    lexical.put(1, np.array([7]), lang, [text], [""], [""])
    lexical.commit(1)
    keys, _ = lexical.search(query, k=5, langs=[lang])
    assert keys.tolist() == [7]


@given(st.text(), st.sampled_from(["", "en", "fr", "vi", "zh", "xx"]))
def test_any_text_has_terms(text: str, lang: str) -> None:
    assert all(term and "\0" not in term for term in analyze(text, lang))


def test_stems_of_a_word_in_several_languages_have_one_document_frequency(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    lexical = Lexical.open(str(tmp_path_factory.mktemp("bm25")), write=True)
    for doc in range(40):
        lexical.put(doc, np.array([doc]), "en", ["types of data in a table"], [""], [""])
    lexical.put(50, np.array([50]), "fr", ["types de données"], [""], [""])
    lexical.put(51, np.array([51]), "en", ["casts change data"], [""], [""])
    lexical.commit(1)
    # Alone, the French stem "typ" would be rarer than "cast".
    assert [word for term, _, word in query_words("types", langs=["en", "fr"])] == [0, 0]
    keys, _ = lexical.search("casts of types", k=1, langs=["en", "fr"])
    assert keys.tolist() == [51]


def test_a_language_of_a_document_needs_evidence() -> None:
    assert document_lang("The workers are restarted if one of them is gone.") == "en"
    assert document_lang("VACUUM PRAGMA TRIGGER ROLLBACK TABLESPACE") == ""
    note = "Deploying services, restarting workers"
    assert {document_lang(note), document_lang(note, likely="en")} <= {"", "en"}


def test_letters_find_a_part_of_a_compound() -> None:
    scores = letter_scores("Replikation", ["Datenbankreplikation", "Sicherung"])
    assert scores[0] > scores[1] == 0
    assert letter_scores("東京", ["東京"]).tolist() == [0]
