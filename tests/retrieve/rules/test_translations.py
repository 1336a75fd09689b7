"""Of one document in several languages, that in the query's language comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import crx
from crx.retrieve.query_language import detect_query_langs
from crx.retrieve.rules import translations
from crx.retrieve.rules.translations import path_without_language

ENGLISH = (
    "# Mirrors\n\nThe option --delete-excluded of rsync also removes the files that are excluded "
    "on the other side. It is what one wants for the copies of a mirror.\n"
)
POLISH = (
    "# Serwery lustrzane\n\nOpcja --delete-excluded programu rsync usuwa także wykluczone pliki po "
    "drugiej stronie, rsync rsync. To jest to, czego potrzebuje serwer.\n"
)


@pytest.mark.parametrize(
    ("uri", "lang", "path"),
    [
        ("/doc/faq.pl.html", "pl", "/doc/faq.html"),
        ("/doc/faq.html", "en", "/doc/faq.html"),
        ("/man/pt_BR/man1/ls.1", "pt", "/man/man1/ls.1"),
        ("/man/zh_CN.UTF-8/man1/ls.1", "zh", "/man/man1/ls.1"),
        ("/doc/guide-pl/html/ch01.pl.html", "pl", "/doc/guide/html/ch01.html"),
        ("/doc/pl/index.html", "en", "/doc/pl/index.html"),
        ("/src/apple.pl", "en", "/src/apple.pl"),
        ("/doc/README.pl", "pl", "/doc/README"),
    ],
)
def test_a_path_is_compared_without_the_language_of_its_document(
    uri: str, lang: str, path: str
) -> None:
    assert path_without_language(uri, lang) == path


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[crx.Index]:
    folder = tmp_path_factory.mktemp("translations")
    (folder / "docs").mkdir()
    (folder / "docs" / "rsync.html.md").write_text(ENGLISH)
    (folder / "docs" / "rsync.pl.html.md").write_text(POLISH)
    (folder / "docs" / "other.md").write_text("# Notes\n\nrsync rsync rsync rsync rsync.\n")
    with crx.open(folder / "a.crx", settings={"embedder": "none", "reranker": ""}) as opened:
        opened.add(folder / "docs")
        yield opened


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what does the option of rsync for excluded files do", "rsync.html.md"),
        ("rsync delete-excluded", "rsync.html.md"),  # in any language: the original
        ("która opcja programu rsync usuwa wykluczone pliki", "rsync.pl.html.md"),
    ],
)
def test_the_document_in_the_language_of_the_query_comes_first(
    index: crx.Index, query: str, first: str
) -> None:
    found = [Path(hit.uri).name for hit in index.search(query).hits]
    translations = [name for name in found if name != "other.md"]
    assert translations[0] == first


def test_other_documents_and_scores_keep_their_ranks(index: crx.Index) -> None:
    result = index.search("rsync")
    assert [Path(hit.uri).name for hit in result.hits].index("other.md") == 0
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_the_language_of_a_query_is_detected_for_translations_alone(
    index: crx.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    detected: list[str] = []

    def detect(query: str, langs: Sequence[str]) -> tuple[str, ...]:
        detected.append(query)
        return detect_query_langs(query, langs)

    monkeypatch.setattr(translations, "detect_query_langs", detect)
    assert len(index.search("notes rsync -option").hits) == 2  # without the English one
    assert detected == []
    index.search("rsync")
    assert detected == ["rsync"]
