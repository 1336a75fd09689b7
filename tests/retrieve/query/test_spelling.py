"""Spelling correction: only words that no document has, and it is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

import crx
from crx.retrieve._query.spelling import correct_spelling
from crx.retrieve.ports import TermIndex

TEXT = """# Jobs

The anacron daemon runs jobs that cron missed. Its configuration is a file; whales are not in it.
The rsync tool of the shell can change a list; ThreadPoolExecutor can change it, too, and chage not.
The parser reads TS_999 and /etc/anacrontab. The option max_job_delay waits; source code is free.
The daemon calls sqlite3_step, and the wall is no job; administrators read shared_buffers.
They call it Datenbankreplikation. The size of max_wal_size is free.
"""


@pytest.fixture
def index(tmp_path: Path) -> crx.Index:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "jobs.md").write_text(TEXT)
    (tmp_path / "docs" / "fr.md").write_text(
        "# Amorçage\n\nLe chargeur d'amorçage lit la première partition du disque et rien."
    )
    (tmp_path / "docs" / "common.md").write_text("# Lists\n\nA cartel has a castle.")
    (tmp_path / "docs" / "more.md").write_text("# More\n\nThe castle is old.")
    index = crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"})
    index.add(tmp_path / "docs")
    return index


@pytest.mark.parametrize(
    ("query", "shown", "word"),
    [
        ("how does anacorn run jobs", "how does anacron run jobs", "anacorn"),
        ("Anacorn?", "anacron?", "Anacorn"),
        ("configuraton of cron", "configuration of cron", "configuraton"),
        ("xanacron", "anacron", "xanacron"),
        ("amorcgae", "amorçage", "amorcgae"),
        ("ana cron jobs", "anacron jobs", "ana cron"),
        ("the configu ration of cron", "the configuration of cron", "configu ration"),
        ("free sourcecode", "free source code", "sourcecode"),
        ("max_jbo_delay", "max_job_delay", "max_jbo_delay"),
        ("what is max_job_dealy", "what is max_job_delay", "max_job_dealy"),
        ("sqlite3_stp", "sqlite3_step", "sqlite3_stp"),
        ("max_jobb_delay", "max_job_delay", "max_jobb_delay"),
        # All words of the name are known, and the stem of it is no word's.
        ("max_wall_size", "max_wal_size", "max_wall_size"),
        ("shared_bufers", "shared_buffers", "shared_bufers"),
        # A word that begins with it, or that it is a part of.
        ("admin*", "administrators*", "admin"),
        ("Replikation", "Datenbankreplikation", "Replikation"),
        ("rsnyc", "rsync", "rsnyc"),
        ("the shlel", "the shell", "shlel"),
        ("chnage", "change", "chnage"),
        # Of "castle" and "cartel" in one edit the commoner.
        ("old castel", "old castle", "castel"),
        ("ThreadPoolExecuter", "ThreadPoolExecutor", "ThreadPoolExecuter"),
        # What is quoted, a path and an address are meant as they are, also beside the word.
        ('anacorn "the anacorn daemon"', 'anacron "the anacorn daemon"', "anacorn"),
        ("anacorn etc/anacorn.txt", "anacron etc/anacorn.txt", "anacorn"),
        ("anacorn anacorn@example.org", "anacron anacorn@example.org", "anacorn"),
        # What is written without spaces is no unknown word.
        ("シロナガス うたうクジラ anacorn", "シロナガス うたうクジラ anacron", "anacorn"),
    ],
)
def test_a_word_in_no_document_is_replaced_by_one_that_is_like_it(
    index: crx.Index, query: str, shown: str, word: str
) -> None:
    result = index.search(query)
    assert result.notes[0] == f'showing results for: {shown} ("{word}" is in no document)'
    assert result.passages


def test_several_words_are_replaced_if_each_is_like_a_word_of_the_documents(
    index: crx.Index,
) -> None:
    result = index.search("confguration anacorn")
    assert result.notes[0].startswith("showing results for: configuration anacron (")
    assert result.passages


@pytest.mark.parametrize(
    "query",
    [
        "anacron jobs",
        "missing whale",  # stems that the index has
        "what would this be",  # function words, in no document here
        "anacorn jbos fiel",  # most are unknown: the query is in another language
        "anacorn_file and /etc/anacorntab and anacorn.conf",
        'the "anacorn" daemon',
        "zebra quagga",
        "jots of cron",  # too short
        "tiles of cron",  # a neighbour of file, and a word of its own
        "鯨の歌",
        "TS_998 and TS_999x",
        "sqlite4_step",
        "والمكتبات",
        "max_file_delay",  # all its words are known
        "ThreadPoolChange",  # another of its words may be meant
        "codesource",  # no document has them in this order
    ],
)
def test_known_words_identifiers_quotes_and_unlike_words_are_left(
    index: crx.Index, query: str
) -> None:
    assert not any("showing results" in note for note in index.search(query).notes)


def test_a_word_is_looked_up_once(index: crx.Index) -> None:
    asked: list[str] = []

    class Terms:
        """The terms of an index, which keep what is asked of them."""

        def __init__(self, terms: TermIndex) -> None:
            self._terms = terms

        def __getattr__(self, name: str) -> object:
            return getattr(self._terms, name)

        def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]:
            asked.extend(words)
            return self._terms.are_known(words, langs=langs)

    with index.searcher() as searcher:
        found = correct_spelling(
            "how does anacorn run the jobs of a shell",
            terms=cast(TermIndex, Terms(searcher.terms)),
            documents=searcher.documents,
            langs=searcher.langs,
        )
    assert found is not None
    assert "anacorn" in asked
    assert len(asked) == len(set(asked))
